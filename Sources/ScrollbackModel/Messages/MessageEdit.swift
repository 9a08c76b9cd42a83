/// An edit of a message: new content of the same type, and changes of its attributes.
public struct MessageEdit: Hashable, Sendable {
    /// A change of an attribute.
    public enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
        /// Keeps the attribute.
        case keep
        /// Removes the attribute.
        case remove
        /// Sets the attribute.
        case set(Value)

        package func applied(to value: Value?) -> Value? {
            switch self {
            case .keep: value
            case .remove: nil
            case .set(let new): new
            }
        }
    }

    /// The new content, of the same type as the message.
    public var content: MessageContent
    /// The change of the mentions.
    public var mentions: Change<Mentions>
    /// The change of the application-defined object.
    public var metadata: Change<RawJSON>
    /// The change of the application-defined JSON.
    public var extra: Change<RawJSON>
    /// The change of the application-defined name to filter by.
    public var customType: Change<String>

    /// Creates an edit.
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
