import ScrollbackEngine
import ScrollbackModel

/// The rows that a transaction or a snapshot has read together, because its rules will probably need them.
///
/// A transaction reads them in the round trip in which it begins. A snapshot can read more of them later.
///
/// `PostgresReader` looks here first. A statement that changes a table makes it forget the table's rows. Only the
/// callers of `PostgresConnection.gather` update the rows instead, with `put`.
final class ReadAhead {
    struct MemberKey: Hashable {
        var conversation: Int64
        var user: UserID
    }

    struct MessageKey: Hashable {
        var conversation: Int64
        var id: MessageID
    }

    struct BitsKey: Hashable {
        var conversation: Int64
        var set: BitSet
    }

    struct ThreadKey: Hashable {
        var conversation: Int64
        var thread: MessageID
        var user: UserID
    }

    /// A user's actions on one message.
    struct ActionKey: Hashable {
        var conversation: Int64
        var seq: Seq
        var sender: UserID
    }

    /// A search for the newest message at or before a time, between two sequence numbers.
    struct TimeKey: Hashable {
        var conversation: Int64
        var low: Seq
        var high: Seq
        var time: Int64
    }

    /// The blocks of a set from one on, by their index.
    struct Bits {
        var first: Int64
        var blocks: [Int64: BitBlock] = [:]
    }

    // Only the queries in the other files change these. The value is `nil` for a row that does not exist.
    var conversations: [ConversationID: ConversationRow?] = [:]
    var names: [Int64: ConversationID] = [:]
    var members: [MemberKey: MemberRow?] = [:]
    var messages: [MessageKey: MessageRow?] = [:]
    var keys: [MessageKey: KeyRow?] = [:]
    var usage: [UserID: UsageRow?] = [:]
    var users: [UserID: UserRow?] = [:]
    var spans: [MemberKey: [SpanRow]] = [:]
    /// The deleted ranges of users, and those for everyone with an empty user ID.
    var deletedRanges: [MemberKey: [DeletedRangeRow]] = [:]
    var receipts: [MemberKey: ReceiptRow] = [:]
    /// The positions at or below sequence numbers.
    var positions: [Int64: [Seq: PositionRow?]] = [:]
    var times: [TimeKey: Seq] = [:]
    var pushUsers: [UserID: PushUserRow?] = [:]
    var unmuted: Set<MemberKey> = []
    var unbanned: Set<MemberKey> = []
    /// The sequence number above which no message by others mentions the user.
    var unmentioned: [MemberKey: Seq] = [:]
    var bits: [BitsKey: Bits] = [:]
    /// The first user who receives pushes of all messages in a conversation.
    var firstRecipients: [Int64: UserID?] = [:]
    /// The changes with operation IDs.
    var operations: [MessageKey: ChangeRow?] = [:]
    var actions: [ActionKey: [ActionRow]] = [:]
    /// The newest time of any action.
    var lastActions: [Int64: Timetoken?] = [:]
    var threadStates: [ThreadKey: ThreadStateRow?] = [:]
    var media: [MediaID: MediaRow?] = [:]
    /// The number of members of groups, counted up to ``maximumMembers``.
    var memberCounts: [Int64: Int] = [:]
    /// The rows that only reads need.
    var snapshot = SnapshotRows()

    /// The user ID in the columns of rows that concern everyone.
    static let everyone = UserID(known: "")
    /// The maximum number of deleted ranges to read ahead.
    static let maximumDeletedRanges = 200
    /// The number up to which members are counted.
    static let maximumMembers = ReceiptRow.maximumMembers + 1

    // MARK: Lookups

    // Each returns `nil` if it is not known.

    func conversation(_ id: ConversationID) -> ConversationRow?? { conversations[id] }

    func conversation(numbered number: Int64) -> ConversationRow?? { names[number].flatMap { conversations[$0] } }

    func member(_ user: UserID, of conversation: Int64) -> MemberRow?? {
        members[MemberKey(conversation: conversation, user: user)]
    }

    func message(_ id: MessageID, in conversation: Int64) -> MessageRow?? {
        messages[MessageKey(conversation: conversation, id: id)]
    }

    func key(_ id: MessageID, in conversation: Int64) -> KeyRow?? {
        keys[MessageKey(conversation: conversation, id: id)]
    }

    func usage(of user: UserID) -> UsageRow?? { usage[user] }

    func user(_ id: UserID) -> UserRow?? { users[id] }

    func spans(of user: UserID, in conversation: Int64) -> [SpanRow]? {
        spans[MemberKey(conversation: conversation, user: user)]
    }

    func deletedRanges(of user: UserID?, in conversation: Int64) -> [DeletedRangeRow]? {
        let known = deletedRanges[MemberKey(conversation: conversation, user: user ?? Self.everyone)]
        return known.flatMap { $0.count <= Self.maximumDeletedRanges ? $0 : nil }
    }

    func receipt(of user: UserID, in conversation: Int64) -> ReceiptRow? {
        receipts[MemberKey(conversation: conversation, user: user)]
    }

    func position(atOrBelow seq: Seq, in conversation: Int64) -> PositionRow?? {
        guard let known = positions[conversation] else { return nil }
        return known[seq]
    }

    func position(atOrBefore time: Int64, in row: ConversationRow, above low: Seq) -> Seq? {
        times[TimeKey(conversation: row.number, low: low, high: row.head, time: time)]
    }

    func pushUser(_ user: UserID) -> PushUserRow?? { pushUsers[user] }

    func isUnmuted(_ user: UserID, in conversation: Int64) -> Bool {
        unmuted.contains(MemberKey(conversation: conversation, user: user))
    }

    func isUnbanned(_ user: UserID, in conversation: Int64) -> Bool {
        unbanned.contains(MemberKey(conversation: conversation, user: user))
    }

    func isUnmentioned(_ user: UserID, in conversation: Int64, above seq: Seq) -> Bool {
        unmentioned[MemberKey(conversation: conversation, user: user)].map { $0 <= seq } ?? false
    }

    func bits(_ set: BitSet, of conversation: Int64, blocks: ClosedRange<Int64>) -> [BitBlock]? {
        guard let known = bits[BitsKey(conversation: conversation, set: set)], known.first <= blocks.lowerBound else {
            return nil
        }
        return known.blocks.values.filter { blocks.contains($0.index) }.sorted { $0.index < $1.index }
    }

    func firstRecipient(of conversation: Int64) -> UserID?? { firstRecipients[conversation] }

    func change(_ operation: MessageID, in conversation: Int64) -> ChangeRow?? {
        operations[MessageKey(conversation: conversation, id: operation)]
    }

    func actions(at seq: Seq, by sender: UserID, in conversation: Int64) -> [ActionRow]? {
        actions[ActionKey(conversation: conversation, seq: seq, sender: sender)]
    }

    func lastAction(in conversation: Int64) -> Timetoken?? { lastActions[conversation] }

    func threadState(of user: UserID, in thread: MessageID, of conversation: Int64) -> ThreadStateRow?? {
        threadStates[ThreadKey(conversation: conversation, thread: thread, user: user)]
    }

    func media(_ id: MediaID) -> MediaRow?? { media[id] }

    func memberCount(of conversation: Int64, limit: Int) -> Int? {
        guard limit <= Self.maximumMembers else { return nil }
        return memberCounts[conversation].map { min($0, limit) }
    }

    // MARK: Changes

    func put(_ row: UsageRow, of user: UserID) { usage[user] = .some(row) }

    func put(_ row: ConversationRow) {
        conversations[row.id] = .some(row)
        names[row.number] = row.id
        snapshot = SnapshotRows()
    }

    func put(_ row: MemberRow) {
        let key = MemberKey(conversation: row.conversation, user: row.user)
        if members[key]??.standing != row.standing { memberCounts[row.conversation] = nil }
        members[key] = .some(row)
    }

    func put(_ row: UserRow) { users[row.profile.id] = .some(row) }

    func put(_ row: ReceiptRow, of user: UserID, in conversation: Int64) {
        receipts[MemberKey(conversation: conversation, user: user)] = row
    }

    func put(_ row: MessageRow, in conversation: Int64) {
        positions[conversation] = positions[conversation]?.filter { $0.key < row.seq }
        messages[MessageKey(conversation: conversation, id: row.id)] = .some(row)
    }

    func put(_ block: BitBlock, of set: BitSet, in conversation: Int64) {
        let key = BitsKey(conversation: conversation, set: set)
        if let known = bits[key], known.first <= block.index { bits[key]?.blocks[block.index] = block }
    }

    func dropBits(_ set: BitSet, of conversation: Int64, below block: Int64) {
        let key = BitsKey(conversation: conversation, set: set)
        guard let known = bits[key]?.blocks else { return }
        bits[key]?.blocks = known.filter { $0.key >= block }
    }

    func put(_ row: ChangeRow, in conversation: Int64) {
        guard let operation = row.operation else { return }
        operations[MessageKey(conversation: conversation, id: operation)] = .some(row)
    }

    /// Adds a new action.
    func put(_ row: ActionRow, in conversation: Int64) {
        if let known = lastActions[conversation] {
            lastActions[conversation] = .some(max(row.timetoken, known ?? row.timetoken))
        }
        let key = ActionKey(conversation: conversation, seq: row.seq, sender: row.sender)
        actions[key]?.append(row)
    }

    func put(_ row: ThreadStateRow, of user: UserID, in conversation: Int64) {
        threadStates[ThreadKey(conversation: conversation, thread: row.thread, user: user)] = .some(row)
    }

    func put(_ row: MediaRow) { media[row.id] = .some(row) }

    /// - Parameters:
    ///   - user: The mentioned user; `nil` for everyone.
    ///   - sender: The sender of the message, who is not mentioned.
    func putMention(of user: UserID?, by sender: UserID, in conversation: Int64) {
        for key in unmentioned.keys where key.conversation == conversation && key.user != sender {
            if user == nil || user == key.user { unmentioned[key] = nil }
        }
    }

    /// Forgets the rows of tables.
    func forget(_ tables: Set<String>) {
        if !tables.isEmpty { snapshot = SnapshotRows() }
        for table in tables {
            switch table {
            case "conversation": conversations = [:]
            case "member": (members, memberCounts) = ([:], [:])
            case "message": (messages, positions, times) = ([:], [:], [:])
            case "messageKey": keys = [:]
            case "usage": usage = [:]
            case "person": users = [:]
            case "span": spans = [:]
            case "deletedRange": deletedRanges = [:]
            case "receipt": receipts = [:]
            case "pushUser": pushUsers = [:]
            case "mute": unmuted = []
            case "ban": unbanned = []
            case "mention": unmentioned = [:]
            case "bits": bits = [:]
            case "pushLevel": firstRecipients = [:]
            case "change": operations = [:]
            case "action": (actions, lastActions) = ([:], [:])
            case "threadState": threadStates = [:]
            case "media": media = [:]
            default: break
            }
        }
    }
}
