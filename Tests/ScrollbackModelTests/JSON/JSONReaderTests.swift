import Foundation
import ScrollbackModel
import Testing

@Suite("JSONReader")
struct JSONReaderTests {
    // MARK: Syntax

    @Test(
        "Every JSON text of RFC 8259 is accepted",
        arguments: [
            "null", "true", "false", "0", "-0", "-1", "10", "1.5", "1e3", "1E+3", "1e-3", "-0.0e0", "0.1E1", #""""#,
            #""a""#,
            "[]", "{}", " [ ] ", "\t{\n}\r", "[1]", "[1,2]", #"{"a":1}"#, #"{"a":1,"a":2}"#, #"{"":0}"#,
            #""\" \\ \/ \b \f \n \r \t A 😀""#, #"" ""#, "\"\u{7F}\u{80}\u{2028}😀\"", "[[[[]]]]",
            #"{"a":{"b":[1,{"c":null}]}}"#, "123456789012345678901234567890", "1e400", "\"\u{FFFE}\"",
        ])
    func valid(_ text: String) throws {
        let json = try RawJSON(text)
        #expect(json.text == text.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    @Test(
        "Text that is not JSON is malformed",
        arguments: [
            "", " ", "nul", "nulll", "True", "None", "01", "-01", "00", "1.", ".5", "+1", "-", "1e", "1e+", "0x10",
            "1_000",
            "NaN", "Infinity", "-Infinity", "'a'", "\"", "\"a", #""\""#, #""\x""#, #""\u12""#, #""\u12G4""#, "\"\n\"",
            "\"\t\"",
            "\"\u{0}\"", "\"\u{1F}\"", "[", "]", "[1", "[1,", "[,1]", "[1,]", "[1 2]", "[1]]", "{", "}", #"{"a"}"#,
            #"{"a":}"#,
            #"{"a":1,}"#, "{,}", "{1:2}", "{a:1}", #"{"a" 1}"#, #"{"a":1 "b":2}"#, #"{"a":1}}"#, "1 2", "null null",
            "[1]//c",
            "/* c */1", "\u{FEFF}1", "\u{FEFF}{}", "\u{A0}1", "\u{C}1", "\u{B}[]", #""\u{41}""#, "t", "[t]",
            #""\ud83d""#,
            #""\ud83dx""#, #""\ud83d\n""#, #""\ud83d\ud83d""#, #""\ude00""#, #""\ude00\ud83d""#, #""\ud83dA""#, "1e3.5",
            "1.2.3",
            "-a", "[-]", "\u{0}", "１",
        ])
    func invalid(_ text: String) {
        let error = #expect(throws: ChatError.self, "\(text)") { try RawJSON(text) }
        #expect(error?.code == .malformed)
        #expect(error?.status == 400)
    }

    @Test(
        "Bytes that are not UTF-8 are malformed",
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xE2, 0x82, 0x22],
            [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x80], [0xEF, 0xBB], [0xFE, 0xFF, 0x00, 0x31], [0x22, 0xC3],
        ] as [[UInt8]])
    func notUTF8(_ bytes: [UInt8]) {
        let error = #expect(throws: ChatError.self) { _ = try JSONReader(bytes) }
        #expect(error?.code == .malformed)
        #expect(error?.message == "The text is not valid UTF-8.")
    }

    @Test("The error of an empty text says that it is empty")
    func empty() {
        let error = #expect(throws: ChatError.self) { try RawJSON("") }
        #expect(error?.message == "The text is empty. JSON is required, at least {}.")
    }

    @Test("A byte order mark is not white space")
    func byteOrderMark() throws {
        var reader = try JSONReader([0xEF, 0xBB, 0xBF, 0x7B, 0x7D])
        let error = #expect(throws: ChatError.self) {
            try reader.object { (_, value) throws(ChatError) in try value.skip() }
        }
        #expect(error?.code == .malformed)
    }

    @Test("A text may have 64 levels of arrays and objects, and a raw value 32")
    func depth() throws {
        for (open, close) in [("[", "]"), (#"{"a":"#, "}"), (#"[{"a":"#, "}]")] {
            func nested(_ levels: Int) -> String {
                let count = open.count > 5 ? levels / 2 : levels
                return String(repeating: open, count: count) + "0" + String(repeating: close, count: count)
            }
            var whole = JSONReader(nested(64))
            try whole.skip()
            try whole.end()
            var tooDeep = JSONReader("[\(nested(64))]")
            let malformed = #expect(throws: ChatError.self) { try tooDeep.skip() }
            #expect(malformed?.code == .malformed)
            #expect(malformed?.message == "The JSON is nested deeper than 64 levels.")

            #expect(try RawJSON(nested(32)).text == nested(32))
            // The depth of a value does not depend on its position in the body.
            var body = JSONReader(#"{"content":\#(nested(32)),"metadata":[\#(nested(32))]}"#)
            var values: [String] = []
            let refusal = #expect(throws: ChatError.self) {
                try body.object { (_, value) throws(ChatError) in values.append(try value.raw().text) }
            }
            #expect(values == [nested(32)])
            #expect(refusal?.code == .invalidParameter)
            #expect(refusal?.parameter == "metadata")
        }
        // Sibling arrays do not add depth.
        let wide = "[" + Array(repeating: "[[]]", count: 1_000).joined(separator: ",") + "]"
        #expect(try RawJSON(wide).text == wide)
        let hostile = #expect(throws: ChatError.self) { try RawJSON(String(repeating: "[", count: 1_000_000)) }
        #expect(hostile?.code == .invalidParameter)
    }

    // MARK: Values

    @Test("Strings are decoded with their escapes, including surrogate pairs")
    func strings() throws {
        func read(_ text: String) throws -> String {
            var reader = JSONReader(text)
            let value = try reader.string()
            try reader.end()
            return value
        }
        #expect(try read(#""""#) == "")
        #expect(try read(#""\"\\\/\b\f\n\r\t""#) == "\"\\/\u{8}\u{C}\n\r\t")
        #expect(try read(#""aAb""#) == "aAb")
        #expect(try read(#""\u00e9\u00E9é""#) == "\u{E9}\u{E9}\u{E9}")
        #expect(try read(#""\ud83d\ude00😀""#) == "😀😀")
        #expect(try read(#""\uD800\uDC00""#).unicodeScalars.first?.value == 0x10000)
        #expect(try read(#""\uDBFF\uDFFF""#).unicodeScalars.first?.value == 0x10FFFF)
        #expect(try read(#""\u0000""#) == "\u{0}")
        #expect(Array(try read("\"cafe\u{301}\"").utf8) == Array("cafe\u{301}".utf8), "strings are not normalized")
        #expect(try read(#""مرحبا👨‍👩‍👧""#) == "مرحبا👨‍👩‍👧")
    }

    @Test("Integers are read up to the limits of 64 bits, and other values are refused as integers")
    func integers() throws {
        func read(_ text: String) throws -> Int64 {
            var reader = JSONReader(#"{"limit":"# + text + "}")
            var value: Int64?
            try reader.object { (_, inner) throws(ChatError) in value = try inner.integer() }
            return try #require(value)
        }
        #expect(try read("0") == 0)
        #expect(try read("-0") == 0)
        #expect(try read("9223372036854775807") == .max)
        #expect(try read("-9223372036854775808") == .min)
        for text in [
            "1e3", "1.0", "1.5", "9223372036854775808", "-9223372036854775809", "1E0", "\"1\"", "true", "null", "[1]",
            "{}",
        ] {
            let error = #expect(throws: ChatError.self, "\(text)") { try read(text) }
            #expect(error?.code == .invalidParameter)
            #expect(error?.parameter == "limit")
        }
        #expect(throws: ChatError.self) { try read("01") }
    }

    @Test("Other numbers are read as `Double`, and numbers beyond its range are refused")
    func doubles() throws {
        func read(_ text: String) throws -> Double {
            var reader = JSONReader(text)
            return try reader.double()
        }
        for (text, value) in [("0", 0), ("-0.5", -0.5), ("1e3", 1000), ("2.5E-1", 0.25), ("1e-300", 1e-300)]
            as [(String, Double)]
        {
            #expect(try read(text) == value)
        }
        for text in ["1e400", "-1e400", "\"1\"", "true"] {
            let error = #expect(throws: ChatError.self) { try read(text) }
            #expect(error?.code == .invalidParameter)
        }
    }

    @Test("A value of the wrong type is refused with the name of its field at any depth")
    func mismatches() {
        func refusal(_ text: String, _ body: (inout JSONReader) throws(ChatError) -> Void) -> ChatError? {
            var reader = JSONReader(text)
            do throws(ChatError) {
                try body(&reader)
                return nil
            } catch {
                return error
            }
        }
        func inObject(_ text: String, _ body: (inout JSONReader) throws(ChatError) -> Void) -> ChatError? {
            refusal(text) { (reader) throws(ChatError) in
                try reader.object { (name, value) throws(ChatError) in
                    if name == "a" { try body(&value) } else { try value.skip() }
                }
            }
        }
        #expect(
            inObject(#"{"a":1}"#) { (r) throws(ChatError) in _ = try r.string() }
                == .invalidParameter("a", "must be a string"))
        #expect(
            inObject(#"{"b":{"c":1},"a":"x"}"#) { (r) throws(ChatError) in _ = try r.bool() }
                == .invalidParameter("a", "must be true or false"))
        #expect(
            inObject(#"{"a":[1,"x"]}"#) { (r) throws(ChatError) in
                try r.array { (e) throws(ChatError) in _ = try e.integer() }
            } == .invalidParameter("a", "must be a whole number"))
        #expect(
            inObject(#"{"a":{"in":{"x":1},"b":2}}"#) { (r) throws(ChatError) in
                try r.object { (name, value) throws(ChatError) in
                    if name == "b" { _ = try value.string() } else { try value.skip() }
                }
            } == .invalidParameter("b", "must be a string"))
        #expect(
            inObject(#"{"a":[]}"#) { (r) throws(ChatError) in try r.object { _, _ in } }
                == .invalidParameter("a", "must be an object"))
        #expect(
            inObject(#"{"a":{}}"#) { (r) throws(ChatError) in try r.array { _ in } }
                == .invalidParameter("a", "must be an array"))
        #expect(
            refusal("[]") { (r) throws(ChatError) in try r.object { _, _ in } }
                == .invalidParameter("body", "must be an object"))
        // A malformed value is not reported as a value of the wrong type.
        for text in [#"{"a":x}"#, #"{"a":]}"#, #"{"a":}"#, #"{"a":,"b":1}"#, #"{"a":'x'}"#, #"{"a":"#] {
            #expect(inObject(text) { (r) throws(ChatError) in _ = try r.string() }?.code == .malformed, "\(text)")
            #expect(inObject(text) { (r) throws(ChatError) in _ = try r.integer() }?.code == .malformed, "\(text)")
            #expect(inObject(text) { (r) throws(ChatError) in _ = try r.bool() }?.code == .malformed, "\(text)")
            #expect(inObject(text) { (r) throws(ChatError) in try r.object { _, _ in } }?.code == .malformed, "\(text)")
        }
        #expect(refusal("GET / HTTP/1.1") { (r) throws(ChatError) in try r.object { _, _ in } }?.code == .malformed)
    }

    @Test("`null()` consumes only a null at the current position")
    func nulls() throws {
        var reader = JSONReader(#"{"a":null,"b":1}"#)
        var seen: [String] = []
        try reader.object { (name, value) throws(ChatError) in
            if try value.null() { return seen.append(name) }
            try value.skip()
        }
        #expect(seen == ["a"])
        var wrong = JSONReader("nothing")
        #expect(throws: ChatError.self) { try wrong.null() }
    }

    // MARK: Bytes

    @Test("A raw value has exactly the bytes of the input")
    func rawBytes() throws {
        let values = [
            #"{ "b" : 1.50e+02 ,  "a":[ ],"b":2 }"#, #""\u0041\/é""#, "1.0", "-0", "[ 1 ,2 ]", "\"cafe\u{301}\"",
            #"{"n":123456789012345678901234567890}"#, "true", "{\r\n\t}",
        ]
        for value in values {
            let text = "{ \"x\" :\n \(value) \t, \"y\":0}"
            var reader = try JSONReader(Array(text.utf8))
            var found: RawJSON?
            try reader.object { (name, inner) throws(ChatError) in
                if name == "x" { found = try inner.raw() } else { try inner.skip() }
            }
            try reader.end()
            #expect(found.map { Array($0.text.utf8) } == Array(value.utf8))
        }
    }

    @Test("Equality and hash of raw JSON use bytes")
    func rawEquality() throws {
        #expect(try RawJSON(#"{"a":1}"#) != RawJSON(#"{"a": 1}"#))
        #expect(try RawJSON("\"caf\u{E9}\"") != RawJSON("\"cafe\u{301}\""))
        #expect(try RawJSON(" 1 ") == RawJSON("1"))
        #expect(try RawJSON(" 1 ").hashValue == RawJSON("1").hashValue)
    }

    @Test("A member of an object is found at any position, and the last of duplicate names wins")
    func members() throws {
        #expect(try RawJSON(#"{"a":{"text":"no"},"text":"yes"}"#).string(at: "text") == "yes")
        #expect(try RawJSON(#"{"text":"a","text":"b"}"#).string(at: "text") == "b")
        #expect(try RawJSON(#"{"text":1}"#).string(at: "text") == nil)
        #expect(try RawJSON("[]").string(at: "text") == nil)
        #expect(try RawJSON(#"{"te\u0078t":"x"}"#).string(at: "text") == "x")
        #expect(try RawJSON("{}").isObject)
        #expect(try !RawJSON("[]").isObject)
    }

    @Test("Text after the end of a value is refused")
    func trailing() throws {
        var reader = JSONReader("{} x")
        try reader.object { (_, value) throws(ChatError) in try value.skip() }
        let error = #expect(throws: ChatError.self) { try reader.end() }
        #expect(error?.code == .malformed)
        var fine = JSONReader("{} \n")
        try fine.object { (_, value) throws(ChatError) in try value.skip() }
        try fine.end()
    }

    // MARK: Scanning

    @Test("A byte that a string can't contain unescaped is found at every position, between any other bytes")
    func specialBytes() throws {
        for length in 1...20 {
            for position in 0..<length {
                for filler in [" ", "!", "#", "[", "]", "~", "\u{7F}"] {
                    let (before, after) = (
                        String(repeating: filler, count: position),
                        String(repeating: filler, count: length - position - 1)
                    )
                    #expect(try string("\"\(before)\\n\(after)\"") == "\(before)\n\(after)")
                    #expect(try string("\"\(before)é\(after)\"") == "\(before)é\(after)")
                    #expect(try string("\"\(before)\"") == before)
                    for control in ["\u{0}", "\n", "\u{1F}"] {
                        #expect(throws: ChatError.self) { try string("\"\(before)\(control)\(after)\"") }
                        #expect(throws: ChatError.self) { try RawJSON("[\"\(before)\(control)\(after)\"]") }
                    }
                    var writer = JSONWriter()
                    writer.value("\(before)\"\(after)")
                    #expect(writer.text == "\"\(before)\\\"\(after)\"")
                }
            }
        }
    }

    private func string(_ text: String) throws -> String {
        var reader = JSONReader(text)
        let string = try reader.string()
        try reader.end()
        return string
    }
}
