import ScrollbackEngine
import ScrollbackModel

/// The rows that a transaction reads in the round trip in which it begins, because its changes will probably need them.
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

    /// The blocks of a set from one on, by their index.
    private struct Bits {
        var first: Int64
        var blocks: [Int64: BitBlock] = [:]
    }

    // The value is `nil` for a row that does not exist.
    private var conversations: [ConversationID: ConversationRow?] = [:]
    private var members: [Place: MemberRow?] = [:]
    private var messages: [MessagePlace: MessageRow?] = [:]
    private var keys: [MessagePlace: KeyRow?] = [:]
    private var usage: [UserID: UsageRow?] = [:]
    private var users: [UserID: UserRow?] = [:]
    private var spans: [Place: [SpanRow]] = [:]
    private var receipts: [Place: ReceiptRow] = [:]
    /// The positions at or below sequence numbers.
    private var positions: [Int64: [Seq: PositionRow?]] = [:]
    private var pushUsers: [UserID: PushUserRow?] = [:]
    private var unmuted: Set<Place> = []
    private var unbanned: Set<Place> = []
    /// The sequence number above which no message by others mentions the user.
    private var unmentioned: [Place: Seq] = [:]
    private var bits: [BitsPlace: Bits] = [:]
    /// The first user who receives pushes of all messages in a conversation.
    private var firstRecipients: [Int64: UserID?] = [:]

    // MARK: Lookups

    // Each returns `nil` if it is not known.

    func conversation(_ id: ConversationID) -> ConversationRow?? { conversations[id] }

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

    func receipt(of user: UserID, in conversation: Int64) -> ReceiptRow? {
        receipts[Place(conversation: conversation, user: user)]
    }

    func position(atOrBelow seq: Seq, in conversation: Int64) -> PositionRow?? {
        guard let known = positions[conversation] else { return nil }
        return known[seq]
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

    // MARK: Changes

    func put(_ row: UsageRow, of user: UserID) { usage[user] = .some(row) }

    func put(_ row: ConversationRow) { conversations[row.id] = .some(row) }

    func put(_ row: MemberRow) { members[Place(conversation: row.conversation, user: row.user)] = .some(row) }

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
        for table in tables {
            switch table {
            case "conversation": conversations = [:]
            case "member": members = [:]
            case "message": (messages, positions) = ([:], [:])
            case "messageKey": keys = [:]
            case "usage": usage = [:]
            case "person": users = [:]
            case "span": spans = [:]
            case "receipt": receipts = [:]
            case "pushUser": pushUsers = [:]
            case "mute": unmuted = []
            case "ban": unbanned = []
            case "mention": unmentioned = [:]
            case "bits": bits = [:]
            case "pushLevel": firstRecipients = [:]
            default: break
            }
        }
    }
}

// MARK: Queries

extension ReadAhead {
    /// Queues the queries, whose rows arrive with the next round trip.
    func enqueue(_ reads: ExpectedReads, on connection: PostgresConnection) throws {
        let memberships = reads.memberships
        guard !memberships.isEmpty else { return }
        let names = Set(memberships.map(\.conversation))
        try connection.enqueue(Self.conversation, rows: names.map { Parameters($0) }) { [self] id, row in
            conversations[id] = .some(row)
        }
        let places = memberships.map { Parameters($0.conversation, $0.user) }
        try connection.enqueue(Self.standing, rows: places) { [self] in take($0) }
        let ids = reads.messages.map { Parameters($0.conversation, $0.id) }
        try connection.enqueue(Self.message, rows: ids) { [self] place, isLarge, row in
            if !isLarge { messages[place] = .some(row) }
        }
        try connection.enqueue(Self.key, rows: ids) { [self] in keys[$0] = .some($1) }
        try enqueueAccess(reads, on: connection)
        try connection.enqueue(Self.usage, rows: reads.usage.map { Parameters($0) }) { [self] in usage[$0] = .some($1) }
        if reads.includesPushRecipients { try enqueueRecipients(in: names, on: connection) }
    }

    private func enqueueAccess(_ reads: ExpectedReads, on connection: PostgresConnection) throws {
        let access = reads.access.map { Parameters($0.conversation, $0.user) }
        try connection.enqueue(Self.span, rows: access) { [self] place, span in
            spans[place, default: []] += span.map { [$0] } ?? []
        }
        let places = reads.readPlaces
        let names = Set(places.map(\.conversation)).map { Parameters($0) }
        try connection.enqueue(Self.removed, rows: names) { [self] in take($0, $1, $2) }
        let users = Set(places.map(\.user)).map { Parameters($0) }
        try connection.enqueue(Self.user, rows: users) { [self] in self.users[$0] = .some($1) }
        let rows = places.map { Parameters($0.conversation, $0.user, $0.seq) }
        try connection.enqueue(Self.readPlace, rows: rows) { [self] in take($0) }
    }

    private func enqueueRecipients(in names: Set<ConversationID>, on connection: PostgresConnection) throws {
        let users = Set(names.flatMap(\.namedUsers))
        try connection.enqueue(Self.pushUser, rows: users.map { Parameters($0) }) { [self] in
            pushUsers[$0] = .some($1)
        }
        let lists = names.filter { $0.namedUsers.isEmpty }
        try connection.enqueue(Self.firstRecipient, rows: lists.map { Parameters($0) }) { [self] in
            firstRecipients[$0] = .some($1)
        }
    }

    /// Returns a join with the rows of a query for each row to its left.
    ///
    /// The offset makes PostgreSQL run the query for each row, and so use all of its conditions with an index. It could
    /// otherwise read, for example, all members of a conversation and compare their names.
    private static func lookUp(_ name: String, _ query: String) -> String {
        "LEFT JOIN LATERAL (\(query) OFFSET 0) AS \(name) ON true"
    }

    private static let conversation = Statement(
        """
        SELECT kind, target, part, \(prefixed(ConversationRow.columns, "c"))
        FROM unnest(?, ?, ?) AS e (kind, target, part) LEFT JOIN conversation c USING (kind, target, part)
        """
    ) { columns in
        let id = try ConversationID(&columns)
        return (id, columns.isNextNull ? nil : try ConversationRow(&columns))
    }

    /// A user in a conversation that exists, with one block of the messages that they don't count as unread.
    private struct Standing {
        var place: Place
        var isMuted: Bool
        var isBanned: Bool
        /// Whether no message above the read position mentions the user; `false` if it was not looked up.
        var isUnmentioned: Bool
        var firstBlock: Int64
        var block: BitBlock?
        var row: MemberRow?
    }

    private func take(_ standing: Standing) {
        let place = standing.place
        let set = BitsPlace(conversation: place.conversation, set: .uncounted(place.user))
        take(set, standing.firstBlock, standing.block)
        members[place] = .some(standing.row)
        if !standing.isMuted { unmuted.insert(place) }
        if !standing.isBanned { unbanned.insert(place) }
        if standing.isUnmentioned { unmentioned[place] = standing.row?.readSeq ?? 0 }
    }

    /// Mentions are only needed of users who have read everything.
    private static let standing = Statement(
        """
        SELECT c.number, e.userID,
            c.hasMutes AND EXISTS (SELECT FROM mute WHERE conversation = c.number AND userID = e.userID),
            c.flags & \(ConversationFlags.bans.rawValue) <> 0
                AND EXISTS (SELECT FROM ban WHERE conversation = c.number AND userID = e.userID),
            CASE WHEN greatest(c.floorCountedIndex, m.joinCountedIndex, m.readCountedIndex, m.clearCountedIndex)
                = c.countedIndex
            THEN \(isUnmentioned(above: "coalesce(m.readSeq, 0)")) ELSE false END,
            \(firstBlock), \(prefixed(BitBlock.columns, "b")), \(prefixed(MemberRow.columns, "m"))
        FROM unnest(?, ?, ?, ?) AS e (kind, target, part, userID) JOIN conversation c USING (kind, target, part)
        \(lookUp("b", bits(BitSet.uncountedKind, of: "e.userID")))
        \(lookUp("m", "SELECT * FROM member WHERE conversation = c.number AND userID = e.userID"))
        """
    ) { columns in
        Standing(
            place: Place(conversation: columns.integer(), user: columns.userID()), isMuted: columns.flag(),
            isBanned: columns.flag(), isUnmentioned: columns.flag(), firstBlock: columns.integer(),
            block: try BitBlock(ifPresent: &columns), row: columns.isNextNull ? nil : try MemberRow(&columns))
    }

    private func take(_ place: BitsPlace, _ first: Int64, _ block: BitBlock?) {
        if bits[place] == nil { bits[place] = Bits(first: first) }
        if let block { bits[place]?.blocks[block.index] = block }
    }

    /// The block of the counted index of the next message, because lower blocks are seldom needed.
    private static let firstBlock = "(c.countedIndex + 1) / \(BitBlock.width)"

    private static func bits(_ kind: Int64, of user: String) -> String {
        """
        SELECT * FROM bits WHERE conversation = c.number AND kind = \(kind) AND userID = \(user)
        AND block >= \(firstBlock)
        """
    }

    private static let removed = Statement(
        """
        SELECT c.number, \(firstBlock), \(prefixed(BitBlock.columns, "b"))
        FROM unnest(?, ?, ?) AS e (kind, target, part) JOIN conversation c USING (kind, target, part)
        \(lookUp("b", bits(BitSet.removedKind, of: "''")))
        """
    ) { columns in
        let place = BitsPlace(conversation: columns.integer(), set: .removed)
        return (place, columns.integer(), try BitBlock(ifPresent: &columns))
    }

    /// The columns of a message that can be large.
    private static let texts = ["metadata", "extra", "push", "content"]

    /// A message and whether it has more than 8 KiB of texts.
    ///
    /// Large messages are read when they are needed, so that many of them don't fill the memory.
    private static let messageQuery = """
        SELECT *, \(texts.map { "coalesce(octet_length(\($0)), 0)" }.joined(separator: " + ")) > 8192 AS isLarge
        FROM message WHERE id = e.id AND conversation = c.number
        """
    private static let messageColumns = MessageRow.columns.split(separator: ", ").map { column in
        texts.contains(String(column)) ? "CASE WHEN NOT m.isLarge THEN m.\(column) END" : "m.\(column)"
    }.joined(separator: ", ")

    private static let message = Statement(
        """
        SELECT c.number, e.id, coalesce(m.isLarge, false), \(messageColumns)
        FROM unnest(?, ?, ?, ?) AS e (kind, target, part, id) JOIN conversation c USING (kind, target, part)
        \(lookUp("m", messageQuery))
        """
    ) { columns in
        (try MessagePlace(&columns), columns.flag(), columns.isNextNull ? nil : try MessageRow(&columns))
    }

    private static let key = Statement(
        """
        SELECT c.number, e.id, \(prefixed(KeyRow.columns, "k"))
        FROM unnest(?, ?, ?, ?) AS e (kind, target, part, id) JOIN conversation c USING (kind, target, part)
        \(lookUp("k", "SELECT * FROM messageKey WHERE id = e.id AND conversation = c.number"))
        WHERE c.firstSeq > 1 OR c.hasDeletedRanges
        """
    ) { columns in
        (try MessagePlace(&columns), columns.isNextNull ? nil : try KeyRow(&columns))
    }

    private static let span = Statement(
        """
        SELECT c.number, e.userID, \(prefixed(SpanRow.columns, "s"))
        FROM unnest(?, ?, ?, ?) AS e (kind, target, part, userID) JOIN conversation c USING (kind, target, part)
        \(lookUp("s", "SELECT * FROM span WHERE conversation = c.number AND userID = e.userID ORDER BY joined"))
        """
    ) { columns in
        let place = Place(conversation: columns.integer(), user: columns.userID())
        return (place, columns.isNextNull ? nil : try SpanRow(&columns))
    }

    private static let user = Statement(
        """
        SELECT e.userID, \(prefixed(UserRow.columns, "p"))
        FROM unnest(?) AS e (userID) LEFT JOIN person p ON p.id = e.userID
        """
    ) { columns in
        (columns.userID(), columns.isNextNull ? nil : try UserRow(&columns))
    }

    /// What a read mark needs of the sequence number up to which the user reads.
    private struct ReadPlace {
        var place: Place
        var seq: Seq
        var receipt: ReceiptRow
        /// Whether no message above the sequence number mentions the user.
        var isUnmentioned: Bool
        var position: PositionRow?
    }

    private func take(_ row: ReadPlace) {
        receipts[row.place] = row.receipt
        if row.isUnmentioned { unmentioned[row.place] = min(row.seq, unmentioned[row.place] ?? row.seq) }
        positions[row.place.conversation, default: [:]][row.seq] = .some(row.position)
    }

    private static let readPlace = Statement(
        """
        SELECT c.number, e.userID, e.seq, \(prefixed(ReceiptRow.columns, "r")), \(isUnmentioned(above: "e.seq")),
            p.seq, p.countedIndex, p.timetoken
        FROM unnest(?, ?, ?, ?, ?) AS e (kind, target, part, userID, seq) JOIN conversation c USING (kind, target, part)
        \(lookUp("r", "SELECT * FROM receipt WHERE conversation = c.number AND userID = e.userID"))
        \(lookUp("p", "SELECT * FROM message WHERE conversation = c.number AND seq <= e.seq ORDER BY seq DESC LIMIT 1"))
        """
    ) { columns in
        ReadPlace(
            place: Place(conversation: columns.integer(), user: columns.userID()), seq: columns.integer(),
            receipt: ReceiptRow(&columns), isUnmentioned: columns.flag(),
            position: columns.isNextNull ? nil : PositionRow(&columns))
    }

    /// Returns the condition that no message of `c` above a sequence number mentions the user of `e`.
    private static func isUnmentioned(above seq: String) -> String {
        let exists = { (user: String) in
            "EXISTS (SELECT FROM mention WHERE conversation = c.number AND userID = \(user) AND seq > \(seq) "
                + "AND sender <> e.userID)"
        }
        return "NOT \(exists("e.userID")) AND NOT \(exists("''"))"
    }

    private static let usage = Statement(
        """
        SELECT e.userID, \(prefixed(UsageRow.columns, "u"))
        FROM unnest(?) AS e (userID) LEFT JOIN usage u USING (userID)
        """
    ) { columns in
        (columns.userID(), columns.isNextNull ? nil : UsageRow(&columns))
    }

    private static let pushUser = Statement(
        """
        SELECT e.userID, \(prefixed(PushUserRow.columns, "p"))
        FROM unnest(?) AS e (userID) LEFT JOIN pushUser p ON p.userID = e.userID
        """
    ) { columns in
        (columns.userID(), columns.isNextNull ? nil : try PushUserRow(&columns))
    }

    private static let firstRecipient = Statement(
        """
        SELECT number, (
            SELECT userID FROM pushLevel WHERE conversation = number AND level = \(NotificationLevel.all.stored)
            ORDER BY userID LIMIT 1)
        FROM unnest(?, ?, ?) AS e (kind, target, part) JOIN conversation c USING (kind, target, part)
        """
    ) { columns in
        (columns.integer(), columns.optionalUserID())
    }
}

extension ReadAhead.MessagePlace {
    fileprivate init(_ columns: inout Columns) throws {
        conversation = columns.integer()
        id = MessageID(try columns.uuid("id"))
    }
}
