import Foundation

/// A view of a file's bytes with checked access; nothing is copied unless requested.
///
/// All parts of a file share its ``PictureSteps``.
struct Bytes {
    let steps: PictureSteps
    private let data: Data
    /// The range in the indices of `data`.
    private let range: Range<Int>

    init(_ data: Data, steps: PictureSteps = PictureSteps()) {
        self.steps = steps
        self.data = data
        range = data.startIndex..<data.endIndex
    }

    private init(_ data: Data, _ range: Range<Int>, _ steps: PictureSteps) {
        self.steps = steps
        self.data = data
        self.range = range
    }

    var count: Int { range.count }

    /// A copy of the bytes.
    var copy: Data { data.subdata(in: range) }

    /// Returns whether `count` bytes exist at an offset.
    func hasBytes(_ count: Int, at offset: Int) -> Bool {
        offset >= 0 && count >= 0 && offset <= self.count && count <= self.count - offset
    }

    /// Returns the part at an offset.
    func part(at offset: Int, count: Int) throws(PictureError) -> Bytes {
        guard hasBytes(count, at: offset) else { throw .corrupt }
        let start = range.lowerBound + offset
        return Bytes(data, start..<start + count, steps)
    }

    /// Returns the part from an offset to another, or to the end.
    func part(from start: Int, to end: Int? = nil) throws(PictureError) -> Bytes {
        let end = end ?? count
        guard start >= 0, start <= end else { throw .corrupt }
        return try part(at: start, count: end - start)
    }

    func byte(at offset: Int) throws(PictureError) -> Int {
        guard hasBytes(1, at: offset) else { throw .corrupt }
        return Int(data[range.lowerBound + offset])
    }

    /// Reads an integer of up to 8 bytes; a value that exceeds `Int` counts as corrupt.
    func number(at offset: Int, bytes: Int, littleEndian: Bool = false) throws(PictureError) -> Int {
        guard hasBytes(bytes, at: offset), bytes <= 8 else { throw .corrupt }
        var number: UInt64 = 0
        for index in 0..<bytes {
            let next = littleEndian ? bytes - 1 - index : index
            number = number << 8 | UInt64(data[range.lowerBound + offset + next])
        }
        guard let number = Int(exactly: number) else { throw .corrupt }
        return number
    }

    /// Reads the name of a chunk or box.
    func code(at offset: Int) throws(PictureError) -> Code {
        guard hasBytes(4, at: offset) else { throw .corrupt }
        var value: UInt32 = 0
        for index in offset..<offset + 4 { value = value << 8 | UInt32(data[range.lowerBound + index]) }
        return Code(value: value)
    }

    /// Returns whether certain bytes are at an offset.
    func matches(_ expected: some Collection<UInt8>, at offset: Int = 0) -> Bool {
        guard hasBytes(expected.count, at: offset) else { return false }
        return data[(range.lowerBound + offset)...].starts(with: expected)
    }

    /// Returns the first offset of a byte at or after an offset.
    func offset(of byte: UInt8, from offset: Int) -> Int? {
        guard hasBytes(1, at: offset) else { return nil }
        let start = range.lowerBound + offset
        return data.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress else { return nil }
            let from = base + (start - data.startIndex)
            return memchr(from, Int32(byte), count - offset).map { offset + (UnsafeRawPointer($0) - from) }
        }
    }

    /// Appends the bytes to an output file.
    func write(to file: inout Data) {
        file.append(data[range])
    }
}

/// A four-letter name of a chunk or box.
struct Code: Hashable, Sendable, ExpressibleByStringLiteral {
    let value: UInt32

    init(value: UInt32) {
        self.value = value
    }

    init(stringLiteral letters: String) {
        value = letters.utf8.reduce(0) { $0 << 8 | UInt32($1) }
    }
}

extension Data {
    /// Appends an integer with a number of bytes.
    mutating func append(_ number: UInt32, bytes: Int, littleEndian: Bool = false) {
        for index in 0..<bytes {
            append(UInt8(truncatingIfNeeded: number >> UInt32(8 * (littleEndian ? index : bytes - 1 - index))))
        }
    }

    mutating func append(_ code: Code) {
        append(code.value, bytes: 4)
    }
}
