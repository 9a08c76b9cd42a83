import Foundation

/// Inflates a zlib stream (RFC 1950, RFC 1951) up to a limit.
///
/// It decompresses the color profiles of PNG files, which are small. It favors simplicity over speed, and the limit
/// bounds its memory.
struct Inflater {
    private let input: Bytes
    private let limit: Int
    private var offset = 2
    private var bitBuffer: UInt32 = 0
    private var bitBufferCount = 0
    private var output = Data()

    static func inflate(_ stream: Bytes, atMost limit: Int) throws(PictureError) -> Data {
        guard stream.count <= limit, try stream.byte(at: 0) & 15 == 8, try stream.number(at: 0, bytes: 2) % 31 == 0,
            try stream.byte(at: 1) & 0x20 == 0
        else { throw .corrupt }
        var inflater = Inflater(input: stream, limit: limit)
        while true {
            let isLast = try inflater.bits(1) == 1
            switch try inflater.bits(2) {
            case 0: try inflater.stored()
            case 1: try inflater.compressed(Self.fixedLengths, Self.fixedDistances)
            case 2: try inflater.dynamic()
            default: throw .corrupt
            }
            if isLast { return inflater.output }
        }
    }

    private init(input: Bytes, limit: Int) {
        self.input = input
        self.limit = limit
    }

    private mutating func bits(_ count: Int) throws(PictureError) -> Int {
        while bitBufferCount < count {
            bitBuffer |= UInt32(try input.byte(at: offset)) << UInt32(bitBufferCount)
            bitBufferCount += 8
            offset += 1
        }
        defer {
            bitBuffer >>= UInt32(count)
            bitBufferCount -= count
        }
        return Int(bitBuffer & (1 << UInt32(count) - 1))
    }

    private mutating func put(_ byte: UInt8) throws(PictureError) {
        guard output.count < limit else { throw .corrupt }
        output.append(byte)
    }

    private mutating func stored() throws(PictureError) {
        bitBuffer = 0
        bitBufferCount = 0
        let count = try input.number(at: offset, bytes: 2, littleEndian: true)
        guard try input.number(at: offset + 2, bytes: 2, littleEndian: true) == ~count & 0xFFFF else { throw .corrupt }
        offset += 4
        for _ in 0..<count {
            try put(UInt8(truncatingIfNeeded: try input.byte(at: offset)))
            offset += 1
        }
    }

    private mutating func dynamic() throws(PictureError) {
        let (literals, distances, others) = (try bits(5) + 257, try bits(5) + 1, try bits(4) + 4)
        var lengths = [Int](repeating: 0, count: 19)
        for index in 0..<others {
            lengths[[16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15][index]] = try bits(3)
        }
        let code = PrefixCode(lengths)
        lengths = []
        while lengths.count < literals + distances {
            switch try symbol(of: code) {
            case let length where length < 16: lengths.append(length)
            case 16:
                guard let last = lengths.last else { throw .corrupt }
                lengths += Array(repeating: last, count: try bits(2) + 3)
            case 17: lengths += Array(repeating: 0, count: try bits(3) + 3)
            default: lengths += Array(repeating: 0, count: try bits(7) + 11)
            }
        }
        guard lengths.count == literals + distances else { throw .corrupt }
        try compressed(PrefixCode(Array(lengths[..<literals])), PrefixCode(Array(lengths[literals...])))
    }

    private mutating func compressed(_ literals: PrefixCode, _ distances: PrefixCode) throws(PictureError) {
        while true {
            let symbol = try symbol(of: literals)
            if symbol < 256 {
                try put(UInt8(symbol))
                continue
            }
            if symbol == 256 { return }
            guard symbol < 286 else { throw .corrupt }
            let (base, extra) = Self.lengths[symbol - 257]
            let length = base + (try bits(extra))
            let distanceSymbol = try self.symbol(of: distances)
            guard distanceSymbol < 30 else { throw .corrupt }
            let half = max(0, distanceSymbol / 2 - 1)
            let start = distanceSymbol < 2 ? distanceSymbol : (2 + distanceSymbol % 2) << half
            let distance = start + 1 + (try bits(half))
            guard distance <= output.count else { throw .corrupt }
            for _ in 0..<length { try put(output[output.count - distance]) }
        }
    }

    private mutating func symbol(of code: PrefixCode) throws(PictureError) -> Int {
        var (value, first, index) = (0, 0, 0)
        for count in code.counts {
            value |= try bits(1)
            if value - first < count { return code.symbols[index + value - first] }
            index += count
            first = (first + count) << 1
            value <<= 1
        }
        throw .corrupt
    }

    private static let fixedLengths = PrefixCode(
        (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
    private static let fixedDistances = PrefixCode([Int](repeating: 5, count: 30))

    /// The shortest match of each symbol from 257, and its number of extra bits.
    private static let lengths: [(base: Int, extra: Int)] =
        (3...10).map { ($0, 0) }
        + (1...5).flatMap { extra in (0..<4).map { ((4 + $0) << extra + 3, extra) } } + [(258, 0)]
}

/// A Huffman code, built from code lengths as in Deflate.
private struct PrefixCode {
    /// The number of codes of each length from 1 to 15.
    private(set) var counts = [Int](repeating: 0, count: 15)
    /// All symbols in the order of their codes.
    private(set) var symbols: [Int] = []

    init(_ lengths: [Int]) {
        for length in lengths where length > 0 { counts[length - 1] += 1 }
        var next = counts.indices.map { counts[..<$0].reduce(0, +) }
        symbols = Array(repeating: 0, count: counts.reduce(0, +))
        for (symbol, length) in lengths.enumerated() where length > 0 {
            symbols[next[length - 1]] = symbol
            next[length - 1] += 1
        }
    }
}
