import Foundation
import GRDB
package import ScrollbackModel
import ScrollbackSync
import SQLiteSupport

/// What a client has of a log, to compare it with the server's.
package struct StoredLog: Sendable {
    /// The absolute name of the conversation.
    package var conversation: ConversationID
    package var epoch: Epoch
    package var head: Seq
    package var rev: Int64
    package var messages: [(seq: Seq, id: MessageID)]
}

/// A page of stored messages, and the gap that makes it incomplete, if any.
package struct LocalPage: Sendable {
    /// The messages in the requested order.
    package var messages: [Message]
    /// The gap that the page touches, nearest to its start.
    package var gap: SeqRange?
    /// The first sequence numbers outside the page; `nil` at the ends of the log.
    package var older: Seq?
    package var newer: Seq?
    package var epoch: Epoch?
}

/// A position in the local log at which a page begins.
package struct LocalPosition: Hashable, Sendable {
    package var newestOlder: Seq
    package var oldestNewer: Seq
    package var seq: Seq? { oldestNewer - newestOlder == 2 ? newestOlder + 1 : nil }

    static func at(_ seq: Seq) -> LocalPosition { LocalPosition(newestOlder: seq - 1, oldestNewer: seq + 1) }
    static func between(_ seq: Seq) -> LocalPosition { LocalPosition(newestOlder: seq, oldestNewer: seq + 1) }
}

/// The local log of a conversation, with its row number.
package struct LocalLog: Sendable {
    package let id: ConversationID
    let number: Int64
    let state: LogState
}

extension LocalReader {
    package func localLog(of id: ConversationID) throws -> LocalLog? {
        guard let number = try number(of: id), let state = try log(number) else { return nil }
        return LocalLog(id: id, number: number, state: state)
    }

    /// Finds a history point in the stored messages; returns `nil` if only the server knows its position.
    package func place(_ point: HistoryPoint, in local: LocalLog) throws -> LocalPosition? {
        let (number, log) = (local.number, local.state)
        switch point {
        case .latest: return .between(log.head)
        case .earliest: return .between(log.firstSeq - 1)
        // Clamp to the log: positions outside of it are equivalent, and the last one has no successor.
        case .seq(let seq): return .at(min(max(seq, log.firstSeq - 1), log.head + 1))
        case .id(let id):
            let seq = try Seq.fetchOne(
                db.cachedStatement(sql: "SELECT seq FROM message WHERE conversation = ? AND id = ?"),
                arguments: [number, id.data])
            return seq.map { .at($0) }
        case .timetoken(let time): return try place(from: time, through: time, number, log)
        case .date(let date):
            let times = Timetoken.millisecond(of: date)
            return try place(from: times.lowerBound, through: times.upperBound, number, log)
        case .firstUnread:
            guard let read = try readState(number) else { return nil }
            guard read.unread > 0 else { return .between(log.head) }
            let first = try Seq.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT seq FROM message WHERE conversation = ? AND seq > ? AND sender <> ? AND flags & 2 = 0
                            AND type <> 'notice' ORDER BY seq LIMIT 1
                        """), arguments: [number, read.position, user.text])
            guard let first, !log.gaps.intersects(min(read.position + 1, first)...first) else { return nil }
            return .at(first)
        }
    }

    /// Returns the point to request from the server if `place` does not find this one.
    ///
    /// The server may not have received the latest read of this device yet. Its first unread message would be older.
    package func requestPoint(for point: HistoryPoint, in id: ConversationID) throws -> HistoryPoint {
        guard point == .firstUnread, let local = try localLog(of: id), let read = try readState(local.number),
            read.pendingReadSeq != nil,
            let gap = local.state.gaps.clipped(to: read.position + 1...Seq.max).ranges.first
        else { return point }
        return .seq(gap.lowerBound)
    }

    /// Finds the position of a time, which is only known if there is no gap between the adjacent rows.
    private func place(
        from first: Timetoken, through last: Timetoken, _ number: Int64, _ log: LogState
    ) throws -> LocalPosition? {
        let below = try Seq.fetchOne(
            db.cachedStatement(
                sql: "SELECT seq FROM message WHERE conversation = ? AND timetoken < ? ORDER BY seq DESC LIMIT 1"),
            arguments: [number, Int64(bitPattern: first.rawValue)])
        let above = try Seq.fetchOne(
            db.cachedStatement(
                sql: "SELECT seq FROM message WHERE conversation = ? AND timetoken > ? ORDER BY seq LIMIT 1"),
            arguments: [number, Int64(bitPattern: last.rawValue)])
        let within = try Seq.fetchOne(
            db.cachedStatement(
                sql: "SELECT seq FROM message WHERE conversation = ? AND timetoken <= ? ORDER BY seq DESC LIMIT 1"),
            arguments: [number, Int64(bitPattern: last.rawValue)])
        let older = below ?? log.firstSeq - 1
        let newer = above ?? log.head + 1
        guard older < newer, !(older + 1 < newer && log.gaps.intersects((older + 1)...(newer - 1))) else { return nil }
        // Voids can lie on both sides of the messages at that time.
        let first = try Seq.fetchOne(
            db.cachedStatement(
                sql: "SELECT seq FROM message WHERE conversation = ? AND seq > ? ORDER BY seq LIMIT 1"),
            arguments: [number, older])
        guard let first, let within, first <= within else { return .between(older) }
        return LocalPosition(newestOlder: first - 1, oldestNewer: within + 1)
    }

    /// Returns messages at or below a sequence number, from newer to older, down to `end`.
    ///
    /// The page stops at the first gap.
    package func older(
        from top: Seq, downTo end: Seq? = nil, limit: Int, filter: MessageFilter, in local: LocalLog
    ) throws -> LocalPage {
        let log = local.state
        let top = min(top, log.head)
        let last = max(log.firstSeq, end ?? log.firstSeq)
        let gap = log.gaps.last(atOrBelow: top).flatMap { $0.upperBound >= last ? $0 : nil }
        let bottom = max(last, (gap?.upperBound ?? 0) + 1)
        guard top >= bottom, limit > 0 else {
            let isComplete = top < last || limit == 0
            return LocalPage(
                messages: [], gap: isComplete ? nil : gap, older: top >= last ? top : nil, newer: nil,
                epoch: log.epoch)
        }
        let rows = try messages(in: local, bottom...top, newestFirst: true, limit: limit, filter: filter)
        let isFull = rows.count == limit
        let lower = isFull ? rows[limit - 1].seq : bottom
        return LocalPage(
            messages: rows, gap: isFull ? nil : gap, older: lower > last ? lower - 1 : nil,
            newer: top < log.head ? top + 1 : nil, epoch: log.epoch)
    }

    /// Returns messages at or above a sequence number, from older to newer, up to `end`.
    ///
    /// The page stops at the first gap.
    package func newer(
        from bottom: Seq, to end: Seq?, limit: Int, filter: MessageFilter, in local: LocalLog
    ) throws -> LocalPage {
        let log = local.state
        let bottom = max(bottom, log.firstSeq)
        let last = min(log.head, end ?? log.head)
        let gap = log.gaps.first(atOrAbove: bottom).flatMap { $0.lowerBound <= last ? $0 : nil }
        let top = min(last, (gap?.lowerBound ?? .max) - 1)
        guard bottom <= top, limit > 0 else {
            let isComplete = bottom > last || limit == 0
            return LocalPage(
                messages: [], gap: isComplete ? nil : gap, older: nil, newer: bottom <= last ? bottom : nil,
                epoch: log.epoch)
        }
        let rows = try messages(in: local, bottom...top, newestFirst: false, limit: limit, filter: filter)
        let isFull = rows.count == limit
        let upper = isFull ? rows[limit - 1].seq : top
        return LocalPage(
            messages: rows, gap: isFull ? nil : gap, older: bottom > log.firstSeq ? bottom - 1 : nil,
            newer: upper < last ? upper + 1 : nil, epoch: log.epoch)
    }

    package func message(_ id: MessageID, in conversation: ConversationID) throws -> Message? {
        guard let log = try localLog(of: conversation) else { return nil }
        return try message(in: conversation, number: log.number, epoch: log.state.epoch, where: "id = ?") {
            $0.add(id.uuid)
        }
    }

    func message(
        at seq: Seq, number: Int64, in conversation: ConversationID, epoch: Epoch
    ) throws -> Message? {
        try message(in: conversation, number: number, epoch: epoch, where: "seq = ?") { $0.add(seq) }
    }

    func messages(
        in log: LocalLog, _ range: SeqRange, newestFirst: Bool, limit: Int, filter: MessageFilter
    ) throws -> [Message] {
        var found: [Message] = []
        found.reserveCapacity(min(limit, 100))
        let order = newestFirst ? "DESC" : "ASC"
        let takesAll = filter == .all
        try eachMessage(
            in: log.id, number: log.number, epoch: log.state.epoch, where: "seq BETWEEN ? AND ? ORDER BY seq \(order)"
        ) {
            $0.add(range.lowerBound)
            $0.add(range.upperBound)
        } take: { (message: consuming Message) in
            if takesAll || filter.matches(message, reader: user) {
                messageEncryption?.decrypt(&message)
                found.append(message)
            }
            return found.count < limit
        }
        return found
    }

    /// Returns the message decrypted, if possible and requested.
    func decrypted(_ message: Message) -> Message { messageEncryption?.open(message) ?? message }

    /// Returns the number of stored messages in a time range; for a community, in all of its channels.
    package func messageCount(in id: ConversationID, _ range: Range<Timetoken>) throws -> Int64 {
        try conversations(of: id).reduce(0) { count, id in
            guard let number = try number(of: id) else { return count }
            let start = try firstSeq(atOrAfter: range.lowerBound, number)
            let end = try firstSeq(atOrAfter: range.upperBound, number)
            return try count + messageCount(in: number, start..<max(start, end))
        }
    }

    /// Returns the stored channels of a community, and any other conversation itself.
    package func conversations(of id: ConversationID) throws -> [ConversationID] {
        guard id.isCommunityRoot else { return [id] }
        return try String.fetchAll(db, sql: "SELECT id FROM conversation WHERE kind = 'community'")
            .map { try ConversationID($0) }.filter { $0.community == id }
    }

    /// Returns the number of stored messages in a range of sequence numbers.
    func messageCount(in number: Int64, _ places: Range<Seq>) throws -> Int64 {
        try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT count(*) FROM message
                    WHERE conversation = ? AND seq >= ? AND seq < ? AND content IS NOT NULL
                    """), arguments: [number, places.lowerBound, places.upperBound]) ?? 0
    }

    /// Returns the lowest sequence number above all stored messages that are older than a time.
    ///
    /// Timetokens increase with sequence numbers, so it is found with the primary key.
    func firstSeq(atOrAfter time: Timetoken, _ number: Int64) throws -> Seq {
        let statement = try db.cachedStatement(
            sql: "SELECT seq, timetoken FROM message WHERE conversation = ? AND seq >= ? ORDER BY seq LIMIT 1")
        var low: Seq = 0
        var high =
            try Seq.fetchOne(db, sql: "SELECT max(seq) + 1 FROM message WHERE conversation = ?", arguments: [number])
            ?? 0
        while low < high {
            let middle = low + (high - low) / 2
            guard let row = try Row.fetchOne(statement, arguments: [number, middle]) else {
                high = middle
                continue
            }
            if UInt64(bitPattern: row[1]) < time.rawValue { low = (row[0] as Seq) + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the sequence numbers of all rows of a conversation, lowest first.
    package func storedSeqs(in id: ConversationID) throws -> [Seq] {
        guard let number = try number(of: id) else { return [] }
        return try Seq.fetchAll(
            db, sql: "SELECT seq FROM message WHERE conversation = ? ORDER BY seq", arguments: [number])
    }

    /// Checks the integrity of the store.
    ///
    /// - Returns: The problems found; empty if every log's rows, gaps and deleted ranges are disjoint and complete,
    ///   and all encrypted values can be decrypted.
    package func violations() throws -> [String] {
        var found = try String.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0 != "ok" }
        for text in try String.fetchAll(db, sql: "SELECT id FROM conversation ORDER BY id") {
            let id = try ConversationID(text)
            guard let log = try log(of: id) else { continue }
            found += log.violations(rows: try storedSeqs(in: id)).map { "\(id): \($0)" }
        }
        return try found + undecryptableValues()
    }

    /// Returns the state and the messages of each log, with the absolute name of its conversation.
    package func logs() throws -> [StoredLog] {
        try Row.fetchAll(db, sql: "SELECT id, number FROM conversation WHERE epoch IS NOT NULL ORDER BY id")
            .compactMap { row in
                guard let state = try log(row[1]) else { return nil }
                let messages = try Row.fetchAll(
                    db, sql: "SELECT seq, id FROM message WHERE conversation = ? ORDER BY seq",
                    arguments: [row[1] as Int64]
                ).map { (seq: $0[0] as Seq, id: MessageID(data: $0[1])) }
                return StoredLog(
                    conversation: try ConversationID(row[0] as String).absolute(for: user), epoch: state.epoch,
                    head: state.head, rev: state.rev, messages: messages)
            }
    }
}
