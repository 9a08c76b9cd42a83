import Foundation

/// A name the application chooses: a user, a group, a community, a channel, a room or a service.
///
/// 1...128 bytes of UTF-8 in Unicode normalization form C, without control characters. Equality, hash and order are over
/// the bytes, so two identifiers that look alike are never half the same: one of them was refused by name.
public struct Identifier: Sendable {
    /// The identifier as it was given.
    public let text: String

    /// The longest identifier, in bytes of UTF-8.
    public static let maximumBytes = 128

    /// Checks a name that came from outside.
    ///
    /// - Parameters:
    ///   - text: the name.
    ///   - parameter: what to call it in the error.
    /// - Throws: `invalid-parameter` when the name is empty, too long, not normalized or has a control character.
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
        if bytes > maximumBytes { return "must be at most \(maximumBytes) bytes of UTF-8, is \(bytes)" }
        var needsNormalizationCheck = false
        for scalar in text.unicodeScalars {
            if scalar.properties.generalCategory == .control {
                return "must not contain control characters (U+\(String(scalar.value, radix: 16, uppercase: true)))"
            }
            // Below the combining marks every scalar is its own composed form.
            if scalar.value >= 0x300 { needsNormalizationCheck = true }
        }
        if needsNormalizationCheck, !text.precomposedStringWithCanonicalMapping.utf8.elementsEqual(text.utf8) {
            return "must be in Unicode normalization form C (composed characters)"
        }
        return nil
    }
}

extension Identifier: Hashable, Comparable {
    /// Whether two identifiers are the same bytes of UTF-8.
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

    /// The order of the bytes of UTF-8, which is the same on every device and in every store.
    public static func < (a: Identifier, b: Identifier) -> Bool {
        a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
    }

    /// Hashes the bytes, as equality compares them.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}

extension Identifier: ExpressibleByStringLiteral, CustomStringConvertible {
    /// A name written in the source: traps when it is not a valid identifier.
    public init(stringLiteral value: String) {
        if let reason = Self.fault(in: value) {
            preconditionFailure("\"\(value)\" is not an identifier: it \(reason)")
        }
        self.init(known: value)
    }

    /// The identifier as it was given.
    public var description: String { text }
}
