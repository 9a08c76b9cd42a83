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
        separate()
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
        members(&self)
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    package mutating func array<Element>(
        _ elements: some Sequence<Element>, _ body: (inout JSONWriter, Element) -> Void
    ) {
        separate()
        bytes.append(UInt8(ascii: "["))
        needsComma = false
        for element in elements { body(&self, element) }
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    /// Writes a member's name without escaping it; all names are fixed or were validated before.
    package mutating func key(_ name: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        append(name)
        bytes.append(UInt8(ascii: "\""))
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
        splice(String(number))
    }

    package mutating func value(_ number: Int) {
        splice(String(number))
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

    private mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { bytes.append(contentsOf: $0) }
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
