package import Foundation

/// A writer for one JSON text, which encodes directly into bytes.
///
/// Values of the JSON type are inserted unchanged.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init(reserving capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
    }

    /// The written value.
    package var json: RawJSON { RawJSON(known: text) }
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The written value as one line.
    ///
    /// Line breaks, which inserted values can contain as white space, become spaces.
    package var line: [UInt8] { bytes.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 } }

    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        begin(UInt8(ascii: "{"))
        members(&self)
        end(UInt8(ascii: "}"))
    }

    package mutating func array<Element>(
        _ elements: some Sequence<Element>, _ body: (inout JSONWriter, Element) -> Void
    ) {
        array { writer in
            for element in elements { body(&writer, element) }
        }
    }

    /// Writes an array whose elements `elements` writes.
    ///
    /// For large elements it is faster than the generic method, which copies them.
    package mutating func array(_ elements: (inout JSONWriter) -> Void) {
        begin(UInt8(ascii: "["))
        elements(&self)
        end(UInt8(ascii: "]"))
    }

    /// Writes a member's name that the program fixes, without escaping it.
    package mutating func key(_ name: String) {
        begin(UInt8(ascii: "\""))
        append(name)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    /// Writes a member's name that comes from data, such as an ID.
    package mutating func key(escaping name: String) {
        value(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    // MARK: Values

    package mutating func value(_ text: String) {
        separate()
        needsComma = true
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            var start = 0
            while start < utf8.count {
                let end = JSONBytes.endOfPlain(UnsafeRawBufferPointer(utf8), from: start)
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<end]))
                if end < utf8.count { escape(utf8[end]) }
                start = end + 1
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func value(_ number: Int64) {
        separate()
        needsComma = true
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        // An Int64 has at most 19 digits.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 19) { digits in
            var start = digits.count
            var rest = number.magnitude
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
    }

    package mutating func value(_ number: Int) {
        value(Int64(number))
    }

    package mutating func value(_ number: Double) {
        splice(String(number))
    }

    package mutating func value(_ flag: Bool) {
        splice(flag ? "true" : "false")
    }

    package mutating func value(_ json: RawJSON) {
        splice(json.text)
    }

    package mutating func value(_ date: Date) {
        value(date.iso8601)
    }

    // MARK: Members

    package mutating func field(_ name: String, _ text: String?) {
        if let text { key(name); value(text) }
    }

    package mutating func field(_ name: String, _ number: Int64?) {
        if let number { key(name); value(number) }
    }

    package mutating func field(_ name: String, _ number: Int?) {
        if let number { key(name); value(number) }
    }

    package mutating func field(_ name: String, _ number: Double?) {
        if let number { key(name); value(number) }
    }

    package mutating func field(_ name: String, _ flag: Bool?) {
        if let flag { key(name); value(flag) }
    }

    package mutating func field(_ name: String, _ json: RawJSON?) {
        if let json { key(name); value(json) }
    }

    package mutating func field(_ name: String, _ date: Date?) {
        if let date { key(name); value(date) }
    }

    package mutating func field(_ name: String, _ described: (some CustomStringConvertible)?) {
        if let described { key(name); value(described.description) }
    }

    /// Inserts an encoded value.
    package mutating func splice(encoded: [UInt8]) {
        separate()
        bytes.append(contentsOf: encoded)
        needsComma = true
    }

    private mutating func splice(_ text: String) {
        separate()
        append(text)
        needsComma = true
    }

    /// Appends a text as it is.
    private mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { bytes.append(contentsOf: $0) }
    }

    private mutating func begin(_ delimiter: UInt8) {
        separate()
        bytes.append(delimiter)
        needsComma = false
    }

    private mutating func end(_ delimiter: UInt8) {
        bytes.append(delimiter)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(contentsOf: Array("u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]])
        default: bytes.append(byte)
        }
    }
}
