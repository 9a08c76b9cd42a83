import ScrollbackModel
import ScrollbackWire

/// An event in the form in which webhooks receive it.
package struct WebhookEvent {
    /// The kinds of events, from which a webhook selects.
    package enum Kind: String, CaseIterable, Sendable {
        /// A message was stored.
        case message
        /// A message was edited or recalled, or its actions changed.
        case changed
        /// A range of messages was deleted.
        case removed
        /// A member reported a message.
        case report
        /// A user added or removed an action that is neither a pin nor a vote.
        case action
        /// A user pinned a message or removed its pin.
        case pin
        /// A user voted in a poll or withdrew a vote.
        case vote
        /// A user became a member, has another role, or is no longer a member.
        case member
        /// A conversation was created, changed or deleted.
        case conversation
        /// A user's profile changed.
        case profile
        /// A user's own state in a conversation changed, such as the read position.
        case read
        /// A user was banned, muted or deactivated, or the reverse.
        case moderation

        /// The events of a webhook that selects none.
        package static let standard: Set<Kind> = [.message, .changed, .removed, .report]
    }

    var kind: Kind
    /// The conversation of the event, or `nil` if it belongs to none.
    var conversation: ConversationID?
    /// The sequence number of the message whose content the event has.
    var seq: Seq?
    private let writeMembers: (inout JSONWriter) -> Void

    private init(
        _ kind: Kind, _ conversation: ConversationID?, seq: Seq? = nil,
        _ writeMembers: @escaping (inout JSONWriter) -> Void
    ) {
        self.kind = kind
        self.conversation = conversation
        self.seq = seq
        self.writeMembers = writeMembers
    }

    var body: RawJSON {
        var writer = JSONWriter(reserving: 512)
        writer.object { writer in
            writer.field("event", kind.rawValue)
            writeMembers(&writer)
        }
        return writer.json
    }

    /// Returns what webhooks receive of an event of the engine.
    static func events(of event: Event) -> [WebhookEvent] {
        switch event {
        case .message(let message, _, _): [WebhookEvent(.message, message)]
        case .changed(_, .message(let message), _, _): [WebhookEvent(.changed, message)]
        case .changed(let id, .removed(let places, let rev), _, _):
            [
                WebhookEvent(.removed, id) { writer in
                    writer.field("conversation", id)
                    writer.field("lower", places.lowerBound)
                    writer.field("upper", places.upperBound)
                    writer.field("rev", rev)
                }
            ]
        case .reported(let report):
            [
                WebhookEvent(.report, report.conversation) { writer in
                    writer.key("report")
                    writer.object { report.writeMembers(to: &$0) }
                }
            ]
        case .acted(let id, let action, let seq, let isAdded):
            [
                WebhookEvent(Kind(of: action), id) { writer in
                    writer.field("conversation", id)
                    writer.field("message", action.message)
                    writer.field("seq", seq)
                    writer.field("user", action.sender)
                    writer.field("type", action.type)
                    writer.field("value", action.value)
                    writer.field("isAdded", isAdded)
                }
            ]
        case .joined(let id, let user, let role, _): [WebhookEvent(of: user, role, in: id)]
        case .left(let id, let user): [WebhookEvent(of: user, nil, in: id)]
        case .conversationChanged(let id): [WebhookEvent(of: id, isDeleted: false)]
        case .conversationDeleted(let id): [WebhookEvent(of: id, isDeleted: true)]
        case .userChanged(let profile):
            [
                WebhookEvent(.profile, nil) { writer in
                    writer.key("user")
                    profile.write(to: &writer)
                }
            ]
        case .ownStateChanged(let change): [WebhookEvent(change)]
        case .ownStatesChanged(let changes): changes.map { WebhookEvent($0) }
        case .moderated(let act):
            [
                WebhookEvent(.moderation, act.conversation) { writer in
                    writer.field("action", act.action.rawValue)
                    writer.field("conversation", act.conversation)
                    writer.field("user", act.user)
                    writer.field("by", act.moderator)
                }
            ]
        default: []
        }
    }

    private init(_ kind: Kind, _ message: Message) {
        self.init(kind, message.conversation, seq: message.seq) { writer in
            writer.key("message")
            message.write(to: &writer)
        }
    }

    private init(of user: UserID, _ role: Role?, in id: ConversationID) {
        self.init(.member, id) { writer in
            writer.field("conversation", id)
            writer.field("user", user)
            writer.field("isMember", role != nil)
            writer.field("role", role?.rawValue)
        }
    }

    private init(of id: ConversationID, isDeleted: Bool) {
        self.init(.conversation, id) { writer in
            writer.field("conversation", id)
            writer.field("isDeleted", isDeleted)
        }
    }

    private init(_ change: OwnStateChange) {
        self.init(.read, change.conversation) { writer in
            writer.field("conversation", change.conversation)
            writer.field("user", change.user)
            writer.field("readSeq", change.summary.readSeq)
            writer.field("unread", change.summary.unread)
        }
    }
}

extension WebhookEvent.Kind {
    fileprivate init(of action: MessageAction) {
        self =
            switch action.type {
            case MessageAction.pin: .pin
            case MessageAction.vote: .vote
            default: .action
            }
    }
}
