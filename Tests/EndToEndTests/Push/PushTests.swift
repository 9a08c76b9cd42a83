import ContractRows
import Foundation
import ScrollbackModel
import Testing

/// Pushes from the real server to stand-ins that hold to the services' published rules.
@Suite("Pushes to the services' stand-ins", .timeLimit(.minutes(10)))
struct PushTests {
    private static let services = [
        "apns", "fcm", "webpush", "huawei", "harmonyos", "honor", "xiaomi", "oppo", "vivo",
    ]

    private func standIn(_ service: String, _ settings: [String: Any] = [:]) async throws -> PushStandIn? {
        try await PushStandIn.start(service, settings: settings)
    }

    private func device(_ standIn: PushStandIn, _ service: String, count: Int = 1) async throws -> [[String: Any]] {
        let options = service == "webpush" ? ["applicationServerKey": PushServer.webKey.publicKey] : [:]
        return try await standIn.devices(count, options)
    }

    @Test(
        "Messages of every kind and option are taken by each service, with no rule broken",
        .rows(121, 122, 133, 134, 135, 136, 142), arguments: services)
    func taken(service: String) async throws {
        guard let standIn = try await standIn(service) else { return }
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
            {"type":"text","content":{"text":"x"},"push":{"data":"\(String(repeating: "d", count: 4000))","hidesTitle":true,
             "ios":{"threadID":"t","collapseID":"c","imageURL":"https://example.com/a.png","interruption":"time-sensitive"},
             "android":{"notificationID":"9","fcm":{"collapseKey":"k","imageURL":"https://example.com/a.png","channel":"c"}}}}
            """,
            """
            {"type":"text","content":{"text":"x"},"push":{"android":{"huawei":{"channel":"c","imageURL":"https://example.com/a.png",
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
        #expect(
            try await push.server.metric(
                #"scrollback_pushes_total{service="\#(PushServer.name(service))",outcome="sent"}"#)
                == bodies.count)
        try await push.server.terminate()
    }

    @Test("Who looks at their app is pushed nothing; in the background they are, and who has read it is not")
    func presence() async throws {
        guard let standIn = try await standIn("apns") else { return }
        let push = try await PushServer.start(["apns": standIn])
        try await push.makeGroup("swift", members: ["alice", "bob"])
        try await push.register("bob", "apns", device(standIn, "apns")[0])
        let bob = try await TestSocket.signedIn(push.server, "bob")
        let alice = try await push.server.api("alice")
        try #require(try await alice.send("1", to: "group:swift").status == 201)
        try await push.pushed()
        #expect(try await standIn.received().isEmpty)
        _ = try await bob.request(#""type":"activity","active":false"#)
        try await eventually("bob is in the background") {
            try #require(try await alice.send("2", to: "group:swift").status == 201)
            try await push.pushed()
            return try await standIn.received().isEmpty ? nil : true
        }
        #expect(try await standIn.refused() == [])
    }

    /// OPPO's answers say nothing of them.
    @Test("Devices that a service no longer knows are forgotten", arguments: services.filter { $0 != "oppo" })
    func dead(service: String) async throws {
        guard let standIn = try await standIn(service) else { return }
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

    @Test("A message that is recalled takes the place of its notification", arguments: ["apns", "fcm"])
    func recalled(service: String) async throws {
        guard let standIn = try await standIn(service) else { return }
        let push = try await PushServer.start([service: standIn])
        try await push.makeGroup("swift", members: ["alice", "bob"])
        try await push.register("bob", service, device(standIn, service)[0])
        let alice = try await push.server.api("alice")
        let id = UUID()
        try #require(try await alice.send("oops", to: "group:swift", id: id).status == 201)
        try await push.pushed()
        let path = "/v1/conversations/group:swift/messages/\(id.uuidString.lowercased())"
        try #require(try await alice.call("DELETE", path).status < 300)
        try await push.pushed()
        let received = try await standIn.received()
        #expect(received.count == 2)
        let texts = try received.map {
            String(decoding: try JSONSerialization.data(withJSONObject: $0["payload"] ?? ""), as: UTF8.self)
        }
        #expect(texts.last?.contains("alice recalled a message") == true && texts.last?.contains("oops") == false)
        if service == "apns" {
            let collapse = received.map { ($0["headers"] as? [String: String])?["apns-collapse-id"] }
            #expect(collapse == [id.uuidString.lowercased(), id.uuidString.lowercased()])
        }
        #expect(try await standIn.refused() == [])
    }

    @Test("Credentials are shown to nobody, not in settings, not in the log, and what is wrong is named")
    func secrets() async throws {
        guard let standIn = try await standIn("apns") else { return }
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

    /// 10,000 pushes and 20 kills in long runs.
    @Test(
        "Pushes survive a server that is killed again and again, and a service that is busy, down, hangs and cuts off")
    func killed() async throws {
        // Pushed again before the service would like it: this service has other things to do.
        guard let standIn = try await standIn("apns") else { return }
        let push = try await PushServer.start(["apns": standIn])
        let (groups, people, kills) = Run.isLong ? (40, 250, 20) : (8, 60, 4)
        let names = (0..<people).map { "user\($0)" }
        let devices = try await standIn.devices(people)
        for (name, device) in zip(names, devices) { try await push.register(name, "apns", device) }
        for group in 0..<groups { try await push.makeGroup("g\(group)", members: ["alice"] + names) }
        let faults: [[String: Any]] = [
            ["kind": "status", "status": 429, "reason": "TooManyRequests", "retryAfter": 1],
            ["kind": "status", "status": 503, "reason": "ServiceUnavailable", "retryAfter": 1],
            ["kind": "hang", "seconds": 3], ["kind": "reset"], ["kind": "resetAfter"], ["kind": "goaway"],
            ["kind": "streamReset"],
        ]
        try await standIn.order("/faults", ["faults": faults, "mode": "random", "share": 0.1, "seed": 7])
        var generator = SplitMix64(seed: 11)
        var sent = 0
        for kill in 0...kills {
            let until = groups * (kill + 1) / (kills + 1)
            while sent < until {
                let alice = try await push.server.api("alice")
                try #require(try await alice.send("hello \(sent)", to: "group:g\(sent)").status == 201)
                sent += 1
            }
            guard kill < kills else { break }
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...400, using: &generator)))
            push.server.kill()
            try await push.server.start()
        }
        try await standIn.order("/faults", ["faults": []])
        try await push.pushed(within: 240)
        var count: [String: Int] = [:]
        for notification in try await standIn.received() {
            let payload = notification["payload"] as? [String: Any]
            let place = payload?["scrollback"] as? [String: Any]
            count["\(place?["conversation"] ?? "") \(place?["receiver"] ?? "")", default: 0] += 1
        }
        let missing = (0..<groups).flatMap { group in names.map { "group:g\(group) \($0)" } }.filter {
            count[$0] == nil
        }
        #expect(missing.isEmpty, "\(missing.count) are missing: \(missing.prefix(5))")
        let doubled = count.values.reduce(0) { $0 + $1 - 1 }
        print("pushed \(groups * people) over \(kills) kills: \(doubled) more than once, \(missing.count) never")
        // At most what was under way at a kill, and what a service took before it cut the connection.
        #expect(doubled <= (kills + 1) * 8 * 100 + groups * people / 4)
        #expect(try await standIn.refused() == [])
    }
}
