import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Push requests")
struct PushOperationTests {
    @Test(
        "The error for an invalid request has the name of the member",
        arguments: [
            (#""type":"putPushDevice""#, "device"), (#""type":"putPushDevice","device":"""#, "device"),
            (#""type":"putPushDevice","device":"d""#, "service"),
            (#""type":"putPushDevice","device":"d","service":"pigeon""#, "service"),
            (#""type":"putPushDevice","device":"d","service":"apns""#, "token"),
            (#""type":"putPushDevice","device":"d","service":"apns","token":"xyz""#, "token"),
            (#""type":"putPushDevice","device":"d","service":"fcm","token":"t","keys":{}"#, "keys.p256dh"),
            (#""type":"putPushDevice","device":"d","service":"fcm","token":"t","language":"?""#, "language"),
            (#""type":"dropPushDevice""#, "device"), (#""type":"setPushPreferences""#, "push"),
            (#""type":"setPushPreferences","push":{"language":"?"}"#, "push.language"),
            (#""type":"setPushPreferences","push":{"level":"some"}"#, "push.level"),
            (#""type":"setPushPreferences","push":{"quietHours":{"from":"22:00"}}"#, "quietHours.to"),
        ])
    func errorNamesTheInvalidMember(members: String, parameter: String) {
        let error = #expect(throws: ChatError.self) {
            let frame = try RequestFrame(Array("{\"ref\":7,\(members)}".utf8))
            let operation = try #require(Self.operations.first { $0.endpoint.frame == frame.type })
            var reader = RequestReader(frame: frame.members, limits: .standard)
            _ = try operation.init(from: &reader)
        }
        #expect(error?.parameter == parameter)
    }

    private static let operations: [any ClientOperation.Type] = [
        PutPushDevice.self, DeletePushDevice.self, SetPushPreferences.self,
    ]

    @Test("A change to given preferences resets the preferences that they lack")
    func change() throws {
        let hours = try QuietHours(from: .init(hour: 1), to: .init(hour: 2), timeZone: "Europe/Paris")
        var preferences = PushPreferences(language: "de", showsDetail: false, level: .all, quietHours: hours)
        for wanted in [preferences, PushPreferences(), PushPreferences(language: "fr")] {
            var writer = JSONWriter()
            PushPreferencesChange(to: wanted).write(to: &writer)
            var reader = JSONReader(writer.text)
            PushPreferencesChange.apply(try PushPreferencesChange(from: &reader), to: &preferences)
            #expect(preferences == wanted)
        }
    }
}
