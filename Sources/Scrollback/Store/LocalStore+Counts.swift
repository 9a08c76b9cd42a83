import GRDB
import ScrollbackModel
import ScrollbackSync

/// The list of recents and the counts, kept in step with the log in the transaction that changes it.
extension LocalWriter {
    /// Keeps the conversation's entry in step with its log, in the same transaction.
    ///
    /// - Returns: whether the counts are only nearly right, because messages were skipped.
    func follow(_ input: LogInput, _ edits: [LogEdit], _ log: OpenLog) throws -> Bool {
        var skips = false
        if edits.contains(where: \.erasesEverything) { try startReadStateOver(log) }
        switch input {
        case .head(let head): try follow(head, number: log.number)
        case .live(.message(let message)), .sent(let message):
            guard edits.contains(where: { !$0.isStale }), log.state != nil else { break }
            skips = try count(message, number: log.number)
        case .live(.head(_, let head)):
            try advance(toHead: head, number: log.number)
        case .live(.changed), .live(.hidden), .page, .sync, .found: break
        }
        let touchesEnd = edits.contains { !$0.upserts.isEmpty || !$0.erased.isEmpty || $0.erasesEverything }
        if touchesEnd { try refreshLast(log.number) }
        return skips
    }

    private func startReadStateOver(_ log: OpenLog) throws {
        guard let epoch = log.state?.epoch else { return }
        // The epoch with it, though the log is saved later: what the server counts of the new log would be dropped.
        try db.cachedStatement(
            sql: """
                UPDATE conversation SET epoch = ?, readSeq = 0, unread = 0, mentions = 0, isMarkedUnread = 0,
                    readAtSeq = 0, readAtN = 0, readAtRev = 0, readAtUserRev = 0, readExactSeq = 0,
                    pendingReadSeq = NULL, pendingReadN = NULL
                WHERE number = ?
                """
        ).execute(arguments: [Int64(bitPattern: epoch.rawValue), log.number])
    }

    private func follow(_ head: ConversationHead, number: Int64) throws {
        try db.cachedStatement(
            sql: """
                UPDATE conversation SET name = ?, avatar = ?, isMember = ?, isMuted = ?, isPinned = ?, isMarkedUnread = ?
                WHERE number = ?
                """
        ).execute(arguments: [
            head.name, head.avatar, head.isMember, head.isMuted, head.isPinned, head.isMarkedUnread, number,
        ])
        var state = try reader.readState(number) ?? ReadState(ReadSummary(head))
        let summary = ReadSummary(head)
        state.apply(summary, since: try reader.counted(above: summary.seq, through: state.computedAt.seq, number))
        try save(state, number: number)
    }

    /// Counts that were made while messages were missing are corrected by what those turn out to be.
    func correctCounts(by messages: [Message], _ log: OpenLog) throws {
        guard !messages.isEmpty, var state = try reader.readState(log.number) else { return }
        let before = state
        for message in messages { state.learned(message, reader: user) }
        if state != before { try save(state, number: log.number) }
    }

    /// A row that a change put in another's place.
    struct Replacement {
        var old: Message?
        var new: Message
    }

    /// The rows that edits are about to change; what was never changed since it was sent is in none.
    func replacements(in edits: [LogEdit], _ log: OpenLog) throws -> [Replacement] {
        guard let epoch = log.state?.epoch else { return [] }
        return try edits.flatMap(\.upserts).filter { $0.rev > 0 }.compactMap { new in
            let old = try reader.message(at: new.seq, number: log.number, in: new.conversation, epoch: epoch)
            guard LogEdit.replaces(new, old) else { return nil }
            return Replacement(old: old, new: new)
        }
    }

    /// Keeps the counts in step with what changes do to messages that are not read.
    ///
    /// - Returns: whether the server must say what they are: a change came out of turn, or to what is not known here.
    func countChanges(
        _ replaced: [Replacement], _ input: LogInput, _ edits: [LogEdit], _ log: OpenLog
    ) throws -> Bool {
        guard !edits.allSatisfy(\.isStale), var state = try reader.readState(log.number) else { return false }
        let before = state
        var isOutOfStep = false
        switch input {
        case .live(.changed(_, _, let change)):
            isOutOfStep = try state.apply(
                change, replacing: replaced.first?.old, reader: user,
                mayHavePassed: try mayHavePassed(change, log))
        case .live(.hidden), .head: break
        default:
            // Rows of a page, or a pass: what changed in them was not counted one by one.
            for row in replaced where state.isTouched(by: row.new, replacing: row.old, reader: user) {
                isOutOfStep = true
            }
            if case .sync(let sync, _) = input, state.isTouched(by: sync.changes) { isOutOfStep = true }
        }
        if state != before { try save(state, number: log.number) }
        return isOutOfStep
    }

    /// Whether the user may have sent something after the message that a change is about: here, or where this device has
    /// not looked.
    private func mayHavePassed(_ change: LogChange, _ log: OpenLog) throws -> Bool {
        guard case .message(let message) = change, let head = log.state?.head else { return false }
        // Too many to look through: it is the server's to say.
        guard head - message.seq <= 1_000 else { return true }
        return try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM message WHERE conversation = ?1 AND seq > ?2 AND sender = ?3)
                        OR EXISTS (SELECT 1 FROM gap WHERE conversation = ?1 AND upper > ?2)
                    """), arguments: [log.number, message.seq, user.text]) ?? false
    }

    /// Whether messages that were not read went with the floor, and how many only the server knows.
    func losesUnread(_ input: LogInput, _ floorBefore: Int64?, _ log: OpenLog) throws -> Bool {
        // A head has the counts with it.
        if case .head = input { return false }
        guard let floorBefore, let floor = log.state?.firstSeq, floor > floorBefore,
            let state = try reader.readState(log.number)
        else { return false }
        return (state.unread > 0 || state.mentions > 0) && state.readSeq < floor - 1
    }

    private func count(_ message: Message, number: Int64) throws -> Bool {
        guard var state = try reader.readState(number) else { return false }
        let skips = state.apply(message, reader: user)
        try save(state, number: number)
        return skips
    }

    private func advance(toHead head: LogHead, number: Int64) throws {
        guard var state = try reader.readState(number) else { return }
        state.advance(
            to: head.head, n: head.n,
            since: try reader.counted(above: max(state.computedAt.seq, state.readSeq), through: head.head, number))
        try save(state, number: number)
        // A channel that is not heard in full: that it moved is known before what was said.
        try db.cachedStatement(sql: "UPDATE conversation SET isRecent = kind <> 'room' WHERE number = ?")
            .execute(arguments: [number])
    }

    /// The newest message that the list does not pass over, or the newest where there is none near.
    private static let lastSeq = """
        coalesce(
            (SELECT seq FROM message
             WHERE conversation = ?1 AND flags & \(MessageTraits.passedOver) = 0
             AND seq > (SELECT max(seq) FROM message WHERE conversation = ?1) - \(MessageTraits.recentsDepth)
             ORDER BY seq DESC LIMIT 1),
            (SELECT max(seq) FROM message WHERE conversation = ?1))
        """

    private func refreshLast(_ number: Int64) throws {
        try db.cachedStatement(
            sql: """
                UPDATE conversation SET
                    lastSeq = coalesce(\(Self.lastSeq), 0),
                    sortTime = coalesce((SELECT timetoken FROM message
                                         WHERE conversation = ?1 AND seq = \(Self.lastSeq)), sortTime),
                    isRecent = isRecent OR kind <> 'room'
                WHERE number = ?1
                """
        ).execute(arguments: [number])
    }
}
