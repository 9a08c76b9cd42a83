import Foundation
import ScrollbackModel
import Testing

@Suite("Characters of IDs and names")
struct DisplayTextTests {
    private func nameFault(_ text: String) -> String? {
        #expect(throws: Never.self) { try UserProfile.name("") }
        do throws(ChatError) {
            try DisplayText.check(text, "name")
            return nil
        } catch {
            return error.parameter == "name" ? error.message : "another parameter"
        }
    }

    @Test(
        "Names of every script, with joiners, marks and emoji, are allowed",
        arguments: [
            "", "Zoë Müller", "عَلي", "می\u{200C}خواهم", "שָׁלוֹם \u{200F}!", "หมวก", "李小龍", "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
            "left \u{2067}עברית\u{2069} right", "a \u{202B}b \u{2068}c\u{2069}\u{202C} d", "report.عربي.pdf",
        ])
    func names(_ text: String) { #expect(nameFault(text) == nil) }

    @Test(
        "Names with control characters, line separators, overrides or open isolates are refused",
        arguments: [
            ("a\nb", "U+000A"), ("a\u{0}", "U+0000"), ("\u{85}", "U+0085"), ("a\u{2028}b", "U+2028"),
            ("invoice\u{202E}fdp.exe", "U+202E"), ("a\u{202D}b\u{202C}", "U+202D"), ("a\u{2067}b", "close"),
            ("a\u{2069}b", "close"), ("\u{202A}\u{2066}\u{202C}\u{2069}", "close"), ("\u{202B}", "close"),
        ])
    func refusedNames(_ text: String, _ reason: String) { #expect(nameFault(text)?.contains(reason) == true) }

    @Test(
        "IDs have no characters that are invisible or change the direction of text",
        arguments: [0x61C, 0x200B, 0x200E, 0x200F, 0x202A, 0x202E, 0x2060, 0x2066, 0x2069, 0xFEFF, 0xAD, 0x2028])
    func ids(_ value: UInt32) throws {
        let text = "a\(try #require(Unicode.Scalar(value)))b"
        let error = #expect(throws: ChatError.self) { try UserID(text) }
        #expect(error?.code == .invalidParameter && error?.parameter == "user")
        #expect(throws: ChatError.self) { try ConversationID("group:\(text)") }
    }

    @Test("IDs may have joiners, variation selectors and letters of every script")
    func allowedIDs() throws {
        for text in ["می\u{200C}خواهم", "👩\u{200D}👧", "❤\u{FE0F}", "عَلي", "李小龍", "a b"] {
            #expect(try UserID(text).text == text)
        }
    }

    @Test("An avatar is an http or https URL, or empty")
    func avatars() throws {
        for text in ["", "https://example.com/a.png", "http://a/b"] { #expect(try UserProfile.avatar(text) == text) }
        for text in [
            "javascript:alert(1)", "javascript://example.com/%0Aalert(1)", "data:text/html,x", "file:///etc/passwd",
            "//example.com/a.png", "a.png", "https://", "https://example.com/\u{202E}gnp.a", "https://a/\nb", " ",
            "https://a/" + String(repeating: "a", count: 2048),
        ] {
            let error = #expect(throws: ChatError.self) { try UserProfile.avatar(text) }
            #expect(error?.parameter == "avatar", "\(text)")
        }
    }

    @Test("A Web Push endpoint has the scheme https, a plain host and perhaps a port")
    func webPushEndpoints() throws {
        let plain = try WebPushEndpoint("https://eu.push.example/1?a=b")
        #expect(plain.host == "eu.push.example" && plain.port == nil && plain.origin == "https://eu.push.example")
        let local = try WebPushEndpoint("https://localhost:8443/x")
        #expect(local.port == 8443 && local.origin == "https://localhost:8443")
        for text in [
            "http://push.example/1", "HTTPS://push.example/1", "https://Push.example/1",
            "https://push.example\u{0}.evil/1",
            "https://push.example%00.evil/1", "https://user@push.example/1", "https://push.example@evil/1",
            "https://push.example:0/1", "https://push.example:65536/1", "https://push.example:+1/",
            "https://push.example:/1",
            "https:///1", "https://[::1]/1", "https://push..example/1", "https://.push.example/1",
            "https://push.exämple/1",
            "https://push.example\\@evil/1", "https://push.example/a b", "https://a:b@push.example:443/1",
        ] {
            let error = #expect(throws: ChatError.self, "\(text)") { try WebPushEndpoint(text) }
            #expect(error?.parameter == "token")
        }
    }
}
