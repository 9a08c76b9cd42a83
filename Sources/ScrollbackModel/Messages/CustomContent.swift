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
/// Apps that don't know the type preserve such messages unchanged. The member `files` is reserved for a list of the IDs
/// and URLs of files (``MessageContent/files``).
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
    private static let customPrefix = "app:"

    /// Whether the type is application-defined: prefixed with `app:`, or in reverse-DNS form.
    public var isCustom: Bool {
        if rawValue.hasPrefix(Self.customPrefix) { return rawValue.utf8.count > Self.customPrefix.utf8.count }
        let labels = rawValue.split(separator: ".", omittingEmptySubsequences: false)
        return labels.count > 1 && !rawValue.utf8.contains(UInt8(ascii: ":")) && labels.allSatisfy { !$0.isEmpty }
    }

    /// Checks that new messages may have the type: a built-in or an application-defined one.
    ///
    /// - Throws: `invalid-parameter` with the most similar built-in type.
    package func checkIsKnown() throws(ChatError) {
        guard !isCustom, !Self.builtIn.contains(self) else { return }
        let name = rawValue.split { $0 == ":" || $0 == "." }.last.map { $0.lowercased() } ?? ""
        let similar = Self.builtIn.min { $0.distance(to: name) < $1.distance(to: name) } ?? .text
        throw .invalidParameter(
            "type",
            "\(self) is not a built-in type; the most similar one is \(similar). Start the name of an application's "
                + "own type with \(Self.customPrefix), or use the reverse-DNS form, such as com.example.poll.")
    }

    /// Returns the number of inserted, deleted and replaced bytes between the type's name and another name.
    private func distance(to other: String) -> Int {
        let other = Array(other.utf8)
        var row = Array(0...other.count)
        for (line, byte) in rawValue.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for (column, candidate) in other.enumerated() {
                let replaced = diagonal + (byte == candidate ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[other.count]
    }
}
