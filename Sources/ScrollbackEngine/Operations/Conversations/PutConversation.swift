import ScrollbackModel
package import ScrollbackWire

extension PutConversation: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        try context.engine.checkTexts([("name", settings.name)])
        let caller = context.caller
        let request = ChangeRequest(
            conversation: conversation.absolute(for: caller.user), caller: caller, operation: operation)
        let isNew = try transaction.putConversation(
            request, settings, exists: exists, permissions: context.permissions)
        return Answer(conversation: conversation, isNew: isNew)
    }

    package func didCommit(_ context: OperationContext) {
        if settings.retention != .keep { context.startCleanup() }
    }
}

extension Transaction {
    /// Creates or changes a conversation.
    ///
    /// - Parameters:
    ///   - exists: Whether the conversation must exist; `nil` creates or changes it.
    /// - Returns: Whether the conversation was created.
    fileprivate func putConversation(
        _ request: ChangeRequest, _ settings: ConversationSettings, exists: Bool? = nil,
        permissions: Permissions
    ) throws -> Bool {
        let (id, caller) = (request.conversation, request.caller)
        let known = try conversation(id).flatMap { $0.isDeleted ? nil : $0 }
        let isNew = try known.map { try isNotStarted($0, for: caller.user) } ?? true
        let digest = request.digest("settings", settings.digestText, exists.map { "\($0)" } ?? "")
        if let known, let change = try previousChange(request, digest, in: known) { return change.answer == 1 }
        var row: ConversationRow
        if let known, !isNew, try canSee(known, caller, permissions: permissions) {
            try checkMayChange(known, settings, by: caller, permissions: permissions)
            guard exists != false else {
                throw ChatError(.conflict, "The conversation \(id) exists already.", parameter: "conversation")
            }
            let growth = Growth(messageBytes: settings.storedBytes)
            try checkGrowth(growth, by: caller, adding: settings.hasTexts ? .content : .protection)
            try recordGrowth(growth, by: caller)
            row = known
        } else {
            guard exists != true else { throw Access.unknown }
            row = try create(id, settings, isFree: isNew, by: caller, permissions: permissions)
        }
        let old = row
        try apply(settings, to: &row, isNew: isNew)
        if request.operation != nil {
            // The entry of the change log covers no message, so clients don't see a change of the history.
            _ = try recordChange(
                .message, 0...0, in: &row, operation: request.operation, digest: digest, answer: isNew ? 1 : 0)
        }
        row = try put(row)
        if isNew {
            try addInitialMembers(settings.members, to: row, by: caller)
            if id.isCommunityRoot { _ = try makeLog(id.logID) }
        } else if row.isPrivate, !old.isPrivate, !caller.isAdmin {
            // Otherwise the channel would have no member who could add others.
            try addMember(caller.user, as: .owner, to: row, sinceBeginning: false, by: caller.user)
        }
        publish(.conversationChanged(id))
        if !isNew {
            try writeChangeNotices(since: old, now: row, by: caller.user)
            if try caller.isAdmin || role(of: caller.user, in: row) ?? .member > .member {
                try audit(.changeConversation, by: caller, in: row)
            }
        }
        return isNew
    }

    /// Creates a conversation after all checks, without its settings and the members that they name.
    ///
    /// - Parameter isFree: Whether no other conversation has the name, from the caller's point of view.
    private func create(
        _ id: ConversationID, _ settings: ConversationSettings, isFree: Bool, by caller: Caller,
        permissions: Permissions
    ) throws -> ConversationRow {
        try checkMayCreate(id, by: caller, permissions: permissions)
        try check(settings, for: id)
        let isNamed = id.kind.traits.membership == .named
        let others = Set(settings.members + id.namedUsers).subtracting([caller.user])
        let growth = Growth(
            groups: isNamed ? 0 : 1, members: Int64(others.count), messageBytes: settings.storedBytes)
        // The quota is checked first: the writer reads several rows for each member, and other users wait for it.
        try checkGrowth(growth, by: caller)
        try checkMayAdd(settings.members, to: id, by: caller)
        guard isFree else {
            // The name is taken, and only this error shows it. Each attempt counts as a creation does, so that users
            // can't try many names.
            try recordGrowth(Growth(groups: growth[.groups]), by: caller)
            throw Access.unknown
        }
        try recordGrowth(growth, by: caller)
        if let known = try conversation(id), !known.isDeleted {
            return try addMissingParticipants(caller.user, to: known)
        }
        return isNamed ? try createNamed(id, by: caller.user) : try makeLog(id)
    }

    /// Changes a conversation's row, and publishes the events for members who see less of an existing conversation.
    private func apply(_ settings: ConversationSettings, to row: inout ConversationRow, isNew: Bool) throws {
        let old = row
        row.name = row.name.changed(to: settings.name)
        row.avatar = row.avatar.changed(to: settings.avatar)
        row.metadata = settings.metadata ?? row.metadata
        if row.name != old.name || row.avatar != old.avatar { row.namedAt = now }
        if let isPrivate = settings.isPrivate, isPrivate != row.isPrivate {
            row.isPrivate = isPrivate
            if !isNew {
                row.view += 1
                if isPrivate { publish(.madePrivate(row.id, members: try visibleHistory(ofMembersOf: row))) }
            }
        }
        if let visibility = settings.visibility, visibility != row.visibility {
            row.visibility = visibility
            if !isNew {
                row.view += 1
                if visibility == .sinceJoin { publish(.visibilityReduced(row.id, head: row.head)) }
            }
        }
        row.retention = settings.retention.applied(to: row.retention.map { RetentionPolicy(stored: $0) })?.stored
        row.isFrozen = settings.isFrozen ?? row.isFrozen
        row.capacity = settings.capacity.applied(to: row.capacity.map { Int($0) }).map { Int64($0) }
    }

    /// Returns the members on a conversation's own list, each with the sequence number above which the member can see
    /// every message.
    private func visibleHistory(ofMembersOf row: ConversationRow) throws -> [UserID: Seq] {
        let pageSize = 1_000
        try flush()
        var members: [UserID: Seq] = [:]
        var last: UserID?
        while true {
            let page = try store.members(of: row.number, after: last, limit: pageSize)
            for member in page { members[member.user] = try store.fullyVisibleAfter(member, in: row) }
            guard page.count == pageSize else { return members }
            last = page.last?.user
        }
    }

    private func checkMayChange(
        _ row: ConversationRow, _ settings: ConversationSettings, by caller: Caller, permissions: Permissions
    ) throws {
        let id = row.id
        let role = try role(of: caller.user, in: row)
        try permissions.require(.changeSettings, in: id, as: role, by: caller, to: "change the settings")
        guard settings.members.isEmpty else {
            throw ChatError.invalidParameter("members", "can be set only when a conversation is created")
        }
        try check(settings, for: id)
    }

    /// Checks that the settings apply to this kind of conversation, before anything changes.
    private func check(_ settings: ConversationSettings, for id: ConversationID) throws {
        let isChannel = id.kind == .community && !id.isCommunityRoot
        if case .set(let retention) = settings.retention { _ = try retention.validated() }
        guard isChannel || settings.isPrivate != true else {
            throw ChatError.invalidParameter("private", "can be set only for channels of a community")
        }
        if id.kind.traits.membership == .named {
            // Members of these conversations can't change settings later, and a direct conversation has no owner.
            for (name, isGiven) in [
                ("frozen", settings.isFrozen == true), ("name", id.kind == .direct && settings.name != nil),
                ("avatar", id.kind == .direct && settings.avatar != nil),
            ] where isGiven {
                throw ChatError.invalidParameter(name, "can't be set for \(id.kind.rawValue) conversations")
            }
        }
        if case .set(let capacity) = settings.capacity {
            guard id.kind == .room else { throw ChatError.invalidParameter("capacity", "can be set only for rooms") }
            guard ConversationSettings.capacities.contains(capacity) else {
                throw ChatError.invalidParameter(
                    "capacity", "must be in 1...\(ConversationSettings.capacities.upperBound) or \"unlimited\"",
                    limit: ConversationSettings.capacities.upperBound)
            }
        }
        let listsMembers = id.kind.traits.membership == .listed || id.isCommunityRoot || settings.isPrivate == true
        guard settings.members.isEmpty || listsMembers else {
            throw ChatError.invalidParameter("members", "can't be set, because \(id) does not list its members")
        }
    }

    /// Checks that the caller may make users the first members of a conversation.
    private func checkMayAdd(_ users: [UserID], to id: ConversationID, by caller: Caller) throws {
        for user in users { try checkMayAdd(user, to: nil, by: caller) }
        if id.kind == .community, !id.isCommunityRoot, let community = try conversation(.community(id.target)) {
            for user in users { try checkIsMember(user, of: community) }
        }
    }

    private func checkMayCreate(_ id: ConversationID, by caller: Caller, permissions: Permissions) throws {
        if id.kind == .community, !id.isCommunityRoot {
            let community = try conversation(.community(id.target), seenBy: caller, permissions: permissions)
            let role = try role(of: caller.user, in: community)
            return try permissions.require(
                .changeSettings, in: community.id, as: role, by: caller, to: "create channels")
        }
        guard permissions[.create, id.kind].isMet(by: nil, isAdmin: caller.isAdmin) else {
            throw ChatError(.forbidden, "Creating a \(id.kind.rawValue) conversation requires an administrator token.")
        }
        guard caller.isAdmin || id.kind.traits.membership != .named || id.namedUsers.contains(caller.user) else {
            throw ChatError(.forbidden, "A direct conversation can be created only by one of its two users.")
        }
        try store.checkMayStart(id, by: caller)
    }

    private func addInitialMembers(_ users: [UserID], to row: ConversationRow, by caller: Caller) throws {
        guard row.id.kind.traits.membership == .listed || row.id.isCommunityRoot || row.isPrivate else { return }
        // Administrators create conversations for others; other callers own what they create.
        if !caller.isAdmin {
            try addMember(caller.user, as: .owner, to: row, sinceBeginning: false, by: caller.user)
        }
        for user in users where caller.isAdmin || user != caller.user {
            try addMember(user, as: .member, to: row, sinceBeginning: false, by: caller.user)
        }
    }
}

extension ConversationSettings {
    /// A text that is the same only for the same settings.
    fileprivate var digestText: String {
        var writer = JSONWriter()
        writer.object { writeMembers(to: &$0) }
        return writer.text
    }
}
