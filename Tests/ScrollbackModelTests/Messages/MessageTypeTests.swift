import Foundation
import ScrollbackModel
import Testing

@Suite("Message types")
struct MessageTypeTests {
    private let object = RawJSON(known: #"{"text":"x"}"#)

    @Test("New messages have a built-in type, or an application's type with a prefix or in reverse-DNS form")
    func known() throws {
        for type in MessageType.builtIn { try type.checkIsKnown() }
        for name in ["app:poll", "com.example.poll", "acme.album", "app:a:b"] {
            #expect(MessageType(rawValue: name).isCustom)
            _ = try MessageContent(type: MessageType(name), json: object)
        }
    }

    @Test(
        "Other types are refused with the most similar built-in type",
        arguments: [
            ("texxt", "text"), ("Text", "text"), ("RC:TxtMsg", "text"), ("RC:ImgMsg", "image"), ("picture", "image"),
            ("vidoe", "video"), ("FILE", "file"), ("Command", "command"), ("app:", "gif"), ("polls", "poll"),
            ("a..b", "gif"),
            ("RC:a.b", "gif"), (".text", "text"),
        ])
    func similar(_ name: String, _ similar: String) throws {
        let error = #expect(throws: ChatError.self) { try MessageContent(type: MessageType(name), json: object) }
        #expect(error?.code == .invalidParameter && error?.parameter == "type")
        #expect(error?.message.contains("the most similar one is \(similar).") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("app:") == true)
        // Encryption does not hide the type.
        let encrypted = RawJSON(known: #"{"encrypted":{"format":1,"key":"k","data":"AAAA"}}"#)
        #expect(throws: ChatError.self) { try MessageContent(type: MessageType(name), json: encrypted) }
    }

    @Test("Imported and quoted messages keep the types of other systems")
    func foreign() throws {
        let type = MessageType("RC:TxtMsg")
        let content = try MessageContent(anyType: type, json: object)
        let message = Message(
            conversation: .group("g"), seq: 1, countedIndex: 1, id: MessageID(high: 1, low: 2),
            timetoken: Timetoken(rawValue: 1), epoch: Epoch(rawValue: 1), sender: "alice", type: type, content: content)
        let quote = try MessageContent.reference("why?", to: message)
        #expect(try MessageContent(type: .reference, json: quote.json).quote?.content == content)
    }

    @Test("The member files is a list, and each text in it is the ID or the URL of a file")
    func files() throws {
        let id = MediaID()
        for list in [
            "[]", #"["\#(id)"]"#, #"["https://example.com/a"]"#, #"[{"path":"a"}]"#, "[1,null]",
        ] {
            _ = try MessageContent(type: "app:album", json: RawJSON(#"{"files":\#(list)}"#))
        }
        for list in [
            #"["nope"]"#, #"["\#(id)","nope"]"#, #"["ftp://a/b"]"#, #"[""]"#, #""\#(id)""#, #"{"a":"\#(id)"}"#, "2",
            "true", "null",
        ] {
            for json in [
                #"{"files":\#(list)}"#, #"{"encrypted":{"format":1,"key":"k","data":"AAAA"},"files":\#(list)}"#,
            ] {
                let error = #expect(throws: ChatError.self, "\(json)") {
                    try MessageContent(type: "app:album", json: RawJSON(json))
                }
                #expect(error?.parameter == "files")
            }
        }
        // The member has no meaning in other types.
        _ = try MessageContent(type: .text, json: RawJSON(#"{"text":"x","files":["nope"]}"#))
        _ = try MessageContent(type: .text, json: RawJSON(#"{"text":"x","files":2}"#))
    }

    @Test("UTF-16 text with a byte order mark is text, and MPEG audio is audio")
    func utf16() {
        func type(_ bytes: [UInt8]) -> String { FileType(of: bytes).mediaType }
        #expect(type([0xFF, 0xFE, 0x68, 0x00, 0x69, 0x00]) == "text/plain")
        #expect(type([0xFE, 0xFF, 0x00, 0x68]) == "text/plain")
        for second: UInt8 in [0xFB, 0xFA, 0xF3, 0xFD, 0xE3] { #expect(type([0xFF, second, 0x90, 0]) == "audio/mpeg") }
        #expect(type([0xFF, 0xF1, 0x50, 0x80]) == "audio/aac")
    }
}
