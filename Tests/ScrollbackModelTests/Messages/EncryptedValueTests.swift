import Foundation
import ScrollbackModel
import Testing

@Suite("Encrypted content without its key")
struct EncryptedValueTests {
    private let value = EncryptedValue(format: 1, key: "2026-11", data: "AAAA")
    private let file = MediaID()

    @Test("Content of any type can be encrypted, and only its file references stay readable")
    func anyType() throws {
        for type in [
            MessageType.text, .reference, .location, .command, .notice, .image, .gif, .file, .voice, .video, "app:poll",
        ] {
            let sealed = MessageContent.encrypted(type, value, files: [file])
            let read = try MessageContent(type: type, json: RawJSON(sealed.json.text))
            #expect(read.encrypted == value && read.text == nil && read.notice == nil)
            #expect(read.fileReferences.map(\.id) == (MessageContent.mayHaveFiles(type) ? [file] : []), "\(type)")
            #expect(read.fileReferences.allSatisfy { $0.type == (type.isMedia ? type : nil) })
            #expect(read.fileReferences.allSatisfy { $0.isQuoted == (type == .reference) })
        }
        #expect(MessageContent.encrypted(.text, value, files: []).json.text == value.json.text)
    }

    @Test("Encrypted content is recognized in any order of members and with any white space")
    func encryptedContentIsRecognizedInAnyOrder() throws {
        let json = #"{ "files" : [] , "encrypted":{"data":"AAAA","new":[1],"key":"2026-11","format":1}}"#
        #expect(try MessageContent(type: .text, json: RawJSON(json)).encrypted == value)
    }

    @Test(
        "JSON that resembles encrypted content is custom content, and is refused as text content",
        arguments: [
            #"{"encrypted":true}"#, #"{"encrypted":{"format":1,"key":"k"}}"#, #"{"encrypted":{"key":"k","data":""}}"#,
            #"{"encrypted":{"format":1,"key":"","data":""}}"#, #"{"encrypted":{"format":1,"key":"a b","data":""}}"#,
            #"{"encrypted":{"format":1,"key":"k","data":""},"caption":"hi"}"#, #"{"x":"\"encrypted\""}"#,
            #"{"x":{"encrypted":{"format":1,"key":"k","data":""}}}"#,
            #"{"encrypted":{"format":"1","key":"k","data":""}}"#,
        ])
    func lookalikes(_ json: String) throws {
        #expect(try MessageContent(type: "app:poll", json: RawJSON(json)).encrypted == nil)
        #expect(throws: ChatError.self) { try MessageContent(type: .text, json: RawJSON(json)) }
    }

    @Test(
        "The error of malformed encrypted content names encrypted and its members",
        arguments: [
            #"{"encrypted":true}"#, #"{"encrypted":"AAAA"}"#, #"{"encrypted":"AAAA","files":[]}"#,
            #"{"encrypted":{"format":1,"key":"k"}}"#, #"{"encrypted":{"format":1,"key":"a b","data":""}}"#,
            #"{"encrypted":{"format":"1","key":"k","data":""}}"#, #"{"encrypted":{}, "caption":"hi"}"#,
            #"{"encrypted":{"format":1,"key":"k","data":""},"caption":"hi"}"#,
        ])
    func malformed(_ json: String) throws {
        for type in [MessageType.text, .reference, .location, .command, .poll, .image] {
            let error = #expect(throws: ChatError.self) { try MessageContent(type: type, json: RawJSON(json)) }
            #expect(error?.parameter == "encrypted")
            for name in ["format", "key", "data", "files"] { #expect(error?.message.contains(name) == true) }
        }
    }

    @Test("The error of content with a member encrypted of its own names the wrong member")
    func ownMember() throws {
        func parameter(_ type: MessageType, _ json: String) -> String? {
            #expect(throws: ChatError.self) { try MessageContent(type: type, json: RawJSON(json)) }?.parameter
        }
        #expect(parameter(.image, #"{"media":"none","encrypted":true}"#) == "media")
        #expect(parameter(.text, #"{"title":"x","encrypted":true}"#) == "content")
        #expect(parameter("app:poll", #"{"encrypted":{},"files":["none"]}"#) == "files")
        _ = try MessageContent(type: .text, json: RawJSON(#"{"text":"x","encrypted":{}}"#))
    }

    @Test("Encrypted content can't be quoted without its key")
    func quote() throws {
        let message = Message(
            conversation: .group("g"), seq: 1, countedIndex: 1, id: MessageID(high: 1, low: 1),
            timetoken: Timetoken(rawValue: 1),
            epoch: Epoch(rawValue: 1), sender: "bob", type: .text, content: .encrypted(.text, value, files: []))
        let error = #expect(throws: ChatError.self) { try MessageContent.reference("see", to: message) }
        #expect(error?.parameter == "to")
    }
}
