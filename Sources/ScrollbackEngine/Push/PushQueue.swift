import Foundation
package import ScrollbackModel
import ScrollbackWire
import Synchronization

/// What is to be pushed: one row for each message that may be, written down in the transaction that stores it, and kept until
/// everybody whom it reaches was seen to.
package final class PushQueue: Sendable {
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    /// Whether pushes can go anywhere.
    let isOn = Atomic<Bool>(false)
    /// The walks that took a step, until somebody looks.
    private let finished = Mutex<[PushStep]>([])
    package let counts = PushCounts()
    /// How many answers are waited for whose pages are closed.
    let late = Atomic<Int>(0)

    init() {
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    package func begin() { wake.yield() }

    func finish(_ step: PushStep) {
        finished.withLock { $0.append(step) }
        begin()
    }

    func takeFinished() -> [PushStep] {
        finished.withLock { finished in
            defer { finished = [] }
            return finished
        }
    }

    /// Writes down what a transaction did that devices may be told of.
    ///
    /// - Returns: whether it is anything.
    func record(_ transaction: Transaction) throws -> Bool {
        guard isOn.load(ordering: .relaxed) else { return false }
        var hasNews = false
        for event in transaction.events {
            guard let push = PushDraft(event, recalled: transaction.recalled),
                let row = try transaction.conversation(push.conversation),
                try transaction.mayReachSomebody(push, in: row)
            else { continue }
            try transaction.store.insertPush(push.kind, at: push.seq, of: row.number, body: push.body)
            hasNews = true
        }
        return hasNews
    }
}

/// How the walk through the members of a conversation went on.
struct PushStep: Sendable {
    var conversation: Int64
    /// Whether everybody was seen to.
    var isOver = false
    var failed = false
}

/// Pushes since the start.
package final class PushCounts: Sendable {
    private let outcomes = Mutex<[PushService: [Outcome: Int]]>([:])

    package enum Outcome: String, CaseIterable, Sendable {
        case sent, gone, later, refused, expired
    }

    func add(_ outcome: Outcome, by service: PushService) {
        outcomes.withLock { $0[service, default: [:]][outcome, default: 0] += 1 }
    }

    package var all: [PushService: [Outcome: Int]] { outcomes.withLock { $0 } }
}

/// What an event has to be pushed.
struct PushDraft {
    var conversation: ConversationID
    var kind: PushRow.Kind
    var seq: Seq = 0
    /// What the store does not have: a message that is not stored, or of a stub what finds its notification.
    var body: RawJSON?
    var sender: UserID
    var mentions: Mentions?

    /// - Parameter recalled: what the transaction recalled: a stub changes for other reasons too, such as a reply to it.
    /// - Returns: nil where it is nothing a push may tell of.
    init?(_ event: Event, recalled: [ConversationID: [Seq: MessageAttributes]]) {
        switch event {
        case .message(let message, _, _):
            guard message.attributes.mayBePushed(as: message.type) else { return nil }
            conversation = message.conversation
            kind = .message
            seq = message.seq
            sender = message.sender
            mentions = message.attributes.mentions
        case .transient(let message, _):
            guard message.attributes.mayBePushed(as: message.content.type) else { return nil }
            conversation = message.conversation
            kind = .message
            sender = message.sender
            mentions = message.attributes.mentions
            var writer = JSONWriter()
            writer.object { message.writeMembers(to: &$0) }
            body = writer.json
        case .changed(let id, .message(let message), _, _):
            guard message.isDeleted, let attributes = recalled[id]?[message.seq] else { return nil }
            conversation = id
            kind = .recall
            seq = message.seq
            sender = message.sender
            mentions = attributes.mentions
            body = attributes.whatFindsNotification
        default: return nil
        }
        guard conversation.kind.traits.hasRecents else { return nil }
    }
}

extension MessageAttributes {
    /// Whether a push may tell of a message: its type has one or its sender says what it shows (rows 124 and 147), and the
    /// sender did not switch it off (row 148).
    func mayBePushed(as type: MessageType) -> Bool {
        guard traits.notifies else { return false }
        if type.traits.notifies, !type.isCustom { return true }
        // Looked at only here: plain messages are not parsed for it.
        return mentions?.pushText != nil || push != nil && (pushOptions?.text != nil || pushOptions?.templateID != nil)
    }

    /// What the recall of a message must know of it once a stub is left.
    ///
    /// Whom it named, and what its notification is called and where it is shown; nothing of what it said, and no picture.
    var findingNotification: MessageAttributes {
        var left = MessageAttributes()
        left.mentions = mentions.map { Mentions(everyone: $0.everyone, users: $0.users, pushText: nil) }
        guard let all = pushOptions else { return left }
        var options = PushOptions()
        (options.forcesDetail, options.hidesTitle) = (all.forcesDetail, all.hidesTitle)
        (options.ios, options.android, options.harmony) = (all.ios, all.android, all.harmony)
        options.ios?.imageURL = nil
        // That something was taken back is no reason to ring.
        options.ios?.interruption = nil
        options.android?.huawei?.imageURL = nil
        options.android?.honor?.imageURL = nil
        options.android?.fcm?.imageURL = nil
        options.harmony?.imageURL = nil
        if options != PushOptions() { left.push = try? options.json() }
        return left
    }

    /// That as a row has it; most messages have nothing of it.
    fileprivate var whatFindsNotification: RawJSON? {
        guard self != MessageAttributes() else { return nil }
        var writer = JSONWriter()
        writer.object { writeMembers(to: &$0) }
        return writer.json
    }

    init(findingNotification row: RawJSON?) throws(ChatError) {
        self.init()
        guard let row else { return }
        var reader = JSONReader(row.text)
        try reader.object { (name, value) throws(ChatError) in
            if try !readMember(name, &value) { try value.skip() }
        }
    }
}

extension Transaction {
    /// Whether there is anybody whom a push could reach: most conversations have nobody, and cost one look.
    func mayReachSomebody(_ push: PushDraft, in row: ConversationRow) throws -> Bool {
        if row.id.kind.traits.membership == .named {
            return try row.id.namedUsers.contains { user in
                try user != push.sender && store.pushPerson(user)?.deviceCount ?? 0 > 0
            }
        }
        if push.mentions != nil || push.kind == .recall { return true }
        return try store.pushAudiences(of: row).contains { audience in
            try !store.reached(at: .all, in: audience, after: nil, limit: 1).isEmpty
        }
    }
}

extension StoreReader {
    /// The lists that say who is reached by a conversation's messages: its own, and of a public channel its community's.
    func pushAudiences(of row: ConversationRow) throws -> [Int64] {
        guard row.isPublicChannel, let community = try conversation(.community(row.id.target)) else {
            return [row.number]
        }
        return [row.number, community.number]
    }
}
