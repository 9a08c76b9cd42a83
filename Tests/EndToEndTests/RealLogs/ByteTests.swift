import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

/// Checks that texts and names in every script keep their bytes.
///
/// Strings that are equal in Swift can differ in their bytes.
@Suite("Byte for byte")
struct ByteTests {
    // MARK: A real log

    @Test(
        "Real messages in other scripts keep their bytes over HTTP, on the device and in search results",
        .contract("check 14"), .needs(.chatLog("gitter-freecodecamp.jsonl")))
    func realMessagesKeepTheirBytes() async throws {
        let log = try ChatLog.find("gitter-freecodecamp.jsonl")
        let lines = try log.linesBeyondASCII(step: Run.isLong ? 1 : 6)
        #expect(lines.count == (Run.isLong ? 8_564 : 1_428))
        // All rooms are merged into one conversation, which needs fewer requests.
        let name = "Общая комната 雑談 قناة café 👨‍👩‍👧‍👦"
        let server = try await RunningServer.start()
        try await server.importLog(try write(lines, channel: name, to: server.folder), ["--kind", "group"])
        let reader = try UserID(lines[0].sender)
        let id = ConversationID.group(try Identifier(name))
        let path = "/v1/conversations/\(try encoded("group:" + name))"

        let api = try await server.api(reader)
        expectSame(try await byHTTP(path, api), lines, "HTTP")
        let client = try await Device.open(server, reader)
        let chat = client.conversation(id)
        for source in [HistorySource.merged, .local] {
            var read: [Utterance] = []
            for try await message in chat.messages(from: .earliest, source: source) {
                #expect(message.conversation.target.text.utf8.elementsEqual(name.utf8))
                read.append(try Utterance(whole: message))
            }
            expectSame(read, lines, "\(source)")
        }
        for words in ["привет", "não", "się", "é", "です", "Привет всем"] {
            for source in [HistorySource.remote, .local] {
                let hits = try await chat.search(words, limit: 100, from: source).hits
                #expect(!hits.isEmpty, "\(words) \(source)")
                for hit in hits {
                    let line = lines[Int(hit.message.seq) - 1]
                    #expect(try Utterance(whole: hit.message) == Utterance(line))
                    #expect(hit.text.utf8.elementsEqual(line.text.utf8))
                    #expect(!hit.highlights.isEmpty && hit.highlights.count == hit.ranges.count)
                }
            }
        }
        #expect(try await client.verifyIntegrity() == [])
        await client.close()
        try await server.terminate()
    }

    /// Writes a log of one channel with Foundation and not with the code under test.
    private func write(_ lines: [ChatLog.Line], channel: String, to folder: URL) throws -> ChatLog {
        let encoder = JSONEncoder()
        var text = Data()
        for (number, line) in lines.enumerated() {
            let members = [
                "id": String(number), "channel": channel, "sender": line.sender, "time": line.time, "text": line.text,
            ]
            text += try encoder.encode(members) + Data("\n".utf8)
        }
        let file = folder.appending(component: "log.jsonl")
        try text.write(to: file)
        return ChatLog(file: file)
    }

    // MARK: Constructed texts

    /// Texts of 9.6 kB each, except for the short ones.
    private static let texts: [String] =
        [
            "line\n", "\r\n\t\n\u{2028}\u{2029}", "👩‍👩‍👧‍👦👨🏿‍🚀🏳️‍🌈🇯🇵1️⃣", "שלום \u{202E}عليكم\u{202C} ١٢٣\u{200F}",
            "e\u{301}é\u{1100}\u{1161}가Å\u{212B}", "ﷺ 䨺𠀋 क्षि ไม่ได้ \u{0}\u{1}\u{7F}\u{FEFF}",
            #"\"quoted\" \\u00e9 </script> &amp; %00"#,
        ].map { part in
            var text = ""
            while text.utf8.count < 9_600 { text += part }
            return text
        } + ["\u{FEFF}begins with a mark", "\u{0}", " ", "\n", "\u{301}", "é", "e\u{301}"]

    private static let names = ["غرفة الدردشة 👩‍💻", "雑談・その他", "café", "a/b:c%d 100%", "👨‍👩‍👧‍👦", "שלום"]

    @Test(
        "Line breaks, joined emoji, right-to-left text and decomposed letters pass every interface unchanged",
        .contract("check 14"), arguments: names)
    func everyInterfacePreservesBytes(_ name: String) async throws {
        let server = try await RunningServer.start()
        let identifier = try Identifier(name)
        let (alice, bob) = (try await server.api("alice"), try await server.api("bob"))
        for id in [ConversationID.group(identifier), .community(identifier, channel: identifier)] {
            let isGroup = id == .group(identifier)
            let whole = isGroup ? id : ConversationID.community(identifier)
            let path = "/v1/conversations/\(try encoded(id.description))"
            let made = try await server.admin().call(
                "PUT", "/v1/conversations/\(try encoded(whole.description))", #"{"members":["alice","bob"]}"#)
            #expect(made.status == 201, "\(made)")
            if !isGroup { #expect(try await server.admin().call("PUT", path, "{}").status == 201) }

            // Half of the texts are sent over HTTP in the bytes that Foundation writes, the others by a device.
            let phone = try await Device.open(server, "alice")
            for (number, text) in Self.texts.enumerated() {
                if number.isMultiple(of: 2) {
                    let body = try JSONSerialization.data(withJSONObject: [
                        "id": UUID().uuidString.lowercased(), "type": "text", "content": ["text": text],
                    ])
                    let sent = try await alice.call("POST", path + "/messages", bytes: Array(body))
                    #expect(sent.status == 201, "\(sent)")
                } else {
                    let sent = try await phone.conversation(id).send(.text(text)).waitUntilSent()
                    #expect(sent.text.map { Array($0.utf8) } == Array(text.utf8))
                }
            }
            let expected = Self.texts.map { Array($0.utf8) }
            #expect(try await byHTTP(path, bob).map(\.text) == expected)
            let client = try await Device.open(server, "bob")
            for device in [client, phone] {
                for source in [HistorySource.merged, .local] {
                    var read: [[UInt8]] = []
                    for try await message in device.conversation(id).messages(from: .earliest, source: source) {
                        read.append(Array((message.text ?? "").utf8))
                        #expect(message.conversation.target.text.utf8.elementsEqual(name.utf8))
                        #expect(isGroup || message.conversation.part?.text.utf8.elementsEqual(name.utf8) == true)
                    }
                    #expect(read == expected, "\(source)")
                }
                #expect(try await device.verifyIntegrity() == [])
            }
            for (words, index) in [("line", 0), ("👨🏿‍🚀", 2), ("שלום", 3), ("عليكم", 3), ("quoted", 6)] {
                let found = try await client.conversation(id).search(words, limit: 1, from: .remote).hits
                #expect(found.first.map { Array($0.text.utf8) } == expected[index], "\(words)")
            }
            await client.close()
            await phone.close()
        }
        try await server.terminate()
    }

    // MARK: HTTP

    /// Returns all messages, oldest first.
    ///
    /// `JSONSerialization` removes a byte order mark at the start of a text. `JSONDecoder` does not.
    private func byHTTP(_ path: String, _ api: API) async throws -> [Utterance] {
        struct Page: Decodable {
            struct Message: Decodable {
                struct Content: Decodable {
                    var text: String
                }

                var sender: String
                var sentAt: String
                var content: Content
            }

            var messages: [Message]
            var newer: String?
        }
        var read: [Utterance] = []
        var query = "after=earliest&sort=oldestFirst"
        while true {
            let answer = try await api.call("GET", "\(path)/messages?limit=100&\(query)")
            let page = try JSONDecoder().decode(Page.self, from: Data(answer.bytes))
            read += page.messages.map { Utterance(text: $0.content.text, sender: $0.sender, time: $0.sentAt) }
            guard let cursor = page.newer else { return read }
            query = "cursor=\(cursor)"
        }
    }

    private func encoded(_ text: String) throws -> String {
        try #require(text.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
    }
}
