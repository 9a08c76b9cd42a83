import Foundation

/// Content of an application-defined type: a `Codable` value with a type name.
///
/// ```swift
/// struct Poll: CustomContent {
///     static let type: MessageType = "app:poll"
///     var question: String
///     var choices: [String]
/// }
/// ```
///
/// Apps that don't know the type preserve such messages unchanged.
public protocol CustomContent: Codable, Sendable {
    /// The name of the type, prefixed with `app:` or in reverse-DNS form, such as `com.example.poll`.
    static var type: MessageType { get }
    /// The traits of messages of the type; by default those of text messages.
    ///
    /// They apply when a value of the type is sent, with or without files.
    static var traits: MessageTraits { get }
}

extension CustomContent {
    /// The traits of text messages.
    public static var traits: MessageTraits { MessageTraits() }
}

extension MessageType: ExpressibleByStringLiteral {
    /// Creates a type from a literal; traps if the name is invalid (``init(_:parameter:)``).
    public init(stringLiteral name: String) {
        do {
            try self.init(name)
        } catch {
            preconditionFailure("\(error)")
        }
    }
}

extension MessageContent {
    /// Returns the content for a value of an application-defined type.
    ///
    /// - Throws: `invalid-parameter` if the type's name belongs to this library, or if the value does not encode to a
    ///   JSON object.
    public static func custom<Content: CustomContent>(_ value: Content) throws(ChatError) -> MessageContent {
        guard Content.type.isCustom else {
            throw .invalidParameter(
                "type", "of custom content must start with app: or be in reverse-DNS form, is \(Content.type)")
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json: RawJSON
        do {
            json = try RawJSON(String(decoding: try encoder.encode(value), as: UTF8.self))
        } catch {
            throw ChatError(
                .invalidParameter, "The content can't be encoded as JSON.", parameter: "content", cause: error)
        }
        return try MessageContent(type: Content.type, json: json)
    }

    /// Decodes the content as an application-defined type; returns `nil` if it has another type.
    ///
    /// - Throws: `invalid-parameter` if the type matches but the value can't be decoded, for example from a newer app.
    public func custom<Content: CustomContent>(_: Content.Type = Content.self) throws(ChatError) -> Content? {
        guard type == Content.type else { return nil }
        do {
            return try JSONDecoder().decode(Content.self, from: Data(json.text.utf8))
        } catch {
            throw ChatError(
                .invalidParameter, "The content can't be decoded as \(Content.self).",
                parameter: "content", cause: error)
        }
    }
}

extension MessageType {
    /// Whether the type is application-defined: prefixed with `app:`, or in reverse-DNS form.
    public var isCustom: Bool { rawValue.utf8.starts(with: "app:".utf8) || rawValue.utf8.contains(UInt8(ascii: ".")) }
}
