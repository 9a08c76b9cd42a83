import Foundation

/// Who someone is, in the application's own terms.
///
/// The rules for the text are those of ``Identifier``.
public struct UserID: Hashable, Comparable, Sendable {
    /// The text, checked.
    public let identifier: Identifier

    /// Checks a user that came from outside.
    ///
    /// - Parameters:
    ///   - text: 1...128 bytes of UTF-8, as an ``Identifier`` must be.
    ///   - parameter: what to call the user in the error.
    /// - Throws: `invalid-parameter` when the text is not an ``Identifier``.
    public init(_ text: String, parameter: String = "user") throws(ChatError) {
        identifier = try Identifier(text, parameter: parameter)
    }

    package init(known text: String) {
        identifier = Identifier(known: text)
    }

    /// The identifier as it was given.
    public var text: String { identifier.text }

    /// The random name that stands in an erased person's place, where what they said was to stay.
    package static func standIn() -> UserID { UserID(known: standInPrefix + UUID().uuidString.lowercased()) }

    /// Whether it is such a name.
    package var isStandIn: Bool {
        text.hasPrefix(Self.standInPrefix) && UUID(uuidString: String(text.dropFirst(Self.standInPrefix.count))) != nil
    }

    private static let standInPrefix = "deleted-"

    /// The order of the bytes of UTF-8.
    public static func < (a: UserID, b: UserID) -> Bool { a.identifier < b.identifier }
}

extension UserID: ExpressibleByStringLiteral, CustomStringConvertible {
    /// A user written in the source: traps when it is not a valid identifier.
    public init(stringLiteral value: String) {
        identifier = Identifier(stringLiteral: value)
    }

    /// The identifier as it was given.
    public var description: String { identifier.text }
}
