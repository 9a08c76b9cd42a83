import ScrollbackModel

extension Transaction {
    func openErasure(of user: UserID) throws -> ErasureRow? {
        guard try store.user(user)?.state == .erasing else { return nil }
        return try store.openErasures(limit: .max).first { $0.user == user }
    }

    /// Returns whether the store has data of a user.
    func isKnown(_ user: UserID) throws -> Bool {
        let row = try store.user(user)
        if let row, row.state != .erased { return true }
        let hasTraces =
            try !store.participations(of: user, after: 0, limit: 1).isEmpty
            || !store.memberships(of: user, after: 0, limit: 1).isEmpty
            || !store.blocked(by: user, after: nil, limit: 1).isEmpty
            || !store.reports(by: user, after: 0, limit: 1).isEmpty
            || !store.invitations(of: user, after: 0, limit: 1).isEmpty
            || !store.invitations(by: user, after: nil, limit: 1).isEmpty
            || store.lastSeen(of: user) != nil || store.openUploads(of: user) > 0
        if hasTraces { return true }
        // Data that an erasure keeps under the user's name does not count.
        if row != nil { return false }
        return try !store.media(of: user, after: nil, limit: 1).isEmpty
            || !store.blockers(of: user, limit: 1).isEmpty
            || !store.reports(about: user, after: 0, limit: 1).isEmpty
    }

    /// Records a user in a conversation's participants if they have no membership row there.
    ///
    /// An erasure or an export uses this to find their messages, actions, mutes and bans.
    func recordParticipant(in number: Int64, as user: UserID) throws {
        if try member(user, of: number) == nil { try store.insertParticipant(user, in: number) }
    }

    /// Bans a user permanently and stores the erasure.
    func beginErasure(_ new: ErasureRow) throws -> ErasureRow {
        var user = try store.user(new.user) ?? UserRow(profile: UserProfile(id: new.user))
        user.profile = UserProfile(id: new.user)
        user.state = .erasing
        user.revokedAt = now.date
        try store.put(user)
        var row = new
        try store.put(&row)
        publish(.accessRevoked(new.user, user.refusal))
        publish(.erasureBegan(new.user))
        return row
    }

    /// Checks that a user is not being erased, because the erasure could miss new memberships, and that the name does
    /// not replace an erased user.
    ///
    /// - Returns: The user, or `nil` if the store has no row of them.
    /// - Throws: `conflict`, `unknown-user`.
    @discardableResult
    func checkIsNotErased(_ user: UserID) throws -> UserRow? {
        try user.checkIsNotReplacement()
        let row = try store.user(user)
        if let row, row.state == .erasing { throw row.unknown }
        return row
    }

    // MARK: Steps

    /// Performs one step and stores the progress.
    ///
    /// - Returns: The updated erasure, and blobs that may be unused now.
    func applyErasureStep(
        _ step: ErasureWork.Step, _ erasure: ErasureRow, permissions: Permissions, lowersUnread: Bool
    ) throws -> (row: ErasureRow, blobs: Set<BlobID>) {
        try flush()
        var erasure = erasure
        erasure.error = nil
        var blobs: Set<BlobID> = []
        switch step {
        case .messages(let seqs, let number, let through):
            erasure.messageCount += try detach(seqs, in: number, erasure, lowersUnread: lowersUnread)
            erasure.throughSeq = through
        case .actions(let times, let number): try detachActions(times, in: number, erasure)
        case .mentions(let seqs, let number): try replaceInMentions(at: seqs, in: number, erasure)
        case .notices(let seqs, let number): try replaceInNotices(at: seqs, in: number, erasure)
        case .keys(let ids, let number):
            for id in ids { try store.setSender(erasure.replacement, ofKey: id, in: number) }
        case .conversation(let number):
            try removeErasedUser(from: number, erasure)
            erasure.through = number
            erasure.throughSeq = 0
            erasure.conversationCount += 1
        case .files(let files):
            for id in files { blobs.formUnion(try detach(id, &erasure)) }
        case .reports(let own, let about): try detachReports(by: own, about: about, erasure)
        case .stage(let stage):
            erasure.stage = stage
            erasure.through = 0
            erasure.throughSeq = 0
            if stage == .done { try endErasure(&erasure) }
        }
        try store.put(&erasure)
        return (erasure, blobs)
    }

    /// Replaces the sender of messages, or replaces the messages with tombstones.
    private func detach(
        _ seqs: [Seq], in number: Int64, _ erasure: ErasureRow, lowersUnread: Bool
    ) throws -> Int64 {
        guard let found = try store.conversation(numbered: number), var row = try conversation(found.id) else {
            return 0
        }
        let seen = try visiblePositions(in: row)
        var count: Int64 = 0
        for seq in seqs {
            guard var message = try store.message(at: seq, in: number), message.sender == erasure.user else { continue }
            count += 1
            message.sender = erasure.replacement
            try store.setSender(erasure.replacement, at: seq, in: number)
            if erasure.messages == .erase, !message.isDeleted, seen.contains(seq) {
                try makeTombstone(of: &message, in: &row, lowersUnread: lowersUnread)
                continue
            }
            message.rename(erasure.user, to: erasure.replacement)
            // Stored mentions contain the sender; imported messages may not have stored mentions.
            let mentions = message.attributes.mentions
            for user in Set(mentions?.users ?? []) {
                try store.setSender(erasure.replacement, ofMentionOf: user, at: seq, in: number)
            }
            if mentions?.everyone == true {
                try store.setSender(erasure.replacement, ofMentionOf: nil, at: seq, in: number)
            }
            try change(&message, in: &row, ifIn: seen)
        }
        return count
    }

    /// Returns the positions of messages that any user can see; other rows are removed soon anyway.
    private func visiblePositions(in row: ConversationRow) throws -> SeqRangeSet {
        guard row.firstSeq <= row.head else { return SeqRangeSet() }
        var seen = SeqRangeSet()
        seen.insert(row.firstSeq...row.head)
        if row.hasDeletedRanges {
            for deletedRange in try store.deletedRanges(of: nil, in: row.number) { seen.remove(deletedRange.places) }
        }
        return seen
    }

    /// Stores a changed message, and publishes the change only if a user can see the message.
    private func change(
        _ message: inout MessageRow, in row: inout ConversationRow, ifIn seen: SeqRangeSet
    ) throws {
        // Deliveries still have the earlier content and names.
        try dropDeliveries(of: message.seq...message.seq, in: row.number)
        if seen.contains(message.seq) {
            try change(&message, in: &row)
        } else {
            try store.update(message, in: row.number)
        }
    }

    private func detachActions(_ times: [Timetoken], in number: Int64, _ erasure: ErasureRow) throws {
        guard let found = try store.conversation(numbered: number), var row = try conversation(found.id) else { return }
        let seen = try visiblePositions(in: row)
        for time in times {
            guard var action = try store.action(at: time, in: number), action.sender == erasure.user,
                var message = try store.message(at: action.seq, in: number)
            else { continue }
            try store.removeAction(at: time, in: number)
            if erasure.messages == .erase {
                try remove(action, from: &message, in: row)
            } else {
                action.sender = erasure.replacement
                try store.insert(action, in: number)
                for index in message.actions.indices {
                    message.actions[index].senders = message.actions[index].senders.map {
                        $0 == erasure.user ? erasure.replacement : $0
                    }
                }
            }
            try change(&message, in: &row, ifIn: seen)
        }
    }

    /// Replaces the user's name in mentions.
    private func replaceInMentions(at seqs: [Seq], in number: Int64, _ erasure: ErasureRow) throws {
        guard let found = try store.conversation(numbered: number), var row = try conversation(found.id) else { return }
        let seen = try visiblePositions(in: row)
        for seq in seqs {
            // A stored mention may exist without its message.
            try store.dropMention(of: erasure.user, at: seq, in: number)
            guard var message = try store.message(at: seq, in: number), let mentions = message.attributes.mentions,
                mentions.users.contains(erasure.user)
            else { continue }
            message.attributes.mentions = Mentions(
                everyone: mentions.everyone,
                users: mentions.users.map { $0 == erasure.user ? erasure.replacement : $0 },
                pushText: mentions.pushText)
            try change(&message, in: &row, ifIn: seen)
        }
    }

    /// Replaces the user's name in notices.
    private func replaceInNotices(at seqs: [Seq], in number: Int64, _ erasure: ErasureRow) throws {
        guard let found = try store.conversation(numbered: number), var row = try conversation(found.id) else { return }
        let seen = try visiblePositions(in: row)
        for seq in seqs {
            guard var message = try store.message(at: seq, in: number) else { continue }
            message.rename(erasure.user, to: erasure.replacement)
            try change(&message, in: &row, ifIn: seen)
        }
    }

    /// Removes a user from a conversation, and deletes a conversation that only they could read.
    private func removeErasedUser(from number: Int64, _ erasure: ErasureRow) throws {
        let user = erasure.user
        guard let found = try store.conversation(numbered: number), var row = try conversation(found.id) else { return }
        let wasMember = try member(user, of: number)?.standing == .member
        if !row.isDeleted, row.id.kind.traits.membership == .named, row.id.namedUsers.allSatisfy({ $0 == user }) {
            try erase(row)
            row = try conversation(found.id) ?? row
        }
        try forget(user, in: number)
        guard !row.isDeleted else { return }
        if row.id.namedUsers.contains(user) {
            row.flags.insert(.missingParticipant)
            row.blocks = []
            // A new user of the name must not see earlier messages; the other user is a member from the beginning.
            row.visibility = .sinceJoin
            try put(row, isClientVisible: false)
        } else if wasMember {
            try put(row)
            publish(.left(row.id, user))
        }
    }

    private func detach(_ id: MediaID, _ erasure: inout ErasureRow) throws -> Set<BlobID> {
        guard let row = try store.media(id), row.owner == erasure.user else { return [] }
        if try store.conversation(using: id, after: 0) != nil {
            if erasure.messages != .keep { try store.setOwner(erasure.replacement, of: id) }
            return []
        }
        try store.remove(id)
        erasure.fileCount += 1
        return Set([row.blob, row.thumbnail?.blob].compactMap(\.self))
    }

    private func detachReports(by own: [Int64], about: [Int64], _ erasure: ErasureRow) throws {
        for number in Set(own).union(about) {
            guard var report = try store.report(number) else { continue }
            if report.reporter == erasure.user {
                report.reporter = erasure.replacement
                report.text = nil
            }
            if report.sender == erasure.user, erasure.messages != .keep {
                report.sender = erasure.replacement
                if erasure.messages == .erase { report.content = nil }
            }
            try store.put(&report)
        }
    }

    /// Ends an erasure; the remaining row of the user refuses old tokens.
    private func endErasure(_ erasure: inout ErasureRow) throws {
        let user = erasure.user
        guard try store.memberships(of: user, after: 0, limit: 1).isEmpty,
            try store.participations(of: user, after: 0, limit: 1).isEmpty
        else {
            // New data arrived in the meantime, for example a conversation that another user's message created.
            erasure.stage = .conversations
            return
        }
        try store.forget(user)
        // The drafts, scheduled messages and webhooks of other users have the user's name.
        try store.dropDrafts(in: .direct(user))
        try store.dropScheduled(in: .direct(user))
        try store.dropIncomingWebhooks(to: .direct(user))
        try store.dropBan(of: user, in: BanRow.server)
        try store.renameAuditUser(user, to: erasure.replacement)
        guard var row = try store.user(user) else { return }
        row = UserRow(profile: UserProfile(id: user), rev: row.rev, revokedAt: now.date, state: .erased)
        try store.put(row)
        erasure.endedAt = now.date
        publish(.erasureEnded(user))
    }
}

extension UserID {
    /// Checks that the name does not replace an erased user.
    ///
    /// A user of such a name could edit and delete what the erased user said. Every rule that signs users in, adds them
    /// or stores their data calls this.
    ///
    /// - Parameter code: The error's code.
    func checkIsNotReplacement(_ code: ChatError.Code = .unknownUser) throws(ChatError) {
        guard !isErasedUser else {
            throw ChatError(
                code, "\(self) replaces the name of an erased user. Use the name of an existing user.",
                parameter: "user")
        }
    }
}
