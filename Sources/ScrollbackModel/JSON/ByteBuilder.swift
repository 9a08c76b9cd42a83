/// Bytes to which others are appended.
///
/// An array checks at each append whether it has space and whether its storage is shared. This type has one owner, and
/// a caller that knows how many bytes follow reserves the space once.
///
/// `@unchecked Sendable`: only the owner has the address of the storage.
struct ByteBuilder: ~Copyable, @unchecked Sendable {
    private var start: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private var count = 0

    init(capacity: Int) {
        self.capacity = max(capacity, 16)
        start = .allocate(capacity: self.capacity)
    }

    deinit { start.deallocate() }

    private var written: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: start, count: count) }

    var bytes: [UInt8] { Array(written) }
    var text: String { String(decoding: written, as: UTF8.self) }

    /// Ensures that `more` bytes can be appended with the methods whose names have `Reserved`.
    @inline(__always)
    mutating func reserve(_ more: Int) {
        if capacity - count < more { grow(by: more) }
    }

    private mutating func grow(by more: Int) {
        capacity = max(capacity * 2, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: start, count: count)
        start.deallocate()
        start = larger
    }

    mutating func append(_ byte: UInt8) {
        reserve(1)
        appendReserved(byte)
    }

    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        reserve(bytes.count)
        appendReserved(bytes)
    }

    // MARK: With reserved space

    @inline(__always)
    mutating func appendReserved(_ byte: UInt8) {
        assert(count < capacity)
        start[count] = byte
        count += 1
    }

    @inline(__always)
    mutating func appendReserved(_ bytes: UnsafeBufferPointer<UInt8>) {
        assert(capacity - count >= bytes.count)
        guard let first = bytes.baseAddress else { return }
        (start + count).update(from: first, count: bytes.count)
        count += bytes.count
    }

    /// Appends the bytes that `body` writes into reserved space.
    ///
    /// - Parameters:
    ///   - capacity: The number of reserved bytes.
    ///   - body: Writes bytes, and returns their number.
    @inline(__always)
    mutating func appendReserved(_ capacity: Int, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Int) {
        assert(self.capacity - count >= capacity)
        count += body(UnsafeMutableBufferPointer(start: start + count, count: capacity))
    }

    /// Appends two hexadecimal digits.
    mutating func appendReserved(hexadecimal byte: UInt8) {
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
        appendReserved(digit(byte >> 4))
        appendReserved(digit(byte & 15))
    }

    /// The largest number of decimal digits of a 64-bit number.
    static let maximumDigits = 20

    /// Appends the decimal digits of a number, for which `maximumDigits` bytes must be reserved.
    mutating func appendReserved(digitsOf number: UInt64) {
        appendReserved(Self.maximumDigits) { text in
            var first = text.count
            var rest = number
            repeat {
                first -= 1
                text[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            let digits = text[first...]
            _ = text.update(fromContentsOf: digits)
            return digits.count
        }
    }
}
