import Foundation
import ScrollbackModel
import Testing

@Suite("JSONWriter")
struct JSONWriterTests {
    @Test("A name that comes from data is escaped")
    func escapedName() throws {
        var writer = JSONWriter()
        writer.object { writer in
            for name in ["a\"b\\c", "plain"] {
                writer.key(escaping: name)
                writer.value(Int64(1))
            }
        }
        #expect(writer.text == #"{"a\"b\\c":1,"plain":1}"#)
    }

    @Test("Members and elements are separated by commas at any nesting")
    func structure() throws {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("a", Int64(1))
            writer.field("b", nil as String?)
            writer.key("c")
            writer.array([1, 2, 3]) { $0.value($1) }
            writer.key("d")
            writer.object { _ in }
            writer.key("e")
            writer.array([] as [Int]) { $0.value($1) }
            writer.field("f", true)
            writer.key("g")
            writer.array([[1], [], [2, 3]]) { $0.array($1) { $0.value($1) } }
            writer.field("h", try? RawJSON(" [1, 2] "))
            writer.key("i")
            writer.splice(encoded: Array("null".utf8))
            writer.field("j", 0.25)
        }
        #expect(
            writer.text
                == #"{"a":1,"c":[1,2,3],"d":{},"e":[],"f":true,"g":[[1],[],[2,3]],"h":[1, 2],"i":null,"j":0.25}"#)
    }

    @Test("Only quotes, backslashes and control characters are escaped")
    func escapes() {
        var writer = JSONWriter()
        writer.value("\u{0}\u{1}\u{8}\t\n\u{B}\u{C}\r\u{1F} \"\\/\u{7F}é\u{2028}😀")
        #expect(writer.text == #""\u0000\u0001\u0008\t\n\u000b\u000c\r\u001f \"\\/"# + "\u{7F}é\u{2028}😀\"")
    }

    @Test("A text of any length and of any characters fits, however little space the writer begins with")
    func growth() {
        for count in [0, 1, 15, 16, 17, 1000] {
            for (character, written) in [("a", "a"), ("\"", "\\\""), ("\u{1}", "\\u0001"), ("é", "é")] {
                var writer = JSONWriter(reserving: 0)
                writer.array(0..<3) { writer, _ in
                    writer.value(String(repeating: character, count: count))
                    writer.value(Int64.min)
                }
                let element = "\"\(String(repeating: written, count: count))\",\(Int64.min)"
                #expect(writer.text == "[\(element),\(element),\(element)]")
            }
        }
    }

    @Test("`line` has no line breaks, regardless of the white space in raw values")
    func line() throws {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("a", try? RawJSON("{\r\n\t\"b\":\n[1,\r2]}"))
            writer.field("c", "\r\n")
        }
        let line = String(decoding: writer.line, as: UTF8.self)
        #expect(line == "{\"a\":{  \t\"b\": [1, 2]},\"c\":\"\\r\\n\"}")
    }

    @Test("The reader and Foundation decode any string to the original")
    func strings() throws {
        var random = SplitMix64(seed: 7)
        for _ in 0..<2_000 {
            var scalars = String.UnicodeScalarView()
            for _ in 0..<random.below(12) {
                let value = random.pick([0x20, 0x30, 0x80, 0x800, 0x10000, 0x10FFFF])
                scalars.append(Unicode.Scalar(UInt32(random.below(value + 1))) ?? "\u{FFFD}")
            }
            let text = String(scalars)
            var writer = JSONWriter()
            writer.value(text)
            var reader = try JSONReader(writer.bytes)
            #expect(Array(try reader.string().utf8) == Array(text.utf8))
            let other =
                try JSONSerialization.jsonObject(with: Data(writer.bytes), options: .fragmentsAllowed) as? String
            #expect(other.map { Array($0.utf8) } == Array(text.utf8))
        }
    }

    @Test("64-bit numbers are written in full")
    func numbers() {
        var writer = JSONWriter()
        writer.array([Int64.min, 0, .max]) { $0.value($1) }
        #expect(writer.text == "[-9223372036854775808,0,9223372036854775807]")
    }

    @Test("64-bit identifiers are written as strings, and sequence numbers as numbers")
    func identities() {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("epoch", Epoch(rawValue: .max))
            writer.field("timetoken", Timetoken(rawValue: 5))
            writer.field("view", Epoch(rawValue: 0))
            writer.field("seq", Seq(5))
            writer.field("id", MessageID(high: 0x0198_f3c2_7c1e_7000, low: 0x8000_0123_4567_89ab))
            writer.field("sentAt", Date(timeIntervalSince1970: 0))
            writer.field("conversation", ConversationID.group("a"))
        }
        #expect(
            writer.text == """
                {"epoch":"18446744073709551615","timetoken":"5","view":"0","seq":5,\
                "id":"0198f3c2-7c1e-7000-8000-0123456789ab","sentAt":"1970-01-01T00:00:00.000Z",\
                "conversation":"group:a"}
                """)
    }
}
