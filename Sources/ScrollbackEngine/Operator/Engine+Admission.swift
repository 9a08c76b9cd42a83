package import Foundation
package import ScrollbackModel

extension Engine {
    /// Refuses a token of somebody who may not come in: an administrator has deactivated or banned them, they are being
    /// erased, or their tokens were revoked after it was issued.
    ///
    /// One row is read, and of whom it says that they may be banned, another.
    ///
    /// - Throws: `user-deactivated`, `banned`, `token-revoked`.
    package func checkMayEnter(_ user: UserID, issuedAt: Date) throws {
        let now = clock()
        try store.read { store in
            guard let row = try store.user(user) else { return }
            try row.checkIsActive()
            if row.isBanned, let ban = try store.ban(of: user, in: 0)?.ban, ban.holds(at: now) {
                throw ban.refusal("this server", now: now)
            }
            guard let revokedAt = row.revokedAt, issuedAt <= revokedAt else { return }
            throw ChatError(.tokenRevoked, "the token was revoked: ask for a new one")
        }
    }

    /// Lets a user come in no more, or again; everything that is theirs stays.
    package func setState(
        of user: UserID, isActive: Bool, by caller: Caller, completion: @escaping Completion<Void>
    ) {
        if let refusal = checkIsOther(user, caller, "deactivating users") { return completion(.failure(refusal)) }
        log.submit(
            { transaction in
                var row = try transaction.store.user(user) ?? UserRow(profile: UserProfile(id: user))
                guard row.state == .active || row.state == .deactivated else { throw row.unknown }
                row.state = isActive ? .active : .deactivated
                try transaction.store.put(row)
                if !isActive { transaction.publish(.shutOut(user, row.refusal)) }
            }, completion: completion)
    }

    /// Whether an administrator asks, and not about themselves: nobody should lock themselves out.
    func checkIsOther(_ user: UserID, _ caller: Caller, _ what: String) -> ChatError? {
        guard caller.isAdmin else { return ChatError(.forbidden, "\(what) takes an administrator's token") }
        guard user != caller.user else {
            return .invalidParameter("user", "must be somebody else: an administrator's own token would be refused too")
        }
        return nil
    }
}

extension UserRow {
    /// Why their tokens are refused, where they are.
    var refusal: ChatError {
        state == .erasing
            ? ChatError(
                .userDeactivated, "\(profile.id) is being erased: the name can be used again once that has ended")
            : ChatError(.userDeactivated, "\(profile.id) was deactivated by an administrator")
    }

    var unknown: ChatError {
        state == .erasing
            ? ChatError(.conflict, "\(profile.id) is being erased", parameter: "user")
            : ChatError(.unknownUser, "there is no user \(profile.id)", parameter: "user")
    }

    /// - Throws: `user-deactivated`.
    func checkIsActive() throws(ChatError) {
        if state == .deactivated || state == .erasing { throw refusal }
    }
}

extension Ban {
    /// What who is banned is told, or who wants to put them in.
    func refusal(_ place: String, now: Date, toldTo caller: UserID? = nil) -> ChatError {
        let who = caller.map { $0 == id } ?? true ? "you are" : "\(id) is"
        let end = until.map { " until \($0.iso8601)" } ?? ""
        var error = ChatError(
            .banned, "\(who) banned from \(place)\(end)\(reason.map { ": \($0)" } ?? "")",
            retryAfter: until.map { max(0, $0.timeIntervalSince(now)) })
        error.until = until
        error.reason = reason
        return error
    }
}
