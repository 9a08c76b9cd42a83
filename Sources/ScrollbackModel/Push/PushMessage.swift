/// The data that a push delivers to the app, in addition to the displayed text.
///
/// A push is a hint and not the message: services may collapse, drop and reorder pushes. The app displays messages from
/// the conversation.
public struct PushMessage: Hashable, Sendable {
    /// The kind of event.
    public enum Kind: Hashable, Sendable {
        /// A new message.
        case message
        /// A recalled message, whose notification the app should remove.
        case recall
    }

    /// The message and the receiver.
    public var target: PushTarget
    /// The kind of event.
    public var kind: Kind
    /// The sender's data for the app (``PushOptions/data``).
    public var data: String?
    /// Whether the push omits the sender's data because it was too large; the message has it.
    public var omitsData: Bool
    /// The URL that the app should open, from the operator's pattern.
    public var link: String?
    /// The user's total number of unread messages, if the service delivers it to the app.
    public var badge: Int64?

    /// Creates a push about a message.
    public init(
        target: PushTarget, kind: Kind = .message, data: String? = nil, omitsData: Bool = false, link: String? = nil,
        badge: Int64? = nil
    ) {
        self.target = target
        self.kind = kind
        self.data = data
        self.omitsData = omitsData
        self.link = link
        self.badge = badge
    }
}
