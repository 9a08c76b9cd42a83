/// Why somebody reports a message: one of these, or a name of the application's own, 1...64 bytes of UTF-8.
public struct ReportReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// As it travels.
    public let rawValue: String

    /// A reason by its name, whether this version lists it or not.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The name as it travels.
    public var description: String { rawValue }

    /// Advertising, or the same again and again.
    public static let spam = Self(rawValue: "spam")
    /// It is meant to hurt or to frighten somebody.
    public static let harassment = Self(rawValue: "harassment")
    /// It calls for violence, or threatens with it.
    public static let violence = Self(rawValue: "violence")
    /// What is not for everybody's eyes.
    public static let sexual = Self(rawValue: "sexual")
    /// It breaks the law.
    public static let illegal = Self(rawValue: "illegal")

    /// - Throws: `invalid-parameter` when it is empty or above 64 bytes.
    package init(_ text: String) throws(ChatError) {
        guard (1...64).contains(text.utf8.count) else {
            throw .invalidParameter("reason", "must be 1...64 bytes of UTF-8")
        }
        rawValue = text
    }
}
