import Foundation

/// An application-defined name of a user, group, community, channel, room or service.
///
/// An identifier has 1...128 bytes of UTF-8 in Unicode normalization form C. It has no control characters, no
/// characters that change the direction of text, and no invisible characters other than joiners and variation
/// selectors. Equality, hash and order compare bytes. Because unnormalized text is rejected, canonically equivalent
/// identifiers are always equal.
public struct Identifier: Sendable {
    /// The text of the identifier.
    public let text: String

    /// The maximum length in bytes of UTF-8.
    public static let maximumBytes = 128

    /// Validates a name.
    ///
    /// - Parameters:
    ///   - text: The name.
    ///   - parameter: The name of the parameter in the error.
    /// - Throws: `invalid-parameter` if the name is empty, too long, not normalized, or contains a control character
    ///   or an invisible character.
    public init(_ text: String, parameter: String = "identifier") throws(ChatError) {
        if let reason = Self.fault(in: text) {
            throw .invalidParameter(parameter, reason)
        }
        self.text = text
    }

    package init(known text: String) {
        self.text = text
    }

    private static func fault(in text: String) -> String? {
        let bytes = text.utf8.count
        if bytes == 0 { return "must not be empty" }
        if bytes > maximumBytes { return "must be at most \(maximumBytes) bytes of UTF-8 but has \(bytes)" }
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return nil }
        var needsNormalizationCheck = false
        for scalar in text.unicodeScalars {
            if scalar.value < 0x7F, scalar.value >= 0x20 { continue }
            if scalar.breaksLine { return "must not contain control characters (\(scalar.codePoint))" }
            if scalar.isBidirectionalControl {
                return "must not contain characters that change the direction of text (\(scalar.codePoint))"
            }
            if scalar.isInvisible { return "must not contain invisible characters (\(scalar.codePoint))" }
            // Below the combining marks, every scalar is its own composed form.
            if scalar.value >= 0x300 { needsNormalizationCheck = true }
        }
        if needsNormalizationCheck, !text.precomposedStringWithCanonicalMapping.utf8.elementsEqual(text.utf8) {
            return "must be in Unicode normalization form C (composed characters)"
        }
        return nil
    }
}

extension Identifier: Hashable, Comparable {
    /// Returns whether two identifiers have the same UTF-8 bytes.
    public static func == (a: Identifier, b: Identifier) -> Bool {
        var (first, second) = (a.text, b.text)
        return first.withUTF8 { a in
            second.withUTF8 { b in
                guard a.count == b.count, let start = a.baseAddress, let other = b.baseAddress else {
                    return a.count == b.count
                }
                return memcmp(start, other, a.count) == 0
            }
        }
    }

    /// Orders identifiers by their UTF-8 bytes, which is the same order on every device and in every store.
    public static func < (a: Identifier, b: Identifier) -> Bool {
        a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
    }

    /// Hashes the UTF-8 bytes, consistent with equality.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}

extension Identifier: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Creates an identifier from a literal; traps if the literal is invalid.
    public init(stringLiteral value: String) {
        if let reason = Self.fault(in: value) {
            preconditionFailure("\"\(value)\" is not a valid identifier: it \(reason).")
        }
        self.init(known: value)
    }

    /// The text of the identifier.
    public var description: String { text }
}
