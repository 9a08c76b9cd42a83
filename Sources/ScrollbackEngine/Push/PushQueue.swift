import Foundation
package import ScrollbackModel
import ScrollbackWire
import Synchronization

/// The queue of pending pushes.
///
/// The transaction that stores a message also stores its pending push, which stays until all recipients are processed.
package final class PushQueue: Sendable {
    package let loop = OutboundLoop()
    /// Whether any push service is configured.
    let isOn = Atomic<Bool>(false)
    package let counts = PushCounts()
    /// The number of awaited answers whose pages are closed.
    let late = Atomic<Int>(0)

    /// Stores pending pushes for the events of a transaction.
    ///
    /// - Returns: Whether any were stored.
    func record(_ transaction: Transaction) throws -> Bool {
        guard isOn.load(ordering: .relaxed) else { return false }
        var hasPushes = false
        for event in transaction.events {
            guard let push = PushDraft(event, recalled: transaction.recalled),
                let row = try transaction.conversation(push.conversation),
                try transaction.mayHaveRecipients(push, in: row)
            else { continue }
            try transaction.store.insertPush(push.kind, at: push.seq, of: row.number, body: push.body)
            hasPushes = true
        }
        return hasPushes
    }
}

/// The number of pushes by service and outcome since the start.
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

/// A pending push that an event may require.
struct PushDraft {
    var conversation: ConversationID
    var kind: PushRow.Kind
    var seq: Seq = 0
    /// A message that is not stored, or the attributes to find the notification of a recalled message.
    var body: RawJSON?
    var sender: UserID
    var mentions: Mentions?

    /// Creates the pending push for an event.
    ///
    /// - Parameter recalled: The messages that the transaction recalled. A tombstone also changes for other reasons,
    ///   such as a reply to it.
    /// - Returns: `nil` if the event needs no push.
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
            body = attributes.recallAttributesJSON
        default: return nil
        }
        guard conversation.kind.traits.hasRecents else { return nil }
    }
}

extension MessageAttributes {
    /// Returns whether a message can be pushed.
    ///
    /// Its type must have a push text, or the sender must have set one, and the sender must not have turned off pushes.
    func mayBePushed(as type: MessageType) -> Bool {
        guard traits.notifies else { return false }
        if type.traits.notifies, !type.isCustom { return true }
        // Evaluated last, so that plain messages are not parsed.
        return mentions?.pushText != nil || push != nil && (pushOptions?.text != nil || pushOptions?.templateID != nil)
    }

    /// The attributes of a recalled message that are needed to replace its notification.
    ///
    /// These are the mentions, and the notification's ID and channel. The message's text and images are not included.
    var recallAttributes: MessageAttributes {
        var left = MessageAttributes()
        left.mentions = mentions.map { Mentions(everyone: $0.everyone, users: $0.users, pushText: nil) }
        guard let all = pushOptions else { return left }
        var options = PushOptions()
        (options.forcesDetail, options.hidesTitle) = (all.forcesDetail, all.hidesTitle)
        (options.ios, options.android, options.harmony) = (all.ios, all.android, all.harmony)
        options.ios?.imageURL = nil
        // The recall of a message must not play a sound.
        options.ios?.interruption = nil
        options.android?.huawei?.imageURL = nil
        options.android?.honor?.imageURL = nil
        options.android?.fcm?.imageURL = nil
        options.harmony?.imageURL = nil
        if options != PushOptions() { left.push = try? options.json() }
        return left
    }

    /// The same attributes as JSON; `nil` for most messages, which have none of them.
    fileprivate var recallAttributesJSON: RawJSON? {
        guard self != MessageAttributes() else { return nil }
        var writer = JSONWriter()
        writer.object { writeMembers(to: &$0) }
        return writer.json
    }

    init(recallAttributes row: RawJSON?) throws(ChatError) {
        self.init()
        guard let row else { return }
        var reader = JSONReader(row.text)
        try reader.object { (name, value) throws(ChatError) in
            if try !readMember(name, &value) { try value.skip() }
        }
    }
}

extension Transaction {
    /// Returns whether a push could reach any user.
    ///
    /// Most conversations have no users with devices, which a single lookup shows.
    func mayHaveRecipients(_ push: PushDraft, in row: ConversationRow) throws -> Bool {
        if row.id.kind.traits.membership == .named {
            return try row.id.namedUsers.contains { user in
                try user != push.sender && store.pushUser(user)?.deviceCount ?? 0 > 0
            }
        }
        if push.mentions != nil || push.kind == .recall { return true }
        return try store.pushAudiences(of: row).contains { audience in
            try !store.pushRecipients(at: .all, in: audience, after: nil, limit: 1).isEmpty
        }
    }
}

extension StoreReader {
    /// Returns the conversations whose members receive pushes: the conversation and, for a public channel, its
    /// community.
    func pushAudiences(of row: ConversationRow) throws -> [Int64] {
        guard row.isPublicChannel, let community = try conversation(.community(row.id.target)) else {
            return [row.number]
        }
        return [row.number, community.number]
    }
}
