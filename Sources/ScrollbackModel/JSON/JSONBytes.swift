/// Scans of JSON texts that examine eight bytes at a time.
enum JSONBytes {
    private static let lowBits: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    static func areASCII(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var index = 0
            while index + 8 <= bytes.count {
                if bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & highBits != 0 { return false }
                index += 8
            }
            while index < bytes.count {
                if bytes[index] >= 0x80 { return false }
                index += 1
            }
            return true
        }
    }

    /// Returns the position of the first byte that can't be part of a string unescaped: a quote, a backslash or a
    /// control character.
    ///
    /// - Returns: The number of bytes if there is none.
    static func endOfPlain(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start
        while index + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if hasSpecialByte(word) { break }
            index += 8
        }
        while index < bytes.count, !isSpecial(bytes[index]) { index += 1 }
        return index
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Returns whether any of eight bytes is special.
    ///
    /// Subtracting `n` sets the high bit of bytes below `n` and of bytes that had it, which are excluded. A byte above
    /// can lend to a byte below `n`, which then is special itself.
    private static func hasSpecialByte(_ word: UInt64) -> Bool {
        func zeros(_ word: UInt64) -> UInt64 { (word &- lowBits) & ~word }
        let controls = (word &- 0x20 &* lowBits) & ~word
        let quotes = zeros(word ^ (UInt64(UInt8(ascii: "\"")) &* lowBits))
        let backslashes = zeros(word ^ (UInt64(UInt8(ascii: "\\")) &* lowBits))
        return (controls | quotes | backslashes) & highBits != 0
    }
}

extension Int64 {
    /// Parses decimal digits, with a minus if the number is negative.
    init?(digits text: Slice<UnsafeRawBufferPointer>) {
        let isNegative = text.first == UInt8(ascii: "-")
        var value: Int64 = 0
        for byte in isNegative ? text.dropFirst() : text {
            guard (0x30...0x39).contains(byte) else { return nil }
            let digit = Int64(byte - 0x30)
            let (tens, overflows) = value.multipliedReportingOverflow(by: 10)
            let (sum, exceeds) =
                isNegative ? tens.subtractingReportingOverflow(digit) : tens.addingReportingOverflow(digit)
            guard !overflows, !exceeds else { return nil }
            value = sum
        }
        self = value
    }
}
