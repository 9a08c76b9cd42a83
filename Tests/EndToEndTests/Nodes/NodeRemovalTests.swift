import Foundation
import ScrollbackModel
import ScrollbackPostgres
import Synchronization
import TestSupport
import Testing

/// Removals of a member while other users send messages through all nodes.
@Suite(.needs(.postgres), .needs(.nats))
struct NodeRemovalTests {
    private let database: PostgresDatabase
    private let url: PostgresURL
    private let senders: [UserID] = ["alice", "carol", "dave"]
    /// The number of messages from each sender for which a step waits.
    private let count = 10

    init() throws {
        database = try PostgresDatabase()
        url = try database.makeSchema()
    }

    private func make(_ group: String, _ members: [UserID], _ node: RunningServer) async throws {
        let names = members.map { "\"\($0)\"" }.joined(separator: ",")
        let answer = try await node.admin().call("PUT", "/v1/conversations/\(group)", "{\"members\":[\(names)]}")
        try #require(answer.status == 201)
    }

    @Test(.timeLimit(.minutes(20)))
    func `A removed member's device on another node receives all messages up to the removal, and nothing after it`()
        async throws
    {
        let nats = try await NATSServer.start()
        var nodes: [RunningServer] = []
        for _ in senders {
            let options = ["--store", url.text, "--bus", nats.url]
            nodes.append(try await RunningServer.start(RunningServer.withoutLimits + options))
        }
        try await make("group:crew", senders, nodes[0])
        try await make("group:other", ["alice", "bob"], nodes[0])
        let socket = try await TestSocket.signedIn(nodes[2], "bob")
        let load = Load()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            // Otherwise, the group waits for the senders after an error.
            defer { load.end() }
            for (node, sender) in zip(nodes, senders) {
                tasks.addTask { try await load.send(by: sender, through: node) }
            }
            for remover in nodes.indices {
                try await expectEnd(of: "group:crew", on: socket, removing: remover, nodes, load)
            }
            load.end()
            try await tasks.waitForAll()
        }
    }

    /// Adds bob, removes bob on one of the nodes, and checks what the device received of the group.
    private func expectEnd(
        of group: String, on socket: TestSocket, removing remover: Int, _ nodes: [RunningServer], _ load: Load
    ) async throws {
        let start = socket.frames.count
        let member = "/v1/conversations/\(group)/members/bob"
        let next = nodes[(remover + 1) % nodes.count]
        let added = try await next.admin().call("PUT", member, "{}")
        #expect(added.status == 201, "\(added)")
        try await eventually("the device receives messages") {
            try load.check()
            return socket.frames.count >= start + count ? true : nil
        }
        let removed = try await nodes[remover].admin().call("DELETE", member)
        #expect(removed.status == 204, "\(removed)")
        // All but the first of these are sent after the answer.
        try await load.wait(for: count + 1, of: senders)
        let end = try await next.api("bob").call("GET", "/v1/conversations/\(group)")
        let last = try #require(end.json.int("head"), "\(end)")

        // A node delivers the commits of all nodes in their order. So this message is the last of all.
        let marker = "marker \(remover)"
        #expect(try await nodes[remover].api("alice").send(marker, to: "group:other").status == 201)
        try await eventually("the device receives the marker") {
            try load.check()
            return socket.frames[start...].contains { Self.text(of: $0) == marker } ? true : nil
        }
        let frames = socket.frames[start...].filter { $0.string("conversation") == group }
        let seqs = frames.compactMap { Self.message(of: $0)?["seq"] as? Int }
        try #require(seqs.count >= count - 1)
        #expect(seqs == Array((last - seqs.count + 1)...last))
        #expect(frames.first?.string("role") == "member")
        #expect(frames.last?.string("role") == "none")
        #expect(frames.count == seqs.count + 2, "\(frames.map { $0.string("type") })")
    }

    private static func message(of frame: Members) -> [String: Any]? {
        frame.string("type") == "message" ? frame.all["message"] as? [String: Any] : nil
    }

    private static func text(of frame: Members) -> String? {
        (message(of: frame)?["content"] as? [String: Any])?["text"] as? String
    }
}

/// Users who send messages until the load ends.
private final class Load: Sendable {
    private struct State {
        var counts: [UserID: Int] = [:]
        var failure: (any Error)?
        var hasEnded = false
    }

    private let state = Mutex(State())

    func end() { state.withLock { $0.hasEnded = true } }

    /// - Throws: The error of the sender that failed first.
    func check() throws {
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Sends one message after the other.
    func send(by user: UserID, through node: RunningServer) async throws {
        do {
            let api = try await node.api(user)
            while !state.withLock({ $0.hasEnded }) {
                let answer = try await api.send("hello", to: "group:crew")
                guard answer.status == 201 else { throw ChildProcess.Failure(description: "\(answer)") }
                state.withLock { $0.counts[user, default: 0] += 1 }
            }
        } catch {
            state.withLock { $0.failure = $0.failure ?? error }
            throw error
        }
    }

    /// Waits until each user has sent more messages.
    func wait(for count: Int, of users: [UserID]) async throws {
        let before = state.withLock { $0.counts }
        try await eventually("each user has sent \(count) messages") {
            try self.check()
            let now = self.state.withLock { $0.counts }
            return users.allSatisfy { now[$0, default: 0] >= before[$0, default: 0] + count } ? true : nil
        }
    }
}
