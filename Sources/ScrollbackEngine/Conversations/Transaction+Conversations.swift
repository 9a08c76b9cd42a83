import Foundation
package import ScrollbackModel

/// What may be said when a conversation is created or changed; what is absent stays as it is.
package struct ConversationSettings: Hashable, Sendable {
    package var name: String?
    package var avatar: String?
    package var metadata: RawJSON?
    package var visibility: HistoryVisibility?
    package var isPrivate: Bool?
    package var members: [UserID]
    /// How long messages are kept; `.some(nil)` for as the server's setting says.
    package var retention: RetentionPolicy??
    /// Whether only moderators, owners and administrators may write.
    package var isFrozen: Bool?
    /// The most subscribers of a room; `.some(nil)` for any number.
    package var capacity: Int??

    /// How many subscribers a room may be limited to.
    static let capacities = 1...1_000_000

    package init(
        name: String? = nil, avatar: String? = nil, metadata: RawJSON? = nil, visibility: HistoryVisibility? = nil,
        isPrivate: Bool? = nil, members: [UserID] = [], retention: RetentionPolicy?? = nil, isFrozen: Bool? = nil,
        capacity: Int?? = nil
    ) {
        self.name = name
        self.avatar = avatar
        self.metadata = metadata
        self.visibility = visibility
        self.isPrivate = isPrivate
        self.members = members
        self.retention = retention
        self.isFrozen = isFrozen
        self.capacity = capacity
    }
}

extension Transaction {
    /// A conversation that its name alone describes: its people are its members from the beginning.
    func createNamed(_ id: ConversationID, by caller: UserID) throws -> ConversationRow {
        let row = try makeLog(id)
        for user in id.namedUsers { try admit(user, as: .member, to: row, sinceBeginning: true, by: caller) }
        return row
    }

    /// Makes a direct conversation, before anything is said, for what one of its two wants to set there: the other hears of
    /// it by the first message.
    func prepareNamed(_ id: ConversationID, for caller: Caller) throws {
        let known = try conversation(id).flatMap { $0.isDeleted ? nil : $0 }
        if let known, try !isYetToBegin(known, for: caller.user) { return }
        try store.checkIsNotBlocked(caller, in: id)
        var row = try known ?? makeLog(id)
        if id.namedUsers.contains(where: { $0 != caller.user }) {
            row.marks.insert(.lostPerson)
            row = try put(row)
        }
        try admit(caller.user, as: .member, to: row, sinceBeginning: true, by: caller.user)
    }

    /// Whether a direct conversation does not exist yet for one of its two: nothing was said, and the other has set something
    /// there.
    func isYetToBegin(_ row: ConversationRow, for user: UserID) throws -> Bool {
        guard row.marks.contains(.lostPerson), row.head == 0, row.id.namedUsers.contains(user) else { return false }
        return try member(user, of: row.number)?.standing != .member
    }

    /// Puts those of a direct conversation's two in who are missing, from here on: what was said before is not theirs.
    ///
    /// - Parameter sender: who speaks there, and so is there; of a name that was erased it must be known that it is used again.
    func admitMissing(_ sender: UserID, to row: ConversationRow) throws -> ConversationRow {
        var areAllThere = true
        for user in row.id.namedUsers where try member(user, of: row.number)?.standing != .member {
            let state = try store.user(user)?.state
            if user == sender || state != .erased && state != .erasing {
                try admit(user, as: .member, to: row, sinceBeginning: false, by: sender)
            } else {
                areAllThere = false
            }
        }
        guard areAllThere, var row = try conversation(row.id) else { return try conversation(row.id) ?? row }
        row.marks.remove(.lostPerson)
        return try put(row)
    }

    /// A new log: a new row, or that of a deleted conversation with a new salt and so a new epoch.
    private func makeLog(_ id: ConversationID) throws -> ConversationRow {
        var generator = SystemRandomNumberGenerator()
        var row = ConversationRow(id: id, salt: generator.next(), createdAt: now.date)
        row.blocks = try blocks(in: id)
        if let old = try conversation(id) {
            row.number = old.number
            row.view = old.view + 1
        }
        return try put(row)
    }

    /// Creates or changes a conversation.
    ///
    /// - Returns: whether it was created.
    package func putConversation(
        _ id: ConversationID, _ settings: ConversationSettings, by caller: Caller, permissions: Permissions
    ) throws -> Bool {
        let known = try conversation(id).flatMap { $0.isDeleted ? nil : $0 }
        let isNew = try known.map { try isYetToBegin($0, for: caller.user) } ?? true
        var row: ConversationRow
        if let known, !isNew {
            try checkMayChange(known, settings, by: caller, permissions: permissions)
            row = known
        } else {
            try checkMayCreate(id, by: caller, permissions: permissions)
            try check(settings, for: id)
            if let known {
                row = try admitMissing(caller.user, to: known)
            } else {
                row = id.kind.traits.membership == .named ? try createNamed(id, by: caller.user) : try makeLog(id)
            }
        }
        let old = row
        row.name = settings.name ?? row.name
        row.avatar = settings.avatar ?? row.avatar
        row.metadata = settings.metadata ?? row.metadata
        if let isPrivate = settings.isPrivate, isPrivate != row.isPrivate {
            row.isPrivate = isPrivate
            if !isNew {
                row.view += 1
                if isPrivate { publish(.madePrivate(id)) }
            }
        }
        if let visibility = settings.visibility, visibility != row.visibility {
            row.visibility = visibility
            if !isNew {
                row.view += 1
                if visibility == .sinceJoin { publish(.narrowed(id, head: row.head)) }
            }
        }
        row.retention = settings.retention.map { $0?.stored } ?? row.retention
        row.isFrozen = settings.isFrozen ?? row.isFrozen
        row.capacity = settings.capacity.map { $0.map(Int64.init) } ?? row.capacity
        row = try put(row)
        if isNew {
            try admitFirst(settings.members, to: row, by: caller)
            if id.isCommunityItself { _ = try makeLog(id.log) }
        } else if row.isPrivate, !old.isPrivate, !caller.isAdmin {
            // Else nobody would be in it, nor could they put anybody in.
            try admit(caller.user, as: .owner, to: row, sinceBeginning: false, by: caller.user)
        }
        publish(.conversationChanged(id))
        if !isNew { try noteChanges(since: old, now: row, by: caller.user) }
        return isNew
    }

    private func checkMayChange(
        _ row: ConversationRow, _ settings: ConversationSettings, by caller: Caller, permissions: Permissions
    ) throws {
        let id = row.id
        guard try maySee(row, caller, permissions: permissions) else {
            // What they hear is what they would hear if it did not exist, as far as that can be.
            try checkMayCreate(id, by: caller, permissions: permissions)
            throw Access.unknown(id)
        }
        let role = try role(of: caller.user, in: row)
        guard permissions[.changeSettings, id.kind].isMet(by: role, isAdmin: caller.isAdmin) else {
            throw ChatError(.forbidden, "changing the settings of \(id) takes more than you are there")
        }
        guard settings.members.isEmpty else {
            throw ChatError.invalidParameter("members", "can be given only when a conversation is created")
        }
        try check(settings, for: id)
    }

    /// Refuses settings that make no sense for a conversation, before anything is changed.
    private func check(_ settings: ConversationSettings, for id: ConversationID) throws {
        let isChannel = id.kind == .community && !id.isCommunityItself
        if case .some(.some(let retention)) = settings.retention { _ = try retention.validated() }
        guard isChannel || settings.isPrivate != true else {
            throw ChatError.invalidParameter("private", "is a setting of a community's channels")
        }
        if id.kind.traits.membership == .named {
            // Nobody may change them later, and nobody is above the people of a direct conversation.
            for (name, isGiven) in [
                ("frozen", settings.isFrozen == true), ("name", id.kind == .direct && settings.name != nil),
                ("avatar", id.kind == .direct && settings.avatar != nil),
            ] where isGiven {
                throw ChatError.invalidParameter(name, "is no setting of \(id.kind.rawValue) conversations")
            }
        }
        if case .some(.some(let capacity)) = settings.capacity {
            guard id.kind == .room else { throw ChatError.invalidParameter("capacity", "is a setting of rooms") }
            guard ConversationSettings.capacities.contains(capacity) else {
                throw ChatError.invalidParameter(
                    "capacity", "must be in 1...\(ConversationSettings.capacities.upperBound), or \"unlimited\"",
                    limit: ConversationSettings.capacities.upperBound)
            }
        }
        guard !settings.members.isEmpty else { return }
        for user in settings.members { try checkIsNotErased(user) }
        guard id.kind.traits.membership == .listed || id.isCommunityItself || settings.isPrivate == true else {
            throw ChatError.invalidParameter("members", "of \(id) are not listed there")
        }
        if isChannel, let community = try conversation(.community(id.target)) {
            for user in settings.members { try checkIsMember(user, of: community) }
        }
    }

    /// A private channel's members are among its community's.
    func checkIsMember(_ user: UserID, of community: ConversationRow) throws {
        guard try member(user, of: community.number)?.standing == .member else {
            throw ChatError(.unknownMember, "\(user) is not a member of \(community.id)", parameter: "user")
        }
    }

    private func checkMayCreate(_ id: ConversationID, by caller: Caller, permissions: Permissions) throws {
        if id.kind == .community, !id.isCommunityItself {
            let community = try conversation(.community(id.target), seenBy: caller, permissions: permissions)
            let role = try role(of: caller.user, in: community)
            guard permissions[.changeSettings, id.kind].isMet(by: role, isAdmin: caller.isAdmin) else {
                throw ChatError(.forbidden, "creating a channel takes an owner of the community")
            }
            return
        }
        guard permissions[.create, id.kind].isMet(by: nil, isAdmin: caller.isAdmin) else {
            throw ChatError(.forbidden, "creating a \(id.kind.rawValue) takes an administrator")
        }
        guard caller.isAdmin || id.kind.traits.membership != .named || id.namedUsers.contains(caller.user) else {
            throw ChatError(.forbidden, "a direct conversation is created by one of its two people")
        }
        try store.checkIsNotBlocked(caller, in: id)
    }

    private func admitFirst(_ users: [UserID], to row: ConversationRow, by caller: Caller) throws {
        guard row.id.kind.traits.membership == .listed || row.id.isCommunityItself || row.isPrivate else { return }
        // An administrator's tool makes conversations for others; anybody else owns what they make.
        if !caller.isAdmin {
            try admit(caller.user, as: .owner, to: row, sinceBeginning: false, by: caller.user)
        }
        for user in users where caller.isAdmin || user != caller.user {
            try admit(user, as: .member, to: row, sinceBeginning: false, by: caller.user)
        }
    }

    /// Erases a conversation.
    ///
    /// Made again it has a new epoch.
    package func deleteConversation(_ id: ConversationID, by caller: Caller, permissions: Permissions) throws {
        let row = try conversation(id, seenBy: caller, permissions: permissions)
        let role = try role(of: caller.user, in: row)
        guard permissions[.delete, id.kind].isMet(by: role, isAdmin: caller.isAdmin) else {
            throw ChatError(.forbidden, "deleting \(id) takes more than you are there")
        }
        if id.isCommunityItself {
            var after: Identifier?
            while case let channels = try store.channels(of: id.target, after: after, limit: 100),
                let last = channels.last
            {
                for channel in channels where !channel.isDeleted { try erase(channel) }
                after = last.id.part
            }
        }
        try erase(row)
    }

    func erase(_ row: ConversationRow) throws {
        try endInvitations(to: row)
        try erase(contentsOf: row)
        var row = try conversation(row.id) ?? row
        row.isDeleted = true
        row.head = 0
        row.n = 0
        row.recentSeq = 0
        row.recentTime = Timetoken(rawValue: 0)
        row.firstSeq = 1
        row.floorN = 0
        row.floorTime = Timetoken(rawValue: 0)
        row.sweptSeq = 1
        row.changeFloor = row.rev
        row.hasVoids = false
        row.hasMutes = false
        row.marks = []
        try put(row)
        publish(.conversationDeleted(row.id))
    }
}
