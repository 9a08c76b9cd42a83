import Foundation

/// An application's own content: any `Codable` value with a name for its type.
///
/// ```swift
/// struct Poll: CustomContent {
///     static let type: MessageType = "app:poll"
///     var question: String
///     var choices: [String]
/// }
/// ```
///
/// Apps that do not know the type keep such messages as they are, and give them on unchanged.
public protocol CustomContent: Codable, Sendable {
    /// The type's name, `app:` prefixed or reverse-DNS, such as `com.example.poll`.
    static var type: MessageType { get }
    /// What messages of the type do besides being read; by default all that a text does.
    ///
    /// It holds where a value of the type is sent as it is, and with files.
    static var traits: MessageTraits { get }
}

extension CustomContent {
    /// All that a text does.
    public static var traits: MessageTraits { MessageTraits() }
}

extension MessageType: ExpressibleByStringLiteral {
    /// A type by its name in the program's text, which must be one (``init(_:parameter:)``).
    public init(stringLiteral name: String) {
        do {
            try self.init(name)
        } catch {
            preconditionFailure("\(error)")
        }
    }
}

extension MessageContent {
    /// An application's own content.
    ///
    /// - Throws: `invalid-parameter` when the type's name is one of this library's, or the value does not encode to a JSON
    ///   object.
    public static func custom<Content: CustomContent>(_ value: Content) throws(ChatError) -> MessageContent {
        guard Content.type.isCustom else {
            throw .invalidParameter(
                "type", "of an application's own content must begin with app: or be reverse-DNS, is \(Content.type)")
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json: RawJSON
        do {
            json = try RawJSON(String(decoding: try encoder.encode(value), as: UTF8.self))
        } catch {
            throw ChatError(
                .invalidParameter, "the content can't be encoded as JSON", parameter: "content", cause: error)
        }
        return try MessageContent(type: Content.type, json: json)
    }

    /// The content as an application's own type; nil where it is of another type.
    ///
    /// - Throws: `invalid-parameter` when it is of that type and does not decode, for example one of a newer app.
    public func custom<Content: CustomContent>(_: Content.Type = Content.self) throws(ChatError) -> Content? {
        guard type == Content.type else { return nil }
        do {
            return try JSONDecoder().decode(Content.self, from: Data(json.text.utf8))
        } catch {
            throw ChatError(
                .invalidParameter, "the content is no \(Content.self)", parameter: "content", cause: error)
        }
    }
}

extension MessageType {
    /// Whether it is an application's own: `app:` prefixed, or reverse-DNS.
    public var isCustom: Bool { rawValue.utf8.starts(with: "app:".utf8) || rawValue.utf8.contains(UInt8(ascii: ".")) }
}
