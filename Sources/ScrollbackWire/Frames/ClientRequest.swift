package import Foundation
package import ScrollbackModel

/// A request, answered by one `result` or `error` with the same `ref`.
package enum ClientRequest: Sendable {
    case send(ConversationID, Submission)
    case history(ConversationID, HistoryQuery)
    /// Changes something of the user's own there.
    case state(ConversationID, StateChange)
    /// Several conversations were read; each has an answer of its own.
    case readMany([ReadMark])
    /// The heads of conversations, without hearing more of them than before.
    case heads([ConversationID])
    /// Gives a message other content; with the same operation again the first answer comes again.
    case edit(ConversationID, MessageID, MessageEdit, operation: MessageID)
    /// Deletes messages for everyone, or for oneself alone.
    case delete(ConversationID, [MessageID], forMe: Bool)
    /// Deletes a range of history for everyone; with the same operation again the first answer comes again.
    case deleteHistory(ConversationID, DeleteRange, operation: MessageID)
    /// Attaches an action to a message.
    case addAction(ConversationID, MessageID, type: String, value: String, operation: MessageID)
    /// Takes an action off a message.
    case removeAction(ConversationID, MessageID, ActionReference, operation: MessageID)
    /// Actions on a message, or on any of a conversation, after a time.
    case actions(ConversationID, MessageID?, after: Timetoken?, limit: Int)
    /// Hides everything up to a place from oneself.
    case clear(ConversationID, seq: Seq, epoch: Epoch)
    /// Pages of several conversations.
    case fetch(FetchQuery)
    /// How many messages there are since a time.
    case counts([(conversation: ConversationID, time: Timetoken)])
    /// Messages as they are now.
    case refresh([MessageReference])
    /// Messages that have certain words.
    case search(SearchQuery)
    /// The next window of what moved.
    case syncWindow(cursor: String?, limit: Int)
    /// What these logs have that the device has not.
    case syncLogs([LogPosition])
    /// The full stream of community channels and rooms.
    case subscribe([ConversationID])
    case unsubscribe([ConversationID])
    /// Whether the user is writing something there.
    case typing(ConversationID, isTyping: Bool)
    /// Lets somebody write to the user no more, or again.
    case block(UserID, isOn: Bool)
    /// Whom the user has blocked, by name.
    case blocks(after: UserID?, limit: Int)
    /// Keeps somebody out of a conversation.
    case ban(ConversationID, UserID, until: Date?, reason: String?)
    /// Lets somebody come back.
    case unban(ConversationID, UserID)
    /// Who may not be in a conversation, by name.
    case bans(ConversationID, after: UserID?, limit: Int)
    /// Tells the server's operator of a message.
    case report(ConversationID, MessageID, reason: ReportReason, text: String?)
    /// Profiles; of users who have none nothing comes.
    case users([UserID])
    /// Members, readers, invitations and presence.
    case people(PeopleRequest)
    /// Where the user is reached by push, and how they want to be told.
    case push(PushOperation)
    /// Foreground or background.
    case activity(isActive: Bool)
    /// A fresh token, before the old one expires.
    case token(String)
    case ping

    /// The most logs one `sync` asks about.
    package static let maximumPositions = 100
    /// The most conversations one `heads` asks about.
    package static let maximumHeads = 100
    /// The most conversations in one window of `sync`.
    package static let maximumWindow = 500
    /// The most profiles one `users` asks for.
    package static let maximumUsers = 100
}

extension ClientRequest {
    package static let names = StateChange.names.union(PeopleRequest.names).union(PushOperation.names).union([
        "send", "history", "readMany", "heads", "edit", "delete", "deleteHistory", "action", "removeAction", "actions",
        "clear",
        "fetch", "counts", "search", "refresh", "sync", "subscribe", "unsubscribe", "typing", "block", "unblock",
        "blocks", "ban", "unban", "bans", "report", "users", "activity", "token", "ping",
    ])

    package var name: String {
        switch self {
        case .send: "send"
        case .history: "history"
        case .state(_, let change): change.name
        case .readMany: "readMany"
        case .heads: "heads"
        case .edit: "edit"
        case .delete: "delete"
        case .deleteHistory: "deleteHistory"
        case .addAction: "action"
        case .removeAction: "removeAction"
        case .actions: "actions"
        case .clear: "clear"
        case .fetch: "fetch"
        case .counts: "counts"
        case .refresh: "refresh"
        case .search: "search"
        case .syncWindow, .syncLogs: "sync"
        case .subscribe: "subscribe"
        case .unsubscribe: "unsubscribe"
        case .typing: "typing"
        case .block(_, let isOn): isOn ? "block" : "unblock"
        case .blocks: "blocks"
        case .ban: "ban"
        case .unban: "unban"
        case .bans: "bans"
        case .report: "report"
        case .users: "users"
        case .people(let request): request.name
        case .push(let operation): operation.name
        case .activity: "activity"
        case .token: "token"
        case .ping: "ping"
        }
    }

    func writeMembers(to writer: inout JSONWriter) {
        switch self {
        case .send(let conversation, let submission):
            writer.field("conversation", conversation)
            writer.key("message")
            writer.object { submission.writeMembers(to: &$0) }
        case .history(let conversation, let query):
            writer.field("conversation", conversation)
            query.parameters.write(to: &writer)
        case .state(let conversation, let change):
            writer.field("conversation", conversation)
            change.writeMembers(to: &writer)
        case .readMany(let marks):
            writer.key("conversations")
            writer.array(marks) { $1.write(to: &$0) }
        case .clear(let conversation, let seq, let epoch):
            writer.field("conversation", conversation)
            writer.field("seq", seq)
            writer.field("epoch", epoch)
        case .edit(let conversation, let id, let edit, let operation):
            writer.field("conversation", conversation)
            writer.field("id", id)
            writer.field("operation", operation)
            writer.key("edit")
            writer.object { edit.writeMembers(to: &$0) }
        case .delete(let conversation, let ids, let forMe):
            writer.field("conversation", conversation)
            writer.key("ids")
            writer.array(ids) { $0.value($1.description) }
            if forMe { writer.field("for", "me") }
        case .deleteHistory(let conversation, let range, let operation):
            writer.field("conversation", conversation)
            writer.field("from", range.from?.text)
            writer.field("to", range.to?.text)
            if range == .all { writer.field("all", true) }
            writer.field("operation", operation)
        case .addAction(let conversation, let id, let type, let value, let operation):
            writer.field("conversation", conversation)
            writer.field("id", id)
            writer.field("operation", operation)
            writer.action(type, value)
        case .removeAction(let conversation, let id, let reference, let operation):
            writer.field("conversation", conversation)
            writer.field("id", id)
            switch reference {
            case .at(let timetoken): writer.field("timetoken", timetoken)
            case .own(let type, let value): writer.action(type, value)
            }
            writer.field("operation", operation)
        case .actions(let conversation, let id, let after, let limit):
            writer.field("conversation", conversation)
            writer.field("id", id)
            writer.field("after", after)
            writer.field("limit", limit)
        case .fetch(let query): query.writeMembers(to: &writer)
        case .counts(let since):
            writer.key("since")
            writer.object { writer in
                for (conversation, time) in since { writer.field(conversation.description, time) }
            }
        case .refresh(let references):
            writer.key("messages")
            writer.array(references) { writer, reference in writer.object { reference.writeMembers(to: &$0) } }
        case .search(let query): query.writeMembers(to: &writer)
        case .syncWindow(let cursor, let limit):
            writer.field("cursor", cursor)
            writer.field("limit", limit)
        case .syncLogs(let positions):
            writer.key("positions")
            writer.array(positions) { $1.write(to: &$0) }
        case .subscribe(let conversations), .unsubscribe(let conversations), .heads(let conversations):
            writer.key("conversations")
            writer.array(conversations) { $0.value($1.description) }
        case .typing(let conversation, let isTyping):
            writer.field("conversation", conversation)
            writer.field("isTyping", isTyping)
        case .block(let user, _): writer.field("user", user)
        case .blocks(let after, let limit):
            writer.field("cursor", after)
            writer.field("limit", limit)
        case .ban(let conversation, let user, let until, let reason):
            writer.field("conversation", conversation)
            writer.field("user", user)
            writer.field("until", until)
            writer.field("reason", reason)
        case .unban(let conversation, let user):
            writer.field("conversation", conversation)
            writer.field("user", user)
        case .bans(let conversation, let after, let limit):
            writer.field("conversation", conversation)
            writer.field("cursor", after)
            writer.field("limit", limit)
        case .report(let conversation, let id, let reason, let text):
            writer.field("conversation", conversation)
            writer.field("id", id)
            writer.field("reason", reason.rawValue)
            writer.field("text", text)
        case .users(let users):
            writer.key("users")
            writer.array(users) { $0.value($1.text) }
        case .people(let request): request.writeMembers(to: &writer)
        case .push(let operation): operation.writeMembers(to: &writer)
        case .activity(let isActive): writer.field("active", isActive)
        case .token(let token): writer.field("token", token)
        case .ping: break
        }
    }
}

extension JSONWriter {
    /// The type and the value of an action.
    fileprivate mutating func action(_ type: String, _ value: String) {
        key("action")
        object { writer in
            writer.field("type", type)
            writer.field("value", value)
        }
    }
}
