import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

/// From a device that registers, through the real server and a stand-in, back to the device.
@Suite("Pushes from device to device", .timeLimit(.minutes(10)))
struct PushFromDeviceTests {
    /// Returns a device of the stand-in as an app registers it.
    private func address(_ service: String, of standIn: PushStandIn) async throws -> PushAddress {
        let options = service == "webpush" ? ["applicationServerKey": PushServer.webKey.publicKey] : [:]
        let device = try #require(try await standIn.devices(1, options).first)
        let token = try #require(device["token"] as? String)
        switch service {
        case "apns":
            let digits = Array(token.utf8)
            return .apns(
                Data(
                    stride(from: 0, to: digits.count, by: 2).compactMap { index in
                        UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16)
                    }))
        case "webpush":
            let keys = device["keys"] as? [String: String] ?? [:]
            return .web(
                endpoint: try #require(URL(string: token)),
                keys: WebPushKeys(p256dh: keys["p256dh"] ?? "", auth: keys["auth"] ?? ""))
        default: return .fcm(token)
        }
    }

    /// Returns the message and the destination that the service would pass to the app.
    private func destination(
        _ service: String, _ notification: [String: Any], _ client: ChatClient
    ) throws -> (PushMessage?, PushTarget?) {
        let payload = try #require(notification["payload"] as? [String: Any])
        switch service {
        case "apns": return (try PushMessage(payload), try client.destination(of: payload))
        case "fcm":
            let data = try #require(payload["data"] as? [String: String])
            return (try PushMessage(data), try client.destination(of: data))
        default:
            let text = String(decoding: try JSONSerialization.data(withJSONObject: payload), as: UTF8.self)
            return (try PushMessage(json: text), try client.destination(of: text))
        }
    }

    @Test(
        "A registered device gets pushes, finds their message, and gets none after signing out",
        .rows(121, 130), .needs(.standIns), arguments: ["apns", "fcm", "webpush"])
    func roundTrip(service: String) async throws {
        let standIn = try await PushStandIn.start(service)
        let push = try await PushServer.start([service: standIn])
        try await push.makeGroup("swift", members: ["alice", "bob"])
        let (alice, bob) = (try await Device.open(push.server, "alice"), try await Device.open(push.server, "bob"))
        try await bob.push.register(address(service, of: standIn))
        for await state in bob.push.states where state == .registered { break }
        await bob.setActive(false)
        // The server handles the change of activity before it answers the next request.
        _ = try await bob.push.preferences()
        let chat = alice.conversation(.group("swift"))
        let sent = try await chat.send(.text("hello"), push: PushOptions(data: #"{"a":"ä"}"#)).waitUntilSent()
        try await push.pushed()
        let (message, target) = try destination(service, #require(try await standIn.received().first), bob)
        #expect(target?.conversation == .group("swift") && target?.message == sent.id && target?.seq == sent.seq)
        #expect(target?.epoch == sent.epoch && target?.sender == "alice")
        #expect(message?.data == #"{"a":"ä"}"# && message?.kind == .message)
        try await chat.recall(sent.id)
        await alice.waitForOutbox()
        try await push.pushed()
        let recall = try destination(service, #require(try await standIn.received().last), bob).0
        #expect(recall?.kind == .recall && recall?.target.message == sent.id)
        #expect(try await bob.signOut(erasing: true).pushError == nil)
        _ = try await chat.send(.text("again")).waitUntilSent()
        try await push.pushed()
        #expect(try await standIn.received().count == 2)
        #expect(try await standIn.refused() == [])
        await alice.close()
        try await push.server.terminate()
    }

    @Test("Push preferences set on one device apply to other devices and to pushes", .rows(144, 145), .needs(.standIns))
    func preferences() async throws {
        let standIn = try await PushStandIn.start("apns")
        let push = try await PushServer.start(["apns": standIn])
        try await push.makeGroup("swift", members: ["alice", "bob"])
        let (phone, laptop) = (try await Device.open(push.server, "bob"), try await Device.open(push.server, "bob"))
        try await phone.push.register(address("apns", of: standIn))
        for await state in phone.push.states where state == .registered { break }
        let wanted = PushPreferences(language: "de", showsDetail: false)
        try await laptop.push.setPreferences(wanted)
        #expect(try await phone.push.preferences() == wanted)
        for device in [phone, laptop] { await device.close() }
        let alice = try await push.server.api("alice")
        try await eventually("a push reaches Bob, who is offline") {
            try #require(try await alice.send("secret", to: "group:swift").status == 201)
            try await push.pushed()
            return try await standIn.received().isEmpty ? nil : true
        }
        let payload = try #require(try await standIn.received().first?["payload"])
        let text = String(decoding: try JSONSerialization.data(withJSONObject: payload), as: UTF8.self)
        #expect(!text.contains("secret") && !text.contains("alice:"))
        #expect(try await standIn.refused() == [])
        try await push.server.terminate()
    }

    @Test("A server restored from an earlier backup gets the device's registration with the next connection")
    func restoredServerGetsRegistrationAgain() async throws {
        let server = try await RunningServer.start()
        let bob = try await Device.open(server, "bob")
        for await state in bob.connection where state == .online { break }
        let (backup, _) = try await server.backUp("yesterday")
        try await bob.push.register(.fcm("t"))
        for await state in bob.push.states where state == .registered { break }
        try await server.terminate()
        let restored = server.folder.appending(component: "restored")
        _ = try await RunningServer.restore(backup, to: restored)
        try server.replaceData(with: restored)
        try await server.start()
        try await eventually("the device is registered again") {
            try await server.api("bob").call("GET", "/v1/push/devices").json.objects("devices").count == 1 ? true : nil
        }
        await bob.close()
        try await server.terminate()
    }
}
