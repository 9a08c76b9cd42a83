/// The reason for reporting a message: one of these, or an application-defined name of 1...64 bytes of UTF-8.
public struct ReportReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The wire form.
    public let rawValue: String

    /// Creates a reason, which need not be one that this version lists.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The wire form.
    public var description: String { rawValue }

    /// Advertising or repetition.
    public static let spam = Self(rawValue: "spam")
    /// Content intended to hurt or frighten a person.
    public static let harassment = Self(rawValue: "harassment")
    /// Calls for violence, or threats.
    public static let violence = Self(rawValue: "violence")
    /// Sexual content.
    public static let sexual = Self(rawValue: "sexual")
    /// Illegal content.
    public static let illegal = Self(rawValue: "illegal")

    /// Validates a reason.
    ///
    /// - Throws: `invalid-parameter` if it is empty or longer than 64 bytes.
    package init(_ text: String) throws(ChatError) {
        guard (1...64).contains(text.utf8.count) else {
            throw .invalidParameter("reason", "must be 1...64 bytes of UTF-8")
        }
        rawValue = text
    }
}
