import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Requests about push")
struct PushOperationTests {
    @Test(
        "One that is wrong names the member, and its ref",
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
    func wrong(members: String, parameter: String) {
        do throws(RequestError) {
            _ = try ClientFrame.decode(Array("{\"ref\":7,\(members)}".utf8), limits: .standard)
            Issue.record("it was taken")
        } catch {
            #expect(error.error.parameter == parameter && error.ref == 7, "\(error)")
        }
    }

    @Test("A change of preferences to all of them takes back what they do not have")
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
