package import ScrollbackModel
import Synchronization

/// A store in memory, for tests and for apps' tests.
///
/// Nothing survives the process.
package final class MemoryStore: MessageStore {
    package let generation: UInt64
    private let rows = MemoryRows()
    /// Apart from the rows, whose lock is held while a read or a transaction asks for these.
    private let position = Mutex((moved: Int64(0), newest: Timetoken(rawValue: 0)))

    package init(generation: UInt64) {
        self.generation = generation
    }

    package var moved: Int64 { position.withLock { $0.moved } }
    package var newest: Timetoken { position.withLock { $0.newest } }

    package func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer {
        try rows.lock.withLock { _ in try body(rows) }
    }

    package func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        try rows.lock.withLock { _ in
            rows.undo.removeAll()
            do {
                let commit = moved + 1
                let answer = try body(rows, commit)
                position.withLock { $0 = (commit, max($0.newest, rows.newest)) }
                return answer
            } catch {
                for step in rows.undo.reversed() { step() }
                throw error
            }
        }
    }
}

/// The rows of a ``MemoryStore``.
///
/// `@unchecked Sendable`: its lock is held around every use. Each change leaves a step that takes it back.
private final class MemoryRows: StoreWriter, @unchecked Sendable {
    let lock = Mutex(())
    var undo: [() -> Void] = []

    private struct Key: Hashable {
        var conversation: Int64
        var user: UserID
    }

    private struct Mention {
        var user: UserID?
        var sender: UserID
        var seq: Seq
    }

    private var conversations: [Int64: ConversationRow] = [:]
    private var numbers: [ConversationID: Int64] = [:]
    private var members: [Key: MemberRow] = [:]
    private var spans: [Key: [SpanRow]] = [:]
    private var hidden: [Key: [HiddenRow]] = [:]
    private var mentions: [Int64: [Mention]] = [:]
    /// By place, lowest first.
    private var messages: [Int64: [MessageRow]] = [:]
    private var places: [Int64: [MessageID: Seq]] = [:]
    private var users: [UserID: UserRow] = [:]

    var newest: Timetoken { conversations.values.map(\.timetoken).max() ?? Timetoken(rawValue: 0) }

    private func change<Value>(_ path: ReferenceWritableKeyPath<MemoryRows, Value>, _ value: Value) {
        let old = self[keyPath: path]
        undo.append { [unowned self] in self[keyPath: path] = old }
        self[keyPath: path] = value
    }

    // MARK: Questions

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

    func firstHidden(of user: UserID, in conversation: Int64) -> HiddenRow? {
        hidden[Key(conversation: conversation, user: user)]?.first
    }

    func hidden(of user: UserID, in conversation: Int64, atOrBelowN n: Int64) -> HiddenRow? {
        hidden[Key(conversation: conversation, user: user)]?.last { $0.lowerN <= n }
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

    func message(atOrBelow seq: Seq, in conversation: Int64) -> MessageRow? {
        guard let log = messages[conversation] else { return nil }
        let index = Self.index(in: log, above: seq)
        return index > 0 ? log[index - 1] : nil
    }

    func messages(
        in conversation: Int64, _ range: SeqRange, newestFirst: Bool, room: inout PageRoom, filter: MessageFilter,
        reader: UserID
    ) -> [MessageRow] {
        guard !room.isFull, let log = messages[conversation] else { return [] }
        let slice = log[Self.index(in: log, above: range.lowerBound - 1)..<Self.index(in: log, above: range.upperBound)]
        let unnamed = ConversationID.room("unnamed")
        func passes(_ row: MessageRow) -> Bool {
            filter == .all || filter.matches(row.message(in: unnamed, epoch: Epoch(rawValue: 0)), reader: reader)
        }
        var rows: [MessageRow] = []
        for index in 0..<slice.count {
            let row = slice[newestFirst ? slice.endIndex - 1 - index : slice.startIndex + index]
            guard passes(row) else { continue }
            guard room.take(row) else { break }
            rows.append(row)
            if room.isFull { break }
        }
        return rows
    }

    func user(_ id: UserID) -> UserRow? { users[id] }

    private static func index(in log: [MessageRow], above seq: Seq) -> Int {
        var low = 0
        var high = log.count
        while low < high {
            let middle = (low + high) / 2
            if log[middle].seq <= seq { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Changes

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
            throw ChatError(.internalError, "place \(message.seq) or its id is taken in conversation \(conversation)")
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

    func put(_ run: HiddenRow, of user: UserID, in conversation: Int64) {
        let key = Key(conversation: conversation, user: user)
        var all = hidden[key] ?? []
        if let index = all.firstIndex(where: { $0.lowerN == run.lowerN }) {
            all[index] = run
        } else {
            all.append(run)
            all.sort { $0.lowerN < $1.lowerN }
        }
        change(\.hidden[key], all)
    }

    func dropHidden(of user: UserID, in conversation: Int64, throughN n: Int64) {
        let key = Key(conversation: conversation, user: user)
        change(\.hidden[key], hidden[key]?.filter { $0.upperN > n })
    }

    func insertMention(of user: UserID?, by sender: UserID, at seq: Seq, in conversation: Int64) {
        change(
            \.mentions[conversation],
            (mentions[conversation] ?? []) + [Mention(user: user, sender: sender, seq: seq)])
    }

    func erase(_ conversation: Int64) {
        change(\.messages[conversation], nil)
        change(\.places[conversation], nil)
        change(\.mentions[conversation], nil)
        for key in Set(spans.keys).union(hidden.keys) where key.conversation == conversation {
            change(\.spans[key], nil)
            change(\.hidden[key], nil)
        }
        for (key, row) in members where key.conversation == conversation {
            let left = MemberRow(conversation: conversation, user: row.user, standing: .left)
            change(\.members[key], row.standing == .reader ? nil : left)
        }
    }
}
