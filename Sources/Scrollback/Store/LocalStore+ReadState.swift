import GRDB
package import ScrollbackModel
import ScrollbackSync

extension LocalReader {
    func readState(_ number: Int64) throws -> ReadState? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT epoch, readSeq, unread, mentions, isMarkedUnread, readAtSeq, readAtN, readAtRev, readAtUserRev,
                    pendingReadSeq, pendingReadN, readExactSeq
                FROM conversation WHERE number = ? AND epoch IS NOT NULL
                """)
        guard let row = try Row.fetchOne(statement, arguments: [number]) else { return nil }
        return ReadState(
            ReadSummary(
                epoch: Epoch(rawValue: UInt64(bitPattern: row[0])), readSeq: row[1], unread: row[2], mentions: row[3],
                isMarkedUnread: row[4], seq: row[5], n: row[6], rev: row[7], userRev: row[8]),
            exactThrough: row[11], pendingReadSeq: row[9], pendingN: row[10])
    }

    /// What is known of the messages between two places, for counts that were made at the lower one.
    func counted(above lower: Seq, through upper: Seq, _ number: Int64) throws -> ReadState.CountedSince {
        var since = ReadState.CountedSince()
        guard lower < upper else { return since }
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT sender, type, flags, mentions FROM message
                    WHERE conversation = ?1 AND seq > ?2 AND seq <= ?3 AND (sender = ?4 OR mentions IS NOT NULL)
                    """), arguments: [number, lower, upper, user.text])
        while let row = try rows.next() {
            if row[0] == user.text {
                let traits = MessageType(rawValue: row[1]).traits.less(MessageTraits(bits: row[2]))
                since.own += traits.countsUnread ? 1 : 0
            } else if try Mentions(json: row[3]).includes(user) {
                since.mentions += 1
            }
        }
        return since
    }

    /// Reads that the server has not confirmed: conversation, place, and the log they are in.
    package func pendingReads() throws -> [(conversation: ConversationID, seq: Seq, epoch: Epoch)] {
        try Row.fetchAll(
            db, sql: "SELECT id, pendingReadSeq, epoch FROM conversation WHERE pendingReadSeq IS NOT NULL"
        ).map { row in
            (try ConversationID(row[0] as String), row[1], Epoch(rawValue: UInt64(bitPattern: row[2])))
        }
    }
}

extension LocalWriter {
    func save(_ state: ReadState, number: Int64) throws {
        try db.cachedStatement(
            sql: """
                UPDATE conversation SET readSeq = ?, unread = ?, mentions = ?, readAtSeq = ?, readAtN = ?, readAtRev = ?,
                    readAtUserRev = ?, pendingReadSeq = ?, pendingReadN = ?, readExactSeq = ?
                WHERE number = ?
                """
        ).execute(arguments: [
            state.readSeq, state.unread, state.mentions, state.computedAt.seq, state.computedAt.n, state.computedAt.rev,
            state.computedAt.userRev, state.pendingReadSeq, state.pendingN, state.exactThrough, number,
        ])
    }

    /// Takes what the server counted.
    package func apply(_ summary: ReadSummary, in id: ConversationID) throws {
        let number = try number(of: id)
        guard let log = try reader.log(number), log.epoch == summary.epoch, var state = try reader.readState(number)
        else { return }
        state.apply(summary, since: try reader.counted(above: summary.seq, through: state.computedAt.seq, number))
        try save(state, number: number)
        try db.cachedStatement(sql: "UPDATE conversation SET isMarkedUnread = ? WHERE number = ?")
            .execute(arguments: [summary.isMarkedUnread, number])
    }

    /// Marks everything up to a place as read, here and now; the server is told when it can be.
    ///
    /// - Parameter seq: `nil` for the newest message.
    /// - Returns: whether there is something to tell.
    package func markRead(_ id: ConversationID, upTo seq: Seq?) throws -> Bool {
        let number = try number(of: id)
        guard let log = try reader.log(number), var state = try reader.readState(number) else { return false }
        let place = min(seq ?? log.head, log.head)
        let n = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT n FROM message WHERE conversation = ? AND seq = ?"),
            arguments: [number, place])
        let before = state
        state.markRead(upTo: place, n: place == log.head ? log.n : n)
        guard state != before else { return false }
        try save(state, number: number)
        try db.cachedStatement(sql: "UPDATE conversation SET isMarkedUnread = 0 WHERE number = ?")
            .execute(arguments: [number])
        return true
    }

    /// Forgets a read that the server will never take.
    package func dropPendingRead(_ id: ConversationID, seq: Seq) throws {
        try db.cachedStatement(
            sql:
                "UPDATE conversation SET pendingReadSeq = NULL, pendingReadN = NULL WHERE id = ? AND pendingReadSeq <= ?"
        ).execute(arguments: [id.description, seq])
    }
}
