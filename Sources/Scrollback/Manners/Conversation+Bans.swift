public import Foundation
public import ScrollbackModel
import ScrollbackWire

extension Conversation {
    /// Puts somebody out of this conversation, and keeps them from coming back until the ban ends.
    ///
    /// It takes a moderator, who bans whoever is less than they are there; of a room an administrator. Who is banned from a
    /// community, or from its default channel, is out of all its channels. Somebody who is banned already is banned as said now.
    ///
    /// - Parameters:
    ///   - user: who, member or not; not this user.
    ///   - until: when it ends, in the future; without it, when somebody takes it back.
    ///   - reason: told to who is banned, 1...500 bytes of UTF-8.
    /// - Throws: `forbidden`; `invalid-parameter` for this user themselves, a time that is over, a public channel, whose members
    ///   are its community's, or a reason of another length; `unreachable` or `timeout` when the server can't be asked.
    public func ban(_ user: UserID, until: Date? = nil, reason: String? = nil) async throws(ChatError) {
        if let reason, !(1...Ban.reasonBytes).contains(reason.utf8.count) {
            throw .invalidParameter(
                "reason", "must be 1...\(Ban.reasonBytes) bytes of UTF-8", limit: Ban.reasonBytes)
        }
        _ = try await core.request(.ban(list, user, until: until, reason: reason))
    }

    /// Lets somebody come back, who must be put in or invited as anybody; who is not banned, is not.
    ///
    /// - Throws: `forbidden`; `unreachable` or `timeout` when the server can't be asked.
    public func unban(_ user: UserID) async throws(ChatError) {
        _ = try await core.request(.unban(list, user))
    }

    /// Everybody who may not be in this conversation now, by name.
    ///
    /// - Throws: `forbidden`; `unreachable` or `timeout` when the server can't be asked.
    public func bans() async throws(ChatError) -> [Ban] {
        try await core.all { page throws(ChatError) in
            .bans(list, after: try page?.after(), limit: Limits.standard.pageSize)
        }
    }

    /// Tells the server's operator of a message, as it is now: neither an edit nor a recall hides it from them.
    ///
    /// Reported once more, what is said about it is another, and it is looked at again.
    ///
    /// - Parameters:
    ///   - message: one this user can see.
    ///   - reason: one of those listed, or the application's own name, 1...64 bytes of UTF-8.
    ///   - text: what there is to say about it, at most 2,000 bytes of UTF-8.
    /// - Throws: `unknown-message`; `conflict` for one that was deleted; `invalid-parameter` for a reason or a text of another
    ///   length; `rate-limited`; `unreachable` or `timeout` when the server can't be asked.
    public func report(
        _ message: MessageID, reason: ReportReason, text: String? = nil
    ) async throws(ChatError) {
        _ = try ReportReason(reason.rawValue)
        if let text, text.utf8.count > Report.textBytes {
            throw .invalidParameter(
                "text", "must be at most \(Report.textBytes) bytes of UTF-8", limit: Report.textBytes)
        }
        _ = try await core.request(.report(id, message, reason: reason, text: text))
    }
}
