import Foundation
import Scrollback
import ScrollbackModel
import Testing

@Suite("Push payloads")
struct PushMessageTests {
    private static let own: [String: any Sendable] = [
        "conversation": "group:swift", "seq": 12, "epoch": "5", "message": "01980000-0000-7000-8000-000000000001",
        "sender": "bob", "type": "text", "receiver": "alice",
    ]

    /// A payload with some changed members. `NSNull` removes a member.
    private static func payload(
        _ change: [String: Any] = [:], beside: [String: Any] = [:]
    ) -> [AnyHashable: Any] {
        let own = (Self.own as [String: Any]).merging(change) { $1 }.filter { !($0.value is NSNull) }
        return ["aps": ["badge": 3], "scrollback": own].merging(beside) { $1 }
    }

    @Test(
        "A payload of another sender is not a push message",
        arguments: [
            "", "hello", "[]", "7", "{", #"{"aps":{"alert":"hi","badge":1}}"#, "%7B%22a%22%3A1%7D", "%7Bnot json",
        ])
    func foreign(text: String) throws {
        #expect(try PushMessage(json: text) == nil)
    }

    @Test(
        "An invalid payload throws an error that names the member",
        arguments: [
            (["conversation": NSNull()], "conversation"), (["conversation": "gruop:swift"], "conversation"),
            (["conversation": 7], "conversation"), (["seq": "twelve"], "seq"), (["seq": 1.5], "seq"),
            (["epoch": "x"], "epoch"), (["message": NSNull()], "message"), (["message": "1"], "message"),
            (["sender": NSNull()], "sender"), (["sender": ""], "sender"), (["type": NSNull()], "type"),
            (["receiver": NSNull()], "receiver"), (["receiver": ["a"]], "receiver"), (["link": 1], "link"),
            (["recalled": "yes"], "recalled"), (["omitsData": 2], "omitsData"),
        ] as [([String: any Sendable], String)])
    func errorNamesTheInvalidMember(change: [String: any Sendable], parameter: String) throws {
        let error = #expect(throws: ChatError.self) { try PushMessage(Self.payload(change)) }
        #expect(error?.parameter == parameter, "\(String(describing: error))")
    }

    @Test(
        "Members outside the server's part are validated too",
        arguments: [
            (["appData": 7], "appData"), (["aps": ["badge": "many"]], "badge"), (["aps": ["badge": 1.5]], "badge"),
            (["scrollback": 7], "scrollback"), (["scrollback": "{"], nil), (["scrollback": "[]"], "scrollback"),
        ] as [([String: any Sendable], String?)])
    func membersOutsideTheServersPartAreValidated(beside: [String: any Sendable], parameter: String?) throws {
        let error = #expect(throws: ChatError.self) { try PushMessage(Self.payload(beside: beside)) }
        #expect(error?.parameter == parameter, "\(String(describing: error))")
    }

    @Test("Unknown members of newer servers are ignored")
    func unknownMembersAreIgnored() throws {
        let plain = try #require(try PushMessage(Self.payload()))
        #expect(try PushMessage(Self.payload(["newer": ["a": 1]], beside: ["more": 1])) == plain)
        #expect(plain.badge == 3 && plain.kind == .message && plain.target.seq == 12)
    }

    @Test("A payload has a destination only in the client of its recipient")
    func destination() async throws {
        func client(_ user: UserID) async throws -> ChatClient {
            try await ChatClient.open(
                .init(server: #require(URL(string: "http://x.invalid")), user: user, store: .inMemory) { "" })
        }
        let (alice, bob) = (try await client("alice"), try await client("bob"))
        let target = try #require(try alice.destination(of: Self.payload()))
        #expect(target.conversation == .group("swift"))
        #expect(target.message == (try MessageID("01980000-0000-7000-8000-000000000001")))
        #expect(try bob.destination(of: Self.payload()) == nil)
        #expect(try alice.destination(of: ["aps": ["alert": "news"]]) == nil)
        let own = try JSONSerialization.data(withJSONObject: ["scrollback": Self.own])
        #expect(try alice.destination(of: String(decoding: own, as: UTF8.self)) == target)
        #expect(throws: ChatError.self) { try alice.destination(of: Self.payload(["receiver": NSNull()])) }
        for client in [alice, bob] { await client.close() }
    }

    @Test("A push address is converted to the server's form: APNs tokens in hexadecimal, Web Push with keys")
    func addresses() async throws {
        let client = try await ChatClient.open(
            .init(server: #require(URL(string: "http://x.invalid")), user: "alice", store: .inMemory) { "" })
        try await client.push.register(
            .apns(Data([0x00, 0x0F, 0xA0, 0xFF]), topic: "com.example", isDevelopment: true))
        let device = try #require(try await client.core.store.read { try $0.pushDevice() }.wanted)
        #expect(device.token == "000fa0ff" && device.topic == "com.example" && device.isDevelopment)
        let empty = await #expect(throws: ChatError.self) { try await client.push.register(.apns(Data())) }
        #expect(empty?.parameter == "token")
        let language = await #expect(throws: ChatError.self) {
            try await client.push.register(.fcm("t"), language: "not a language")
        }
        #expect(language?.parameter == "language")
        let endpoint = try #require(URL(string: "https://push.example/1"))
        try await client.push.register(.web(endpoint: endpoint, keys: WebPushKeys(p256dh: "p", auth: "a")))
        let noKeys = await #expect(throws: ChatError.self) {
            try await client.push.register(.token("https://push.example/1", of: .web))
        }
        #expect(noKeys?.parameter == "keys")
        await client.close()
    }
}
