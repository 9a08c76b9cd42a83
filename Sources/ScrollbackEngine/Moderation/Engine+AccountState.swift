package import Foundation
package import ScrollbackModel

extension Engine {
    /// Checks that a user may use the server with a token that was issued at a given time.
    ///
    /// - Parameters:
    ///   - user: The user the token was issued for.
    ///   - issuedAt: When the token was issued.
    /// - Throws: The errors of ``checkAccount(of:)``; `token-revoked` if the user's tokens were revoked at or after
    ///   `issuedAt`.
    package func checkToken(of user: UserID, issuedAt: Date) throws {
        guard let revokedAt = try activeUser(user)?.revokedAt, issuedAt <= revokedAt else { return }
        throw ChatError(.tokenRevoked, "The token was revoked. Request a new one.")
    }

    /// Checks that a user may use the server, for a request without a token of the user.
    ///
    /// The check reads the user's row, and the ban only if the row is flagged as banned.
    ///
    /// - Throws: `user-deactivated` if the user is deactivated, erased or being erased; `banned`.
    package func checkAccount(of user: UserID) throws {
        _ = try activeUser(user)
    }

    /// Returns a user's row after the checks of ``checkAccount(of:)``, or `nil` if the user has none.
    private func activeUser(_ user: UserID) throws -> UserRow? {
        try user.checkIsNotReplacement(.userDeactivated)
        let now = clock()
        return try store.read { store in
            guard let row = try store.user(user) else { return nil }
            try row.checkIsActive()
            if row.isBanned, let ban = try store.ban(of: user, in: BanRow.server)?.ban, ban.isActive(at: now) {
                throw ban.refusal(from: "this server", now: now)
            }
            return row
        }
    }
}

extension Caller {
    /// Checks that the caller is an administrator.
    ///
    /// - Parameter what: The operation as the subject of the error message, such as "Erasing users".
    /// - Throws: `forbidden`.
    func checkIsAdministrator(_ what: String) throws(ChatError) {
        guard isAdmin else { throw ChatError(.forbidden, "\(what) requires an administrator token.") }
    }

    /// Checks that the caller is an administrator who acts on another user.
    ///
    /// Administrators can't act on themselves, because they would lock themselves out.
    ///
    /// - Parameter what: The operation as the subject of the error message, such as "Erasing users".
    /// - Throws: `forbidden`, `invalid-parameter`.
    func checkMayAdminister(_ other: UserID, _ what: String) throws(ChatError) {
        try checkIsAdministrator(what)
        guard other != user else {
            throw .invalidParameter("user", "must be another user, because your own token would be refused too")
        }
    }
}

extension UserRow {
    /// The error for requests with the tokens of a deactivated user or of a user whose erasure is in progress.
    var refusal: ChatError {
        state == .erasing
            ? ChatError(
                .userDeactivated, "\(profile.id) is being erased. The name can be used again when the erasure ends.")
            : ChatError(.userDeactivated, "An administrator deactivated \(profile.id).")
    }

    /// The error for operations on a user who is erased or being erased.
    var unknown: ChatError {
        state == .erasing
            ? ChatError(.conflict, "\(profile.id) is being erased.", parameter: "user")
            : ChatError(.unknownUser, "The user \(profile.id) does not exist.", parameter: "user")
    }

    /// Checks that the user is neither deactivated nor being erased.
    ///
    /// - Throws: `user-deactivated`.
    func checkIsActive() throws(ChatError) {
        if state == .deactivated || state == .erasing { throw refusal }
    }
}

extension Ban {
    /// Returns the error for the banned user, or for another caller who tries to add the banned user.
    ///
    /// - Parameters:
    ///   - name: The conversation or server that the user is banned from, as shown in the message.
    ///   - now: The current time, from which `retryAfter` is computed.
    ///   - caller: The user who receives the error; the banned user if `nil`.
    func refusal(from name: String, now: Date, shownTo caller: UserID? = nil) -> ChatError {
        let who = caller.map { $0 == id } ?? true ? "You are" : "\(id) is"
        let end = until.map { " until \($0.iso8601)" } ?? ""
        var error = ChatError(
            .banned, "\(who) banned from \(name)\(end).\(reason.map { " Reason: \($0)" } ?? "")",
            retryAfter: until.map { max(0, $0.timeIntervalSince(now)) })
        error.until = until
        error.reason = reason
        return error
    }
}
