import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import Synchronization
import TestSupport
import Testing

/// The metric `scrollback_pushes_total`, which counts pushes by service and outcome.
@Suite("Push metrics", .timeLimit(.minutes(5)))
struct PushMetricsTests {
    /// The response of a service to a push.
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

    /// Causes every possible outcome of a push, one after the other.
    ///
    /// - Parameter token: The device's token.
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
        // The operator has to fix the cause. The log contains the service's reason and nothing about the recipient.
        let refusalLines = push.server.log.split(separator: "\n").filter {
            $0.contains("The push service refuses pushes")
        }
        #expect(
            refusalLines.count == 1 && refusalLines.allSatisfy { $0.contains("service=\(PushServer.name(service))") },
            "\(refusalLines)")
        #expect(!push.server.log.contains(token))
        // The push is retried and accepted.
        try await answer(.busy, 1)
        try await send()
        try await expect(["sent": 2, "refused": 1, "later": 1], push, service)

        // A push is retried for at most a day. This simulates that the server was down for longer.
        try await answer(.busy, 1_000)
        try await send()
        try await eventually("the push is queued for a retry") {
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

    /// Moves the first attempt of the queued retry two days into the past.
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

    /// The reason of a refusal, for services whose first reason with that status has another meaning.
    private static let refusals = ["apns": "BadTopic", "oppo": "41"]

    @Test(
        "The outcome of each push is counted once, under its service",
        .needs(.standIns),
        arguments: ["apns", "fcm", "webpush", "huawei", "harmonyos", "honor", "xiaomi", "oppo", "vivo"])
    func serviceOutcomesAreCounted(service: String) async throws {
        let standIn = try await PushStandIn.start(service)
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
                // OPPO reports an invalid ID but not a device that is gone.
                try await standIn.fail(next: [["kind": "status", "status": 200, "reason": "10000"]])
            case .gone:
                try await standIn.fail(next: [])
                try await standIn.order("/devices/dead", ["tokens": [token]])
            }
        }
        #expect(try await standIn.refused() == [])
    }

    @Test("The outcome of each push to a webhook is counted like a service's")
    func webhookOutcomesAreCounted() async throws {
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
