/// A reader for one JSON text (RFC 8259) that reads value by value without building a tree.
///
/// It can return any value as its original bytes. Content and metadata must be preserved byte for byte, which
/// Foundation's decoder can't guarantee.
///
/// A syntax error is `malformed`. A value of an unexpected type is `invalid-parameter` and names the field.
package struct JSONReader {
    private let bytes: [UInt8]
    private var index = 0
    private var depth = 0
    /// The current field, for errors.
    private var field = "body"

    /// The maximum nesting depth of a text.
    ///
    /// Values of applications have a lower limit, so that the text that contains them is still readable.
    package static let maximumDepth = 64
    private var depthLimit = (depth: JSONReader.maximumDepth, field: "body")

    /// Creates a reader for UTF-8 bytes.
    ///
    /// - Throws: `malformed` if the bytes are not UTF-8.
    package init(_ bytes: [UInt8]) throws(ChatError) {
        guard Self.isUTF8(bytes) else { throw ChatError(.malformed, "The text is not valid UTF-8.") }
        self.bytes = bytes
    }

    /// Creates a reader for a string.
    ///
    /// - Parameter field: The name of the text in errors.
    package init(_ text: String, field: String = "body") {
        bytes = Array(text.utf8)
        self.field = field
    }

    private static func isUTF8(_ bytes: [UInt8]) -> Bool {
        JSONBytes.areASCII(bytes) || String(validating: bytes, as: UTF8.self) != nil
    }

    // MARK: Values

    /// Reads an object and calls `member` for each name.
    ///
    /// The closure must consume the value at the reader's position.
    package mutating func object(
        _ member: (_ name: String, _ value: inout JSONReader) throws(ChatError) -> Void
    ) throws(ChatError) {
        let outer = field
        guard try peek() == UInt8(ascii: "{") else { throw wrongType("an object") }
        try elements(until: UInt8(ascii: "}")) { (reader) throws(ChatError) in
            reader.field = outer
            let name = try reader.name()
            reader.field = name
            try member(name, &reader)
        }
        field = outer
    }

    /// Reads an array and calls `element` for each element, which the closure must consume.
    package mutating func array(_ element: (inout JSONReader) throws(ChatError) -> Void) throws(ChatError) {
        let outer = field
        guard try peek() == UInt8(ascii: "[") else { throw wrongType("an array") }
        try elements(until: UInt8(ascii: "]")) { (reader) throws(ChatError) in
            reader.field = outer
            try element(&reader)
        }
        field = outer
    }

    /// Consumes a `null` if it is the next value.
    package mutating func null() throws(ChatError) -> Bool {
        guard try peek() == UInt8(ascii: "n") else { return false }
        try literal("null")
        return true
    }

    package mutating func bool() throws(ChatError) -> Bool {
        switch try peek() {
        case UInt8(ascii: "t"):
            try literal("true")
            return true
        case UInt8(ascii: "f"):
            try literal("false")
            return false
        default: throw wrongType("true or false")
        }
    }

    /// Reads a 64-bit integer.
    package mutating func integer() throws(ChatError) -> Int64 {
        guard Self.startsNumber(try peek()) else { throw wrongType("a whole number") }
        let start = index
        try skipNumber()
        guard let value = bytes.withUnsafeBytes({ Int64(digits: $0[start..<index]) }) else {
            throw mismatch("a whole number of 64 bits")
        }
        return value
    }

    package mutating func double() throws(ChatError) -> Double {
        guard Self.startsNumber(try peek()) else { throw wrongType("a number") }
        let start = index
        try skipNumber()
        guard let value = Double(String(decoding: bytes[start..<index], as: UTF8.self)), value.isFinite else {
            throw mismatch("a number")
        }
        return value
    }

    package var nextIsString: Bool {
        mutating get { (try? peek()) == UInt8(ascii: "\"") }
    }

    package var nextIsObject: Bool {
        mutating get { (try? peek()) == UInt8(ascii: "{") }
    }

    package var nextIsArray: Bool {
        mutating get { (try? peek()) == UInt8(ascii: "[") }
    }

    package mutating func string() throws(ChatError) -> String {
        guard try peek() == UInt8(ascii: "\"") else { throw wrongType("a string") }
        index += 1
        let start = index
        skipPlainBytes()
        if index < bytes.count, bytes[index] == UInt8(ascii: "\"") {
            defer { index += 1 }
            return text(from: start)
        }
        var text = Array(bytes[start..<index])
        try appendRestOfString(to: &text, copiesPlainBytes: true)
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads the next value as its original bytes.
    ///
    /// - Throws: `invalid-parameter` if the value is nested deeper than ``RawJSON/maximumDepth``.
    package mutating func raw() throws(ChatError) -> RawJSON {
        _ = try peek()
        let start = index
        let outer = depthLimit
        depthLimit = (depth + RawJSON.maximumDepth, field)
        try skip()
        depthLimit = outer
        return RawJSON(known: text(from: start))
    }

    /// Skips the next value and checks its syntax.
    package mutating func skip() throws(ChatError) {
        switch try peek() {
        case UInt8(ascii: "{"):
            try elements(until: UInt8(ascii: "}")) { (reader) throws(ChatError) in
                try reader.skipName()
                try reader.skip()
            }
        case UInt8(ascii: "["):
            try elements(until: UInt8(ascii: "]")) { (reader) throws(ChatError) in try reader.skip() }
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        case let byte where Self.startsNumber(byte): try skipNumber()
        default: throw syntax("a value")
        }
    }

    /// Verifies that nothing follows.
    ///
    /// - Throws: `malformed` if the text continues.
    package mutating func end() throws(ChatError) {
        skipSpace()
        if index < bytes.count { throw syntax("the end of the text") }
    }

    /// Returns an error that states what the current field must be.
    package func mismatch(_ expected: String) -> ChatError {
        .invalidParameter(field, "must be \(expected)")
    }

    // MARK: Tokens

    private mutating func enter() throws(ChatError) {
        depth += 1
        if depth > Self.maximumDepth {
            throw ChatError(.malformed, "The JSON is nested deeper than \(Self.maximumDepth) levels.")
        }
        if depth > depthLimit.depth {
            throw .invalidParameter(depthLimit.field, "must not be nested deeper than \(RawJSON.maximumDepth) levels")
        }
        index += 1
    }

    /// Reads the elements of an array or the members of an object, including both brackets.
    @inline(__always)
    private mutating func elements(
        until end: UInt8, _ element: (inout JSONReader) throws(ChatError) -> Void
    ) throws(ChatError) {
        try enter()
        if try peek() != end {
            while true {
                try element(&self)
                let next = try peek()
                if next == end { break }
                guard next == UInt8(ascii: ",") else { throw syntax(", or \(Character(Unicode.Scalar(end)))") }
                index += 1
            }
        }
        depth -= 1
        index += 1
    }

    private mutating func name() throws(ChatError) -> String {
        guard try peek() == UInt8(ascii: "\"") else { throw syntax("a name in quotes") }
        let name = try string()
        try skipColon()
        return name
    }

    private mutating func skipName() throws(ChatError) {
        guard try peek() == UInt8(ascii: "\"") else { throw syntax("a name in quotes") }
        try skipString()
        try skipColon()
    }

    private mutating func skipColon() throws(ChatError) {
        guard try peek() == UInt8(ascii: ":") else { throw syntax("a colon") }
        index += 1
    }

    private mutating func skipSpace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x09, 0x0A, 0x0D: index += 1
            default: return
            }
        }
    }

    private mutating func peek() throws(ChatError) -> UInt8 {
        if index < bytes.count, bytes[index] > 0x20 { return bytes[index] }
        skipSpace()
        guard index < bytes.count else { throw syntax("more text") }
        return bytes[index]
    }

    /// Returns an error for a value of another type, or for a syntax error.
    private func wrongType(_ expected: String) -> ChatError {
        var rest = self
        do throws(ChatError) {
            try rest.skip()
            return mismatch(expected)
        } catch {
            return error
        }
    }

    private func syntax(_ expected: String) -> ChatError {
        if bytes.isEmpty { return ChatError(.malformed, "The text is empty. JSON is required, at least {}.") }
        return ChatError(.malformed, "The text is not JSON: expected \(expected) at byte \(index).")
    }

    private mutating func literal(_ word: StaticString) throws(ChatError) {
        let end = index + word.utf8CodeUnitCount
        guard end <= bytes.count,
            word.withUTF8Buffer({ buffer in bytes[index..<end].elementsEqual(buffer) })
        else { throw syntax("a value") }
        index = end
    }

    private static func startsNumber(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte)
    }

    private mutating func skipNumber() throws(ChatError) {
        if bytes[index] == UInt8(ascii: "-") { index += 1 }
        let whole = digits()
        guard whole.count > 0, whole.count == 1 || bytes[whole.lowerBound] != UInt8(ascii: "0") else {
            throw syntax("a number")
        }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index += 1
            if digits().isEmpty { throw syntax("digits after the point") }
        }
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < bytes.count, bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-") {
                index += 1
            }
            if digits().isEmpty { throw syntax("digits of an exponent") }
        }
    }

    private mutating func digits() -> Range<Int> {
        let start = index
        while index < bytes.count, (0x30...0x39).contains(bytes[index]) { index += 1 }
        return start..<index
    }

    /// Returns the bytes from `start` to the current position.
    private func text(from start: Int) -> String {
        bytes.withUnsafeBytes { String(decoding: UnsafeRawBufferPointer(rebasing: $0[start..<index]), as: UTF8.self) }
    }

    /// Skips the bytes of a string that stand for themselves.
    private mutating func skipPlainBytes() {
        index = bytes.withUnsafeBytes { JSONBytes.endOfPlain($0, from: index) }
    }

    private mutating func skipString() throws(ChatError) {
        index += 1
        var escaped: [UInt8] = []
        try appendRestOfString(to: &escaped, copiesPlainBytes: false)
    }

    /// Reads up to and including the quote that ends a string.
    ///
    /// - Parameter copiesPlainBytes: Whether to append all bytes or only those that are escaped.
    private mutating func appendRestOfString(
        to text: inout [UInt8], copiesPlainBytes: Bool
    ) throws(ChatError) {
        while true {
            let start = index
            skipPlainBytes()
            if copiesPlainBytes { text.append(contentsOf: bytes[start..<index]) }
            guard index < bytes.count else { throw syntax("the end of a string") }
            let byte = bytes[index]
            guard byte >= 0x20 else { throw syntax("no control character inside a string") }
            index += 1
            if byte == UInt8(ascii: "\"") { return }
            try unescape(into: &text)
        }
    }

    private mutating func unescape(into text: inout [UInt8]) throws(ChatError) {
        guard index < bytes.count else { throw syntax("an escape") }
        let byte = bytes[index]
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var code = try hexadecimal()
            if (0xD800..<0xDC00).contains(code) {
                guard index + 1 < bytes.count, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u")
                else { throw syntax("the second half of a surrogate pair") }
                index += 2
                let low = try hexadecimal()
                guard (0xDC00..<0xE000).contains(low) else { throw syntax("the second half of a surrogate pair") }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw syntax("a Unicode scalar") }
            text.append(contentsOf: String(scalar).utf8)
        default: throw syntax("an escape")
        }
    }

    private mutating func hexadecimal() throws(ChatError) -> UInt32 {
        guard index + 4 <= bytes.count else { throw syntax("four hexadecimal digits") }
        var code: UInt32 = 0
        for byte in bytes[index..<index + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw syntax("four hexadecimal digits")
            }
            code = code << 4 | UInt32(digit)
        }
        index += 4
        return code
    }
}
