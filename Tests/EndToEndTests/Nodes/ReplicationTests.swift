import Foundation
import ScrollbackModel
import ScrollbackPostgres
import Synchronization
import TestSupport
import Testing

/// Nodes whose commits wait for the standby of PostgreSQL.
@Suite(.needs(.postgres), .needs(.nats))
struct ReplicationTests {
    private let names = ["n0", "n1"]
    private let messages = "/v1/conversations/group:crew/messages"

    /// Starts two nodes, whose sessions have their names.
    private func start(_ database: PostgresPair, _ nats: NATSServer) async throws -> [RunningServer] {
        var nodes: [RunningServer] = []
        for name in names {
            let options = [
                "--store", "\(try database.url.text)&application_name=\(name)", "--bus", nats.url, "--node-name", name,
            ]
            nodes.append(try await RunningServer.start(RunningServer.withoutLimits + options))
        }
        let made = try await nodes[0].admin().call("PUT", "/v1/conversations/group:crew", #"{"members":["alice"]}"#)
        try #require(made.status == 201)
        return nodes
    }

    /// Sends the message once.
    ///
    /// - Returns: The answer if it acknowledges the message.
    private func send(_ message: String, to node: RunningServer) async throws -> Answer? {
        // The time that the test needs until the standby continues is far shorter.
        let answer = try? await node.api("alice").call("POST", messages, bytes: Array(message.utf8), within: 600)
        guard let answer, answer.status < 300 else { return nil }
        return answer
    }

    @Test(.timeLimit(.minutes(30)))
    func `A retry is acknowledged only after the standby has the message, which is stored once`() async throws {
        let database = try await PostgresPair.start()
        let nats = try await NATSServer.start()
        let nodes = try await start(database, nats)
        let id = UUID()
        let message = API.message("hello", id: id)
        let acknowledgement = Acknowledgement()
        func waitForCommit(of name: String, using table: String) async throws {
            try await eventually("a commit of \(name) waits for the standby") {
                if let early = acknowledgement.answer {
                    throw ChildProcess.Failure(description: "The standby lacks the message, but \(name) sent \(early).")
                }
                return try database.hasWaitingCommit(of: name, using: table) ? true : nil
            }
        }

        try await database.pauseStandby()
        let first = Task { try await send(message, to: nodes[0]) }
        try await waitForCommit(of: names[0], using: "message")
        // The first node and its session end. The primary has the message, and the standby does not.
        nodes[0].kill()
        #expect(try await first.value == nil)
        try database.endWaitingCommits(of: names[0])
        #expect(try database.url.has("(SELECT count(*) FROM message) = 1"))

        let retry = Task {
            try await eventually("the retry is acknowledged", within: 600) {
                let answer = try await send(message, to: nodes[1])
                acknowledgement.answer = answer
                return answer
            }
        }
        defer { retry.cancel() }
        try await waitForCommit(of: names[1], using: "message")
        // The second node finds its own commit, but can't know either whether the standby has it.
        try database.endWaitingCommits(of: names[1])
        try await waitForCommit(of: names[1], using: "commitNote")

        try await database.continueStandby()
        let answer = try await retry.value
        #expect(answer.status == 200)
        #expect(answer.json.int("seq") == 1)
        try await database.failOver()
        let page = try await eventually("the node reads from the new primary") {
            let page = try? await nodes[1].api("alice").call("GET", messages)
            return page?.status == 200 ? page : nil
        }
        #expect(page.json.objects("messages").map { $0["id"] as? String } == [id.uuidString.lowercased()])
        #expect(try database.url.has("(SELECT count(*) FROM message) = 1"))
        #expect(try await nodes[1].terminate() == 0, "\(nodes[1].log)")
    }
}

/// The answer that acknowledges a message.
private final class Acknowledgement: Sendable {
    private let state = Mutex<Answer?>(nil)

    var answer: Answer? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
