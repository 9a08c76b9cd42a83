import Foundation
import ScrollbackModel
import Testing

@Suite("Content types")
struct ContentTypeTests {
    private let id = MessageID(high: 0x0198_f3c2_7c1e_7000, low: 0x8000_0123_4567_89ab)

    private func message(_ content: MessageContent?) -> Message {
        Message(
            conversation: .group("swift"), seq: 1, countedIndex: 1, id: id, timetoken: Timetoken(rawValue: 1),
            epoch: Epoch(rawValue: 1), sender: "alice", type: content?.type ?? .text, content: content)
    }

    /// Encodes content as JSON, decodes it as a request would, and returns the result.
    private func roundTrip(_ content: MessageContent) throws -> MessageContent {
        let again = try MessageContent(type: content.type, json: RawJSON(content.json.text))
        #expect(again == content)
        return again
    }

    @Test("A quote contains a copy of the quoted content, and a quote of a quote contains only the inner text")
    func quotes() throws {
        let first = try roundTrip(.reference("why?", to: message(.text("because"))))
        #expect(first.text == "why?")
        #expect(first.quote == Quote("why?", id: id, sender: "alice", content: .text("because")))
        let second = try roundTrip(.reference("who?", to: message(first)))
        #expect(second.quote?.content == .text("why?"))
        let poll = try MessageContent(type: .init(rawValue: "app:poll"), json: RawJSON(#"{"a":[1, 2]}"#))
        #expect(try roundTrip(.reference("x", to: message(poll))).quote?.content.json.text == #"{"a":[1, 2]}"#)
        let error = #expect(throws: ChatError.self) { try MessageContent.reference("x", to: message(nil)) }
        #expect(error?.parameter == "to")
        #expect(MessageContent.text("x").quote == nil)
    }

    @Test("Latitude and longitude must be in range")
    func coordinatesMustBeInRange() throws {
        let harbour = Location(latitude: -90, longitude: 180, name: "ميناء ⚓️")
        #expect(try roundTrip(.location(harbour)).location == harbour)
        for (location, name) in [
            (Location(latitude: 90.1, longitude: 0), "latitude"), (Location(latitude: 0, longitude: -181), "longitude"),
            (Location(latitude: .nan, longitude: 0), "latitude"),
            (Location(latitude: 0, longitude: .infinity), "longitude"),
        ] {
            let error = #expect(throws: ChatError.self) { try MessageContent.location(location) }
            #expect(error?.parameter == name)
        }
    }

    @Test("A command has a name and data of any JSON type")
    func commands() throws {
        let content = try roundTrip(.command("refresh", data: RawJSON("[1]")))
        #expect(content.command == Command("refresh", data: try RawJSON("[1]")))
        #expect(!content.type.traits.isStored)
        for name in ["", String(repeating: "x", count: 129)] {
            #expect(throws: ChatError.self) { try MessageContent.command(name) }
        }
    }

    @Test("Media is hosted or remote, and its properties are decoded")
    func files() throws {
        let json =
            #"{"media":"\#(id)","name":"a.jpg","mediaType":"image/jpeg","size":12,"width":3,"height":4,"#
            + #""thumbnail":{"width":3,"height":4}}"#
        let media = try #require(try MessageContent(type: .image, json: RawJSON(json)).media)
        #expect(
            media
                == Media(
                    .hosted(MediaID(id.uuid)), name: "a.jpg", mediaType: "image/jpeg", size: 12,
                    pixels: .init(width: 3, height: 4), thumbnail: .init(width: 3, height: 4)))
        let remote = Media(
            .remote(URL(string: "https://example.org/a%20b.mp4")!), duration: 1.5, waveform: [0, 50, 100])
        #expect(try roundTrip(.media(.video, remote)).media == remote)
        #expect(MessageContent.text("x").media == nil)
    }

    @Test(
        "An error names the invalid part of the content",
        arguments: [
            (MessageType.image, "{}", "content"), (.file, #"{"media":"x"}"#, "media"),
            (.file, #"{"media":1}"#, "media"), (.gif, #"{"url":"ftp://x/y"}"#, "url"),
            (.gif, #"{"url":"https://"}"#, "url"), (.gif, #"{"url":"javascript:alert(1)"}"#, "url"),
            (.voice, #"{"url":"https://x/y","media":"0198f3c2-7c1e-7000-8000-0123456789ab"}"#, "content"),
            (.voice, #"{"url":"https://x/y","duration":-1}"#, "duration"),
            (.voice, #"{"url":"https://x/y","waveform":[]}"#, "waveform"),
            (.voice, #"{"url":"https://x/y","waveform":[0,101]}"#, "waveform"),
            (.voice, #"{"url":"https://x/y","waveform":[-1]}"#, "waveform"),
            (.voice, #"{"url":"https://x/y","waveform":[0.5]}"#, "waveform"),
            (
                .voice,
                "{\"url\":\"https://x/y\",\"waveform\":[\(Array(repeating: "0", count: 201).joined(separator: ","))]}",
                "waveform"
            ),
            (.video, #"{"url":"https://x/y","size":-1}"#, "size"),
            (.video, #"{"url":"https://x/y","size":"1"}"#, "size"),
            (.image, #"{"url":"https://x/y","width":0}"#, "width"),
            (.image, #"{"url":"https://x/y","thumbnail":{"width":1}}"#, "thumbnail"),
            (.image, #"{"url":"https://x/y","mediaType":"jpeg"}"#, "mediaType"),
            (.image, #"{"url":"https://x/y","name":""}"#, "name"),
            (.image, "{\"url\":\"https://x/y\",\"name\":\"a\\nb\"}", "name"),
            (.location, #"{"latitude":1}"#, "content"), (.location, #"{"latitude":91,"longitude":0}"#, "latitude"),
            (.location, #"{"latitude":"1","longitude":0}"#, "latitude"), (.command, "{}", "content"),
            (.reference, #"{"text":"x"}"#, "message"), (.reference, #"{"message":{}}"#, "content"),
            (
                .reference,
                #"{"text":"x","message":{"id":"0198f3c2-7c1e-7000-8000-0123456789ab","sender":"a","type":"text","content":{}}}"#,
                "content"
            ),
        ])
    func errorNamesTheInvalidPart(_ type: MessageType, _ json: String, _ parameter: String) throws {
        let error = try #require(throws: ChatError.self) { try MessageContent(type: type, json: RawJSON(json)) }
        #expect(error.code == .invalidParameter)
        #expect(error.parameter == parameter, "\(error)")
    }

    // MARK: Custom content

    struct Poll: CustomContent, Equatable {
        static let type: MessageType = "app:poll"
        var question: String
        var choices: [String]
    }

    struct NewerPoll: CustomContent {
        static let type: MessageType = "app:poll"
        var question: String
        var closesAt: Date
    }

    struct Impostor: CustomContent {
        static let type: MessageType = "text"
    }

    struct List: CustomContent {
        static let type: MessageType = "com.example.list"
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try container.encode(1)
        }
    }

    @Test("Custom content keeps its type and survives a round trip, and other types decode to nil")
    func custom() throws {
        let poll = Poll(question: "غداء؟ 🍜", choices: ["a/b", "c"])
        let content = try roundTrip(.custom(poll))
        #expect(content.type == "app:poll")
        #expect(try content.custom(Poll.self) == poll)
        #expect(try MessageContent.text("x").custom(Poll.self) == nil)
        let error = #expect(throws: ChatError.self) { try content.custom(NewerPoll.self) }
        #expect(error?.parameter == "content")
        #expect(#expect(throws: ChatError.self) { try MessageContent.custom(Impostor()) }?.parameter == "type")
        #expect(#expect(throws: ChatError.self) { try MessageContent.custom(List()) }?.parameter == "content")
    }

    // MARK: Push options

    @Test("Push options survive a round trip as JSON, and an error names the invalid option")
    func push() throws {
        var options = PushOptions(title: "New photo", text: "قارب", data: "{}")
        options.templateID = "lunch"
        options.ios = .init()
        options.ios?.collapseID = String(repeating: "x", count: 64)
        options.ios?.interruption = .timeSensitive
        options.android = .init()
        options.android?.vivo = .init(type: .system, category: "IM")
        options.android?.huawei = .init()
        options.android?.huawei?.importance = .low
        #expect(try PushOptions(options.json()) == options)
        #expect(try options.json().text.contains(#""interruption":"time-sensitive""#))
        for (json, name) in [
            (#"{"ios":{"collapseID":"\#(String(repeating: "é", count: 33))"}}"#, "push.ios.collapseID"),
            (#"{"data":"\#(String(repeating: "x", count: 4097))"}"#, "push.data"),
            (#"{"android":{"huawei":{"category":"im"}}}"#, "push.android.huawei.category"),
            (#"{"harmony":{"imageURL":"file:///x"}}"#, "push.harmony.imageURL"),
            (#"{"android":{"vivo":{"category":"IM"}}}"#, "push"), (#"{"title":1}"#, "push"),
            (#"{"ios":{"interruption":"loud"}}"#, "push"),
        ] {
            let error = #expect(throws: ChatError.self, "\(json)") { try PushOptions(RawJSON(json)) }
            #expect(error?.parameter == name, "\(json): \(String(describing: error))")
        }
        #expect(try PushOptions(RawJSON(#"{"newer":{}}"#)) == PushOptions())
    }

    @Test func `Every option is a known member of push, and others are found at every depth`() throws {
        let every = RawJSON(
            known: #"""
                {"title":"t","text":"t","data":"d","templateID":"i","hidesTitle":true,"forcesDetail":true,
                "ios":{"threadID":"i","collapseID":"i","imageURL":"https://a.example","interruption":"active"},
                "android":{"notificationID":"1","xiaomi":{"channel":"c"},
                "huawei":{"channel":"c","imageURL":"https://a.example","category":"IM","importance":"low"},
                "honor":{"imageURL":"https://a.example","importance":"low"},"oppo":{"channel":"c"},
                "vivo":{"type":"system","category":"IM"},
                "fcm":{"collapseKey":"k","imageURL":"https://a.example","channel":"c"}},
                "harmony":{"imageURL":"https://a.example","category":"IM"}}
                """#)
        #expect(try PushOptions.unknownMember(of: every) == nil)
        // No member gets lost, so each name is the name of a property.
        let written = try PushOptions(every).json()
        let (given, found) = try (members(of: every), members(of: written))
        #expect(given == found)
        for (json, object, name) in [
            (#"{"pushTitle":"t"}"#, "push", "pushTitle"), (#"{"title":"t","Text":"x"}"#, "push", "Text"),
            (#"{"ios":{"threadId":"i"}}"#, "push.ios", "threadId"),
            (#"{"android":{"oppo":{"channel":"c","chanel":1}}}"#, "push.android.oppo", "chanel"),
            (#"{"ios":null,"android":{"huawei":null,"hw":{}},"newer":1}"#, "push.android", "hw"),
            (#"{"harmony":{"imageURL":"https://a.example","image":[{"a":1}]}}"#, "push.harmony", "image"),
        ] {
            let unknown = try PushOptions.unknownMember(of: RawJSON(json))
            #expect(unknown?.object == object && unknown?.name == name, "\(json): \(String(describing: unknown))")
            #expect(unknown?.known.isEmpty == false)
        }
    }

    /// Returns the paths and values of all members of a JSON object.
    private func members(of json: RawJSON) throws -> [String: String] {
        var paths: [String: String] = [:]
        func add(_ value: Any, _ path: String) {
            guard let object = value as? [String: Any] else { return paths[path] = "\(value)" }
            for (name, member) in object { add(member, "\(path).\(name)") }
        }
        add(try JSONSerialization.jsonObject(with: Data(json.text.utf8)), "push")
        return paths
    }
}
