package import Foundation
package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// The longest a ban that ends may last, in seconds: ten years.
    package static let longestBan: TimeInterval = 315_360_000

    /// Keeps somebody out of a conversation, or (nil) off the server; who is banned already is banned as said now.
    ///
    /// - Parameters:
    ///   - until: when it ends; for good without it.
    ///   - reason: told to who is banned; its length was checked.
    package func ban(
        _ user: UserID, until: Date? = nil, reason: String? = nil, from conversation: ConversationID? = nil,
        by caller: Caller, completion: @escaping Completion<Void>
    ) {
        let now = clock()
        if let until, until <= now || until > now.addingTimeInterval(Self.longestBan) {
            return completion(
                .failure(.invalidParameter("until", "must lie in the future, and at most ten years from now")))
        }
        let ban = Ban(id: user, until: until, reason: reason, by: caller.user, at: now)
        if let conversation {
            let id = conversation.absolute(for: caller.user)
            return log.submit(
                { [permissions] in try $0.put(ban, in: id, by: caller, permissions: permissions) },
                completion: completion)
        }
        if let refusal = checkIsOther(user, caller, "banning somebody from the server") {
            return completion(.failure(refusal))
        }
        log.submit({ try $0.putServerBan(ban) }, completion: completion)
    }

    /// Takes a ban back; who is not banned, is not.
    package func unban(
        _ user: UserID, from conversation: ConversationID? = nil, by caller: Caller,
        completion: @escaping Completion<Void>
    ) {
        guard let conversation else {
            guard caller.isAdmin else {
                return completion(.failure(ChatError(.forbidden, "lifting a ban takes an administrator's token")))
            }
            return log.submit(
                { transaction in
                    try transaction.store.dropBan(of: user, in: 0)
                    guard var row = try transaction.store.user(user), row.isBanned else { return }
                    row.isBanned = false
                    try transaction.store.put(row)
                }, completion: completion)
        }
        let id = conversation.absolute(for: caller.user)
        log.submit(
            { [permissions] in
                let row = try $0.conversationWithBans(id, by: caller, permissions: permissions)
                try $0.store.dropBan(of: user, in: row.number)
            }, completion: completion)
    }

    /// Who may not be in a conversation, or (nil) on the server, by name; bans that ended are left out.
    package func bans(
        of conversation: ConversationID? = nil, after: UserID?, limit: Int, by caller: Caller
    ) throws -> ListPage<Ban> {
        try checkLimit(limit)
        let now = clock()
        let id = conversation?.absolute(for: caller.user)
        return try store.read { store in
            var number: Int64 = 0
            if let id {
                let access = try access(to: id, for: caller, in: store)
                guard permissions[.ban, id.kind].isMet(by: access.role, isAdmin: caller.isAdmin) else {
                    throw ChatError(.forbidden, "who is banned from \(id) is not for you to see")
                }
                number = access.conversation.number
            } else if !caller.isAdmin {
                throw ChatError(.forbidden, "who is banned from the server is for administrators to see")
            }
            let rows = try store.bans(in: number, after: after, limit: limit + 1)
            let bans = rows.prefix(limit).map(\.ban).filter { $0.holds(at: now) }
            return ListPage(bans, after: rows.count > limit ? rows[limit - 1].ban.id : nil)
        }
    }

    /// Forgets bans that ended.
    func forgetBans() async throws {
        let now = clock()
        while !Task.isCancelled {
            guard try !store.read({ try $0.bans(endedBefore: now, limit: 1) }).isEmpty else { return }
            try await submit { transaction in
                for row in try transaction.store.bans(endedBefore: now, limit: 100) {
                    try transaction.store.dropBan(of: row.ban.id, in: row.conversation)
                    guard row.conversation == 0, var user = try transaction.store.user(row.ban.id) else { continue }
                    user.isBanned = false
                    try transaction.store.put(user)
                }
            }
        }
    }
}
