import ContractRows
import Foundation
import ScrollbackModel
import Testing

@Suite("Identifier")
struct IdentifierTests {
    @Test("The error for an empty name contains the parameter")
    func empty() {
        #expect(refusal("") == "name must not be empty")
    }

    @Test("The limit is 128 bytes, regardless of the number of characters")
    func length() throws {
        #expect(try Identifier(String(repeating: "a", count: 128)).text.count == 128)
        #expect(refusal(String(repeating: "a", count: 129)) == "name must be at most 128 bytes of UTF-8 but has 129")
        // `é` has two bytes in UTF-8, and 😀 has four.
        #expect(try Identifier(String(repeating: "é", count: 64)).text.utf8.count == 128)
        #expect(refusal(String(repeating: "é", count: 65)) == "name must be at most 128 bytes of UTF-8 but has 130")
        #expect(try Identifier(String(repeating: "😀", count: 32)).text.utf8.count == 128)
        #expect(refusal(String(repeating: "😀", count: 32) + "a") != nil)
    }

    @Test(
        "Control characters are refused, including those above ASCII",
        arguments: [0x00, 0x01, 0x09, 0x0A, 0x0D, 0x1B, 0x1F, 0x7F, 0x80, 0x85, 0x9F])
    func controls(_ value: UInt32) throws {
        let scalar = try #require(Unicode.Scalar(value))
        let hex = String(value, radix: 16, uppercase: true)
        let code = "U+" + String(repeating: "0", count: 4 - hex.count) + hex
        #expect(refusal("a\(scalar)b") == "name must not contain control characters (\(code))")
        #expect(refusal(String(scalar)) != nil)
    }

    @Test("Spaces and non-breaking spaces are allowed")
    func spaces() throws {
        for text in [" ", "a b", "a\u{A0}b"] { #expect(try Identifier(text).text == text) }
    }

    @Test(
        "Decomposed Unicode is refused, so that two names that look the same can't name two conversations", .history(8))
    func normalization() throws {
        let composed = "caf\u{E9}"
        let decomposed = "cafe\u{301}"
        #expect(composed == decomposed, "Swift's String compares by canonical equivalence")
        #expect(try Identifier(composed).text.utf8.count == 5)
        let error = #expect(throws: ChatError.self) { try Identifier(decomposed, parameter: "group") }
        #expect(error?.code == .invalidParameter)
        #expect(error?.parameter == "group")
        #expect(error?.message == "group must be in Unicode normalization form C (composed characters)")
        #expect(Identifier(known: composed) != Identifier(known: decomposed))
    }

    @Test(
        "Text that is not in form C is refused: singletons, Hangul letters, marks in the wrong order",
        arguments: [
            "\u{212B}", "\u{2126}", "\u{1112}\u{1161}\u{11AB}", "q\u{323}\u{307}\u{323}", "a\u{315}\u{300}", "\u{340}",
            "\u{F900}", "\u{958}",
        ])
    func otherForms(_ text: String) {
        #expect(refusal(text) == "name must be in Unicode normalization form C (composed characters)")
    }

    @Test(
        "Names may contain every script and emoji",
        arguments: [
            "مرحبا😀", "غرفة-١", "שלום", "日本語", "한국어", "हिन्दी", "👨‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "e\u{200D}x",
            "q\u{323}\u{307}", "\u{301}a", "İ", "ß",
        ])
    func scripts(_ text: String) throws {
        #expect(Array(try Identifier(text).text.utf8) == Array(text.utf8))
    }

    @Test("Equality, hash and order use bytes")
    func bytes() throws {
        let names = ["a", "b", "B", "ä", "a\u{301}b", "😀", "\u{FFFD}", "a ", "aa"].map { Identifier(known: $0) }
        for a in names {
            for b in names {
                let (left, right) = (Array(a.text.utf8), Array(b.text.utf8))
                #expect((a == b) == (left == right))
                #expect((a < b) == left.lexicographicallyPrecedes(right))
                if a == b { #expect(a.hashValue == b.hashValue) }
            }
        }
        #expect(Set(names).count == names.count)
        // U+FFFD precedes an emoji in byte order, but not in the order of UTF-16 code units.
        #expect(Identifier(known: "\u{FFFD}") < Identifier(known: "😀"))
    }

    @Test("A user ID follows the same rules, and its default parameter name is user")
    func users() throws {
        let names = ["alice", ""]
        #expect(try UserID(names[0]).text == "alice")
        let error = #expect(throws: ChatError.self) { try UserID(names[1]) }
        #expect(error?.parameter == "user")
        #expect(UserID("alice") < UserID("bob"))
    }

    private func refusal(_ text: String) -> String? {
        do throws(ChatError) {
            _ = try Identifier(text, parameter: "name")
            return nil
        } catch {
            #expect(error.code == .invalidParameter)
            #expect(error.parameter == "name")
            return error.message
        }
    }
}
