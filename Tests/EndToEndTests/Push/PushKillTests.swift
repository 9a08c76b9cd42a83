import Foundation
import ScrollbackModel
import TestSupport
import Testing

/// Pushes by a server that is killed repeatedly, to services with faults.
@Suite("Pushes while the server is killed", .serialized, .timeLimit(.minutes(20)))
struct PushKillTests {
    private static let services =
        ["apns", "webpush", "webhook"]
        + (Run.isLong ? ["fcm", "huawei", "harmonyos", "honor", "xiaomi", "oppo", "vivo"] : [])

    /// The numbers of groups, users and kills.
    private static func scale(_ service: String) -> (groups: Int, people: Int, kills: Int) {
        if Run.isLong { return (40, 250, 20) }
        return service == "apns" ? (8, 60, 4) : (4, 30, 2)
    }

    /// The maximum number of concurrent pushes of a server: pages of pushes, including second devices, and retries.
    private static let mostUnderWay = 8 * 110 + 200

    private func open(_ service: String) async throws -> any FaultyPushService {
        if service == "webhook" { return try await FaultyPushWebhook() }
        return try await FaultyStandIn(service)
    }

    @Test(
        "Each due push arrives, and duplicates result only from a kill or a cut connection", .needs(.standIns),
        arguments: services)
    func pushesSurviveServerKills(service name: String) async throws {
        let service = try await open(name)
        let (groups, people, kills) = Self.scale(name)
        let push = try await service.startServer()
        let names = (0..<people).map { "user\($0)" }
        // Every tenth user has a second device, which the service drops during the test.
        let losers = names.enumerated().filter { $0.offset % 10 == 0 }.map(\.element)
        let devices = try await service.devices(people + losers.count)
        let tokens = try devices.map { try #require($0["token"] as? String) }
        for (name, device) in zip(names, devices) { try await push.register(name, service.service, device) }
        for (name, device) in zip(losers, devices.dropFirst(people)) {
            try await push.register(name, service.service, device, name: "tablet")
        }
        for group in 0..<groups { try await push.makeGroup("g\(group)", members: ["alice"] + names) }

        try await service.setFaults(true)
        var generator = SplitMix64(seed: 11)
        var killedAt: [Double] = []
        var sent = 0
        for kill in 0...kills {
            if kill == kills / 2 { try await service.end(Array(tokens.dropFirst(people))) }
            let alice = try await push.server.api("alice")
            while sent < groups * (kill + 1) / (kills + 1) {
                try #require(try await alice.send("hello \(sent)", to: "group:g\(sent)").status == 201)
                sent += 1
            }
            guard kill < kills else { break }
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...400, using: &generator)))
            push.server.kill()
            killedAt.append(Date().timeIntervalSince1970)
            try await push.server.start()
        }
        try await service.setFaults(false)
        try await push.pushed(within: 240)

        let due = (0..<groups).flatMap { group in tokens.prefix(people).map { ($0, "group:g\(group)") } }
        let ledger = PushComparison(try await service.taken(), due: due, kills: killedAt)
        print(
            "\(name): \(due.count) pushes over \(kills) kills, \(ledger.again.reduce(0, +)) duplicates after a kill, "
                + "\(ledger.lost) after a cut connection, \(ledger.missing.count) missing")
        #expect(ledger.missing.isEmpty, "\(ledger.missing.count) are missing: \(ledger.missing.prefix(5))")
        #expect(ledger.unexplained.isEmpty, "\(ledger.unexplained.count): \(ledger.unexplained.prefix(5))")
        #expect(ledger.again.allSatisfy { $0 <= Self.mostUnderWay }, "\(ledger.again)")
        let broken = try await service.ruleViolations(killedAt)
        #expect(broken.isEmpty, "\(broken.count): \(broken.prefix(5))")
        guard service.reportsRemovedDevices else { return }
        for name in losers {
            let left = try await push.server.api(UserID(name)).call("GET", "/v1/push/devices").json.objects("devices")
            #expect(left.map { $0["device"] as? String } == ["phone"], "\(name)")
        }
    }
}
