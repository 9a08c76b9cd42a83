package import Foundation

/// A writer for one JSON text, which encodes directly into bytes.
///
/// Values of the JSON type are inserted unchanged.
package struct JSONWriter: ~Copyable, Sendable {
    private var buffer: ByteBuilder
    private var needsComma = false

    package init(reserving capacity: Int = 256) {
        buffer = ByteBuilder(capacity: capacity)
    }

    package var bytes: [UInt8] { buffer.bytes }
    /// The written value.
    package var json: RawJSON { RawJSON(known: text) }
    package var text: String { buffer.text }

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
        var name = name
        name.withUTF8 { name in
            separate(reserving: name.count + 3)
            buffer.appendReserved(UInt8(ascii: "\""))
            buffer.appendReserved(name)
            buffer.appendReserved(UInt8(ascii: "\""))
            buffer.appendReserved(UInt8(ascii: ":"))
        }
        needsComma = false
    }

    /// Writes a member's name that comes from data, such as an ID.
    package mutating func key(escaping name: String) {
        value(name)
        buffer.append(UInt8(ascii: ":"))
        needsComma = false
    }

    // MARK: Values

    package mutating func value(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            separate(reserving: utf8.count + 2)
            buffer.appendReserved(UInt8(ascii: "\""))
            var start = 0
            while true {
                let end = JSONBytes.endOfPlain(UnsafeRawBufferPointer(utf8), from: start)
                buffer.append(UnsafeBufferPointer(rebasing: utf8[start..<end]))
                if end == utf8.count { break }
                escape(utf8[end])
                start = end + 1
            }
        }
        buffer.append(UInt8(ascii: "\""))
        needsComma = true
    }

    package mutating func value(_ number: Int64) {
        separate(reserving: 1 + ByteBuilder.maximumDigits)
        if number < 0 { buffer.appendReserved(UInt8(ascii: "-")) }
        buffer.appendReserved(digitsOf: number.magnitude)
        needsComma = true
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
        plainText(Date.iso8601Length) { date.writeISO8601(to: $0) }
    }

    /// Writes a text that needs no escaping.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of its bytes.
    ///   - body: Writes the text, and returns the number of its bytes.
    mutating func plainText(_ capacity: Int, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Int) {
        separate(reserving: capacity + 2)
        buffer.appendReserved(UInt8(ascii: "\""))
        buffer.appendReserved(capacity, body)
        buffer.appendReserved(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Writes a number as a text, because JavaScript can't represent all 64-bit numbers.
    mutating func digits(_ number: UInt64) {
        separate(reserving: ByteBuilder.maximumDigits + 2)
        buffer.appendReserved(UInt8(ascii: "\""))
        buffer.appendReserved(digitsOf: number)
        buffer.appendReserved(UInt8(ascii: "\""))
        needsComma = true
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
        encoded.withUnsafeBufferPointer { splice($0) }
    }

    private mutating func splice(_ text: String) {
        var text = text
        text.withUTF8 { splice($0) }
    }

    private mutating func splice(_ encoded: UnsafeBufferPointer<UInt8>) {
        separate(reserving: encoded.count)
        buffer.appendReserved(encoded)
        needsComma = true
    }

    private mutating func begin(_ delimiter: UInt8) {
        separate(reserving: 1)
        buffer.appendReserved(delimiter)
        needsComma = false
    }

    private mutating func end(_ delimiter: UInt8) {
        buffer.append(delimiter)
        needsComma = true
    }

    /// Writes a comma if a value comes before, and reserves space for the next bytes.
    private mutating func separate(reserving count: Int) {
        buffer.reserve(count + 1)
        if needsComma { buffer.appendReserved(UInt8(ascii: ",")) }
    }

    private mutating func escape(_ byte: UInt8) {
        buffer.reserve(6)
        buffer.appendReserved(UInt8(ascii: "\\"))
        switch byte {
        case 0x0A: buffer.appendReserved(UInt8(ascii: "n"))
        case 0x0D: buffer.appendReserved(UInt8(ascii: "r"))
        case 0x09: buffer.appendReserved(UInt8(ascii: "t"))
        case 0..<0x20:
            for letter in "u00".utf8 { buffer.appendReserved(letter) }
            buffer.appendReserved(hexadecimal: byte)
        default: buffer.appendReserved(byte)
        }
    }
}
