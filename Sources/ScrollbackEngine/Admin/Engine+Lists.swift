package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// Returns users ordered by ID, with their state and active server ban.
    ///
    /// - Parameters:
    ///   - prefix: The prefix of the user IDs to return.
    ///   - state: The state of the users to return; `nil` for all except erased users.
    ///   - after: The last user of the previous page.
    ///   - limit: The maximum number of users.
    /// - Returns: The users, and the value of `after` for the next page.
    /// - Throws: `forbidden`.
    package func users(
        prefix: String, state: UserState?, after: UserID?, limit: Int, by caller: Caller
    ) throws -> (users: [UserEntry], next: UserID?) {
        try caller.checkIsAdministrator("This operation")
        try checkLimit(limit)
        let now = clock()
        return try store.read { store in
            let rows = try store.users(prefix: prefix, state: state, after: after, limit: limit + 1)
            let entries = try rows.prefix(limit).map { row in
                let ban = row.isBanned ? try store.ban(of: row.profile.id, in: BanRow.server)?.ban : nil
                return UserEntry(
                    profile: row.profile, state: row.state.name, ban: ban.flatMap { $0.isActive(at: now) ? $0 : nil })
            }
            return (entries, rows.count > limit ? rows[limit - 1].profile.id : nil)
        }
    }

    /// Returns conversations ordered by kind and name, whether or not the caller is a member.
    ///
    /// - Parameters:
    ///   - kind: The kind of the conversations to return; `nil` for all kinds, one after the other.
    ///   - prefix: The prefix of the first part of the name, which is the group, community, room or first user.
    ///   - after: The last conversation of the previous page.
    ///   - limit: The maximum number of conversations.
    /// - Returns: The conversations, and the value of `after` for the next page.
    /// - Throws: `forbidden`.
    package func conversations(
        kind: ConversationKind?, prefix: String, after: ConversationID?, limit: Int, by caller: Caller
    ) throws -> (conversations: [ConversationEntry], next: ConversationID?) {
        try caller.checkIsAdministrator("This operation")
        try checkLimit(limit)
        let kinds = kind.map { [$0] } ?? ConversationKind.allCases
        return try store.read { store in
            var rows: [ConversationRow] = []
            for kind in kinds.drop(while: { after != nil && $0 != after?.kind }) {
                var last = after?.kind == kind ? after : nil
                while rows.count <= limit {
                    let some = try store.conversations(kind: kind, prefix: prefix, after: last, limit: limit + 1)
                    rows += some.filter { !$0.isDeleted }
                    guard some.count > limit else { break }
                    last = some.last?.id
                }
            }
            return (
                rows.prefix(limit).map { ConversationEntry($0, nil) }, rows.count > limit ? rows[limit - 1].id : nil
            )
        }
    }

    /// Returns the conversations that have a membership row for a user, ordered by the store's conversation number.
    ///
    /// For a community, the result has the community itself and the channels where the user is a member or has read.
    ///
    /// - Throws: `forbidden`.
    package func conversations(
        of user: UserID, after: Int64, limit: Int, by caller: Caller
    ) throws -> (conversations: [ConversationEntry], next: Int64?) {
        try caller.checkIsAdministrator("This operation")
        try checkLimit(limit)
        return try store.read { store in
            let rows = try store.memberships(of: user, after: after, limit: limit + 1)
            let entries = try rows.prefix(limit).compactMap { member -> ConversationEntry? in
                guard let row = try store.conversation(numbered: member.conversation), !row.isDeleted else {
                    return nil
                }
                return ConversationEntry(row, member)
            }
            return (entries, rows.count > limit ? rows[limit - 1].conversation : nil)
        }
    }

    /// Returns the open connections to this node, ordered by user and device.
    ///
    /// - Parameter after: The user and device of the last connection of the previous page.
    /// - Throws: `forbidden`.
    package func connections(
        of user: UserID?, after: (user: UserID, device: String)?, limit: Int, by caller: Caller
    ) throws -> (connections: [ConnectionEntry], next: (user: UserID, device: String)?) {
        try caller.checkIsAdministrator("This operation")
        try checkLimit(limit)
        var found: [ConnectionEntry] = []
        var first = user ?? after?.user
        while found.count <= limit {
            let names = hub.users(from: first, isOnly: user != nil, limit: limit + 2)
            let isLast = names.count < limit + 2
            // The last user is processed with the next batch, which starts with that user.
            for name in isLast ? names[...] : names.dropLast() {
                let entries = hub.connections(of: name).compactMap { ($0 as? Session)?.entry }
                    .filter { entry in
                        after.map { name > $0.user || name == $0.user && $0.device.isBelow(entry.device) } ?? true
                    }
                found += entries.sorted { $0.device.isBelow($1.device) }
            }
            if isLast { break }
            first = names.last
        }
        let page = Array(found.prefix(limit))
        return (page, found.count > limit ? page.last.map { ($0.user, $0.device) } : nil)
    }

    /// Closes all connections of a user, or those of one device.
    ///
    /// Clients reconnect on their own, if the user is still allowed to connect.
    ///
    /// - Returns: The number of closed connections to this node. Those to other nodes are closed, too.
    /// - Throws: `forbidden`.
    package func closeConnections(of user: UserID, device: String?, by caller: Caller) throws -> Int {
        try caller.checkIsAdministrator("This operation")
        let count = closeSessions(of: user, device: device)
        node?.send(.close(user, device: device))
        auditInBackground(.closeConnections, by: caller, of: user, detail: device)
        return count
    }
}

extension String {
    fileprivate func isBelow(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}

extension ConversationEntry {
    fileprivate init(_ row: ConversationRow, _ member: MemberRow?) {
        self.init(
            conversation: row.id, name: row.name, isPrivate: row.isPrivate, isFrozen: row.isFrozen, head: row.head,
            countedIndex: row.countedIndex, createdAt: row.createdAt,
            lastActivity: row.head > 0 ? row.timetoken.date : nil,
            membership: member.map {
                Membership(standing: $0.standing.name, role: $0.role, readSeq: $0.readSeq)
            })
    }
}
