import ContractRows
import Foundation
import ScrollbackModel
import TestSupport
import Testing

/// Pushes from the real server to stand-ins that follow the services' published rules.
@Suite("Pushes to stand-ins", .timeLimit(.minutes(10)))
struct PushTests {
    private static let services = [
        "apns", "fcm", "webpush", "huawei", "harmonyos", "honor", "xiaomi", "oppo", "vivo",
    ]

    private func standIn(_ service: String, _ settings: [String: Any] = [:]) async throws -> PushStandIn {
        try await PushStandIn.start(service, settings: settings)
    }

    private func device(_ standIn: PushStandIn, _ service: String, count: Int = 1) async throws -> [[String: Any]] {
        let options = service == "webpush" ? ["applicationServerKey": PushServer.webKey.publicKey] : [:]
        return try await standIn.devices(count, options)
    }

    @Test(
        "Each service accepts messages of every kind and with every option, and no rule is violated",
        .rows(121, 122, 133, 134, 135, 136, 142), .needs(.standIns), arguments: services)
    func servicesAcceptEveryKindOfMessage(service: String) async throws {
        let standIn = try await standIn(service)
        let push = try await PushServer.start([service: standIn])
        try await push.makeGroup("swift", members: ["alice", "bob"])
        try await push.register("bob", service, device(standIn, service)[0])
        let alice = try await push.server.api("alice")
        let long = String(repeating: "Ä👩‍👩‍👧‍👦\\u0001", count: 900)
        let bodies = [
            #"{"type":"text","content":{"text":"hello"}}"#,
            #"{"type":"text","content":{"text":"\#(long)"}}"#,
            #"{"type":"text","content":{"text":"hi"},"mentions":{"users":["bob"],"pushText":"you!"}}"#,
            #"{"type":"image","content":{"url":"https://example.com/a.jpg"}}"#,
            #"{"type":"location","content":{"latitude":1,"longitude":2}}"#,
            #"{"type":"app:poll","content":{},"push":{"title":"Poll","text":"مرحبا 🎉","data":"{\"a\":1}"}}"#,
            """
            {"type":"text","content":{"text":"x"},"push":{"data":"\(String(repeating: "d", count: 4000))",\
            "hidesTitle":true,
             "ios":{"threadID":"t","collapseID":"c","imageURL":"https://example.com/a.png",\
            "interruption":"time-sensitive"},
             "android":{"notificationID":"9","fcm":{"collapseKey":"k","imageURL":"https://example.com/a.png",\
            "channel":"c"}}}}
            """,
            """
            {"type":"text","content":{"text":"x"},"push":{"android":{"huawei":{"channel":"c",\
            "imageURL":"https://example.com/a.png",
             "category":"IM","importance":"low"},"honor":{"imageURL":"https://example.com/a.png","importance":"normal"},
             "oppo":{"channel":"c"},"vivo":{"type":"system","category":"IM"}},
             "harmony":{"imageURL":"https://example.com/a.png","category":"IM"}}}
            """,
            #"{"type":"text","content":{"text":"x"},"push":{"ios":{"interruption":"critical"}}}"#,
            #"{"type":"text","content":{"text":"x"},"push":{"ios":{"interruption":"passive"}}}"#,
        ]
        for (index, body) in bodies.enumerated() {
            let id = UUID().uuidString.lowercased()
            let answer = try await alice.call(
                "POST", "/v1/conversations/group:swift/messages", #"{"id":"\#(id)","# + body.dropFirst())
            try #require(answer.status == 201, "\(answer)")
            try await eventually("push \(index)") { try await standIn.received().count == index + 1 ? true : nil }
        }
        #expect(try await standIn.refused() == [])
        let payload = try #require(try await standIn.received().first?["payload"])
        let text = String(decoding: try JSONSerialization.data(withJSONObject: payload), as: UTF8.self)
        #expect(text.contains("alice: hello"))
        // A push is counted after its response was read.
        try await push.pushed()
        #expect(
            try await push.server.metric(
                #"scrollback_pushes_total{service="\#(PushServer.name(service))",outcome="sent"}"#)
                == bodies.count)
        try await push.server.terminate()
    }

    @Test("OPPO pushes share requests, and an invalid ID is removed and does not delay others", .needs(.standIns))
    func oppoPushesShareRequests() async throws {
        let standIn = try await standIn("oppo")
        let push = try await PushServer.start(["oppo": standIn])
        let names = (0..<200).map { "user\($0)" }
        for (name, device) in zip(names, try await device(standIn, "oppo", count: names.count)) {
            try await push.register(name, "oppo", device)
        }
        // By its name, this user is in the middle of a batch.
        let mallory = "user10x"
        try await push.register(mallory, "oppo", ["token": "OPPO_CN_none"])
        try await push.makeGroup("swift", members: ["alice", mallory] + names)
        // Responses take as long as those of the distant service.
        try await standIn.fail(next: [["kind": "hangAfter", "seconds": 0.5, "count": 1000]])
        let alice = try await push.server.api("alice")
        try #require(try await alice.send("hello", to: "group:swift").status == 201)
        try await push.pushed()
        let tokens = try await standIn.received().compactMap { $0["token"] as? String }
        #expect(tokens.count == names.count && Set(tokens).count == names.count)
        #expect(try await standIn.refused() == ["target-value OPPO_CN_none"])
        let requests = try #require(try await standIn.counts().int("requests"))
        #expect(requests < names.count / 2, "\(requests)")
        let left = try await push.server.api(UserID(mallory)).call("GET", "/v1/push/devices").json.objects("devices")
        #expect(left.isEmpty)
        try await push.server.terminate()
    }

    @Test(
        "A user gets no pushes while the app is in the foreground, but gets them in the background", .needs(.standIns))
    func presence() async throws {
        let standIn = try await standIn("apns")
        let push = try await PushServer.start(["apns": standIn])
        try await push.makeGroup("swift", members: ["alice", "bob"])
        try await push.register("bob", "apns", device(standIn, "apns")[0])
        let bob = try await TestSocket.signedIn(push.server, "bob")
        let alice = try await push.server.api("alice")
        try #require(try await alice.send("1", to: "group:swift").status == 201)
        try await push.pushed()
        #expect(try await standIn.received().isEmpty)
        _ = try await bob.request(#""type":"activity","active":false"#)
        try await eventually("Bob is in the background") {
            try #require(try await alice.send("2", to: "group:swift").status == 201)
            try await push.pushed()
            return try await standIn.received().isEmpty ? nil : true
        }
        #expect(try await standIn.refused() == [])
    }

    /// OPPO's responses do not report such devices.
    @Test(
        "Devices that a service no longer knows are removed", .needs(.standIns),
        arguments: services.filter { $0 != "oppo" })
    func unknownDevicesAreRemoved(service: String) async throws {
        let standIn = try await standIn(service)
        let push = try await PushServer.start([service: standIn])
        try await push.makeGroup("swift", members: ["alice", "bob"])
        let devices = try await device(standIn, service, count: 2)
        for (index, device) in devices.enumerated() {
            try await push.register("bob", service, device, name: "device\(index)")
        }
        try await standIn.order("/devices/dead", ["tokens": [devices[0]["token"] ?? ""]])
        try #require(try await push.server.api("alice").send("hi", to: "group:swift").status == 201)
        try await push.pushed()
        let left = try await push.server.api("bob").call("GET", "/v1/push/devices").json.objects("devices")
        #expect(left.map { $0["device"] as? String } == ["device1"])
        #expect(try await standIn.received().count == 1)
        #expect(try await standIn.refused() == [])
    }

    /// Returns the identifier of a notification on the device. A later notification with the same identifier replaces
    /// it.
    private func name(_ service: String, _ notification: [String: Any]) throws -> String {
        let headers = notification["headers"] as? [String: String] ?? [:]
        let payload = try #require(notification["payload"] as? [String: Any])
        func member(_ path: String...) -> Any? {
            path.reduce(payload as Any?) { ($0 as? [String: Any])?[$1] }
        }
        let name: Any? =
            switch service {
            case "apns": headers["apns-collapse-id"]
            case "fcm": member("android", "notification", "tag")
            case "webpush": headers["topic"]
            case "huawei": member("android", "notification", "notify_id")
            case "harmonyos": member("payload", "notification", "notifyId")
            case "honor": member("android", "notification", "notifyId")
            case "xiaomi": member("notify_id")
            case "oppo": member("notification", "notify_id")
            default: member("notifyId")
            }
        return "\(try #require(name, "\(service)"))"
    }

    @Test(
        "A push replaces the notification with its identifier, which recalls share with their message",
        .rows(134, 137), .needs(.standIns), arguments: services)
    func replaced(service: String) async throws {
        let standIn = try await standIn(service)
        let push = try await PushServer.start([service: standIn])
        try await push.makeGroup("swift", members: ["alice", "bob"])
        try await push.register("bob", service, device(standIn, service)[0])
        let alice = try await push.server.api("alice")
        let messages = "/v1/conversations/group:swift/messages"
        func send(_ text: String, id: UUID = UUID(), named name: String?) async throws {
            let options = name.map { #","push":{"ios":{"collapseID":"\#($0)"},"android":{"notificationID":"\#($0)"}}"# }
            let body = API.message(text, id: id).dropLast() + (options ?? "") + "}"
            try #require(try await alice.call("POST", messages, String(body)).status == 201)
            try await push.pushed()
        }
        let id = UUID()
        // These two services replace notifications with an identifier of the sender, and withdraw those without one.
        try await send("oops", id: id, named: ["harmonyos", "xiaomi"].contains(service) ? "5" : nil)
        try #require(try await alice.call("DELETE", "\(messages)/\(id.uuidString.lowercased())").status < 300)
        try await push.pushed()
        try await send("again", named: nil)
        for text in ["1 : 0", "1 : 1"] { try await send(text, named: "7") }

        let received = try await standIn.received()
        try #require(received.count == 5)
        let texts = try received.map {
            String(decoding: try JSONSerialization.data(withJSONObject: $0["payload"] ?? ""), as: UTF8.self)
        }
        #expect(texts[1].contains("alice recalled a message") && !texts[1].contains("oops"))
        let names = try received.map { try name(service, $0) }
        #expect(names[0] == names[1])
        #expect(Set(names).count == 3 && names[3] == names[4], "\(names)")
        switch service {
        case "apns", "fcm": #expect(names[0] == id.uuidString.lowercased() && names[3] == "7")
        case "webpush": #expect(received.map { $0["replaces"] as? Int } == [nil, 1, nil, nil, 4])
        // All other services accept numbers.
        default: #expect(Int32(names[0]) ?? 0 > 0 && Int32(names[2]) ?? 0 > 0 && names[3] == "7", "\(names)")
        }
        #expect(try await standIn.refused() == [])
    }

    @Test(
        "A recalled message's notification is withdrawn if the service supports it", .needs(.standIns),
        arguments: ["harmonyos", "xiaomi"])
    func recallWithdrawsNotification(service: String) async throws {
        let standIn = try await standIn(service)
        let push = try await PushServer.start([service: standIn])
        try await push.makeGroup("swift", members: ["alice", "bob"])
        try await push.register("bob", service, device(standIn, service)[0])
        let alice = try await push.server.api("alice")
        let id = UUID()
        try #require(try await alice.send("oops", to: "group:swift", id: id).status == 201)
        try await push.pushed()
        let shown = try #require(try await standIn.received().first)
        // The service is down at the first request.
        try await standIn.order(
            "/faults",
            ["faults": [["kind": "status", "status": 503, "on": "revoke", "retryAfter": 1]], "mode": "next"])
        let path = "/v1/conversations/group:swift/messages/\(id.uuidString.lowercased())"
        try #require(try await alice.call("DELETE", path).status < 300)
        try await push.pushed()
        let revoked = try await standIn.list("/revoked")
        #expect(revoked.map { $0["token"] as? String } == [shown["token"] as? String])
        let payload = try #require(shown["payload"] as? [String: Any])
        let notification = (payload["payload"] as? [String: Any])?["notification"] as? [String: Any]
        let number = try #require((notification ?? payload)["notifyId"] ?? payload["notify_id"])
        #expect(revoked.first.map { "\($0["notification"] ?? "")" } == "\(number)")
        // No notification replaces it, but HarmonyOS gets an update of the badge.
        let rest = try await standIn.received().dropFirst()
        #expect(rest.count == (service == "harmonyos" ? 1 : 0))
        for push in rest {
            let payload = try JSONSerialization.data(withJSONObject: push["payload"] ?? "")
            let text = String(decoding: payload, as: UTF8.self)
            #expect(text.contains("setNum") && !text.contains("recalled"))
        }
        #expect(try await standIn.refused() == [])
    }

    @Test(
        "Credentials are neither in settings nor in the log, and an invalid change names its parameter",
        .needs(.standIns))
    func secrets() async throws {
        let standIn = try await standIn("apns")
        let push = try await PushServer.start(["apns": standIn])
        let key = try standIn.file("keyFile").split(separator: "\n")[1]
        let settings = try await push.admin.call("GET", "/v1/settings")
        #expect(!settings.text.contains(key))
        let keyID = try standIn.string("keyID")
        #expect(settings.text.contains(keyID))
        let wrong = try await push.admin.call(
            "PUT", "/v1/settings", #"{"push":{"services":{"apns":{"keyID":"x"}}}}"#)
        #expect(wrong.status == 422 && wrong.json.string("parameter") == "push.services.apns.topic")
        #expect(
            try await push.server.api("bob").call("PUT", "/v1/settings", #"{"push":{"services":{}}}"#).status == 403)
        #expect(!push.server.log.contains(key))
    }

    @Test(
        "Credentials from a file are used and reloaded, and are in no response, log or data directory",
        .needs(.standIns))
    func file() async throws {
        let standIn = try await standIn("apns")
        let push = try await PushServer.start(["apns": standIn], inFile: true)
        try await push.makeGroup("swift", members: ["alice", "bob"])
        try await push.register("bob", "apns", device(standIn, "apns")[0])
        let alice = try await push.server.api("alice")
        try #require(try await alice.send("hi", to: "group:swift").status == 201)
        try await push.pushed()
        #expect(try await standIn.received().count == 1)

        func shown() async throws -> [String: Any] {
            let settings = try await push.admin.call("GET", "/v1/settings").json
            let services = (settings.all["push"] as? [String: Any])?["services"] as? [String: Any]
            return services?["apns"] as? [String: Any] ?? [:]
        }
        #expect(try await shown()["source"] as? String == "file")
        let refused = try await push.admin.call(
            "PUT", "/v1/settings", #"{"push":{"services":{"apns":{"keyID":"x"}}}}"#)
        #expect(refused.status == 422 && refused.json.string("parameter") == "push.services.apns", "\(refused)")

        // A file that is half written or incomplete changes nothing and is logged once.
        let written = try Data(contentsOf: push.file)
        let members = try PushServer.credentials("apns", standIn).filter { $0.key != "topic" }
        let bad = try JSONSerialization.data(withJSONObject: ["push": ["services": ["apns": members]]])
        try bad.write(to: push.file)
        let fault = "The push credentials file \(push.file.path) is invalid: push.services.apns.topic is missing"
        try await eventually("the error is logged") { push.server.log.contains(fault) ? true : nil }
        try #require(try await alice.send("still", to: "group:swift").status == 201)
        try await push.pushed()
        #expect(try await standIn.received().count == 2)
        try Data(#"{"push":{"services":{}}}"#.utf8).write(to: push.file)
        try await eventually("the service is removed") { try await shown().isEmpty ? true : nil }
        #expect(push.server.log.components(separatedBy: fault).count == 2)

        let key = try #require(standIn.file("keyFile").split(separator: "\n").dropFirst().first)
        #expect(!push.server.log.contains(key))
        #expect(try await !push.admin.call("GET", "/v1/settings").text.contains(key))
        #expect(try await push.server.terminate() == 0)
        let files = try #require(FileManager.default.enumerator(atPath: push.server.data.path)?.allObjects as? [String])
        for name in files {
            // A directory has no contents.
            let data = FileManager.default.contents(atPath: push.server.data.appending(path: name).path)
            #expect(data?.range(of: Data(key.utf8)) == nil, "\(name)")
        }

        // A server does not start with an invalid file, which a settings file names here.
        try bad.write(to: push.file)
        let config = push.server.folder.appending(component: "settings.json")
        try JSONSerialization.data(withJSONObject: ["push": ["credentials": push.file.path]]).write(to: config)
        let arguments = ["serve", "--port", "0", "--data", push.server.data.path, "--config", config.path]
        let stopped = try RunningServer.run(arguments, name: "refused", folder: push.server.folder)
        #expect(try await stopped.waitForEnd() == 1)
        #expect(stopped.errorText.contains(fault) && !stopped.errorText.contains(key), "\(stopped.errorText)")
        // The command that the operator checks the file with.
        func doctor() async throws -> String {
            let process = try RunningServer.run(
                ["doctor", "--data", push.server.data.path, "--push-credentials", push.file.path], name: "doctor",
                folder: push.server.folder)
            _ = try await process.waitForEnd()
            return process.outputText
        }
        #expect(try await doctor().contains("failed   push credentials: \(fault)"))
        try written.write(to: push.file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: push.file.path)
        #expect(try await doctor().contains("ok       push credentials: apns"))
    }
}
