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
        guard (1...limits.pageSize).contains(limit) else {
            throw ChatError.invalidParameter("limit", "must be in 1...\(limits.pageSize)", limit: limits.pageSize)
        }
        var cursor = try text.map { try SyncCursor($0) } ?? SyncCursor(generation: store.generation)
        if cursor.generation != store.generation { cursor = SyncCursor(generation: store.generation) }
        // Before the snapshot: a number beyond it would leave out for ever what was committed between the two.
        let moved = try store.moved
        return try store.read { store in
            let conversations = try conversations(of: caller.user, in: store)
            // What the snapshot has beyond the number is in this pass too: a live event need not have told of it.
            let newest = max(moved, conversations.map(\.row.moved).max() ?? 0)
            var pass = try cursor.pass ?? .init(moved: newest, userRev: store.user(caller.user)?.rev ?? 0, below: .max)
            let candidates =
                conversations
                .filter { candidate in
                    candidate.row.moved <= pass.moved && candidate.row.moved < pass.below
                        && (candidate.follows && candidate.row.moved > cursor.moved
                            || candidate.userRev > cursor.userRev)
                }
                .sorted { $0.row.moved > $1.row.moved }

            var heads: [ConversationHead] = []
            var count = 0
            var bytes = 0
            for candidate in candidates {
                // Several conversations of one commit share its number: a window never ends between them.
                let isParted = count > 0 && candidate.row.moved != candidates[count - 1].row.moved
                if isParted, count >= limit || bytes >= PageRoom.answerBytes { break }
                count += 1
                guard
                    var head = try headOrTombstone(of: candidate.row, candidate.member, for: caller, in: store)
                else { continue }
                if text != nil, candidate.member?.hasVoids == true {
                    // Devices that were away have these rows yet.
                    head.hidden = try store.voids(of: caller.user, in: candidate.row.number)
                        .filter { $0.userRev > cursor.userRev }.map(\.places)
                }
                heads.append(head)
                bytes += head.weight
            }
            let isDone = count == candidates.count
            if isDone {
                // What they left and what has moved since is in no later pass: that they left is said here.
                for candidate in conversations
                where !candidate.follows && candidate.row.moved > pass.moved && candidate.userRev > cursor.userRev {
                    if let head = try headOrTombstone(of: candidate.row, candidate.member, for: caller, in: store) {
                        heads.append(head)
                    }
                }
                cursor = SyncCursor(generation: self.store.generation, moved: pass.moved, userRev: pass.userRev)
            } else {
                pass.below = candidates[count - 1].row.moved
                cursor.pass = pass
            }
            return HeadWindow(heads: heads, cursor: cursor.text, isDone: isDone)
        }
    }

    /// The caller's conversations, newest activity first: at most `limit` that moved before `below`.
    package func recents(
        kind: ConversationKind?, limit: Int, cursor: String?, by caller: Caller
    ) throws -> (heads: [ConversationHead], next: String?) {
        guard (1...limits.pageSize).contains(limit) else {
            throw ChatError.invalidParameter("limit", "must be in 1...\(limits.pageSize)", limit: limits.pageSize)
        }
        let bound = try cursor.map { try RecentsCursor($0) }
        return try store.read { store in
            let candidates = try conversations(of: caller.user, in: store)
                .filter { candidate in
                    let row = candidate.row
                    return !row.isDeleted && row.id.kind.traits.hasRecents && (kind == nil || row.id.kind == kind)
                        && row.head > 0
                }
                .map { (row: $0.row, place: try recentsPlace(of: $0, for: caller, in: store)) }
                .filter { candidate in bound.map { candidate.place < $0 } ?? true }
                .sorted { $0.place > $1.place }
            var heads: [ConversationHead] = []
            var last: RecentsCursor?
            var bytes = 0
            for (row, place) in candidates {
                if heads.count == limit || bytes >= PageRoom.answerBytes { return (heads, last?.text) }
                last = place
                guard let access = try visible(row, for: caller, in: store), !access.visible.isEmpty else { continue }
                let head = try head(of: access, for: caller.user, in: store)
                heads.append(head)
                bytes += head.weight
            }
            return (heads, nil)
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
        let isFew = isSameLog && state.head - position.seq <= Int64(Self.syncMessages)
        var newest: LogPage?
        if !isFew {
            let page = try room.lend(limits.pageSize) { try pages.older(than: state.head + 1, &$0) }
            // Nothing of it for want of room would read as nothing missed.
            if !room.isFull || page.coverage.range != nil { newest = page }
        }
        let page =
            try newest
            ?? room.lend(Self.syncMessages) {
                try pages.newer(than: isSameLog ? position.seq : 0, before: nil, &$0)
            }
        guard isSameLog else { return LogSync(page: page, changes: [], changedThrough: state.rev, mustRefetch: false) }
        guard position.rev >= access.conversation.changeFloor else {
            return LogSync(page: page, changes: [], changedThrough: state.rev, mustRefetch: true)
        }
        let (changes, through) = try changes(after: position.rev, access, &room, store)
        return LogSync(page: page, changes: changes, changedThrough: through, mustRefetch: false)
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

    // MARK: Conversations of a user

    /// A conversation a user has to do with.
    struct Candidate {
        var row: ConversationRow
        var member: MemberRow?
        /// Whether they are a member now, by whichever list.
        var isMember: Bool

        var userRev: Int64 { member?.userRev ?? 0 }

        /// Whether what happens there is their business.
        ///
        /// Who left hears that they left, and of the end: that it was deleted, and perhaps made anew without them,
        /// which leaves a row that counts no change of theirs.
        var follows: Bool { isMember || row.isDeleted || userRev == 0 }
    }

    /// Where a conversation stands in the list: by its newest message, or by the newest one that who left may see.
    private func recentsPlace(
        of candidate: Candidate, for caller: Caller, in store: any StoreReader
    ) throws -> RecentsCursor {
        let row = candidate.row
        var time = row.timetoken
        if !candidate.isMember {
            let newest = try visible(row, for: caller, in: store)?.visible.highest ?? 0
            time = try store.place(atOrBelow: newest, in: row.number)?.timetoken ?? Timetoken(rawValue: 0)
        }
        return RecentsCursor(time: time, number: row.number)
    }

    /// Every conversation a user has to do with: those that list them, and the channels of their communities.
    func conversations(of user: UserID, in store: any StoreReader) throws -> [Candidate] {
        var found: [Candidate] = []
        var channelMembers: [Int64: MemberRow] = [:]
        var communities: [(row: ConversationRow, member: MemberRow)] = []
        for member in try store.memberships(of: user) {
            guard let row = try store.conversation(numbered: member.conversation) else { continue }
            if row.id.isCommunityItself {
                communities.append((row, member))
            } else if row.id.kind == .community {
                channelMembers[row.number] = member
            } else {
                found.append(Candidate(row: row, member: member, isMember: member.standing == .member))
            }
        }
        for (community, outer) in communities {
            var after: Identifier?
            while case let channels = try store.channels(of: community.id.target, after: after, limit: 500),
                let last = channels.last
            {
                for channel in channels {
                    var member = channelMembers[channel.number]
                    // What they change in the community, joining above all, concerns each of its channels.
                    if outer.userRev > member?.userRev ?? 0 {
                        member = member ?? MemberRow(conversation: channel.number, user: user, standing: .reader)
                        member?.userRev = outer.userRev
                    }
                    let isMember = outer.standing == .member && (!channel.isPrivate || member?.standing == .member)
                    found.append(Candidate(row: channel, member: member, isMember: isMember))
                }
                after = last.id.part
            }
        }
        return found
    }

    private func access(to row: ConversationRow, for caller: Caller, in store: any StoreReader) throws -> Access {
        try Access(to: row, for: caller, in: store, permissions: permissions, generation: self.store.generation)
    }

    /// A deleted conversation's head says that the caller is no member, so that a device that was away forgets it.
    private func headOrTombstone(
        of row: ConversationRow, _ member: MemberRow?, for caller: Caller, in store: any StoreReader
    ) throws -> ConversationHead? {
        let access = row.isDeleted ? nil : try visible(row, for: caller, in: store)
        if let access { return try head(of: access, for: caller.user, in: store) }
        // Made anew without them it is gone for them as well. Of a private channel only those hear who were in it.
        let wasMember = member?.standing == .left
        guard wasMember || row.isDeleted && !row.isPrivate else { return nil }
        let state = LogHead(
            epoch: row.epoch(in: self.store.generation), view: row.view, head: 0, firstSeq: 1, n: 0, rev: 0)
        return ConversationHead(
            conversation: row.id.relative(to: caller.user), state: state, isMember: false,
            userRev: member?.userRev ?? 0)
    }

    /// What the caller may see of a conversation, if anything.
    private func visible(
        _ row: ConversationRow, for caller: Caller, in store: any StoreReader
    ) throws -> Access? {
        do {
            return try access(to: row, for: caller, in: store)
        } catch let error as ChatError where error.code == .unknownConversation {
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
        /// Conversations from here on were given.
        var below: Int64
    }

    init(generation: UInt64, moved: Int64 = 0, userRev: Int64 = 0) {
        self.generation = generation
        self.moved = moved
        self.userRev = userRev
    }

    init(_ text: String) throws(ChatError) {
        let numbers = text.split(separator: ".").map { UInt64($0, radix: 36) }
        guard numbers.count == 3 || numbers.count == 6, !numbers.contains(nil),
            case let values = numbers.compactMap({ $0 }), values.dropFirst().allSatisfy({ $0 <= Int64.max })
        else { throw .invalidParameter("cursor", "must be one that sync gave, as it was") }
        generation = values[0]
        moved = Int64(values[1])
        userRev = Int64(values[2])
        if values.count == 6 {
            pass = Pass(moved: Int64(values[3]), userRev: Int64(values[4]), below: Int64(values[5]))
        }
    }

    var text: String {
        var values = [generation, UInt64(moved), UInt64(userRev)]
        if let pass { values += [UInt64(pass.moved), UInt64(pass.userRev), UInt64(pass.below)] }
        return values.map { String($0, radix: 36) }.joined(separator: ".")
    }
}

/// A place in the list of recent conversations: the time of the last message, then the conversation's number.
private struct RecentsCursor: Comparable {
    var time: Timetoken
    var number: Int64

    init(time: Timetoken, number: Int64) {
        self.time = time
        self.number = number
    }

    init(_ text: String) throws(ChatError) {
        let parts = text.split(separator: ".").map { UInt64($0, radix: 36) }
        guard parts.count == 2, let time = parts[0], let number = parts[1], number <= Int64.max else {
            throw .invalidParameter("cursor", "must be one that the list gave, as it was")
        }
        self.time = Timetoken(rawValue: time)
        self.number = Int64(number)
    }

    var text: String { "\(String(time.rawValue, radix: 36)).\(String(number, radix: 36))" }

    static func < (a: RecentsCursor, b: RecentsCursor) -> Bool {
        (a.time, a.number) < (b.time, b.number)
    }
}
