import Foundation
package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// The most messages one `sync` gives of a log, and of all the logs it was asked about, as far as there is room.
    package static let syncMessages = 500
    package static let syncMessagesInAll = 2_000
    /// The most changes one `sync` gives of a log.
    package static let syncChanges = 500

    /// The next window of what moved since a cursor: conversations of the caller that a commit touched, or in which they
    /// changed something themselves; newest activity first, at most `limit` and fewer where their newest messages are long.
    ///
    /// A pass looks at what had moved when it began. What moves meanwhile comes as live events, since a connection hears
    /// its conversations before its first pass.
    package func syncWindow(cursor text: String?, limit: Int, by caller: Caller) throws -> HeadWindow {
        guard (1...ClientRequest.maximumWindow).contains(limit) else {
            throw ChatError.invalidParameter(
                "limit", "must be in 1...\(ClientRequest.maximumWindow)", limit: ClientRequest.maximumWindow)
        }
        var cursor = try text.map { try SyncCursor($0) } ?? SyncCursor(generation: store.generation)
        if cursor.generation != store.generation { cursor = SyncCursor(generation: store.generation) }
        // Before the snapshot: a number beyond it would leave out for ever what was committed between the two.
        let moved = try store.moved
        return try store.read { store in
            let involved = try involvements(
                of: caller.user, movedAbove: cursor.moved, changedAbove: cursor.userRev, in: store)
            // What the snapshot has beyond the number is in this pass too: a live event need not have told of it.
            let newest = max(moved, involved.map(\.moved).max() ?? 0)
            var pass = try cursor.pass ?? .init(moved: newest, userRev: store.user(caller.user)?.rev ?? 0)
            let isFirst = cursor.pass == nil
            var candidates = involved.filter { candidate in
                pass.isYetToGive(candidate)
                    && (candidate.follows && candidate.moved > cursor.moved || candidate.changedRev > cursor.userRev)
            }
            // A new device begins with what stands at the top of the list, all of it at hand.
            let isTop = isFirst && cursor.isNew && candidates.count > limit
            if isTop {
                candidates.sort { $0.place > $1.place }
            } else {
                // Several conversations of one commit share its number: among them it goes by their own.
                candidates.sort { ($0.moved, $0.number) > ($1.moved, $1.number) }
            }

            var window = HeadWindow(heads: [], cursor: "", isDone: false)
            var count = 0
            var bytes = 0
            for candidate in candidates {
                if count >= limit || bytes >= PageRoom.answerBytes { break }
                count += 1
                guard var head = try headOrTombstone(of: candidate, for: caller, in: store) else { continue }
                if text != nil, candidate.hasVoids {
                    // Devices that were away have these rows yet.
                    head.hidden = try store.voids(of: caller.user, in: candidate.number)
                        .filter { $0.userRev > cursor.userRev }.map(\.places)
                }
                window.heads.append(head)
                bytes += head.weight
            }
            window.isDone = count == candidates.count
            if isFirst, cursor.isNew { window.totals = try totals(of: involved, for: caller, in: store) }
            if window.isDone {
                // What they left and what has moved since is in no later pass: that they left is said here.
                for candidate in involved
                where !candidate.follows && candidate.moved > pass.moved && candidate.changedRev > cursor.userRev {
                    if let head = try headOrTombstone(of: candidate, for: caller, in: store) {
                        window.heads.append(head)
                    }
                }
                cursor = SyncCursor(generation: self.store.generation, moved: pass.moved, userRev: pass.userRev)
            } else {
                let last = candidates[count - 1]
                if isTop { pass.top = last.place } else { (pass.below, pass.number) = (last.moved, last.number) }
                cursor.pass = pass
            }
            window.cursor = cursor.text
            return window
        }
    }

    /// What some logs have that the caller's device has not: at most 500 messages each and 2,000 in all; where more was
    /// missed, the newest page, and a gap stays below it.
    ///
    /// Where there is no room left the answer says that nothing was looked at, and is asked for again from there.
    package func syncLogs(_ positions: [LogPosition], by caller: Caller) throws -> [LogSyncAnswer] {
        try store.read { store in
            var room = PageRoom(messages: Self.syncMessagesInAll)
            return try positions.map { position in
                let id = position.conversation.log.absolute(for: caller.user)
                do {
                    let access = try access(to: id, for: caller, in: store)
                    let sync = try syncLog(position, access, &room, caller, store)
                    return LogSyncAnswer(conversation: position.conversation, result: .success(sync))
                } catch let error as ChatError where error.status < 500 {
                    return LogSyncAnswer(conversation: position.conversation, result: .failure(error))
                }
            }
        }
    }

    private func syncLog(
        _ position: LogPosition, _ access: Access, _ room: inout PageRoom, _ caller: Caller, _ store: any StoreReader
    ) throws -> LogSync {
        let pages = PageReader(access: access, store: store, reader: caller.user, sort: .oldestFirst, filter: .all)
        let state = access.state
        let isSameLog = position.epoch == state.epoch && position.seq <= state.head
        let start = try isSameLog ? replayStart(after: position.seq, access.conversation, store) : 0
        let isFew = isSameLog && state.head - start <= Int64(Self.syncMessages)
        var newest: LogPage?
        if !isFew {
            let page = try room.lend(limits.pageSize) { try pages.older(than: state.head + 1, &$0) }
            // Nothing of it for want of room would read as nothing missed.
            if !room.isFull || page.coverage.range != nil { newest = page }
        }
        let page =
            try newest
            ?? room.lend(Self.syncMessages) {
                try pages.newer(than: start, before: nil, &$0)
            }
        guard isSameLog else { return LogSync(page: page, changes: [], changedThrough: state.rev, mustRefetch: false) }
        guard position.rev >= access.conversation.changeFloor else {
            return LogSync(page: page, changes: [], changedThrough: state.rev, mustRefetch: true)
        }
        let (changes, through) = try changes(after: position.rev, access, &room, store)
        return LogSync(page: page, changes: changes, changedThrough: through, mustRefetch: false)
    }

    /// Where what a device missed begins: what was said too long ago is left for whoever looks there.
    private func replayStart(
        after seq: Seq, _ row: ConversationRow, _ store: any StoreReader
    ) throws -> Seq {
        guard row.id.kind.traits.replaysMissed, seq < row.head else { return seq }
        let days = Double(settings.replayDays)
        return try max(seq, store.place(atOrBefore: Timetoken(clock().addingTimeInterval(-days * 86_400)), in: row))
    }

    /// The changes after a number that concern the reader, as far as there is room, and the last of them: each message
    /// once, as it is now.
    private func changes(
        after rev: Int64, _ access: Access, _ room: inout PageRoom, _ store: any StoreReader
    ) throws -> (changes: [LogChange], through: Int64) {
        guard rev < access.state.rev else { return ([], access.state.rev) }
        let number = access.conversation.number
        let rows = try store.changes(in: number, after: rev, limit: Self.syncChanges)
        var changes: [LogChange] = []
        var through = rev
        for row in rows {
            switch row.kind {
            case .removal:
                // Who left is not told of what came after.
                let head = access.state.head
                if row.places.lowerBound <= head {
                    changes.append(.removed(row.places.clamped(to: 1...head), rev: row.rev))
                }
            case .message:
                let seq = row.places.lowerBound
                // One that was changed again comes with its last change.
                guard access.visible.contains(seq), let message = try store.message(at: seq, in: number),
                    message.rev == row.rev
                else { break }
                guard room.take(message) else { return (changes, through) }
                let name = access.conversation.id.relative(to: access.reader)
                changes.append(.message(message.message(in: name, epoch: access.state.epoch)))
            }
            through = row.rev
        }
        return (changes, rows.count < Self.syncChanges ? access.state.rev : through)
    }

    func access(to row: ConversationRow, for caller: Caller, in store: any StoreReader) throws -> Access {
        try Access(
            to: row, for: caller, in: store, permissions: permissions, generation: self.store.generation, now: clock())
    }

    /// A deleted conversation's head says that the caller is no member, so that a device that was away forgets it.
    private func headOrTombstone(
        of involved: InvolvementRow, for caller: Caller, in store: any StoreReader
    ) throws -> ConversationHead? {
        guard let row = try store.conversation(numbered: involved.number) else { return nil }
        let access = row.isDeleted ? nil : try visible(row, for: caller, in: store)
        if let access { return try head(of: access, for: caller.user, in: store) }
        // Made anew without them it is gone for them as well. Of a private channel only those hear who were in it.
        let wasMember = involved.standing == .left
        guard wasMember || row.isDeleted && !row.isPrivate else { return nil }
        let state = LogHead(
            epoch: row.epoch(in: self.store.generation), view: row.view, head: 0, firstSeq: 1, n: 0, rev: 0)
        return ConversationHead(
            conversation: row.id.relative(to: caller.user), state: state, isMember: false,
            userRev: involved.changedRev)
    }

    /// What the caller may see of a conversation, if anything.
    func visible(
        _ row: ConversationRow, for caller: Caller, in store: any StoreReader
    ) throws -> Access? {
        do {
            return try access(to: row, for: caller, in: store)
        } catch let error as ChatError where error.code == .unknownConversation || error.code == .banned {
            return nil
        }
    }
}

/// Where a pass of `sync` stands, or the last one ended.
private struct SyncCursor {
    var generation: UInt64
    var moved: Int64 = 0
    var userRev: Int64 = 0
    /// A pass under way.
    var pass: Pass?

    struct Pass {
        /// What the pass looks at: as it was when it began.
        var moved: Int64
        var userRev: Int64
        /// Conversations from here on were given: what a commit moved, by its number, and of one commit's those from a
        /// number of their own on.
        var below = Int64.max
        var number: Int64 = 0
        /// So were those that stand at or above a place of the list.
        var top: RecentsPlace?

        func isYetToGive(_ row: InvolvementRow) -> Bool {
            row.moved <= moved && (row.moved, row.number) < (below, number) && top.map { row.place < $0 } ?? true
        }
    }

    /// Whether it is that of a device that knows nothing yet.
    var isNew: Bool { moved == 0 && userRev == 0 }

    init(generation: UInt64, moved: Int64 = 0, userRev: Int64 = 0) {
        self.generation = generation
        self.moved = moved
        self.userRev = userRev
    }

    init(_ text: String) throws(ChatError) {
        let numbers = text.split(separator: ".").map { UInt64($0, radix: 36) }
        // An older server's have no number of a conversation: it parted no commit.
        guard [3, 6, 7, 9, 10].contains(numbers.count), !numbers.contains(nil),
            case let values = numbers.compactMap({ $0 }),
            values.dropFirst().prefix(6).allSatisfy({ $0 <= Int64.max })
        else { throw .invalidParameter("cursor", "must be one that sync gave, as it was") }
        generation = values[0]
        moved = Int64(values[1])
        userRev = Int64(values[2])
        guard values.count >= 6 else { return }
        var pass = Pass(moved: Int64(values[3]), userRev: Int64(values[4]), below: Int64(values[5]))
        var rest = values[6...]
        if rest.count % 3 == 1, let number = rest.popFirst() { pass.number = Int64(number) }
        if !rest.isEmpty { pass.top = try RecentsPlace(rest) }
        self.pass = pass
    }

    var text: String {
        var values = [generation, UInt64(moved), UInt64(userRev)]
        if let pass { values += [pass.moved, pass.userRev, pass.below, pass.number].map { UInt64($0) } }
        if let top = pass?.top { values += top.numbers }
        return values.map { String($0, radix: 36) }.joined(separator: ".")
    }
}
