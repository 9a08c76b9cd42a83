/// What a push tells the app it reaches, besides the text it shows.
///
/// It is a hint and never the message: services keep one of several, drop some and order none. What the app shows comes from
/// the conversation.
public struct PushMessage: Hashable, Sendable {
    /// What happened.
    public enum Kind: Hashable, Sendable {
        /// There is a message.
        case message
        /// The message was recalled: what was shown of it is to be shown no more.
        case recall
    }

    /// Which message it is about, and whom it is for.
    public var place: PushPlace
    /// What happened.
    public var kind: Kind
    /// What the sender handed over to the app (``PushOptions/data``).
    public var data: String?
    /// Whether the sender handed something over that the push had no room for; it stands with the message.
    public var omitsData: Bool
    /// Where the app is to open, by the operator's pattern.
    public var link: String?
    /// How many messages its user has not read in all, where the service hands that to the app.
    public var badge: Int64?

    /// A push about a message.
    public init(
        place: PushPlace, kind: Kind = .message, data: String? = nil, omitsData: Bool = false, link: String? = nil,
        badge: Int64? = nil
    ) {
        self.place = place
        self.kind = kind
        self.data = data
        self.omitsData = omitsData
        self.link = link
        self.badge = badge
    }
}
