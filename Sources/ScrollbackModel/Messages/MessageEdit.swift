/// What an edit makes of a message: new content of the same type, and of what accompanies it as much as is said.
public struct MessageEdit: Hashable, Sendable {
    /// What becomes of an attribute.
    public enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
        /// It stays as it is.
        case keep
        /// It goes.
        case remove
        /// It is this from now on.
        case set(Value)

        package func applied(to value: Value?) -> Value? {
            switch self {
            case .keep: value
            case .remove: nil
            case .set(let new): new
            }
        }
    }

    /// The new content, of the type the message has.
    public var content: MessageContent
    /// Whom it calls by name from now on.
    public var mentions: Change<Mentions>
    /// The application's own object.
    public var metadata: Change<RawJSON>
    /// The application's own JSON.
    public var extra: Change<RawJSON>
    /// The free name to filter by.
    public var customType: Change<String>

    /// An edit of the content, and of the attributes that are given.
    public init(
        _ content: MessageContent, mentions: Change<Mentions> = .keep, metadata: Change<RawJSON> = .keep,
        extra: Change<RawJSON> = .keep, customType: Change<String> = .keep
    ) {
        self.content = content
        self.mentions = mentions
        self.metadata = metadata
        self.extra = extra
        self.customType = customType
    }

    package func applied(to attributes: MessageAttributes) -> MessageAttributes {
        var new = attributes
        new.mentions = mentions.applied(to: attributes.mentions)
        new.metadata = metadata.applied(to: attributes.metadata)
        new.extra = extra.applied(to: attributes.extra)
        new.customType = customType.applied(to: attributes.customType)
        return new
    }
}
