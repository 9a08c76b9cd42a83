package import Foundation
package import ScrollbackModel

/// An act of an administrator or moderator, as the audit log records it.
package struct AuditRow: Hashable, Sendable {
    package enum Action: String, CaseIterable, Sendable {
        case ban, unban, mute, unmute, deactivate, activate, erase
        case issueToken = "issue-token"
        case revokeTokens = "revoke-tokens"
        case closeConnections = "close-connections"
        case testPush = "test-push"
        case changeSettings = "change-settings"
        case changeProfile = "change-profile"
        case changeRole = "change-role"
        case removeMember = "remove-member"
        case changeConversation = "change-conversation"
        case deleteConversation = "delete-conversation"
        case deleteMessages = "delete-messages"
        case deleteHistory = "delete-history"
        case importHistory = "import-history"
        case updateReport = "update-report"
        case replayDeliveries = "replay-deliveries"
        case cancelScheduled = "cancel-scheduled"
        case putHook = "put-hook"
        case replaceHookSecret = "replace-hook-secret"
        case deleteHook = "delete-hook"
        case drainNode = "drain-node"
        case renewGeneration = "renew-generation"
        case rotateSecret = "rotate-secret"
        case startBackup = "start-backup"
    }

    /// The entry's number; 0 before it is stored.
    package var number: Int64 = 0
    package var at: Date
    package var actor: UserID
    /// The token with which the actor acted, or `nil` if the act did not come from a request with a token.
    package var token: TokenSource?
    /// One of ``Action``, or an action that a newer version of the server recorded.
    package var action: String
    /// The user whom the act concerns.
    package var user: UserID?
    /// The conversation's number; 0 for none.
    package var conversation: Int64
    /// What the act concerns besides the user and the conversation, without content of messages or names.
    package var detail: String?

    package init(
        _ action: Action, by caller: Caller, at: Date, of user: UserID? = nil, in conversation: Int64 = 0,
        detail: String? = nil
    ) {
        self.init(
            at: at, actor: caller.user, token: caller.token, action: action.rawValue, user: user,
            conversation: conversation, detail: detail)
    }

    package init(
        number: Int64 = 0, at: Date, actor: UserID, token: TokenSource?, action: String, user: UserID?,
        conversation: Int64, detail: String?
    ) {
        self.number = number
        self.at = at
        self.actor = actor
        self.token = token
        self.action = action
        self.user = user
        self.conversation = conversation
        self.detail = detail
    }
}

/// Identifies a token without revealing it.
package struct TokenSource: Hashable, Sendable {
    /// The ID of the key that signed the token, if it has one.
    package var key: String?
    package var issuedAt: Date

    package init(key: String?, issuedAt: Date) {
        self.key = key
        self.issuedAt = issuedAt
    }
}

/// Selects entries of the audit log.
package struct AuditFilter: Hashable, Sendable {
    package var actor: UserID?
    package var user: UserID?
    /// The conversation's number.
    package var conversation: Int64?
    package var action: AuditRow.Action?

    package init(
        actor: UserID? = nil, user: UserID? = nil, conversation: Int64? = nil, action: AuditRow.Action? = nil
    ) {
        self.actor = actor
        self.user = user
        self.conversation = conversation
        self.action = action
    }

    package func includes(_ row: AuditRow) -> Bool {
        (actor.map { $0 == row.actor } ?? true) && (user.map { $0 == row.user } ?? true)
            && (conversation.map { $0 == row.conversation } ?? true)
            && (action.map { $0.rawValue == row.action } ?? true)
    }
}

extension Transaction {
    /// Records an act in the audit log, in the transaction of the act.
    func audit(
        _ action: AuditRow.Action, by caller: Caller, of user: UserID? = nil, in row: ConversationRow? = nil,
        detail: String? = nil
    ) throws {
        try store.insert(
            AuditRow(action, by: caller, at: now.date, of: user, in: row?.number ?? 0, detail: detail))
    }
}

extension Engine {
    /// Records an act that changes nothing in the store, and returns after the commit.
    ///
    /// - Throws: The error of the store, or `rate-limited` and `overloaded` if too many writes are waiting.
    package func audit(
        _ action: AuditRow.Action, by caller: Caller, of user: UserID? = nil, detail: String? = nil
    ) async throws(ChatError) {
        try await submit(for: WorkOwner(caller)) { try $0.audit(action, by: caller, of: user, detail: detail) }
    }

    /// Records an act that changes nothing in the store, without waiting for the commit.
    ///
    /// For acts that have already happened, which an error could not undo. The record is missing if too many writes
    /// wait.
    func auditInBackground(
        _ action: AuditRow.Action, by caller: Caller, of user: UserID? = nil, detail: String? = nil
    ) {
        commits.submit(
            for: WorkOwner(caller), { try $0.audit(action, by: caller, of: user, detail: detail) },
            completion: { _ in })
    }

    /// The time before which entries are removed from the audit log.
    var oldestLoggedAct: Date { clock().addingTimeInterval(-86_400 * Double(settings.auditDays)) }
}
