import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

/// Tests push services that the operator sets up in a file in addition to the settings.
@Suite struct PushConfigurationTests {
    private let services = FakeServices()
    private let group = ConversationID.group("swift")
    private let configured = RawJSON(known: #"{"key":"secret","topic":"configured"}"#)

    private func change(_ json: String) -> @Sendable (inout ServerSettings) -> Void {
        { settings in
            var reader = JSONReader(json)
            _ = try? settings.read("push", &reader, unknown: .skip)
        }
    }

    private func shown(_ settings: ServerSettings) -> String {
        var writer = JSONWriter()
        writer.object { settings.writeMembers(to: &$0) }
        return writer.text
    }

    @Test(arguments: ["null", #"{"services":{"apns":null}}"#, #"{"intervalSeconds":0}"#])
    func `Push services from the file override the settings and survive changes of the settings`(
        json: String
    ) async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob"])
        try harness.make(group, members: ["alice", "bob"])
        harness.engine.configurePush([.apns: configured])
        try harness.send("1", to: group, by: "alice")
        try await harness.pushAll()
        let settings = try harness.set(change(json))
        #expect(settings.push.configured == [.apns: configured])
        try harness.send("2", to: group, by: "alice")
        try await harness.pushAll()
        #expect(services.credentials == [configured, configured])
        let trials = try await harness.engine.sendTestPush(to: "bob", by: EngineHarness.admin)
        #expect(trials.map(\.outcome) == [.sent] && services.credentials.last == configured)
        // A test push does not change the badge.
        #expect(services.pushed.map(\.badge) == [1, 2, 2])
    }

    @Test func `Credentials from the file are not stored and never returned`() throws {
        let harness = try EngineHarness.pushing(services)
        harness.engine.configurePush([.apns: configured])
        #expect(
            shown(harness.engine.settings).contains(
                #""services":{"apns":{"isSet":true,"source":"file","alsoInSettings":true,"topic":"configured"}}"#))
        let settings = try harness.set(change(#"{"services":{"apns":null},"link":"app://"}"#))
        #expect(
            shown(settings).contains(#""services":{"apns":{"isSet":true,"source":"file","topic":"configured"}}"#))
        let stored = try #require(try harness.store.read { try $0.settings() })
        #expect(stored.text.contains("app://") && !stored.text.contains("secret"))
        #expect(try EngineHarness(store: harness.store, gateway: services).engine.settings.push.configured.isEmpty)
    }

    @Test func `A link contains the message and the escaped name of any conversation`() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob"])
        let crew = ConversationID.group("crew:2.b")
        try harness.make(crew, members: ["alice", "bob"])
        _ = try harness.set(change(#"{"link":"app://chat/{conversation}?message={message}&at={seq}"}"#))
        try harness.send("1", to: crew, by: "alice")
        try await harness.pushAll()
        let pushed = try #require(services.pushed.first)
        let message = "\(pushed.target.message)".replacing("-", with: "%2D")
        // Decoded once, it is the text form of the conversation, in which the colon is already escaped.
        #expect(pushed.link == "app://chat/group%3Acrew%253A2%2Eb?message=\(message)&at=1")
        #expect("\(crew)" == "group:crew%3A2.b")
    }

    @Test func `Settings for a service from the file are refused by name, and other services and null are accepted`()
        throws
    {
        let harness = try EngineHarness.pushing(services)
        harness.engine.configurePush([.apns: configured])
        func read(_ json: String) throws -> PushSettings {
            var settings = harness.engine.settings
            var reader = JSONReader(json)
            _ = try settings.read("push", &reader, unknown: .skip)
            return settings.push
        }
        let refused = refusal { _ = try read(#"{"services":{"apns":{"key":"other"}}}"#) }
        #expect(refused?.code == .invalidParameter && refused?.parameter == "push.services.apns")
        #expect(refused?.message.contains("push-credentials") == true)
        let taken = try read(#"{"services":{"apns":null,"fcm":{}}}"#)
        #expect(taken.services == [.fcm: RawJSON(known: "{}")])
    }

    @Test func `A file without services drops the queued pushes if the settings have no service either`() throws {
        let harness = try EngineHarness(gateway: services)
        try harness.make(group, members: ["alice", "bob"])
        try harness.register("bob")
        harness.engine.configurePush([.apns: configured])
        try harness.send("hi", to: group, by: "alice")
        #expect(try harness.engine.pendingPushes().waiting == 1)
        try harness.set { $0.push.services[.fcm] = RawJSON(known: "{}") }
        harness.engine.configurePush([:])
        #expect(try harness.engine.pendingPushes().waiting == 1)
        try harness.set { $0.push.services = [:] }
        harness.engine.configurePush([.apns: configured])
        try harness.send("hi", to: group, by: "alice")
        harness.engine.configurePush([:])
        #expect(try harness.engine.pendingPushes().waiting == 0)
    }

    @Test func `A file has the same format as a change of the push settings`() throws {
        func services(_ json: String) throws -> [PushService: RawJSON] {
            try PushSettings.services(inFile: Array(json.utf8))
        }
        #expect(
            try services(#" {"push": {"services": {"apns": {"key":"k"}, "fcm": null}}} "#)
                == [.apns: RawJSON(known: #"{"key":"k"}"#)])
        #expect(try services("{}").isEmpty && services(#"{"push":{"services":{}}}"#).isEmpty)
    }

    @Test(arguments: [
        ("", "is empty"), ("[]", "an object"), (#"{"push":{"services":{}}} x"#, "expected the end"),
        (#"{"services":{"apns":{"key":"secret"}}}"#, "services is not allowed in this file"),
        (#"{"push":{"services":{},"link":"secret"}}"#, "push.link is not allowed in this file"),
        (#"{"push":{"services":{"apple":{"key":"secret"}}}}"#, "push.services has the unknown member apple"),
        (#"{"push":{"services":{"apns":"secret"}}}"#, "push.services.apns must be a JSON object"),
        (#"{"push":{"services":{"apns":{"key":"secret}}}}"#, "not JSON"), (#"{"push":"secret"}"#, "push must be"),
    ])
    func `An invalid file is refused with the reason and without its content`(
        json: String, fault: String
    ) {
        let error = refusal { _ = try PushSettings.services(inFile: Array(json.utf8)) }
        #expect(error?.message.contains(fault) == true, "\(error?.message ?? "taken")")
        #expect(error?.message.contains("secret") == false)
    }
}
