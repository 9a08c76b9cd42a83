import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import Synchronization
import Testing

/// What an operator watches of pushes: `scrollback_pushes_total` by service and outcome.
@Suite("Pushes in the metrics", .timeLimit(.minutes(5)))
struct PushMetricsTests {
    /// What a service may make of a push.
    private enum Answer {
        case good, refused, busy, gone
    }

    private func outcomes(_ push: PushServer, _ service: String) async throws -> [String: Int] {
        let text = try await push.admin.call("GET", "/metrics").text
        let beginning = #"scrollback_pushes_total{service="\#(PushServer.name(service))",outcome=""#
        let counts = text.split(separator: "\n").filter { $0.hasPrefix(beginning) }.map { line in
            let parts = line.dropFirst(beginning.count).split(separator: "\"} ")
            return (String(parts[0]), Int(parts[1]) ?? -1)
        }
        return Dictionary(counts, uniquingKeysWith: +)
    }

    private func expect(_ expected: [String: Int], _ push: PushServer, _ service: String) async throws {
        try await push.pushed()
        #expect(try await outcomes(push, service) == expected)
    }

    /// Everything that may come of a push, one after the other.
    ///
    /// - Parameter token: the device's.
    private func watch(
        _ push: PushServer, _ service: String, token: String,
        answering answer: (Answer, _ count: Int) async throws -> Void
    ) async throws {
        try await push.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await push.server.api("alice")
        func send() async throws {
            try #require(try await alice.send("hi", to: "group:swift").status == 201)
        }
        #expect(try await outcomes(push, service).isEmpty)
        try await answer(.good, 1)
        try await send()
        try await expect(["sent": 1], push, service)
        try await answer(.refused, 1)
        try await send()
        try await expect(["sent": 1, "refused": 1], push, service)
        // The operator's to mend: the log has the service's word, and nothing of the receiver's.
        let told = push.server.log.split(separator: "\n").filter { $0.contains("pushes are refused") }
        #expect(told.count == 1 && told.allSatisfy { $0.contains("service=\(PushServer.name(service))") }, "\(told)")
        #expect(!push.server.log.contains(token))
        // It is tried again and taken.
        try await answer(.busy, 1)
        try await send()
        try await expect(["sent": 2, "refused": 1, "later": 1], push, service)

        // What is tried for longer than a day is not tried any more: as if the server had been down that long.
        try await answer(.busy, 1_000)
        try await send()
        try await eventually("it is to be tried again") {
            try await outcomes(push, service)["later"] ?? 0 > 1 ? true : nil
        }
        #expect(try await push.server.terminate() == 0)
        try Self.age(push.server.data)
        try await push.server.start()
        try await expect(["expired": 1], push, service)

        try await answer(.gone, 1)
        try await send()
        try await expect(["expired": 1, "gone": 1], push, service)
        #expect(try await push.server.terminate() == 0)
    }

    /// What waits to be tried again was tried first two days ago.
    private static func age(_ data: URL) throws {
        let store = try SQLiteStore(directory: data)
        defer { try? store.close() }
        try store.write { store, _ in
            let retries = try store.pushRetries(dueBy: .distantFuture, limit: 10)
            #expect(retries.count == 1)
            for var retry in retries {
                try store.dropPushRetry(retry.number)
                retry.number = 0
                retry.firstTriedAt -= 2 * 86_400
                try store.put(&retry)
            }
        }
    }

    /// The reason of a refusal, where the first one of its status says something else.
    private static let refusals = ["apns": "BadTopic", "oppo": "41"]

    @Test(
        "What a service makes of each push is counted once under its name",
        arguments: ["apns", "fcm", "webpush", "huawei", "harmonyos", "honor", "xiaomi", "oppo", "vivo"])
    func standIns(service: String) async throws {
        guard let standIn = try await PushStandIn.start(service) else { return }
        let push = try await PushServer.start([service: standIn])
        let options = service == "webpush" ? ["applicationServerKey": PushServer.webKey.publicKey] : [:]
        let device = try #require(try await standIn.devices(1, options).first)
        try await push.register("bob", service, device)
        let token = try #require(device["token"] as? String)
        try await watch(push, service, token: token) { answer, count in
            switch answer {
            case .good: try await standIn.fail(next: [])
            case .refused:
                var fault: [String: Any] = ["kind": "status", "status": 400, "count": count]
                fault["reason"] = Self.refusals[service]
                try await standIn.fail(next: [fault])
            case .busy:
                try await standIn.fail(next: [
                    ["kind": "status", "status": 503, "retryAfter": 0, "count": count]
                ])
            case .gone where service == "oppo":
                // Of a device that is gone it says nothing, of an id that is none it does.
                try await standIn.fail(next: [["kind": "status", "status": 200, "reason": "10000"]])
            case .gone:
                try await standIn.fail(next: [])
                try await standIn.order("/devices/dead", ["tokens": [token]])
            }
        }
        #expect(try await standIn.refused() == [])
    }

    @Test("What the operator's own program makes of each push is counted as a service's")
    func webhook() async throws {
        let faults = Mutex((status: 200, count: 0))
        let receiver = WebhookReceiver { _ in
            faults.withLock { faults in
                guard faults.count > 0 else { return .answers("") }
                faults.count -= 1
                return .answers("", status: faults.status)
            }
        }
        try await receiver.start()
        let push = try await PushServer.start([:])
        try await push.set(["services": ["webhook": ["url": receiver.url, "secret": "0123456789abcdef"]]])
        try await push.register("bob", "webhook", ["token": "device-of-bob"])
        try await watch(push, "webhook", token: "device-of-bob") { answer, count in
            let status =
                switch answer {
                case .good: 200
                case .refused: 400
                case .busy: 503
                case .gone: 410
                }
            faults.withLock { $0 = (status, count) }
        }
        try await receiver.stop()
    }
}
