import GRDB
package import ScrollbackModel
import ScrollbackSearch
import SQLiteSupport
import TextAnalysis
package import ScrollbackSync

extension LocalReader {
    /// Returns the local state of a conversation's log, or `nil` until its head is known.
    package func log(of id: ConversationID) throws -> LogState? {
        guard let number = try number(of: id) else { return nil }
        return try log(number)
    }

    func log(_ number: Int64) throws -> LogState? {
        let state = try first(
            """
            SELECT epoch, view, firstSeq, head, countedIndex, rev, latestRev, replayed, baselineSeq, baselineRev
            FROM conversation WHERE number = ? AND epoch IS NOT NULL
            """
        ) {
            $0.add(number)
        } read: { row in
            LogState(
                epoch: Epoch(rawValue: row.bits()), view: row.integer(), firstSeq: row.integer(), head: row.integer(),
                countedIndex: row.integer(), rev: row.integer(), latestRev: row.integer(), replayed: row.integer(),
                baseline: .init(seq: row.integer(), rev: row.integer()), gaps: SeqRangeSet(),
                deletedRanges: SeqRangeSet())
        }
        guard var state else { return nil }
        state.gaps = try ranges("gap", number)
        state.deletedRanges = try ranges("deletedRange", number)
        return state
    }

    private func ranges(_ table: String, _ number: Int64) throws -> SeqRangeSet {
        var set = SeqRangeSet()
        try run("SELECT lower, upper FROM \(table) WHERE conversation = ? ORDER BY upper") {
            $0.add(number)
        } row: { row in
            set.insert(row.integer()...row.integer())
            return true
        }
        return set
    }

    /// Returns the newest sequence number this device had before it missed messages, or the head if it never missed
    /// any.
    func missedAfter(_ id: ConversationID) throws -> Seq {
        guard let number = try number(of: id) else { return 0 }
        return try entry(of: id, numbered: number).value.missedAfter ?? log(number)?.head ?? 0
    }

    /// Returns the log positions of all conversations that an earlier connection left behind.
    package func positionsBehind() throws -> [LogPosition] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT id, number FROM conversation
                WHERE epoch IS NOT NULL AND isMember AND (replayed < head OR rev < latestRev)
                """)
        var positions: [LogPosition] = []
        for row in rows {
            let id = try ConversationID(row[0] as String)
            guard id.kind.traits.replaysMissed, let state = try log(row[1]) else { continue }
            positions.append(state.position(in: id))
        }
        return positions
    }
}

/// An update to apply to a log.
package enum LogInput: Sendable {
    case live(LiveEvent)
    case head(ConversationHead)
    case page(ConversationID, LogPage)
    case sync(LogSync, asked: LogPosition)
    /// A message of the user that the server acknowledged.
    case sent(Message)
    /// A message that was fetched individually.
    case found(Message)

    /// Returns whether the last message of the list's entry is uncertain after this input, so that the head must be
    /// fetched.
    ///
    /// A summary of an unsubscribed channel does not state which messages a change removed. It can also be out of date:
    /// its last message may already be deleted.
    func leavesLastMessageUncertain(after before: LogState) -> Bool {
        guard !conversation.kind.traits.streamsToMembers, case .live(.head(_, let head, _, let altersCounts)) = self
        else { return false }
        return altersCounts && head.rev > before.latestRev || fillsGap(in: before)
    }

    /// Returns whether a channel summary contains a message that lies in a known gap.
    func fillsGap(in before: LogState) -> Bool {
        guard case .live(.head(let id, let head, let last?, _)) = self else { return false }
        return id.kind.traits.hasRecents && head.epoch == before.epoch && before.gaps.contains(last.seq)
    }

    /// Returns whether the user hid messages that could not be marked, because this log does not have their numbers.
    ///
    /// Their event can precede the answer to their send, or the first head of a new epoch.
    func missesHiddenMessages(after before: LogState?) -> Bool {
        guard case .live(.hidden(_, let epoch, let places)) = self else { return false }
        guard let before, before.epoch == epoch else { return true }
        return places.contains { $0.upperBound > before.head }
    }

    package var conversation: ConversationID {
        switch self {
        case .live(let event): event.conversation
        case .head(let head): head.conversation
        case .page(let id, _): id
        case .sync(_, let asked): asked.conversation
        case .sent(let message), .found(let message): message.conversation
        }
    }
}

/// The result of applying an input.
package struct LogOutcome: Sendable {
    package var conversation: ConversationID
    package var input: LogInput
    package var edit: LogEdit
    /// The log's position, if it is missing messages or changes.
    package var behind: LogPosition?
    package var changedGaps: Bool
    /// Whether the head must be fetched, because the log was unknown or its counts may be wrong.
    package var needsHead: Bool
    /// Whether another sync pass must report messages that the user hid.
    package var missesHiddenMessages: Bool
    /// Whether this device has messages to report as delivered that it did not have before.
    package var hasDeliveries = false
}

extension LocalWriter {
    /// Applies inputs in order, and makes the changes to rows that each log's new state requires.
    package func apply(_ inputs: [LogInput]) throws -> [LogOutcome] {
        var outcomes: [LogOutcome] = []
        var open: [ConversationID: OpenLog] = [:]
        for input in inputs {
            let id = input.conversation
            var log = try open.removeValue(forKey: id) ?? OpenLog(number: number(of: id), state: nil, isLoaded: false)
            if !log.isLoaded {
                log.saved = try reader.log(log.number)
                log.state = log.saved
                log.isLoaded = true
            }
            outcomes.append(try apply(input, to: &log))
            open[id] = log
        }
        for (id, var log) in open {
            try save(log)
            var needsHead = try finishCounts(of: &log, in: id)
            let (isUncertain, hasDeliveries) = try finishEntry(of: log, in: id)
            if isUncertain, id.kind.traits.hasRecents { needsHead = true }
            if let last = outcomes.lastIndex(where: { $0.conversation == id }) {
                if needsHead { outcomes[last].needsHead = true }
                outcomes[last].hasDeliveries = hasDeliveries
            }
            try markUnindexed(log.touched, in: log.number)
        }
        return outcomes
    }

    /// A log that the current transaction is working on.
    struct OpenLog {
        var number: Int64
        var state: LogState?
        var isLoaded: Bool
        /// The state in the database.
        var saved: LogState?
        /// The sequence numbers whose rows were inserted, deleted or changed.
        var touched = SeqRangeSet()
        /// Whether a row was inserted, even if it was deleted again.
        var hadRow = false
        /// The read state, once an input affected it.
        var read: ReadState?
        /// The read state that the end of the transaction saved; `nil` if it did not change.
        var savedRead: ReadState?
        /// The entry in the list, once an input affected it.
        var entry: OpenEntry?

        /// Returns whether the log is only missing messages that a room did not stream.
        ///
        /// These are not fetched until the user scrolls to them. Otherwise all devices would request them at once under
        /// load.
        func leavesGaps(_ edits: [LogEdit], in id: ConversationID) -> Bool {
            guard id.kind.traits.streamsUnderLoadByPriority, let state, state.rev >= state.latestRev else {
                return false
            }
            return !edits.contains { $0.isStale || $0.erasesEverything }
        }

        mutating func touch(_ edit: LogEdit) {
            if edit.erasesEverything { touched.insert(1...SearchKey.lastSeq) }
            for range in edit.erased { touched.insert(range) }
            for message in edit.upserts { touched.insert(message.seq...message.seq) }
            if !edit.upserts.isEmpty { hadRow = true }
        }
    }

    private func apply(_ input: LogInput, to log: inout OpenLog) throws -> LogOutcome {
        let id = input.conversation
        let before = log.state
        var edits: [LogEdit] = []
        switch input {
        case .head(let head):
            if var state = log.state {
                edits.append(state.apply(head: head.state))
                log.state = state
            } else {
                log.state = try initialState(from: head.state)
                var edit = LogEdit()
                edit.needsSync = log.state?.isBehind ?? false
                edits.append(edit)
            }
            let gone = try head.hidden + rowsAbove(head, in: log)
            if !gone.isEmpty, var state = log.state {
                edits.append(state.apply(hidden: gone, in: head.state.epoch))
                log.state = state
            }
            if let last = head.lastMessage, var state = log.state {
                edits.append(state.apply(message: last, readAt: head.state.rev))
                log.state = state
            }
        case .page(_, let page):
            var state = log.state ?? LogState(adopting: page.state)
            edits.append(state.apply(page: page))
            log.state = state
        case .sync(let sync, let asked):
            var state = log.state ?? LogState(adopting: sync.page.state)
            edits.append(state.apply(sync: sync, asked: asked))
            log.state = state
        case .live(.message(let message)), .found(let message):
            var state = try log.state ?? initialState(from: message.impliedHead)
            edits.append(state.apply(message: message))
            log.state = state
        case .sent(let message):
            var state = try log.state ?? initialState(from: message.impliedHead)
            // The message leaves the outbox, so it must be stored even if no other answer had this epoch before.
            if state.epoch != message.epoch { edits.append(state.apply(head: message.impliedHead)) }
            edits.append(state.apply(message: message))
            log.state = state
        case .live(.head(_, var head, let last, _)):
            head.view = log.state?.view ?? 0
            head.firstSeq = max(head.firstSeq, log.state?.firstSeq ?? 1)
            var state = try log.state ?? initialState(from: head)
            edits.append(state.apply(head: head))
            if let last, before.map({ !input.fillsGap(in: $0) }) ?? true {
                edits.append(state.apply(message: last))
            }
            log.state = state
        case .live(.hidden(_, let epoch, let places)):
            guard var state = log.state else { break }
            edits.append(state.apply(hidden: places, in: epoch))
            log.state = state
        case .live(.changed(_, let epoch, let change)):
            // An unknown log has no rows to change.
            guard var state = log.state else { break }
            edits.append(state.apply(change: change, in: epoch))
            log.state = state
        }
        let replaced = try replacements(in: edits, log)
        for edit in edits {
            try writeRows(edit, number: log.number)
            log.touch(edit)
        }
        try count(input, edits, replaced, before: before, in: &log)
        try updateEntry(input, before: before, &log, in: id)
        var edit = edits.last ?? LogEdit()
        edit.needsSync = edits.contains(where: \.needsSync) && !log.leavesGaps(edits, in: id)
        let isHead = if case .head = input { true } else { false }
        return LogOutcome(
            conversation: id, input: input, edit: edit,
            behind: edit.needsSync ? log.state?.position(in: id) : nil, changedGaps: before?.gaps != log.state?.gaps,
            needsHead: !isHead
                && (before.map(input.leavesLastMessageUncertain) ?? true || edits.contains(where: \.erasesEverything)),
            missesHiddenMessages: input.missesHiddenMessages(after: before))
    }

    /// Deletes the stored messages that are older than a time from this device.
    ///
    /// - Returns: The number of deleted messages.
    package func deleteLocalMessages(before time: Timetoken, in id: ConversationID) throws -> Int64 {
        guard let number = try reader.number(of: id), let saved = try reader.log(number) else { return 0 }
        let end = try reader.firstSeq(atOrAfter: time, number)
        let deleted = try reader.messageCount(in: number, 0..<end)
        var log = OpenLog(number: number, state: saved, isLoaded: true, saved: saved)
        guard let edit = log.state?.forget(through: end - 1) else { return 0 }
        try writeRows(edit, number: number)
        log.touch(edit)
        try save(log)
        if var read = try reader.readState(number) {
            read.forgot(through: end - 1)
            try save(read, number: number)
        }
        try markUnindexed(log.touched, in: number)
        return deleted
    }

    /// Returns the rows that a head shows to be no longer visible to the user: those above its last message.
    ///
    /// For unsubscribed channels, the change that removed them is fetched only when the user looks there. Until then
    /// the list must not show them.
    private func rowsAbove(_ head: ConversationHead, in log: OpenLog) throws -> [SeqRange] {
        guard let state = log.saved, state.epoch == head.state.epoch, state.view == head.state.view,
            !head.conversation.kind.traits.streamsToMembers,
            // Messages that new devices must not download are omitted from the head, but still exist.
            head.lastMessage != nil || head.newDeviceFloor == 0
        else { return [] }
        return try Seq.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT seq FROM message WHERE conversation = ? AND seq BETWEEN ? AND ?
                        AND flags & \(MessageTraits.skipsRecentsBit) = 0
                    """), arguments: [log.number, (head.lastMessage?.seq ?? 0) + 1, head.state.head]
        ).map { $0...$0 }
    }

    /// Creates the state of a log that was unknown so far.
    private func initialState(from head: LogHead) throws -> LogState {
        var state = LogState(adopting: head)
        // A new device has missed nothing: earlier messages are history, which is fetched on demand.
        if try !reader.hasCompletedSync() { state.replayed = state.head }
        return state
    }

    private func writeRows(_ edit: LogEdit, number: Int64) throws {
        if edit.erasesEverything {
            for table in ["message", "thread"] {
                try db.cachedStatement(sql: "DELETE FROM \(table) WHERE conversation = ?").execute(arguments: [number])
            }
        }
        for range in edit.erased {
            try removeLocalExtensions(at: range, in: number)
            try db.cachedStatement(sql: "DELETE FROM message WHERE conversation = ? AND seq BETWEEN ? AND ?")
                .execute(arguments: [number, range.lowerBound, range.upperBound])
            try removeKeptMessages(at: range, in: number)
        }
        guard !edit.upserts.isEmpty else { return }
        let upsert = try db.cachedStatement(sql: MessageColumns.upsert)
        for message in edit.upserts {
            try reader.run(upsert) { MessageColumns.bind(message, conversation: number, to: &$0) }
        }
    }

    private func save(_ log: OpenLog) throws {
        guard let state = log.state, state != log.saved else { return }
        try reader.run(
            """
            UPDATE conversation SET epoch = ?, view = ?, firstSeq = ?, head = ?, countedIndex = ?, rev = ?,
                latestRev = ?, replayed = ?, baselineSeq = ?, baselineRev = ?
            WHERE number = ?
            """
        ) {
            $0.add(bits: state.epoch.rawValue)
            $0.add(state.view)
            $0.add(state.firstSeq)
            $0.add(state.head)
            $0.add(state.countedIndex)
            $0.add(state.rev)
            $0.add(state.latestRev)
            $0.add(state.replayed)
            $0.add(state.baseline.seq)
            $0.add(state.baseline.rev)
            $0.add(log.number)
        }
        try save(state.gaps, over: log.saved?.gaps, in: "gap", log.number)
        try save(state.deletedRanges, over: log.saved?.deletedRanges, in: "deletedRange", log.number)
    }

    /// Writes only the ranges that changed.
    private func save(_ new: SeqRangeSet, over old: SeqRangeSet?, in table: String, _ number: Int64) throws {
        guard new != old else { return }
        let kept = Set(new.ranges)
        let known = Set(old?.ranges ?? [])
        for range in known.subtracting(kept) {
            try db.cachedStatement(sql: "DELETE FROM \(table) WHERE conversation = ? AND upper = ?")
                .execute(arguments: [number, range.upperBound])
        }
        for range in kept.subtracting(known) {
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO \(table) (conversation, upper, lower) VALUES (?, ?, ?)")
                .execute(arguments: [number, range.upperBound, range.lowerBound])
        }
    }
}

extension Message {
    /// The head that a message implies.
    ///
    /// The view and the retention floor arrive with the first head or page.
    fileprivate var impliedHead: LogHead {
        LogHead(epoch: epoch, view: 0, head: seq, firstSeq: 1, countedIndex: countedIndex, rev: rev)
    }
}
