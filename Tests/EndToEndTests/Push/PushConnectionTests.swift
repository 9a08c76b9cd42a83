import Foundation
import ScrollbackModel
import TestSupport
import Testing

/// Connections to Apple's service. The server opens a few, with many concurrent requests on each.
@Suite("Connections to Apple's service", .timeLimit(.minutes(5)))
struct PushConnectionTests {
    /// A server that has pushed to all members of `group:g0`, so that its connection is open.
    private struct Scene {
        let service: FaultyStandIn
        let push: PushServer
        let alice: API
        let tokens: [String]

        /// Starts a stand-in and a server, and pushes to `group:g0`.
        init(groups: Int, people: Int) async throws {
            let service = try await FaultyStandIn("apns")
            self.service = service
            push = try await service.startServer()
            alice = try await push.server.api("alice")
            let devices = try await service.devices(people)
            tokens = try devices.map { try #require($0["token"] as? String) }
            let names = (0..<people).map { "user\($0)" }
            for (name, device) in zip(names, devices) { try await push.register(name, "apns", device) }
            for group in 0..<groups { try await push.makeGroup("g\(group)", members: ["alice"] + names) }
            try await send(to: 0)
            try await push.pushed()
        }

        func send(to group: Int) async throws {
            try #require(try await alice.send("hello", to: "group:g\(group)").status == 201)
        }

        /// Returns the expected pushes if each of the groups got a message.
        func due(_ groups: Range<Int>) -> [(token: String, conversation: String)] {
            groups.flatMap { group in tokens.map { ($0, "group:g\(group)") } }
        }

        /// Returns the number of pushes over each connection, by the connection's number.
        func connections() async throws -> [Int: Int] {
            let numbers = try await service.standIn.received().map { try #require($0["connection"] as? Int) }
            return Dictionary(numbers.map { ($0, 1) }, uniquingKeysWith: +)
        }
    }

    @Test("A burst uses more than one and at most four connections, and sends each push once", .needs(.standIns))
    func burstUsesUpToFourConnections() async throws {
        // More pushes than the 200 concurrent requests on one connection before the server opens another one.
        let (groups, people) = (6, 64)
        let scene = try await Scene(groups: groups, people: people)
        #expect(try await scene.connections() == [1: people])
        try await scene.service.standIn.fail(next: [
            ["kind": "hangAfter", "seconds": 8, "count": (groups - 1) * people]
        ])
        for group in 1..<groups { try await scene.send(to: group) }
        try await scene.push.pushed()
        let ledger = PushComparison(try await scene.service.taken(), due: scene.due(0..<groups), kills: [])
        #expect(ledger.missing.isEmpty && ledger.lost == 0 && ledger.unexplained.isEmpty, "\(ledger)")
        let connections = try await scene.connections()
        #expect((2...4).contains(connections.count), "\(connections)")
        #expect(try await scene.service.ruleViolations([]) == [])
        try await scene.push.server.terminate()
    }

    @Test(
        "A connection that is closed is replaced, and no push is lost", .needs(.standIns),
        arguments: ["goaway", "reset"])
    func closedConnectionIsReplaced(how: String) async throws {
        let people = 60
        let scene = try await Scene(groups: 3, people: people)
        // The connection closes in the middle of a page: some requests wait for a response, others are not yet
        // accepted.
        let underWay = 20
        try await scene.service.standIn.fail(next: [
            // After a GOAWAY, the service sends the pending responses within a second.
            ["kind": "hangAfter", "seconds": how == "goaway" ? 0.5 : 30, "count": underWay], ["kind": how],
        ])
        try await scene.send(to: 1)
        try await scene.push.pushed()
        try await scene.send(to: 2)
        try await scene.push.pushed()
        let ledger = PushComparison(try await scene.service.taken(), due: scene.due(0..<3), kills: [])
        #expect(ledger.missing.isEmpty && ledger.unexplained.isEmpty, "\(ledger)")
        // Interrupted pushes are retried after the usual delay, and not only when their lease ends.
        let times = try await scene.service.taken().filter { $0.conversation == "group:g1" }.map(\.at)
        #expect((times.max() ?? .infinity) - (times.min() ?? 0) < 8)
        // After a GOAWAY, the server gets the pending responses. After a reset, it can't know which pushes were
        // accepted.
        #expect(ledger.lost == (how == "goaway" ? 0 : underWay))
        let connections = try await scene.connections()
        // A push that was in flight when the connection closed can still have used that connection.
        #expect(connections.keys.sorted() == [1, 2], "\(connections)")
        #expect(connections[1, default: 0] >= people + underWay, "\(connections)")
        #expect(connections.values.reduce(0, +) == 3 * people + ledger.lost, "\(connections)")
        #expect(try await scene.service.ruleViolations([]) == [])
        try await scene.push.server.terminate()
    }
}
