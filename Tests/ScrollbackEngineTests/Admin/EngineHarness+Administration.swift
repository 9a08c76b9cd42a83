import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

extension EngineHarness {
    func ban(
        _ user: UserID, until: Date? = nil, reason: String? = nil, from id: ConversationID? = nil,
        by caller: Caller = admin
    ) throws {
        if let id {
            try perform(BanUser(conversation: id, user: user, until: until, reason: reason), by: caller)
        } else {
            let lifetime = until.map { $0.timeIntervalSince(clock.now) }
            try perform(BanFromServer(user: user, lifetime: lifetime, reason: reason), by: caller)
        }
    }

    func unban(_ user: UserID, from id: ConversationID? = nil, by caller: Caller = admin) throws {
        if let id {
            try perform(UnbanUser(conversation: id, user: user), by: caller)
        } else {
            try perform(UnbanFromServer(user: user), by: caller)
        }
    }

    func setState(of user: UserID, isActive: Bool, by caller: Caller = admin) throws {
        try perform(PutUserState(user: user, isActive: isActive), by: caller)
    }

    /// Returns the error for a token that is issued now, or `nil` if the server accepts it.
    func connectionRefusal(_ user: UserID) -> ChatError? {
        refusal { try engine.checkToken(of: user, issuedAt: clock.now + 1) }
    }

    @discardableResult
    func report(
        _ id: MessageID, in conversation: ConversationID, _ reason: ReportReason = .spam, text: String? = nil,
        by user: UserID
    ) throws -> Int64 {
        try perform(
            ReportMessage(conversation: conversation, id: id, reason: reason, text: text), by: Caller(user: user)
        ).number
    }

    /// Erases a user and waits for the end of the erasure.
    @discardableResult
    func erase(_ user: UserID, _ messages: ErasureRow.Messages) async throws -> ErasureRow {
        let row = try await engine.erase(user, messages: messages, by: Self.admin)
        try await runErasures()
        return try engine.erasure(row.number, by: Self.admin)
    }

    /// Completes all open erasures.
    func runErasures() async throws {
        while let row = try store.read({ try $0.openErasures(limit: 1).first }) { try await engine.runErasure(row) }
    }

    /// Returns the newest messages of a conversation, the oldest first.
    func log(of id: ConversationID, by user: UserID) throws -> LogPage {
        try page(HistoryQuery(.latest, limit: 100, sort: .oldestFirst), of: id, by: user)
    }
}
