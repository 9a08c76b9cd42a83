import Foundation

/// The ID of a user, which the application chooses.
///
/// The text follows the rules of ``Identifier``.
public struct UserID: Hashable, Comparable, Sendable {
    /// The validated text.
    public let identifier: Identifier

    /// Validates a user ID.
    ///
    /// - Parameters:
    ///   - text: 1...128 bytes of UTF-8, following the rules of ``Identifier``.
    ///   - parameter: The name of the parameter in the error.
    /// - Throws: `invalid-parameter` if the text is not a valid ``Identifier``.
    public init(_ text: String, parameter: String = "user") throws(ChatError) {
        identifier = try Identifier(text, parameter: parameter)
    }

    package init(known text: String) {
        identifier = Identifier(known: text)
    }

    /// The text of the user ID.
    public var text: String { identifier.text }

    /// Returns a random name that replaces an erased user as the sender of messages that remain.
    package static func erasedUser() -> UserID { UserID(known: erasedUserPrefix + UUID().uuidString.lowercased()) }

    /// Whether this is the name of an erased user.
    package var isErasedUser: Bool {
        text.hasPrefix(Self.erasedUserPrefix)
            && UUID(uuidString: String(text.dropFirst(Self.erasedUserPrefix.count))) != nil
    }

    private static let erasedUserPrefix = "deleted-"

    /// Orders users by their UTF-8 bytes.
    public static func < (a: UserID, b: UserID) -> Bool { a.identifier < b.identifier }
}

extension UserID: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Creates a user ID from a literal; traps if the literal is not a valid identifier.
    public init(stringLiteral value: String) {
        identifier = Identifier(stringLiteral: value)
    }

    /// The text of the user ID.
    public var description: String { identifier.text }
}
