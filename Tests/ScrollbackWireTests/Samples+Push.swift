import Foundation
import ScrollbackModel
import ScrollbackWire

// Push devices, preferences and messages.

extension Sample {
    static let pushDevice = PushDevice(
        id: "phone", service: .apns, token: "00aaff", topic: "com.example", language: "pt-BR", isDevelopment: true)
    static let webDevice = PushDevice(
        id: "browser", service: .web, token: "https://push.example/1",
        keys: WebPushKeys(p256dh: "BP4z9KsN6nGRTbVYI", auth: "AAAA"))
    static let pushTarget = PushTarget(
        conversation: .group("swift"), seq: 12, epoch: Epoch(rawValue: 5), message: Sample.id, sender: "مرحبا😀",
        type: .text, receiver: "alice")
    static let pushPreferences = PushPreferences(
        language: "de", showsDetail: false, level: .mentions,
        quietHours: try? QuietHours(
            from: .init(hour: 22), to: .init(hour: 7), timeZone: "Europe/Paris", allowsMentions: true))
}

extension Golden {
    static let push: [Golden] = [
        operation("pushDevices", ListPushDevices()),
        operation("putPushDevice", PutPushDevice(device: Sample.pushDevice)),
        operation("putPushDevice-web", PutPushDevice(device: Sample.webDevice)),
        operation("dropPushDevice", DeletePushDevice(device: "phone")),
        operation("pushPreferences", GetPushPreferences()),
        operation("setPushPreferences", SetPushPreferences(PushPreferencesChange(to: PushPreferences()))),
        operation(
            "setPushPreferences-all", SetPushPreferences(PushPreferencesChange(to: Sample.pushPreferences))),
        value(
            "pushMessage", PushMessage(target: Sample.pushTarget, link: "app://x"),
            { w, m in w.object { m.writeMembers(to: &$0) } },
            { (r) throws(ChatError) in try PushMessage(r.raw().text) }),
        value(
            "pushMessage-recalled", PushMessage(target: Sample.pushTarget, kind: .recall, omitsData: true),
            { w, m in w.object { m.writeMembers(to: &$0) } },
            { (r) throws(ChatError) in try PushMessage(r.raw().text) }),
    ]
}
