/// Who someone is, in the application's own terms.
///
/// The rules for the text are those of ``Identifier``.
public struct UserID: Hashable, Comparable, Sendable {
    public let identifier: Identifier

    public init(_ text: String, parameter: String = "user") throws(ChatError) {
        identifier = try Identifier(text, parameter: parameter)
    }

    package init(known text: String) {
        identifier = Identifier(known: text)
    }

    public var text: String { identifier.text }

    public static func < (a: UserID, b: UserID) -> Bool { a.identifier < b.identifier }
}

extension UserID: ExpressibleByStringLiteral, CustomStringConvertible {
    /// A user written in the source: traps when it is not a valid identifier.
    public init(stringLiteral value: String) {
        identifier = Identifier(stringLiteral: value)
    }

    public var description: String { identifier.text }
}
