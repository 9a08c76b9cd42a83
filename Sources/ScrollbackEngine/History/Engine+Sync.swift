import Foundation
package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// The maximum number of messages that one `sync` returns of a log.
    package static let syncMessages = 500
    /// The maximum number of messages that one `sync` returns of all requested logs together.
    package static let syncMessagesTotal = 2_000
    /// The maximum number of changes that one `sync` returns of a log.
    package static let syncChanges = 500

    /// Returns the next window of conversations that changed since a cursor, newest activity first.
    ///
    /// A window has at most `limit` conversations, and fewer if their newest messages are long. A conversation is
    /// included if a commit changed it, or if the caller changed their own state in it.
    ///
    /// A pass of several windows covers the changes up to its start. Later changes arrive as live events, because a
    /// connection subscribes to its conversations before its first pass.
    package func syncWindow(cursor text: String?, limit: Int, by caller: Caller) throws -> HeadWindow {
        guard (1...SyncConversations.maximumWindow).contains(limit) else {
            throw ChatError.invalidParameter(
                "limit", "must be in 1...\(SyncConversations.maximumWindow)", limit: SyncConversations.maximumWindow)
        }
        // Read once: a cursor must not name a generation that began while the window was read.
        let generation = store.generation
        var cursor = try text.map { try SyncCursor($0) } ?? SyncCursor(generation: generation)
        if cursor.generation != generation { cursor = SyncCursor(generation: generation) }
        // Read before the snapshot: a later number would skip commits between the snapshot and the number.
        let lastCommit = try store.lastCommit
        var reads = ExpectedReads()
        reads.summaries = .init(of: caller.user, committedAfter: cursor.lastCommit, changedAbove: cursor.userRev)
        return try store.read(expecting: reads) { store in
            let memberships = try membershipSummaries(
                of: caller.user, committedAfter: cursor.lastCommit, changedAbove: cursor.userRev, in: store)
            // Commits that the snapshot has beyond this number are part of the pass, because live events may not have
            // reported them.
            let newest = max(lastCommit, memberships.map(\.lastCommit).max() ?? 0)
            var pass = try cursor.pass ?? .init(lastCommit: newest, userRev: store.user(caller.user)?.rev ?? 0)
            let isFirst = cursor.pass == nil
            var candidates = memberships.filter { candidate in
                pass.isPending(candidate)
                    && (candidate.isReportedBySync && candidate.lastCommit > cursor.lastCommit
                        || candidate.changedRev > cursor.userRev)
            }
            // A new device starts with the top of the list of recents, for which all conversations are loaded.
            let isTop = isFirst && cursor.isNew && candidates.count > limit
            if isTop {
                candidates.sort { $0.recentsPosition > $1.recentsPosition }
            } else {
                // Conversations of one commit share its number, so their own number orders them.
                candidates.sort { ($0.lastCommit, $0.number) > ($1.lastCommit, $1.number) }
            }

            try store.readAhead(headsOf: candidates.prefix(limit).map(\.number), for: caller.user)

            var window = HeadWindow(heads: [], cursor: "", isDone: false)
            var count = 0
            var bytes = 0
            var isFull: Bool { count >= limit || bytes >= ResponseBudget.answerBytes }
            for candidate in candidates {
                if isFull { break }
                count += 1
                guard var head = try headOrTombstone(of: candidate, for: caller, in: store) else { continue }
                if text != nil, candidate.hasDeletedRanges {
                    // Devices that were offline may still have these messages.
                    head.hidden = try store.deletedRanges(of: caller.user, in: candidate.number)
                        .filter { $0.userRev > cursor.userRev }.map(\.places)
                }
                window.heads.append(head)
                bytes += head.weight
            }
            if isFirst, cursor.isNew { window.totals = try totals(of: memberships, for: caller, in: store) }
            if count < candidates.count {
                let last = candidates[count - 1]
                if isTop {
                    pass.top = last.recentsPosition
                } else {
                    (pass.below, pass.number) = (last.lastCommit, last.number)
                }
            } else {
                pass.continueWithDepartures()
                window.isDone = true
                let departures = memberships.filter { pass.hasDeparture($0) && $0.changedRev > cursor.userRev }
                for departure in departures.sorted(by: { $0.number < $1.number }) {
                    if isFull {
                        window.isDone = false
                        break
                    }
                    count += 1
                    pass.number = departure.number
                    guard let head = try headOrTombstone(of: departure, for: caller, in: store) else { continue }
                    window.heads.append(head)
                    bytes += head.weight
                }
            }
            if window.isDone {
                window.hasDrafts = try !store.drafts(of: caller.user, after: cursor.userRev, limit: 1).isEmpty
                cursor = SyncCursor(generation: generation, lastCommit: pass.lastCommit, userRev: pass.userRev)
            } else {
                cursor.pass = pass
            }
            window.cursor = cursor.text
            return window
        }
    }

    /// Returns what the caller's device lacks of several logs: at most 500 messages each and 2,000 in all.
    ///
    /// If a device missed more than that, it gets the newest page, and a gap remains below. When the answer is full,
    /// the remaining answers are empty and the client requests them again.
    package func syncLogs(_ positions: [LogPosition], by caller: Caller) throws -> [LogSyncResult] {
        // Messages before it are not replayed; clients fetch them on demand.
        let oldest = Timetoken(clock().addingTimeInterval(-Double(settings.replayDays) * 86_400))
        guard Set(positions.map { $0.conversation.logID.absolute(for: caller.user) }).count == positions.count else {
            throw ChatError.invalidParameter("positions", "must have each conversation once")
        }
        return try read(about: positions.map(\.conversation.logID), for: caller) { store in
            let accesses = try positions.map { position in
                try Self.refusal {
                    try access(to: position.conversation.logID.absolute(for: caller.user), for: caller, in: store)
                }
            }
            var reads = ExpectedReads()
            reads.logs = expectedLogs(positions, accesses, oldest)
            try store.readAhead(reads)
            var budget = ResponseBudget(messages: Self.syncMessagesTotal)
            return try zip(positions, accesses).map { position, access in
                let sync = try Self.refusal { try syncLog(position, access.get(), oldest, &budget, caller, store) }
                return LogSyncResult(conversation: position.conversation, result: sync)
            }
        }
    }

    /// Returns the result of a closure, or the error with which it refuses a part of a request.
    private static func refusal<Answer>(_ body: () throws -> Answer) throws -> Result<Answer, ChatError> {
        do {
            return .success(try body())
        } catch let error as ChatError where error.status < 500 {
            return .failure(error)
        }
    }

    /// Returns what ``syncLog(_:_:_:_:_:_:)`` will probably read, up to the number of messages that an answer can have.
    private func expectedLogs(
        _ positions: [LogPosition], _ accesses: [Result<Access, ChatError>], _ oldest: Timetoken
    ) -> [ExpectedReads.Log] {
        var messages: Int64 = 0
        var changes: Int64 = 0
        return zip(positions, accesses).compactMap { position, access in
            guard let access = try? access.get() else { return nil }
            let state = access.state
            var log = ExpectedReads.Log(of: access.conversation)
            let isSameLog = position.epoch == state.epoch && position.seq <= state.head
            let fitsOneAnswer = isSameLog && state.head - position.seq <= Int64(Self.syncMessages)
            let first = fitsOneAnswer ? position.seq + 1 : state.head - Int64(limits.pageSize) + 1
            let lower = max(first, state.firstSeq)
            if lower <= state.head, messages + state.head - lower < Int64(Self.syncMessagesTotal) {
                messages += state.head - lower + 1
                log.places = lower...state.head
            }
            guard isSameLog else { return log }
            if replays(after: position.seq, access.conversation) { log.time = oldest }
            // A former member's conversation can have any number of later changes.
            guard access.end == nil, position.rev >= access.conversation.changeFloor, position.rev < state.rev,
                changes + state.rev - position.rev <= Int64(Self.syncMessagesTotal)
            else { return log }
            changes += state.rev - position.rev
            log.changedAfter = position.rev
            return log
        }
    }

    private func syncLog(
        _ position: LogPosition, _ access: Access, _ oldest: Timetoken, _ budget: inout ResponseBudget,
        _ caller: Caller, _ store: any StoreReader
    ) throws -> LogSync {
        let pages = PageReader(access: access, store: store, reader: caller.user, sort: .oldestFirst, filter: .all)
        let state = access.state
        let isSameLog = position.epoch == state.epoch && position.seq <= state.head
        let start = try isSameLog ? replayStart(after: position.seq, oldest, access.conversation, store) : 0
        let fitsOneAnswer = isSameLog && state.head - start <= Int64(Self.syncMessages)
        var newest: LogPage?
        if !fitsOneAnswer {
            let page = try budget.slice(limits.pageSize) { try pages.older(than: state.head + 1, &$0) }
            // An empty page because of a full answer would look as if nothing was missed.
            if !budget.isFull || page.coverage.range != nil { newest = page }
        }
        let page =
            try newest
            ?? budget.slice(Self.syncMessages) {
                try pages.newer(than: start, before: nil, &$0)
            }
        guard isSameLog else { return LogSync(page: page, changes: [], changedThrough: state.rev, mustRefetch: false) }
        guard position.rev >= min(access.conversation.changeFloor, state.rev) else {
            return LogSync(page: page, changes: [], changedThrough: state.rev, mustRefetch: true)
        }
        let (changes, through) = try changes(after: position.rev, access, &budget, store)
        return LogSync(page: page, changes: changes, changedThrough: through, mustRefetch: false)
    }

    /// Returns where replay starts: after the messages that the device knows, and those that are too old.
    private func replayStart(
        after seq: Seq, _ oldest: Timetoken, _ row: ConversationRow, _ store: any StoreReader
    ) throws -> Seq {
        guard replays(after: seq, row) else { return seq }
        return try max(seq, store.position(atOrBefore: oldest, in: row))
    }

    /// Returns whether messages after a sequence number were missed, and are not replayed if they are too old.
    private func replays(after seq: Seq, _ row: ConversationRow) -> Bool {
        row.id.kind.traits.replaysMissed && seq < row.head
    }

    /// Returns the changes after a revision that concern the reader, and the last revision covered.
    ///
    /// Each changed message appears once, in its current state. The answer's size is limited.
    private func changes(
        after rev: Int64, _ access: Access, _ budget: inout ResponseBudget, _ store: any StoreReader
    ) throws -> (changes: [LogChange], through: Int64) {
        guard rev < access.state.rev else { return ([], access.state.rev) }
        let number = access.conversation.number
        let rows = try store.changes(in: number, after: rev, limit: Self.syncChanges)
        let newest = Dictionary(
            rows.filter { $0.kind == .message && $0.rev <= access.state.rev }.map { ($0.places.lowerBound, $0.rev) },
            uniquingKeysWith: max)
        var changes: [LogChange] = []
        var through = rev
        for row in rows {
            // Former members don't learn of changes after the end of their membership.
            if row.rev > access.state.rev { return (changes, access.state.rev) }
            switch row.kind {
            case .removal:
                // Former members don't learn of changes above the position where they left.
                let head = access.state.head
                if row.places.lowerBound <= head {
                    changes.append(.removed(row.places.clamped(to: 1...head), rev: row.rev))
                }
            case .message:
                let seq = row.places.lowerBound
                // A message that was changed again is part of a later change.
                guard newest[seq] == row.rev, access.visible.contains(seq),
                    let message = try store.message(at: seq, in: number)
                else { break }
                // Also if the message is not returned, because it was read.
                guard budget.take(message) else { return (changes, through) }
                guard message.rev == row.rev || message.rev > access.state.rev,
                    var shown = try access.change(message, in: store)
                else { break }
                shown.rev = row.rev
                changes.append(.message(shown))
            }
            through = row.rev
        }
        return (changes, rows.count < Self.syncChanges ? access.state.rev : through)
    }

    func access(to row: ConversationRow, for caller: Caller, in store: any StoreReader) throws -> Access {
        try Access(
            to: row, for: caller, in: store, permissions: permissions, generation: self.store.generation, now: clock())
    }

    /// Returns a conversation's head, or for a deleted one a head without membership, so that devices remove it.
    private func headOrTombstone(
        of membership: MembershipSummary, for caller: Caller, in store: any StoreReader
    ) throws -> ConversationHead? {
        guard let row = try store.conversation(numbered: membership.number) else { return nil }
        let access = row.isDeleted ? nil : try visible(row, for: caller, in: store)
        if let access { return try head(of: access, for: caller.user, in: store) }
        // A conversation that was recreated without the user is also gone for them. Of a private channel, only former
        // members learn.
        let wasMember = membership.standing == .left
        guard wasMember || row.isDeleted && !row.isPrivate else { return nil }
        let state = LogHead(
            epoch: row.epoch(in: self.store.generation), view: row.view, head: 0, firstSeq: 1, countedIndex: 0, rev: 0)
        return ConversationHead(
            conversation: row.id.relative(to: caller.user), state: state, isMember: false,
            userRev: membership.changedRev)
    }

    /// Returns the caller's access to a conversation, or `nil` if the caller may not see it.
    func visible(
        _ row: ConversationRow, for caller: Caller, in store: any StoreReader
    ) throws -> Access? {
        try Access(
            ifVisible: row, to: caller, in: store, permissions: permissions, generation: self.store.generation,
            now: clock())
    }
}

extension Access {
    /// Returns a changed message as the reader sees it, or `nil` if the version of the change is not stored any more.
    fileprivate func change(_ row: MessageRow, in store: any StoreReader) throws -> Message? {
        let shown = try shown(row, in: store)
        guard row.isDeleted || !shown.isDeleted else { return nil }
        return shown.message(in: conversation.id.relative(to: reader), epoch: state.epoch)
    }
}

/// The state of a `sync` pass, or the end of the last pass.
private struct SyncCursor {
    var generation: UInt64
    var lastCommit: Int64 = 0
    var userRev: Int64 = 0
    /// The current pass, if it has not ended.
    var pass: Pass?

    struct Pass {
        /// The commit and change counter at the start of the pass, up to which it covers changes.
        var lastCommit: Int64
        var userRev: Int64
        /// The commit of the last conversation returned; the pass continues below it and `number`.
        ///
        /// Conversations with the same commit are ordered by their own number. 0 if only departures are left.
        var below = Int64.max
        /// The number of the last conversation returned.
        var number: Int64 = 0
        /// The list position of the last conversation returned, if the pass started with the top of the list.
        var top: RecentsPosition?

        private var hasOnlyDepartures: Bool { below == 0 }

        func isPending(_ row: MembershipSummary) -> Bool {
            !hasOnlyDepartures && row.lastCommit <= lastCommit && (row.lastCommit, row.number) < (below, number)
                && top.map { row.recentsPosition < $0 } ?? true
        }

        /// Ends the part of the pass with the conversations that changed up to its start.
        mutating func continueWithDepartures() {
            if !hasOnlyDepartures { (below, number, top) = (0, 0, nil) }
        }

        /// Returns whether the end of the pass reports that the user left a conversation.
        ///
        /// These are conversations that changed after the start of the pass. No later pass includes them.
        func hasDeparture(_ row: MembershipSummary) -> Bool {
            !row.isReportedBySync && row.lastCommit > lastCommit && row.number > number
        }
    }

    /// Whether the device has no data yet.
    var isNew: Bool { lastCommit == 0 && userRev == 0 }

    init(generation: UInt64, lastCommit: Int64 = 0, userRev: Int64 = 0) {
        self.generation = generation
        self.lastCommit = lastCommit
        self.userRev = userRev
    }

    init(_ text: String) throws(ChatError) {
        let numbers = text.split(separator: ".").map { UInt64($0, radix: 36) }
        // Cursors of older servers have no conversation number, because their windows never split a commit.
        guard [3, 6, 7, 9, 10].contains(numbers.count), !numbers.contains(nil),
            case let values = numbers.compactMap({ $0 }),
            values.dropFirst().prefix(6).allSatisfy({ $0 <= Int64.max })
        else { throw .invalidParameter("cursor", "must be an unchanged cursor from sync") }
        generation = values[0]
        lastCommit = Int64(values[1])
        userRev = Int64(values[2])
        guard values.count >= 6 else { return }
        var pass = Pass(lastCommit: Int64(values[3]), userRev: Int64(values[4]), below: Int64(values[5]))
        var rest = values[6...]
        if rest.count % 3 == 1, let number = rest.popFirst() { pass.number = Int64(number) }
        if !rest.isEmpty { pass.top = try RecentsPosition(rest) }
        self.pass = pass
    }

    var text: String {
        var values = [generation, UInt64(lastCommit), UInt64(userRev)]
        if let pass { values += [pass.lastCommit, pass.userRev, pass.below, pass.number].map { UInt64($0) } }
        if let top = pass?.top { values += top.numbers }
        return values.map { String($0, radix: 36) }.joined(separator: ".")
    }
}
