import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

/// An engine in memory with a manual clock, and short names for the operations of tests.
///
/// Writes complete before the call returns.
final class EngineHarness: Sendable {
    let clock: TestClock
    let store: any MessageStore
    let engine: Engine
    private let ids: Mutex<UInt64>

    static let admin = Caller(user: "root", isAdmin: true)

    init(
        store: (any MessageStore)? = nil, node: Node? = nil, clock: TestClock = TestClock(), idsAbove: UInt64 = 0,
        index: any MessageIndex = ScanningIndex(), media: any MediaStore = MemoryMediaStore(),
        execution: CommitQueue.Execution = .inline, permissions: Permissions = .standard,
        filter: (any ContentFilter)? = nil, mentionLimiter: MentionLimiter? = nil,
        webhooks: (any WebhookTransport)? = nil,
        webhookStateChanged: @escaping @Sendable (_ webhook: String, _ failure: String?) -> Void = { _, _ in },
        gateway: (any PushGateway)? = nil, pushTiming: PushTiming = .init(),
        erasures: any ErasureRegister = MemoryErasureRegister(), backups: any BackupWriter = NoBackupWriter(),
        searchTime: SearchTime = SearchTime(limit: .seconds(3_600)), batchTime: Duration = .seconds(3_600),
        checkpointKey: [UInt8] = Checkpoints.makeKey(),
        rolledBack: @escaping @Sendable (Checkpoints.Rollback) -> Void = { _ in },
        space: (_ clock: @escaping @Sendable () -> Date) -> StorageSpace = { _ in .unlimited },
        uploadPace: UploadPace = .unlimited
    ) throws {
        let store = store ?? MemoryStore(generation: 0x5EED)
        self.store = store
        self.clock = clock
        ids = Mutex(idsAbove)
        engine = try Engine(
            store: store, node: node, index: index, media: media, execution: execution, permissions: permissions,
            filter: filter, mentionLimiter: mentionLimiter, webhooks: webhooks,
            webhookStateChanged: webhookStateChanged, gateway: gateway,
            pushTiming: pushTiming, erasures: erasures, backups: backups, space: space({ [clock] in clock.now }),
            uploadPace: uploadPace, checkpointKey: checkpointKey, rolledBack: rolledBack,
            clock: { [clock] in clock.now }, searchTime: searchTime, batchTime: batchTime)
    }

    // MARK: Writing

    /// Waits for the completion of a write, which runs before the call returns or on the log's thread.
    func done<Answer: Sendable>(_ body: (@escaping Engine.Completion<Answer>) -> Void) throws -> Answer {
        try Engine.result(of: body)
    }

    /// Carries out an operation, and waits for its answer.
    @discardableResult
    func perform<Request: Executable>(_ operation: Request, by caller: Caller) throws -> Request.Answer {
        try done { engine.execute(operation, by: caller, completion: $0) }
    }

    /// The context of an administrator's request, for an operation that runs within a transaction of the test.
    var context: OperationContext {
        OperationContext(engine: engine, caller: Self.admin, offload: { $0() })
    }

    func newID() -> MessageID {
        ids.withLock { last in
            last += 1
            return MessageID(high: 0x0198_0000_0000_7000, low: 0x8000_0000_0000_0000 | last)
        }
    }

    func submission(
        _ text: String = "hi", id: MessageID? = nil, type: MessageType = .text, mentions: Mentions? = nil,
        customType: String? = nil, countsUnread: Bool = true
    ) -> Submission {
        // Members that commands and images require.
        let json = RawJSON(known: #"{"text":"\#(text)","name":"knock","url":"https://example.com/a.jpg"}"#)
        return Submission(
            id: id ?? newID(),
            content: MessageContent(known: type, json: type == .text ? MessageContent.text(text).json : json),
            attributes: .init(mentions: mentions, customType: customType, traits: .init(countsUnread: countsUnread)))
    }

    @discardableResult
    func send(_ submission: Submission, to id: ConversationID, by user: UserID) throws -> SendResult {
        try send(submission, to: id, by: Caller(user: user))
    }

    @discardableResult
    func send(_ submission: Submission, to id: ConversationID, by caller: Caller) throws -> SendResult {
        try done { engine.send(submission, to: id, by: caller, completion: $0) }
    }

    @discardableResult
    func send(_ text: String = "hi", to id: ConversationID, by user: UserID) throws -> Seq {
        try #require(try send(submission(text), to: id, by: user).position).seq
    }

    @discardableResult
    func put(_ id: ConversationID, _ settings: ConversationSettings = .init(), by caller: Caller = admin) throws -> Bool
    {
        try done { engine.putConversation(id, settings, by: caller, completion: $0) }
    }

    /// Creates a group, or a community with its default channel, whose members join at the beginning.
    func make(_ id: ConversationID, members: [UserID], visibility: HistoryVisibility? = nil) throws {
        try put(id, .init(visibility: visibility, members: members))
    }

    @discardableResult
    func join(_ id: ConversationID, _ user: UserID, as role: Role? = nil, by caller: Caller = admin) throws -> Bool {
        try done { engine.putMember(user, role: role, of: id, by: caller, completion: $0) }
    }

    func leave(_ id: ConversationID, _ user: UserID, by caller: Caller = admin) throws {
        try done { engine.removeMember(user, from: id, by: caller, completion: $0) }
    }

    func delete(_ id: ConversationID, by caller: Caller = admin) throws {
        try done { engine.deleteConversation(id, by: caller, completion: $0) }
    }

    @discardableResult
    func read(_ id: ConversationID, to seq: Seq, by user: UserID) throws -> ReadSummary {
        let epoch = try head(id, user).state.epoch
        return try done { engine.read(id, seq: seq, epoch: epoch, by: Caller(user: user), completion: $0) }
    }

    // MARK: Changing

    @discardableResult
    func edit(
        _ id: MessageID, in conversation: ConversationID, _ text: String,
        mentions: MessageEdit.Change<Mentions> = .keep,
        operation: MessageID? = nil, by caller: Caller
    ) throws -> Message {
        try done {
            engine.edit(
                id, in: conversation, MessageEdit(.text(text), mentions: mentions), operation: operation, by: caller,
                completion: $0)
        }
    }

    @discardableResult
    func delete(_ id: MessageID, in conversation: ConversationID, by caller: Caller) throws -> Message {
        try done { engine.delete(id, in: conversation, by: caller, completion: $0) }
    }

    @discardableResult
    func delete(_ ids: [MessageID], in conversation: ConversationID, by caller: Caller) throws -> Int {
        try done { engine.delete(ids, in: conversation, by: caller, completion: $0) }
    }

    @discardableResult
    func hide(_ ids: [MessageID], in conversation: ConversationID, by user: UserID) throws -> Int {
        try done { engine.hide(ids, in: conversation, by: Caller(user: user), completion: $0) }
    }

    @discardableResult
    func delete(
        _ range: DeleteRange, of conversation: ConversationID, operation: MessageID? = nil, by caller: Caller = admin
    ) throws -> Int64 {
        try done { engine.delete(range, of: conversation, operation: operation, by: caller, completion: $0) }
    }

    @discardableResult
    func clear(_ id: ConversationID, through seq: Seq, by user: UserID) throws -> ReadSummary {
        let epoch = try head(id, user).state.epoch
        return try done { engine.clear(id, through: seq, epoch: epoch, by: Caller(user: user), completion: $0) }
    }

    @discardableResult
    func react(
        _ value: String, to id: MessageID, in conversation: ConversationID, operation: MessageID? = nil,
        by caller: Caller
    ) throws -> MessageAction {
        try done {
            engine.addAction(
                to: id, in: conversation, type: "reaction", value: value, operation: operation, by: caller,
                completion: $0)
        }
    }

    @discardableResult
    func pin(_ id: MessageID, in conversation: ConversationID, by caller: Caller) throws -> MessageAction {
        try act(MessageAction.pin, MessageAction.pin, on: id, in: conversation, by: caller)
    }

    @discardableResult
    func act(
        _ type: String, _ value: String, on id: MessageID, in conversation: ConversationID,
        operation: MessageID? = nil, by caller: Caller
    ) throws -> MessageAction {
        try done {
            engine.addAction(
                to: id, in: conversation, type: type, value: value, operation: operation, by: caller, completion: $0)
        }
    }

    /// Removes the caller's own action, or the pin of any user.
    func removeAction(
        _ type: String, _ value: String, from id: MessageID, in conversation: ConversationID, by caller: Caller
    ) throws {
        try done {
            engine.removeAction(
                from: id, .own(type: type, value: value), in: conversation, by: caller, completion: $0)
        }
    }

    func unreact(_ action: MessageAction, in conversation: ConversationID, by caller: Caller) throws {
        try done {
            engine.removeAction(
                from: action.message, .at(action.timetoken), in: conversation, by: caller, completion: $0)
        }
    }

    @discardableResult
    func set(_ change: @escaping @Sendable (inout ServerSettings) -> Void) throws -> ServerSettings {
        try done { engine.putSettings(by: Self.admin, completion: $0, change) }
    }

    @discardableResult
    func importHistory(
        _ messages: [ImportedMessage], into id: ConversationID, countsUnread: Bool = false, by caller: Caller = admin
    ) throws -> ImportReport {
        try done { engine.importHistory(messages, into: id, countsUnread: countsUnread, by: caller, completion: $0) }
    }

    func importedMessage(
        _ text: String, by sender: UserID, at date: Date, id: MessageID? = nil, type: MessageType = .text,
        mentions: Mentions? = nil, countsUnread: Bool = true
    ) -> ImportedMessage {
        ImportedMessage(
            sender: sender, sentAt: date,
            submission: submission(text, id: id, type: type, mentions: mentions, countsUnread: countsUnread))
    }

    /// Performs any change as a job of the log.
    @discardableResult
    func change<Answer: Sendable>(_ body: @escaping @Sendable (Transaction) throws -> Answer) throws -> Answer {
        try done { engine.commits.submit(for: .server, body, completion: $0) }
    }

    /// Stores many messages of one sender in one commit, without the cost of single sends.
    func fill(
        _ id: ConversationID, _ count: Int, by sender: UserID = "filler",
        type: @escaping @Sendable (Int) -> MessageType = { _ in .text }
    ) throws {
        try change { transaction in
            guard var row = try transaction.conversation(id) else { throw ChatError(.unknownConversation, "none") }
            let json = MessageContent.text("filling").json
            for index in 0..<count {
                row.head += 1
                row.countedIndex += 1
                row.timetoken = transaction.timetoken(after: row.timetoken)
                try transaction.store.insert(
                    MessageRow(
                        seq: row.head, countedIndex: row.countedIndex, timetoken: row.timetoken,
                        id: MessageID(high: 0x7000, low: 0x8000_0000_0000_0000 | UInt64(row.head)), sender: sender,
                        type: type(index), content: json, attributes: .init(), digest: 0), in: row.number)
            }
            try transaction.put(row)
        }
    }

    // MARK: Reading

    func head(_ id: ConversationID, _ user: UserID) throws -> ConversationHead {
        try engine.head(of: id.logID, by: Caller(user: user))
    }

    func unread(_ id: ConversationID, _ user: UserID) throws -> Counts {
        let head = try head(id, user)
        return Counts(head.unread, head.mentions)
    }

    func page(_ query: HistoryQuery, of id: ConversationID, by user: UserID) throws -> LogPage {
        try engine.history(of: id, query, by: Caller(user: user))
    }

    func page(_ anchor: Anchor = .latest, limit: Int = 100, of id: ConversationID, by user: UserID) throws -> LogPage {
        try page(HistoryQuery(anchor, limit: limit), of: id, by: user)
    }

    /// Performs a whole sync pass.
    ///
    /// - Returns: The heads, and the cursor for the next pass.
    func pass(_ cursor: String? = nil, limit: Int = 50, by user: UserID) throws -> (
        heads: [ConversationHead], cursor: String
    ) {
        var heads: [ConversationHead] = []
        var cursor = cursor
        while true {
            let window = try engine.syncWindow(cursor: cursor, limit: limit, by: Caller(user: user))
            heads += window.heads
            cursor = window.cursor
            if window.isDone { return (heads, window.cursor) }
        }
    }
}

/// The numbers of unread messages and mentions.
struct Counts: Equatable {
    var unread: Int64
    var mentions: Int64

    init(_ unread: Int64, _ mentions: Int64 = 0) {
        self.unread = unread
        self.mentions = mentions
    }
}

final class TestClock: Sendable {
    private let date = Mutex(Date(timeIntervalSince1970: 1_795_255_200))

    var now: Date { date.withLock { $0 } }

    func advance(by seconds: TimeInterval) { date.withLock { $0 += seconds } }
    func set(_ now: Date) { date.withLock { $0 = now } }
}

extension LogPage {
    var seqs: [Seq] { messages.map(\.seq) }
    var texts: [String] { messages.map { $0.text ?? "" } }
}

/// Returns the `ChatError` that a call throws, or `nil`. Any other error is recorded as an issue.
func refusal(_ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) -> ChatError? {
    do {
        try body()
        return nil
    } catch {
        if !(error is ChatError) { Issue.record("The call threw \(error).", sourceLocation: sourceLocation) }
        return error as? ChatError
    }
}

extension MessageType {
    static let appPoll = MessageType(rawValue: "app:poll")
}
