import Foundation
import ScrollbackEngine
import ScrollbackModel
import Testing

extension World {
    func ban(
        _ user: UserID, until: Date? = nil, reason: String? = nil, from id: ConversationID? = nil,
        by caller: Caller = admin
    ) throws {
        try done { engine.ban(user, until: until, reason: reason, from: id, by: caller, completion: $0) }
    }

    func unban(_ user: UserID, from id: ConversationID? = nil, by caller: Caller = admin) throws {
        try done { engine.unban(user, from: id, by: caller, completion: $0) }
    }

    func setState(of user: UserID, isActive: Bool, by caller: Caller = admin) throws {
        try done { engine.setState(of: user, isActive: isActive, by: caller, completion: $0) }
    }

    /// Why a token of a user's, issued now, is refused; nothing where it is taken.
    func refusalAtTheDoor(_ user: UserID) -> ChatError? {
        refusal { try engine.checkMayEnter(user, issuedAt: clock.now + 1) }
    }

    @discardableResult
    func report(
        _ id: MessageID, in conversation: ConversationID, _ reason: ReportReason = .spam, text: String? = nil,
        by user: UserID
    ) throws -> Int64 {
        try done {
            engine.report(
                id, in: conversation, reason: reason, text: text, by: Caller(user: user), completion: $0)
        }.number
    }

    /// Erases a user, and waits until that has ended.
    @discardableResult
    func erase(_ user: UserID, _ messages: ErasureRow.Messages) async throws -> ErasureRow {
        let row = try await engine.erase(user, messages: messages, by: Self.admin)
        try await carryOut()
        return try engine.erasure(row.number, by: Self.admin)
    }

    /// Carries out what is to be erased.
    func carryOut() async throws {
        while let row = try store.read({ try $0.openErasures(limit: 1).first }) { try await engine.carryOut(row) }
    }

    /// A conversation's newest messages, oldest first.
    func log(of id: ConversationID, by user: UserID) throws -> LogPage {
        try page(HistoryQuery(.latest, limit: 100, sort: .oldestFirst), of: id, by: user)
    }
}
