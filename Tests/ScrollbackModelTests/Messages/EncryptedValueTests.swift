import Foundation
import ScrollbackModel
import Testing

@Suite("What an app's key has encrypted, for who has no key")
struct EncryptedValueTests {
    private let value = EncryptedValue(format: 1, key: "2026-11", data: "AAAA")
    private let file = MediaID()

    @Test("A content of any type may be encrypted: only its files stand beside it")
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

    @Test("It is known whatever the order and the white space of its members")
    func otherHands() throws {
        let json = #"{ "files" : [] , "encrypted":{"data":"AAAA","new":[1],"key":"2026-11","format":1}}"#
        #expect(try MessageContent(type: .text, json: RawJSON(json)).encrypted == value)
    }

    @Test(
        "What only looks like it is an app's own, and a text that only looks like it is none",
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

    @Test("What can't be read can't be quoted")
    func quote() throws {
        let message = Message(
            conversation: .group("g"), seq: 1, n: 1, id: MessageID(high: 1, low: 1), timetoken: Timetoken(rawValue: 1),
            epoch: Epoch(rawValue: 1), sender: "bob", type: .text, content: .encrypted(.text, value, files: []))
        let error = #expect(throws: ChatError.self) { try MessageContent.reference("see", to: message) }
        #expect(error?.parameter == "to")
    }
}
