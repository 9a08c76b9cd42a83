import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("The settings operation")
struct PutSettingsTests {
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
        func put(_ text: String) throws -> ServerSettings {
            var body = JSONReader(text)
            var reader = RequestReader(
                path: [:], query: [:], body: try JSONMembers(&body), limits: harness.engine.limits)
            let operation = try PutSettings(from: &reader)
            let context = OperationContext(engine: harness.engine, caller: EngineHarness.admin, offload: { $0() })
            return try harness.done { operation.execute(context, completion: $0) }.settings
        }
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

    @Test("Settings of a newer version are kept, and values of a newer version are refused")
    func newerVersion() throws {
        let store = MemoryStore(generation: 1)
        func put(_ settings: String) throws {
            try store.write { writer, _ in try writer.put(settings: RawJSON(known: settings)) }
        }
        for (settings, name) in [
            (#"{"auditDays":5,"glow":true}"#, "glow"), (#"{"auditDays":5,"push":{"sound":{}}}"#, "push.sound"),
            (#"{"auditDays":5,"webhooks":{"logHours":1,"x":[]}}"#, "webhooks.x"),
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
