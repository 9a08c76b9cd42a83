import Foundation
import ScrollbackModel
import ScrollbackSync

/// A client that consists of the state machines. Its disk survives a crash, and all other state is lost.
struct ModelDevice {
    struct Disk {
        var logs: [ConversationID: RecordedLog] = [:]
        var outbox: [(item: OutboxItem, submission: Submission)] = []
        var cursor: String?
    }

    let user: UserID
    let conversations: [ConversationID]
    var disk = Disk()
    var outbox = RecordedOutbox()
    var resume = RecordedResume()
    var fills: [ConversationID: RecordedGapFill] = [:]
    var connection: Int?
    var process = 0
    var generator: RecordedFractions
    /// The seed of the vectors that record this device; `nil` if it is not recorded.
    private var recordedSeed: UInt64?
    private var histories: [VectorHistory] = []
    /// The requests that the current event wants to transmit.
    private var requests: [Request] = []
    /// Conversations whose copy the current event changed, and which must be checked.
    var touched: Set<ConversationID> = []
    /// Acknowledged message IDs with their epochs, and message IDs that the server refused permanently at least once.
    var acknowledged: [MessageID: Epoch] = [:]
    var failedOnce: Set<MessageID> = []

    init(user: UserID, conversations: [ConversationID], generator: RecordedFractions) {
        self.user = user
        self.conversations = conversations
        self.generator = generator
    }

    /// Runs one event and returns the requests to transmit.
    mutating func run(_ event: (inout ModelDevice) -> Void) -> [Request] {
        requests = []
        event(&self)
        return requests
    }
}

// MARK: Vectors

extension ModelDevice {
    /// Records the state machines of the device from now on.
    mutating func record(seed: UInt64) {
        recordedSeed = seed
        resume = RecordedResume(conversations: conversations, seed: seed)
        outbox = RecordedOutbox(seed: seed)
    }

    /// Returns the recorded histories.
    mutating func takeHistories() -> [VectorHistory] {
        keepHistories()
        histories += conversations.compactMap { disk.logs[$0]?.history }
        return histories.filter { !$0.isEmpty }
    }

    /// Keeps the histories of the machines that a crash ends.
    private mutating func keepHistories() {
        histories += [resume.history, outbox.history].compactMap { $0 }
        histories += conversations.compactMap { fills[$0]?.history }
    }
}

// MARK: Life cycle

extension ModelDevice {
    mutating func connect(_ number: Int, now: Date) {
        connection = number
        let behind = conversations.compactMap { conversation -> LogPosition? in
            guard let log = disk.logs[conversation], log.state.isBehind else { return nil }
            return log.state.position(in: conversation)
        }
        execute(resume.connected(cursor: disk.cursor, behind: behind), now: now)
        execute(outbox.connected(now: now), now: now)
    }

    mutating func disconnect(now: Date) {
        connection = nil
        resume.disconnected()
        for conversation in conversations { fills[conversation]?.disconnected() }
        execute(outbox.disconnected(), now: now)
    }

    /// Ends the process and starts another one from the disk.
    mutating func crash() {
        keepHistories()
        connection = nil
        process += 1
        resume = RecordedResume(conversations: conversations, seed: recordedSeed)
        fills = [:]
        outbox = RecordedOutbox(restoring: disk.outbox.map(\.item), seed: recordedSeed)
    }

    mutating func tick(now: Date) {
        guard connection != nil else { return }
        execute(resume.tick(now: now), now: now)
        if let wakeAt = outbox.wakeAt, wakeAt <= now { execute(outbox.tick(now: now), now: now) }
    }

    mutating func send(_ submission: Submission, in conversation: ConversationID, now: Date) {
        let effects = outbox.enqueue(submission.id, in: conversation, now: now)
        if let item = outbox[submission.id] { disk.outbox.append((item, submission)) }
        execute(effects, now: now)
    }

    mutating func read(_ conversation: ConversationID, _ request: GapRequest, from sender: UserID?) {
        guard connection != nil, disk.logs[conversation] != nil else { return }
        requests.append(.page(conversation, request, from: sender, isFill: false))
    }

    /// Deletes the rows up to a sequence number.
    mutating func forget(_ conversation: ConversationID, through seq: Seq) {
        touched.insert(conversation)
        _ = disk.logs[conversation]?.forget(through: seq)
    }

    /// Requests the gap that is nearest to a sequence number.
    mutating func fill(_ conversation: ConversationID, nearest place: Seq, limit: Int, now: Date) -> GapFill.Step {
        guard connection != nil, let state = disk.logs[conversation]?.state else { return .idle }
        let step = fills[conversation, default: RecordedGapFill(seed: recordedSeed)].next(
            state.gapToFill(nearest: place, limit: limit), now: now)
        if case .ask(let request) = step {
            requests.append(.page(conversation, request, from: nil, isFill: true))
        }
        return step
    }
}

// MARK: Incoming

extension ModelDevice {
    mutating func receive(_ event: LiveEvent, now: Date) {
        execute(resume.live(event), now: now)
    }

    mutating func receive(_ answer: Answer, now: Date) {
        switch answer {
        case .window(let request, let heads, let cursor, let isDone):
            execute(resume.windowAnswered(request, heads: heads, cursor: cursor, isDone: isDone), now: now)
        case .windowRefused(let request):
            execute(resume.windowFailed(request, .busy, now: now, using: &generator), now: now)
        case .sync(let batch, let answers):
            var behind: [LogPosition] = []
            for (asked, answer) in answers {
                let edit = apply(asked.conversation) { $0.apply(sync: answer, asked: asked) }
                if edit?.needsSync == true, let position = position(asked.conversation) { behind.append(position) }
            }
            execute(resume.syncAnswered(batch, behind: behind, now: now, using: &generator), now: now)
        case .syncRefused(let batch):
            execute(resume.syncFailed(batch, .busy, now: now, using: &generator), now: now)
        case .sent(let conversation, let submission, let sender, let result):
            sent(conversation, submission, sender, result, now: now)
        case .page(let conversation, let request, let page, let isFill):
            let gaps = disk.logs[conversation]?.state.gaps
            applyAndSync(conversation, now: now) { $0.apply(page: page) }
            let changed = gaps != disk.logs[conversation]?.state.gaps
            if isFill { fills[conversation]?.answered(request, changedGaps: changed) }
        case .pageRefused(let conversation, let request):
            fills[conversation]?.failed(request, .busy, now: now, using: &generator)
        }
    }

    private mutating func sent(
        _ conversation: ConversationID, _ submission: Submission, _ sender: UserID,
        _ result: Result<SendResult, ChatError>, now: Date
    ) {
        execute(outbox.answered(submission.id, result, now: now, using: &generator), now: now)
        switch result {
        case .success(let result):
            guard let position = result.position else { return }
            acknowledged[submission.id] = position.epoch
            let row = Message(
                conversation: conversation, seq: position.seq, countedIndex: position.countedIndex, id: result.id,
                timetoken: result.timetoken, epoch: position.epoch, sender: sender, type: submission.content.type,
                content: submission.content, attributes: submission.attributes)
            applyAndSync(conversation, now: now) { $0.apply(message: row) }
        case .failure(let error):
            if !error.isTemporary { failedOnce.insert(submission.id) }
        }
    }
}

// MARK: Effects

extension ModelDevice {
    private func position(_ conversation: ConversationID) -> LogPosition? {
        disk.logs[conversation]?.state.position(in: conversation)
    }

    @discardableResult
    private mutating func apply(_ conversation: ConversationID, _ event: (inout RecordedLog) -> LogEdit) -> LogEdit? {
        touched.insert(conversation)
        let edit = disk.logs[conversation]?.apply(event)
        if edit?.isStale == false { fills[conversation]?.allowRequests() }
        return edit
    }

    private mutating func applyAndSync(
        _ conversation: ConversationID, now: Date, _ event: (inout RecordedLog) -> LogEdit
    ) {
        let edit = apply(conversation, event)
        guard edit?.needsSync == true, let position = position(conversation) else { return }
        execute(resume.needsSync(position), now: now)
    }

    private mutating func execute(_ actions: [ResumeAction], now: Date) {
        for action in actions {
            switch action {
            case .pullWindow(let request, let cursor): requests.append(.window(request, cursor: cursor))
            case .sync(let batch, let positions): requests.append(.sync(batch: batch, positions))
            case .storeHeads(let heads, let cursor): store(heads, cursor, now: now)
            case .release(let events):
                for event in events {
                    if case .head(let conversation, let head, _, _) = event, disk.logs[conversation] == nil {
                        disk.logs[conversation] = RecordedLog(adopting: head, seed: recordedSeed)
                    }
                    applyAndSync(event.conversation, now: now) { $0.apply(event) }
                }
            case .recheck(let conversations):
                for position in conversations.compactMap(position) {
                    execute(resume.needsSync(position), now: now)
                }
            case .wake: break
            }
        }
    }

    private mutating func store(_ heads: [ConversationHead], _ cursor: String, now: Date) {
        for head in heads {
            if disk.logs[head.conversation] == nil {
                disk.logs[head.conversation] = RecordedLog(adopting: head.state, seed: recordedSeed)
            } else {
                apply(head.conversation) { $0.apply(head: head.state) }
            }
            if let last = head.lastMessage {
                apply(head.conversation) { $0.apply(message: last, readAt: head.state.rev) }
            }
        }
        disk.cursor = cursor
        let actions = resume.windowStored { head in
            guard let state = disk.logs[head.conversation]?.state, state.isBehind else { return nil }
            return state.position(in: head.conversation)
        }
        execute(actions, now: now)
    }

    mutating func execute(_ effects: Outbox.Effects, now: Date) {
        for item in effects.changed {
            if let index = disk.outbox.firstIndex(where: { $0.item.id == item.id }) { disk.outbox[index].item = item }
        }
        disk.outbox.removeAll { effects.removed.contains($0.item.id) }
        for id in effects.transmit {
            guard let kept = disk.outbox.first(where: { $0.item.id == id }) else { continue }
            requests.append(.send(kept.item.conversation, kept.submission))
        }
    }
}

extension ChatError {
    static let busy = ChatError(.overloaded, "The server is busy.")
}
