public import Foundation

/// The ID of a message: a UUID that the sender's device creates and keeps for every retry.
///
/// It is unique in its conversation.
public struct MessageID: Hashable, Sendable {
    /// The UUID: version 7 from this SDK, any version from other senders or importers.
    public let uuid: UUID

    /// Creates an ID from a UUID of any version, for example one derived from another system's ID.
    public init(_ uuid: UUID) {
        self.uuid = uuid
    }

    /// Parses the 36-character text form, in upper or lower case.
    ///
    /// - Throws: `invalid-parameter` if the text is not a UUID.
    public init(_ text: String, parameter: String = "id") throws(ChatError) {
        guard let uuid = Self.parse(text) else {
            throw .invalidParameter(parameter, "must be a UUID, for example 0198f3c2-7c1e-7000-8000-0123456789ab")
        }
        self.uuid = uuid
    }

    /// Parses the text form; Foundation's parser takes eight times as long, and accepts spaces and signs.
    private static func parse(_ text: String) -> UUID? {
        func digit(_ byte: UInt8) -> UInt8? {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
            default: nil
            }
        }
        var text = text
        return text.withUTF8 { text in
            guard text.count == 36 else { return nil }
            var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
            let isValid = withUnsafeMutableBytes(of: &uuid) { bytes in
                var position = 0
                for index in 0..<16 {
                    if index == 4 || index == 6 || index == 8 || index == 10 {
                        guard text[position] == UInt8(ascii: "-") else { return false }
                        position += 1
                    }
                    guard let high = digit(text[position]), let low = digit(text[position + 1]) else { return false }
                    bytes[index] = high << 4 | low
                    position += 2
                }
                return true
            }
            return isValid ? UUID(uuid: uuid) : nil
        }
    }

    /// Creates a new UUID version 7 (RFC 9562): 48 bits of Unix milliseconds, then random bits.
    ///
    /// - Parameters:
    ///   - date: The time for the first 48 bits; messages are never ordered by it.
    ///   - generator: The source of the other 74 bits.
    public init(at date: Date, using generator: inout some RandomNumberGenerator) {
        let milliseconds = UInt64(max(0, date.timeIntervalSince1970 * 1000))
        let a = milliseconds << 16 | 0x7000 | UInt64.random(in: 0...0xFFF, using: &generator)
        let b = 0x8000_0000_0000_0000 | UInt64.random(in: 0...0x3FFF_FFFF_FFFF_FFFF, using: &generator)
        self.init(high: a, low: b)
    }

    /// Creates an ID from two numbers, most significant first.
    package init(high: UInt64, low: UInt64) {
        func byte(_ word: UInt64, _ index: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> (56 - 8 * index)) }
        uuid = UUID(
            uuid: (
                byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3),
                byte(high, 4), byte(high, 5), byte(high, 6), byte(high, 7),
                byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3),
                byte(low, 4), byte(low, 5), byte(low, 6), byte(low, 7)
            ))
    }
}

extension MessageID: CustomStringConvertible, Comparable {
    /// The lowercase text form.
    public var description: String {
        String(unsafeUninitializedCapacity: Self.textLength) { write(to: $0) }
    }

    /// The number of bytes of the text form.
    static let textLength = 36

    /// Writes the text form, and returns its length.
    func write(to text: UnsafeMutableBufferPointer<UInt8>) -> Int {
        withUnsafeBytes(of: uuid.uuid) { bytes in
            func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
            var end = 0
            for (index, byte) in bytes.enumerated() {
                if index == 4 || index == 6 || index == 8 || index == 10 {
                    text[end] = UInt8(ascii: "-")
                    end += 1
                }
                text[end] = digit(byte >> 4)
                text[end + 1] = digit(byte & 15)
                end += 2
            }
            return end
        }
    }

    /// Orders IDs by their 16 bytes, for lists; messages are ordered by sequence number instead.
    public static func < (a: MessageID, b: MessageID) -> Bool { a.uuid < b.uuid }
}
