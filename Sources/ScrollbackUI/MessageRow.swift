public import Foundation
public import Scrollback

/// What a row of a timeline shows of a message, sent or not.
public struct MessageRow: Equatable, Identifiable, Sendable {
    /// The progress of a message that this user sends.
    public enum Delivery: Equatable, Sendable {
        /// Waiting for its turn or for the network.
        case waiting
        /// Uploading files, with the fraction uploaded, 0...1.
        case uploading(Double)
        /// Transmitted, without an answer of the server so far.
        case sending
        /// Rejected by the server, or failed otherwise: retry or cancel it.
        case failed(ChatError)
        /// Stored by the server.
        case sent
        /// Received by a device of the peer; only in direct conversations.
        case delivered
        /// Read by the peer; only in direct conversations.
        case read
    }

    /// The users who reacted with one value.
    public struct Reaction: Equatable, Identifiable, Sendable {
        /// The value, such as an emoji.
        public let id: String
        /// The number of users.
        public let count: Int64
        /// Whether this user is known to be one of them.
        public let isOwn: Bool
    }

    /// The message that another one replies to or quotes.
    public struct Reference: Equatable, Sendable {
        /// The ID of the message.
        public let message: MessageID
        /// The name of its sender; `nil` if the timeline does not contain the message.
        public let senderName: String?
        /// Its content; `nil` if the timeline does not contain the message, or if it was deleted.
        public let content: MessageContent?
    }

    /// The ID of the message.
    public let message: MessageID
    /// The sender.
    public let sender: UserID
    /// The sender's name, or else the user ID.
    public let senderName: String
    /// Whether this user sent the message.
    public let isOwn: Bool
    /// Whether to show the sender: another user's first message in a row, if several users write.
    public internal(set) var showsSender = false
    /// The content; `nil` if the message was recalled or deleted.
    public let content: MessageContent?
    /// The time when the server stored the message, or when it was queued.
    public let date: Date
    /// Whether the message was edited.
    public let isEdited: Bool
    /// Whether the message mentions this user.
    public let mentionsUser: Bool
    /// The message that this one replies to or quotes.
    public internal(set) var reference: Reference?
    /// The number of replies.
    public let replies: Int64
    /// The reactions.
    public let reactions: [Reaction]
    /// The progress of this user's message; `nil` for messages of other users.
    public let delivery: Delivery?

    /// The ID of the timeline's item, which doesn't change when a queued message is sent.
    public var id: TimelineRow.ID { message.description }
    /// The image of the message, if its content is one.
    public var picture: Media? { content.flatMap { [.image, .gif].contains($0.type) ? $0.media : nil } }
    /// Whether the server has the message and it can be replied to and reacted to.
    public var canReply: Bool {
        switch delivery {
        case nil, .sent, .delivered, .read: content.map { $0.type != .notice } ?? false
        case .waiting, .uploading, .sending, .failed: false
        }
    }
    /// Whether this user can edit the message's text.
    public var canEdit: Bool { isOwn && content?.type == .text }
    /// Whether this user can recall the message for everyone.
    public var canRecall: Bool { isOwn && canReply }
    /// Whether the message failed and can be retried.
    public var canRetry: Bool { if case .failed = delivery { true } else { false } }
    /// Whether the message can still be cancelled.
    public var canCancel: Bool {
        switch delivery {
        case .waiting, .uploading, .failed: true
        case nil, .sending, .sent, .delivered, .read: false
        }
    }
}

extension MessageRow {
    @MainActor
    init(_ message: Message, in timeline: TimelineModel) {
        let user = timeline.conversation.user
        self.message = message.id
        sender = message.sender
        senderName = timeline.profiles.name(of: message.sender)
        isOwn = message.sender == user
        content = message.content
        date = message.sentAt
        isEdited = message.editedAt != nil
        mentionsUser = message.sender != user && message.attributes.mentions?.includes(user) ?? false
        replies = message.replies?.count ?? 0
        reactions = message.actions.filter { $0.type == MessageAction.reaction }
            .map { Reaction(id: $0.value, count: $0.count, isOwn: $0.senders.contains(user)) }
        delivery =
            if message.sender != user {
                nil
            } else if message.seq <= timeline.peerReadSeq {
                .read
            } else if message.seq <= timeline.peerDeliveredSeq {
                .delivered
            } else { .sent }
    }

    @MainActor
    init(_ pending: Timeline.Pending, in timeline: TimelineModel) {
        message = pending.id
        sender = timeline.conversation.user
        senderName = timeline.profiles.name(of: sender)
        isOwn = true
        content = pending.content
        date = pending.createdAt
        isEdited = false
        mentionsUser = false
        replies = 0
        reactions = []
        delivery =
            switch pending.state {
            case .stored, .waiting: .waiting
            case .uploading(let fraction): .uploading(fraction)
            case .sending, .sent, .gone: .sending
            case .failed(let error): .failed(error)
            }
    }
}
