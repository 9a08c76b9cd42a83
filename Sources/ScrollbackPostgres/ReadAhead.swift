import ScrollbackEngine
import ScrollbackModel

/// The rows that a transaction or a snapshot has read together, because its rules will probably need them.
///
/// A transaction reads them in the round trip in which it begins. A snapshot can read more of them later.
///
/// `PostgresReader` looks here first. A statement that changes a table makes it forget the table's rows. Only the
/// callers of `PostgresConnection.gather` update the rows instead, with `put`.
final class ReadAhead {
    struct Place: Hashable {
        var conversation: Int64
        var user: UserID
    }

    struct MessagePlace: Hashable {
        var conversation: Int64
        var id: MessageID
    }

    struct BitsPlace: Hashable {
        var conversation: Int64
        var set: BitSet
    }

    struct ThreadPlace: Hashable {
        var conversation: Int64
        var thread: MessageID
        var user: UserID
    }

    /// A user's actions of one type on one message.
    struct ActionPlace: Hashable {
        var conversation: Int64
        var seq: Seq
        var sender: UserID
        var type: String
    }

    /// A search for the newest message at or before a time, between two sequence numbers.
    struct TimePlace: Hashable {
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
    var members: [Place: MemberRow?] = [:]
    var messages: [MessagePlace: MessageRow?] = [:]
    var keys: [MessagePlace: KeyRow?] = [:]
    var usage: [UserID: UsageRow?] = [:]
    var users: [UserID: UserRow?] = [:]
    var spans: [Place: [SpanRow]] = [:]
    /// The deleted ranges of users, and those for everyone with an empty user ID.
    var deletedRanges: [Place: [DeletedRangeRow]] = [:]
    var receipts: [Place: ReceiptRow] = [:]
    /// The positions at or below sequence numbers.
    var positions: [Int64: [Seq: PositionRow?]] = [:]
    var times: [TimePlace: Seq] = [:]
    var pushUsers: [UserID: PushUserRow?] = [:]
    var unmuted: Set<Place> = []
    var unbanned: Set<Place> = []
    /// The sequence number above which no message by others mentions the user.
    var unmentioned: [Place: Seq] = [:]
    var bits: [BitsPlace: Bits] = [:]
    /// The first user who receives pushes of all messages in a conversation.
    var firstRecipients: [Int64: UserID?] = [:]
    /// The changes with operation IDs.
    var operations: [MessagePlace: ChangeRow?] = [:]
    var actions: [ActionPlace: [ActionRow]] = [:]
    /// The newest time of any action.
    var lastActions: [Int64: Timetoken?] = [:]
    var threadStates: [ThreadPlace: ThreadStateRow?] = [:]
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
        members[Place(conversation: conversation, user: user)]
    }

    func message(_ id: MessageID, in conversation: Int64) -> MessageRow?? {
        messages[MessagePlace(conversation: conversation, id: id)]
    }

    func key(_ id: MessageID, in conversation: Int64) -> KeyRow?? {
        keys[MessagePlace(conversation: conversation, id: id)]
    }

    func usage(of user: UserID) -> UsageRow?? { usage[user] }

    func user(_ id: UserID) -> UserRow?? { users[id] }

    func spans(of user: UserID, in conversation: Int64) -> [SpanRow]? {
        spans[Place(conversation: conversation, user: user)]
    }

    func deletedRanges(of user: UserID?, in conversation: Int64) -> [DeletedRangeRow]? {
        let known = deletedRanges[Place(conversation: conversation, user: user ?? Self.everyone)]
        return known.flatMap { $0.count <= Self.maximumDeletedRanges ? $0 : nil }
    }

    func receipt(of user: UserID, in conversation: Int64) -> ReceiptRow? {
        receipts[Place(conversation: conversation, user: user)]
    }

    func position(atOrBelow seq: Seq, in conversation: Int64) -> PositionRow?? {
        guard let known = positions[conversation] else { return nil }
        return known[seq]
    }

    func position(atOrBefore time: Int64, in row: ConversationRow, above low: Seq) -> Seq? {
        times[TimePlace(conversation: row.number, low: low, high: row.head, time: time)]
    }

    func pushUser(_ user: UserID) -> PushUserRow?? { pushUsers[user] }

    func isUnmuted(_ user: UserID, in conversation: Int64) -> Bool {
        unmuted.contains(Place(conversation: conversation, user: user))
    }

    func isUnbanned(_ user: UserID, in conversation: Int64) -> Bool {
        unbanned.contains(Place(conversation: conversation, user: user))
    }

    func isUnmentioned(_ user: UserID, in conversation: Int64, above seq: Seq) -> Bool {
        unmentioned[Place(conversation: conversation, user: user)].map { $0 <= seq } ?? false
    }

    func bits(_ set: BitSet, of conversation: Int64, blocks: ClosedRange<Int64>) -> [BitBlock]? {
        guard let known = bits[BitsPlace(conversation: conversation, set: set)], known.first <= blocks.lowerBound else {
            return nil
        }
        return known.blocks.values.filter { blocks.contains($0.index) }.sorted { $0.index < $1.index }
    }

    func firstRecipient(of conversation: Int64) -> UserID?? { firstRecipients[conversation] }

    func change(_ operation: MessageID, in conversation: Int64) -> ChangeRow?? {
        operations[MessagePlace(conversation: conversation, id: operation)]
    }

    func actions(at seq: Seq, _ sender: UserID, type: String, in conversation: Int64) -> [ActionRow]? {
        actions[ActionPlace(conversation: conversation, seq: seq, sender: sender, type: type)]
    }

    func lastAction(in conversation: Int64) -> Timetoken?? { lastActions[conversation] }

    func threadState(of user: UserID, in thread: MessageID, of conversation: Int64) -> ThreadStateRow?? {
        threadStates[ThreadPlace(conversation: conversation, thread: thread, user: user)]
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
        let place = Place(conversation: row.conversation, user: row.user)
        if members[place]??.standing != row.standing { memberCounts[row.conversation] = nil }
        members[place] = .some(row)
    }

    func put(_ row: UserRow) { users[row.profile.id] = .some(row) }

    func put(_ row: ReceiptRow, of user: UserID, in conversation: Int64) {
        receipts[Place(conversation: conversation, user: user)] = row
    }

    func put(_ row: MessageRow, in conversation: Int64) {
        positions[conversation] = positions[conversation]?.filter { $0.key < row.seq }
        messages[MessagePlace(conversation: conversation, id: row.id)] = .some(row)
    }

    func put(_ block: BitBlock, of set: BitSet, in conversation: Int64) {
        let place = BitsPlace(conversation: conversation, set: set)
        if let known = bits[place], known.first <= block.index { bits[place]?.blocks[block.index] = block }
    }

    func dropBits(_ set: BitSet, of conversation: Int64, below block: Int64) {
        let place = BitsPlace(conversation: conversation, set: set)
        guard let known = bits[place]?.blocks else { return }
        bits[place]?.blocks = known.filter { $0.key >= block }
    }

    func put(_ row: ChangeRow, in conversation: Int64) {
        guard let operation = row.operation else { return }
        operations[MessagePlace(conversation: conversation, id: operation)] = .some(row)
    }

    /// Adds a new action.
    func put(_ row: ActionRow, in conversation: Int64) {
        if let known = lastActions[conversation] {
            lastActions[conversation] = .some(max(row.timetoken, known ?? row.timetoken))
        }
        let place = ActionPlace(conversation: conversation, seq: row.seq, sender: row.sender, type: row.type)
        actions[place]?.append(row)
    }

    func put(_ row: ThreadStateRow, of user: UserID, in conversation: Int64) {
        threadStates[ThreadPlace(conversation: conversation, thread: row.thread, user: user)] = .some(row)
    }

    func put(_ row: MediaRow) { media[row.id] = .some(row) }

    /// - Parameters:
    ///   - user: The mentioned user; `nil` for everyone.
    ///   - sender: The sender of the message, who is not mentioned.
    func putMention(of user: UserID?, by sender: UserID, in conversation: Int64) {
        for place in unmentioned.keys where place.conversation == conversation && place.user != sender {
            if user == nil || user == place.user { unmentioned[place] = nil }
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
