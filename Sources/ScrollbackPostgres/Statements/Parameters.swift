import Foundation
import ScrollbackModel

/// The values of a statement's parameters, in PostgreSQL's binary format.
struct Parameters {
    private var types: [PostgresType] = []
    /// Whether each value is an array, whose elements have the type.
    private var areArrays = false
    /// The number of bytes of each value; -1 for NULL.
    private(set) var lengths: [CInt] = []
    private var offsets: [Int] = []
    private var bytes: [UInt8] = []

    /// The object IDs of the types of the values.
    var typeIDs: [UInt32] { types.map { areArrays ? $0.array : $0.rawValue } }

    var byteCount: Int { bytes.count }

    var count: CInt { CInt(types.count) }

    mutating func add(_ number: Int64) { add(bytesOf: number.bigEndian, as: .integer) }

    mutating func add(_ flag: Bool) { add(bytesOf: flag ? 1 as UInt8 : 0, as: .flag) }

    /// Adds the bits of an unsigned number as a signed number.
    mutating func add(bits: UInt64) { add(Int64(bitPattern: bits)) }

    mutating func add(_ text: String) { add(text.utf8, as: .text) }

    /// Adds a text of a column whose texts may be encrypted.
    ///
    /// Such columns have the type `BYTEA`.
    mutating func add(utf8 text: String?) {
        if let text { add(text.utf8, as: .bytes) } else { addNull(.bytes) }
    }

    /// Adds a date without loss of precision.
    mutating func add(_ date: Date) {
        add(bytesOf: date.timeIntervalSinceReferenceDate.bitPattern.bigEndian, as: .number)
    }

    mutating func add(bytes: [UInt8]) { add(bytes, as: .bytes) }

    mutating func add(_ uuid: UUID) { add(bytesOf: uuid.uuid, as: .uuid) }

    /// Adds the bytes of a value.
    mutating func add(bytesOf value: some BitwiseCopyable) { add(bytesOf: value, as: .bytes) }

    mutating func addNull(_ type: PostgresType) {
        types.append(type)
        lengths.append(-1)
        offsets.append(0)
    }

    private mutating func add(bytesOf value: some BitwiseCopyable, as type: PostgresType) {
        withUnsafeBytes(of: value) { add($0, as: type) }
    }

    mutating func add(_ value: some Collection<UInt8>, as type: PostgresType) {
        types.append(type)
        offsets.append(bytes.count)
        bytes.append(contentsOf: value)
        lengths.append(CInt(bytes.count - offsets[offsets.count - 1]))
    }

    /// Calls `body` with the address of each value, which is valid during the call; `nil` for NULL.
    func withAddresses<Answer>(_ body: ([UnsafePointer<CChar>?]) -> Answer) -> Answer {
        bytes.withUnsafeBytes { buffer in
            // An empty value needs an address, because a missing one is NULL.
            withUnsafePointer(to: 0 as CChar) { empty in
                let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self) ?? empty
                return body(zip(offsets, lengths).map { $1 < 0 ? nil : start + $0 })
            }
        }
    }
}

extension Parameters {
    init<each Value: Bindable>(_ values: repeat each Value) {
        add(repeat each values)
    }

    /// Creates an array of each column of rows that have the same types.
    init(columnsOf rows: [Parameters]) {
        areArrays = true
        types = rows.first?.types ?? []
        bytes.reserveCapacity(rows.reduce(0) { $0 + $1.bytes.count + 4 * types.count } + 20 * types.count)
        for (column, type) in types.enumerated() {
            let start = bytes.count
            offsets.append(start)
            // The number of dimensions, whether there are NULLs, the type, the number of elements, and the first index.
            let hasNull = rows.contains { $0.lengths[column] < 0 }
            for number in [1, hasNull ? 1 : 0, CInt(type.rawValue), CInt(rows.count), 1] { append(number) }
            for row in rows {
                let length = row.lengths[column]
                append(length)
                let offset = row.offsets[column]
                if length > 0 { bytes += row.bytes[offset..<offset + Int(length)] }
            }
            lengths.append(CInt(bytes.count - start))
        }
    }

    private mutating func append(_ number: CInt) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
