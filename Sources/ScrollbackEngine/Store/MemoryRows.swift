import Foundation
import ScrollbackModel
import Synchronization

/// The rows of a ``MemoryStore``.
///
/// `@unchecked Sendable`: all access holds the lock. Each change appends a step that undoes it.
final class MemoryRows: StoreWriter, @unchecked Sendable {
    let lock = Mutex(())
    var undo: [() -> Void] = []
    /// The notes of all commits, beginning with the empty store.
    var notes = [CommitNote(number: 0, id: CommitID(bits: 0), body: [])]

    struct Key: Hashable {
        var conversation: Int64
        var user: UserID
    }

    struct SetKey: Hashable {
        var conversation: Int64
        var set: BitSet
    }

    struct OwnerKey: Hashable {
        var conversation: Int64
        var user: UserID?
    }

    struct Mention {
        var user: UserID?
        var sender: UserID
        var seq: Seq
    }

    var conversations: [Int64: ConversationRow] = [:]
    private var numbers: [ConversationID: Int64] = [:]
    var members: [Key: MemberRow] = [:]
    var spans: [Key: [SpanRow]] = [:]
    var blocks: [SetKey: [Int64: BitBlock]] = [:]
    var deletedRanges: [OwnerKey: [DeletedRangeRow]] = [:]
    var keys: [Int64: [MessageID: KeyRow]] = [:]
    private var changes: [Int64: [ChangeRow]] = [:]
    var actions: [Int64: [ActionRow]] = [:]
    private var serverSettings: RawJSON?
    var mentions: [Int64: [Mention]] = [:]
    /// The messages, ordered by sequence number.
    var messages: [Int64: [MessageRow]] = [:]
    private var places: [Int64: [MessageID: Seq]] = [:]
    var users: [UserID: UserRow] = [:]
    var drafts: [UserID: [ConversationID: DraftRow]] = [:]
    var scheduled: [UserID: [MessageID: ScheduledRow]] = [:]
    /// The cancelled messages, oldest first.
    var cancelled: [UserID: [CancelledMessage]] = [:]
    var incomingWebhooks: [Identifier: IncomingWebhookRow] = [:]
    var moderation = MemoryModeration()
    var deliveries = MemoryDeliveries()
    var people = MemoryPeople()
    /// The users' states in threads, ordered by thread.
    var threadStates: [Key: [ThreadStateRow]] = [:]
    var administration = MemoryAdministration()
    var push = MemoryPush()

    var incarnationRows: [IncarnationRow] = []

    var newest: Timetoken { conversations.values.map(\.timetoken).max() ?? Timetoken(rawValue: 0) }

    var media: [MediaID: MediaRow] = [:]
    var uses: Set<MediaUseRow> = []
    var uploads: [UploadID: UploadRow] = [:]
    var usages: [UserID: UsageRow] = [:]

    init() {}

    /// Creates a copy of all rows.
    init(copying other: MemoryRows) {
        notes = other.notes
        conversations = other.conversations
        numbers = other.numbers
        members = other.members
        spans = other.spans
        blocks = other.blocks
        deletedRanges = other.deletedRanges
        keys = other.keys
        changes = other.changes
        actions = other.actions
        serverSettings = other.serverSettings
        mentions = other.mentions
        messages = other.messages
        places = other.places
        users = other.users
        moderation = other.moderation
        deliveries = other.deliveries
        people = other.people
        threadStates = other.threadStates
        drafts = other.drafts
        scheduled = other.scheduled
        cancelled = other.cancelled
        incomingWebhooks = other.incomingWebhooks
        administration = other.administration
        push = other.push
        incarnationRows = other.incarnationRows
        media = other.media
        uses = other.uses
        uploads = other.uploads
    }

    func change<Value>(_ path: ReferenceWritableKeyPath<MemoryRows, Value>, _ value: Value) {
        let old = self[keyPath: path]
        undo.append { [unowned self] in self[keyPath: path] = old }
        self[keyPath: path] = value
    }

    func append<Row>(_ row: Row, to path: ReferenceWritableKeyPath<MemoryRows, [Row]?>) {
        if self[keyPath: path] == nil { change(path, []) }
        self[keyPath: path]?.append(row)
        undo.append { [unowned self] in self[keyPath: path]?.removeLast() }
    }

    // MARK: Reading

    func incarnations() -> [IncarnationRow] { incarnationRows }

    func conversation(_ id: ConversationID) -> ConversationRow? { numbers[id].flatMap { conversations[$0] } }
    func conversation(numbered number: Int64) -> ConversationRow? { conversations[number] }

    func channels(of community: Identifier, after: Identifier?, limit: Int) -> [ConversationRow] {
        let all = conversations.values.filter { row in
            guard row.id.kind == .community, row.id.target == community, let channel = row.id.part else { return false }
            return after.map { $0 < channel } ?? true
        }
        return Array(all.sorted { $0.id < $1.id }.prefix(limit))
    }

    func member(_ user: UserID, of conversation: Int64) -> MemberRow? {
        members[Key(conversation: conversation, user: user)]
    }

    func members(of conversation: Int64, after: UserID?, limit: Int) -> [MemberRow] {
        let all = members.values.filter { row in
            row.conversation == conversation && row.standing == .member && (after.map { $0 < row.user } ?? true)
        }
        return Array(all.sorted { $0.user < $1.user }.prefix(limit))
    }

    func memberships(of user: UserID) -> [MemberRow] {
        members.values.filter { $0.user == user }.sorted { $0.conversation < $1.conversation }
    }

    func spans(of user: UserID, in conversation: Int64) -> [SpanRow] {
        spans[Key(conversation: conversation, user: user)] ?? []
    }

    func bits(_ set: BitSet, of conversation: Int64, blocks wanted: ClosedRange<Int64>) -> [BitBlock] {
        let all = blocks[SetKey(conversation: conversation, set: set)] ?? [:]
        return all.values.filter { wanted.contains($0.index) }.sorted { $0.index < $1.index }
    }

    func deletedRanges(of user: UserID?, in conversation: Int64) -> [DeletedRangeRow] {
        deletedRanges[OwnerKey(conversation: conversation, user: user)] ?? []
    }

    func mentions(of user: UserID, in conversation: Int64, above seq: Seq) -> [Seq] {
        let mine = mentions[conversation]?.filter {
            $0.seq > seq && $0.sender != user && ($0.user == nil || $0.user == user)
        }
        return Set(mine?.map(\.seq) ?? []).sorted()
    }

    func message(at seq: Seq, in conversation: Int64) -> MessageRow? {
        guard let row = message(atOrBelow: seq, in: conversation), row.seq == seq else { return nil }
        return row
    }

    func message(_ id: MessageID, in conversation: Int64) -> MessageRow? {
        places[conversation]?[id].flatMap { message(at: $0, in: conversation) }
    }

    func position(atOrBelow seq: Seq, in conversation: Int64) -> PositionRow? {
        message(atOrBelow: seq, in: conversation).map {
            PositionRow(seq: $0.seq, countedIndex: $0.countedIndex, timetoken: $0.timetoken)
        }
    }

    func message(atOrBelow seq: Seq, in conversation: Int64) -> MessageRow? {
        guard let log = messages[conversation] else { return nil }
        let index = Self.index(in: log, above: seq)
        return index > 0 ? log[index - 1] : nil
    }

    func messages(
        in conversation: Int64, _ range: SeqRange, newestFirst: Bool, budget: inout ResponseBudget,
        filter: MessageFilter,
        reader: UserID
    ) -> [MessageRow] {
        guard !budget.isFull, let log = messages[conversation] else { return [] }
        let slice = log[Self.index(in: log, above: range.lowerBound - 1)..<Self.index(in: log, above: range.upperBound)]
        let unnamed = ConversationID.room("unnamed")
        func passes(_ row: MessageRow) -> Bool {
            filter == .all || filter.matches(row.message(in: unnamed, epoch: Epoch(rawValue: 0)), reader: reader)
        }
        var rows: [MessageRow] = []
        for index in 0..<slice.count {
            let row = slice[newestFirst ? slice.endIndex - 1 - index : slice.startIndex + index]
            guard passes(row) else { continue }
            guard budget.take(row) else { break }
            rows.append(row)
            if budget.isFull { break }
        }
        return rows
    }

    func conversations(withMessage id: MessageID, limit: Int) -> [Int64] {
        Array(places.filter { $0.value[id] != nil }.keys.sorted().prefix(limit))
    }

    func replies(in thread: MessageID, of conversation: Int64, until time: Timetoken) -> ReplySummary? {
        let found = (messages[conversation] ?? []).filter {
            $0.thread == thread && $0.timetoken <= time && !$0.isDeleted
        }
        return found.last.map { ReplySummary(count: Int64(found.count), lastReplyAt: $0.timetoken) }
    }

    func key(_ id: MessageID, in conversation: Int64) -> KeyRow? { keys[conversation]?[id] }

    func changes(in conversation: Int64, after rev: Int64, limit: Int) -> [ChangeRow] {
        Array((changes[conversation] ?? []).filter { $0.rev > rev }.prefix(limit))
    }

    func change(_ operation: MessageID, in conversation: Int64) -> ChangeRow? {
        changes[conversation]?.first { $0.operation == operation }
    }

    func user(_ id: UserID) -> UserRow? { users[id] }

    func conversations(after number: Int64, limit: Int) -> [ConversationRow] {
        Array(conversations.values.filter { $0.number > number }.sorted { $0.number < $1.number }.prefix(limit))
    }

    func conversationNumbers(after number: Int64, committedAfter lastCommit: Int64, limit: Int) -> [Int64] {
        let changed = conversations.values.filter { $0.number > number && $0.lastCommit > lastCommit }
        return Array(changed.map(\.number).sorted().prefix(limit))
    }

    func settings() -> RawJSON? { serverSettings }

    static func index(in log: [MessageRow], above seq: Seq) -> Int {
        var low = 0
        var high = log.count
        while low < high {
            let middle = (low + high) / 2
            if log[middle].seq <= seq { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Writing

    func put(_ conversation: inout ConversationRow) {
        if conversation.number == 0 {
            conversation.number = numbers[conversation.id] ?? Int64(conversations.count + 1)
        }
        change(\.numbers[conversation.id], conversation.number)
        change(\.conversations[conversation.number], conversation)
    }

    func put(_ member: MemberRow) {
        change(\.members[Key(conversation: member.conversation, user: member.user)], member)
    }

    func put(_ user: UserRow) {
        change(\.users[user.profile.id], user)
    }

    func insert(_ message: MessageRow, in conversation: Int64) throws {
        let last = messages[conversation]?.last?.seq ?? 0
        guard message.seq > last, places[conversation]?[message.id] == nil else {
            throw ChatError(
                .internalError,
                "Position \(message.seq) or the message's ID is already used in conversation \(conversation).")
        }
        messages[conversation, default: []].append(message)
        places[conversation, default: [:]][message.id] = message.seq
        undo.append { [unowned self] in
            messages[conversation]?.removeLast()
            places[conversation]?[message.id] = nil
        }
    }

    func put(_ span: SpanRow, of user: UserID, in conversation: Int64) {
        let key = Key(conversation: conversation, user: user)
        var all = spans[key] ?? []
        if let index = all.firstIndex(where: { $0.joined == span.joined }) {
            all[index] = span
        } else {
            all.append(span)
            all.sort { $0.joined < $1.joined }
        }
        change(\.spans[key], all)
    }

    func put(_ block: BitBlock, of set: BitSet, in conversation: Int64) {
        let key = SetKey(conversation: conversation, set: set)
        var all = blocks[key] ?? [:]
        all[block.index] = block
        change(\.blocks[key], all)
    }

    func dropBits(_ set: BitSet, of conversation: Int64, below block: Int64) {
        let key = SetKey(conversation: conversation, set: set)
        change(\.blocks[key], blocks[key]?.filter { $0.key >= block })
    }

    func put(_ deletedRange: DeletedRangeRow, of user: UserID?, in conversation: Int64) {
        dropDeletedRange(from: deletedRange.places.lowerBound, of: user, in: conversation)
        let key = OwnerKey(conversation: conversation, user: user)
        let all = (deletedRanges[key] ?? []) + [deletedRange]
        change(\.deletedRanges[key], all.sorted { $0.places.lowerBound < $1.places.lowerBound })
    }

    func dropDeletedRange(from seq: Seq, of user: UserID?, in conversation: Int64) {
        let key = OwnerKey(conversation: conversation, user: user)
        change(\.deletedRanges[key], deletedRanges[key]?.filter { $0.places.lowerBound != seq })
    }

    func insertMention(of user: UserID?, by sender: UserID, at seq: Seq, in conversation: Int64) {
        append(Mention(user: user, sender: sender, seq: seq), to: \.mentions[conversation])
    }

    func dropMention(of user: UserID?, at seq: Seq, in conversation: Int64) {
        change(\.mentions[conversation], mentions[conversation]?.filter { $0.seq != seq || $0.user != user })
    }

    func update(_ message: MessageRow, in conversation: Int64) throws {
        let index = Self.index(in: messages[conversation] ?? [], above: message.seq) - 1
        guard index >= 0, let old = messages[conversation]?[index], old.seq == message.seq else {
            throw ChatError(.internalError, "There is no message at \(message.seq) in conversation \(conversation).")
        }
        messages[conversation]?[index] = message
        undo.append { [unowned self] in messages[conversation]?[index] = old }
    }

    func removeMessages(_ places: SeqRange, in conversation: Int64) {
        let gone = messages[conversation]?.filter { places.contains($0.seq) } ?? []
        var ids = self.places[conversation] ?? [:]
        for row in gone { ids[row.id] = nil }
        change(\.messages[conversation], messages[conversation]?.filter { !places.contains($0.seq) })
        change(\.places[conversation], ids)
        change(\.actions[conversation], actions[conversation]?.filter { !places.contains($0.seq) })
    }

    func insert(_ key: KeyRow, in conversation: Int64) {
        let old = keys[conversation]?[key.id]
        keys[conversation, default: [:]][key.id] = key
        undo.append { [unowned self] in keys[conversation]?[key.id] = old }
    }

    func dropKeys(before time: Timetoken, limit: Int) -> Int {
        var left = limit
        for (conversation, known) in keys where left > 0 {
            let old = known.values.filter { $0.timetoken < time }.prefix(left)
            left -= old.count
            let ids = Set(old.map(\.id))
            if !ids.isEmpty { change(\.keys[conversation], known.filter { !ids.contains($0.key) }) }
        }
        return limit - left
    }

    func insert(_ row: ChangeRow, in conversation: Int64) {
        append(row, to: \.changes[conversation])
    }

    func dropChanges(in conversation: Int64, through rev: Int64) {
        change(\.changes[conversation], changes[conversation]?.filter { $0.rev > rev })
    }

    func begin(_ incarnation: IncarnationRow) {
        change(\.incarnationRows, incarnationRows + [incarnation])
    }

    func put(settings: RawJSON) {
        change(\.serverSettings, settings)
    }

    func erase(_ conversation: Int64) {
        change(\.messages[conversation], nil)
        change(\.places[conversation], nil)
        change(\.mentions[conversation], nil)
        change(\.keys[conversation], nil)
        change(\.changes[conversation], nil)
        change(\.actions[conversation], nil)
        changeModeration { $0.erase(conversation) }
        erasePeople(of: conversation)
        for key in threadStates.keys where key.conversation == conversation { change(\.threadStates[key], nil) }
        erasePushes(of: conversation)
        for key in spans.keys where key.conversation == conversation { change(\.spans[key], nil) }
        for key in blocks.keys where key.conversation == conversation { change(\.blocks[key], nil) }
        for key in deletedRanges.keys where key.conversation == conversation { change(\.deletedRanges[key], nil) }
        for (key, row) in members where key.conversation == conversation {
            let left = MemberRow(conversation: conversation, user: row.user, standing: .left)
            change(\.members[key], row.standing == .reader ? nil : left)
        }
    }
}
