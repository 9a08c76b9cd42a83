import GRDB
import SQLiteSupport
package import ScrollbackModel
package import ScrollbackSync

extension LocalReader {
    package func readState(_ number: Int64) throws -> ReadState? {
        try first(
            """
            SELECT epoch, readSeq, unread, mentions, readAtSeq, readAtCountedIndex, readAtRev, readAtUserRev,
                readExactSeq, touchedRev, certainty, pendingReadSeq, pendingReadCountedIndex
            FROM conversation WHERE number = ? AND epoch IS NOT NULL
            """
        ) {
            $0.add(number)
        } read: { row in
            ReadState(
                epoch: Epoch(rawValue: row.bits()), readSeq: row.integer(), unread: row.integer(),
                mentions: row.integer(),
                countedAt: .init(
                    seq: row.integer(), countedIndex: row.integer(), rev: row.integer(), userRev: row.integer()),
                knownThrough: row.integer(), lastCountChangeRev: row.integer(),
                certainty: ReadState.Certainty(rawValue: row.integer()) ?? .estimated,
                pendingReadSeq: row.optionalInteger(), pendingReadCountedIndex: row.optionalInteger())
        }
    }

    /// Returns the read state of a conversation, or `nil` if its head is not known.
    package func readState(of id: ConversationID) throws -> ReadState? {
        try number(of: id).flatMap { try readState($0) }
    }

    /// Counts the stored messages of a range, or returns `nil` if there are too many to count.
    ///
    /// - Parameter thread: The thread whose replies are counted; `nil` for all messages.
    func counted(
        _ places: SeqRange, _ log: LogState, _ number: Int64, thread: MessageID? = nil
    ) throws -> ReadState.RangeCounts? {
        var counted = ReadState.RangeCounts(isComplete: !log.gaps.intersects(places))
        if thread == nil, counted.isComplete, Int64(places.count) > ReadState.countedMessages { return nil }
        var left = thread == nil ? ReadState.countedMessages : .max
        try run(
            """
            SELECT seq, sender, type, flags, mentions FROM message WHERE conversation = ? AND seq BETWEEN ? AND ?
            \(thread == nil ? "" : "AND thread = ?")
            """
        ) {
            $0.add(number)
            $0.add(places.lowerBound)
            $0.add(places.upperBound)
            if let thread { $0.add(thread.uuid) }
        } row: { row in
            left -= 1
            if left < 0 { return false }
            let seq = row.integer()
            let isOwn = row.text() == user.text
            let traits = MessageType(rawValue: row.text()).traits.restricted(by: MessageTraits(bits: row.integer()))
            if isOwn {
                counted.own += traits.countsUnread ? 1 : 0
            } else {
                counted.unread += traits.countsUnread ? 1 : 0
                let mentions = try row.optionalText("mentions", of: .message(number, seq))
                if let mentions, try Mentions(json: mentions).includes(user) { counted.mentions += 1 }
            }
            return true
        }
        return left < 0 ? nil : counted
    }

    /// Returns the reads that the server has not confirmed.
    package func pendingReads() throws -> [ReadMark] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT id, pendingReadSeq, epoch, pendingReadRev FROM conversation
                WHERE pendingReadSeq IS NOT NULL AND epoch IS NOT NULL
                """
        ).map { row in
            let place = EpochPosition(seq: row[1], epoch: Epoch(rawValue: UInt64(bitPattern: row[2])))
            return ReadMark(conversation: try ConversationID(row[0] as String), position: place, userRev: row[3])
        }
    }
}

extension LocalWriter {
    func save(_ state: ReadState, number: Int64) throws {
        try reader.run(
            """
            UPDATE conversation SET readSeq = ?, unread = ?, mentions = ?, readAtSeq = ?, readAtCountedIndex = ?,
                readAtRev = ?, readAtUserRev = ?, readExactSeq = ?, touchedRev = ?, certainty = ?, pendingReadSeq = ?,
                pendingReadCountedIndex = ?
            WHERE number = ?
            """
        ) {
            $0.add(state.readSeq)
            $0.add(state.unread)
            $0.add(state.mentions)
            $0.add(state.countedAt.seq)
            $0.add(state.countedAt.countedIndex)
            $0.add(state.countedAt.rev)
            $0.add(state.countedAt.userRev)
            $0.add(state.knownThrough)
            $0.add(state.lastCountChangeRev)
            $0.add(state.certainty.rawValue)
            $0.add(state.pendingReadSeq)
            $0.add(state.pendingReadCountedIndex)
            $0.add(number)
        }
    }

    /// Updates the counts to the current state of the log.
    func updateCounts(_ state: inout ReadState, _ log: LogState, in id: ConversationID, number: Int64) throws {
        // Even without a subscription, channels deliver the user's own messages and mentions.
        try state.updateCounts(log, receivesOwnMessages: !id.kind.traits.streamsToMembers) {
            try reader.counted($0, log, number)
        }
    }

    /// The kind of request that the server answers with the user's state.
    package enum AnsweredRequest {
        case read, state
    }

    /// Applies the server's view of the user's own state.
    ///
    /// - Parameter request: The kind of request that this answers, if any.
    /// - Returns: Whether the head must be fetched. This is the case if the log is unknown or the counts are not exact.
    ///   It is also the case if an unsent local change hid a newer state from an outdated answer.
    @discardableResult
    package func apply(_ summary: ReadSummary, in id: ConversationID, answers request: AnsweredRequest? = nil) throws
        -> Bool
    {
        let number = try number(of: id)
        guard let log = try reader.log(number), log.epoch == summary.epoch, var state = try reader.readState(number)
        else { return true }
        state.apply(summary, answersRead: request == .read)
        try updateCounts(&state, log, in: id, number: number)
        try save(state, number: number)
        var entry = try reader.entry(of: id, numbered: number)
        let pending = try reader.pendingSettingKinds(in: id)
        entry.value.apply(settings: summary, pending: pending, isRead: state.pendingReadSeq != nil)
        try saveListing(entry)
        if request != nil, summary.userRev < entry.value.settingsRev { return true }
        return !state.isExact && state.pendingReadSeq == nil
    }

    /// Marks all messages up to a sequence number as read.
    ///
    /// The server is notified later.
    ///
    /// - Parameter seq: The sequence number; `nil` for the newest message.
    /// - Returns: Whether anything changed that the server must receive.
    package func markRead(_ id: ConversationID, upTo seq: Seq?) throws -> Bool {
        guard let number = try reader.number(of: id), let log = try reader.log(number),
            var state = try reader.readState(number)
        else { return false }
        let place = min(seq ?? log.head, log.head)
        let isMarked = try reader.isMarkedUnread(number)
        guard place > state.position || isMarked && place >= state.position else { return false }
        let countedIndex = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT countedIndex FROM message WHERE conversation = ? AND seq = ?"),
            arguments: [number, place])
        try recordKnownUnreadMarkers(number)
        state.markRead(upTo: place, countedIndex: place == log.head ? log.countedIndex : countedIndex)
        try updateCounts(&state, log, in: id, number: number)
        try save(state, number: number)
        if isMarked { try endUnreadMarker(id, number: number) }
        return true
    }

    /// Deletes an unconfirmed read that the server rejected, unless the user has read more since or the log is a new
    /// one.
    package func dropPendingRead(_ mark: DeliveryMark) throws {
        guard let number = try reader.number(of: mark.conversation), var state = try reader.readState(number),
            state.epoch == mark.position.epoch, state.pendingReadSeq == mark.position.seq
        else { return }
        state.dropPendingRead()
        try save(state, number: number)
    }
}
