import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("The settings operation")
struct PutSettingsTests {
    private static func put(_ text: String, _ harness: EngineHarness) throws -> ServerSettings {
        var body = JSONReader(text)
        var reader = RequestReader(path: [:], query: [:], body: try JSONMembers(&body), limits: harness.engine.limits)
        let operation = try PutSettings(from: &reader)
        let context = OperationContext(engine: harness.engine, caller: EngineHarness.admin, offload: { $0() })
        return try harness.done { operation.execute(context, completion: $0) }.settings
    }

    @Test("Every setting is a parameter")
    func parameters() throws {
        var writer = JSONWriter()
        writer.object { ServerSettings().writeMembers(to: &$0) }
        var reader = JSONReader(writer.text)
        var names: Set<String> = []
        try reader.object { (name, value) throws(ChatError) in
            names.insert(name)
            try value.skip()
        }
        let parameters = RequestDocumentation(of: PutSettings.self).parameters.map(\.name)
        #expect(Set(parameters) == names)
        #expect(parameters.count == names.count)
    }

    @Test("A request changes the settings it names")
    func changes() throws {
        let harness = try EngineHarness()
        func put(_ text: String) throws -> ServerSettings { try Self.put(text, harness) }
        #expect(try put(#"{"replayDays":3,"bannedWords":{"words":["darn"]},"unknown":1}"#).replayDays == 3)
        let stored = try put(#"{"bannedWords":null,"countWindowDays":null}"#)
        #expect(stored.replayDays == 3 && stored.countWindowDays == nil)
        #expect(stored.moderation.bannedWords == .init())
        #expect(harness.engine.settings == stored)
        for (text, parameter) in [
            (#"{"replayDays":-1}"#, "replayDays"), (#"{"presence":null}"#, "presence"),
            (#"{"gifBytes":"1"}"#, "gifBytes"),
        ] {
            let error = #expect(throws: ChatError.self) { try put(text) }
            #expect(error?.parameter == parameter)
        }
        #expect(harness.engine.settings == stored)
    }

    @Test("A member that no setting has is refused by its path, and the whole change with it")
    func unknownMembers() throws {
        let harness = try EngineHarness()
        let hook = #""url":"https://example.com/","secret":"0123456789abcdef""#
        for (text, path) in [
            (#"{"webhooks":{"hours":1}}"#, "webhooks.hours"), (#"{"webhooks":{"foo":null}}"#, "webhooks.foo"),
            (#"{"webhooks":{"before":{\#(hook),"timeout":1}}}"#, "webhooks.before.timeout"),
            (#"{"webhooks":{"after":{\#(hook),"foo":1}}}"#, "webhooks.after.foo"),
            (#"{"webhooks":{"after":{"foo":{}}}}"#, "webhooks.after.foo"),
            (#"{"webhooks":{"after.url":"https://example.com/"}}"#, "webhooks.after.url"),
            (#"{"webhooks":{"subscriptions":{"bot":{\#(hook),"event":[]}}}}"#, "webhooks.subscriptions.bot.event"),
            (#"{"bannedWords":{"word":["darn"]}}"#, "bannedWords.word"), (#"{"push":{"service":{}}}"#, "push.service"),
            (#"{"push":{"templates":{"t":{"default":{"text":"x","sound":"y"}}}}}"#, "push.templates.sound"),
        ] {
            let change = #"{"auditDays":5,\#(text.dropFirst())"#
            let error = #expect(throws: ChatError.self, "\(text)") { try Self.put(change, harness) }
            #expect(error?.code == .invalidParameter && error?.parameter == path, "\(text)")
        }
        #expect(harness.engine.settings == ServerSettings())
        let error = #expect(throws: ChatError.self) { try Self.put(#"{"webhooks":{"loghours":1}}"#, harness) }
        #expect(error?.message.hasSuffix("Did you mean webhooks.logHours?") == true, "\(error?.message ?? "")")
    }

    @Test("Members that the settings don't show, such as secrets, defaults and removed webhooks, are accepted")
    func hiddenMembers() throws {
        let harness = try EngineHarness()
        let hook = #""url":"https://example.com/","secret":"0123456789abcdef""#
        for text in [
            #"{"webhooks":{"before":null,"after":null,"subscriptions":null}}"#,
            #"{"webhooks":{"before":{\#(hook)},"after":{\#(hook)},"subscriptions":{"bot":{\#(hook)}}}}"#,
            #"{"webhooks":{"after":{"secret":"fedcba9876543210"},"subscriptions":{"bot":{},"other":null}}}"#,
            #"{"webhooks":{"after":null,"subscriptions":{"bot":null}}}"#, #"{"webhooks":{"subscriptions":{}}}"#,
            #"{"webhooks":{"before":{"timeoutSeconds":2,"onFailure":"allow"},"logHours":24}}"#, #"{"webhooks":{}}"#,
            #"{"webhooks":null}"#, #"{"bannedWords":{"words":[],"action":"reject"}}"#, #"{"bannedWords":null}"#,
            #"{"push":{"link":null,"language":null,"intervalSeconds":0,"texts":{"DE-ch":{}},"templates":{"t":null}}}"#,
            #"{"push":{"texts":{"de-ch":null},"templates":{"t":{"default":{"title":null,"text":"x"}}}}}"#,
            #"{"push":{"services":{"apns":null}}}"#, #"{"push":null}"#,
        ] {
            #expect(throws: Never.self, "\(text)") { try Self.put(text, harness) }
        }
        // What a request of the settings returns can be sent back.
        let webhooks = #"{"before":{\#(hook)},"subscriptions":{"new":{\#(hook)}}}"#
        _ = try Self.put(#"{"webhooks":\#(webhooks),"push":{"link":"app://x"}}"#, harness)
        let settings = harness.engine.settings
        var writer = JSONWriter()
        writer.object { settings.writeMembers(to: &$0) }
        #expect(try Self.put(writer.text, harness) == settings)
    }

    @Test("Settings of a newer version are kept, and values of a newer version are refused")
    func newerVersion() throws {
        let store = MemoryStore(generation: 1)
        func put(_ settings: String) throws {
            try store.write { writer, _ in try writer.put(settings: RawJSON(known: settings)) }
        }
        for (settings, name) in [
            (#"{"auditDays":5,"glow":true}"#, "glow"), (#"{"auditDays":5,"push":{"sound":{}}}"#, "push.sound"),
            (#"{"auditDays":5,"webhooks":{"logHours":1,"x":[]}}"#, "webhooks.x"),
            (#"{"auditDays":5,"bannedWords":{"x":1}}"#, "bannedWords.x"),
        ] {
            try put(settings)
            let harness = try EngineHarness(store: store)
            #expect(harness.engine.settings.auditDays == 5)
            let error = #expect(throws: ChatError.self) { try harness.set { $0.auditDays = 6 } }
            #expect(error?.code == .conflict && error?.message.contains("settings \(name) are") == true)
            #expect(try store.read { try $0.settings()?.text } == settings)
        }
        // What this version has stored can be changed.
        try put(#"{"auditDays":5}"#)
        let harness = try EngineHarness(store: store)
        try harness.set { $0.push.link = "app://{conversation}" }
        try harness.set { $0.push.link = nil }
        #expect(harness.engine.settings.push.link == nil)

        try put(#"{"push":{"services":{"pigeon":{}}}}"#)
        let refusal = #expect(throws: ChatError.self) { try EngineHarness(store: store) }
        #expect(refusal?.parameter == "store" && refusal?.message.contains("pigeon") == true)
    }
}
