import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Messages in 20 groups that the user `alice` misses, and that a client without a store reads.
struct MissedMessages {
    /// The number of messages that are missed at a time.
    let count: Int
    private let groups = 20
    private let bob: LoadClient

    /// Creates the groups.
    ///
    /// - Parameter server: The server to which the messages are sent.
    init(_ count: Int, on server: ServerProcess, _ tokens: Tokens) async throws {
        self.count = count
        let members = "{\"members\":[\"alice\",\"bob\"]}"
        let preparation = Preparation(server: server, admin: try await tokens.admin())
        for group in 0..<groups { try await preparation.call("PUT", "/v1/conversations/group:g\(group)", members) }
        bob = try await LoadClient(server.address, token: tokens.token("bob"), device: "bob")
    }

    func close() { bob.close() }

    /// Returns the ends of all logs.
    ///
    /// - Parameter token: A token of `alice`.
    func positions(_ address: URL, _ token: String) async throws -> [LogPosition] {
        let client = try await LoadClient(address, token: token, device: "heads")
        defer { client.close() }
        let body = await client.request(Subscribe((0..<groups).map { .group(Identifier(known: "g\($0)")) }))
        var reader = try JSONReader(body)
        var positions: [LogPosition] = []
        try reader.object { (name, value) throws(ChatError) in
            guard name == "heads" else { return try value.skip() }
            positions = try value.list("heads", limit: 100) { (head) throws(ChatError) in
                LogPosition(end: try ConversationHead(from: &head))
            }
        }
        return positions
    }

    /// Sends the messages.
    func send() async {
        await withTaskGroup(of: Void.self) { tasks in
            for group in 0..<groups {
                tasks.addTask { [bob, count, groups] in
                    var generator = SystemRandomNumberGenerator()
                    for _ in 0..<(count / groups) {
                        let submission = Submission(
                            id: MessageID(at: Date(), using: &generator),
                            content: .text(String(repeating: "x", count: 289)))
                        _ = await bob.request(
                            SendMessage(conversation: .group(Identifier(known: "g\(group)")), submission: submission))
                    }
                }
            }
        }
    }

    /// Connects and reads the messages.
    ///
    /// - Returns: The duration in seconds.
    func read(since positions: [LogPosition], from address: URL, _ token: String) async throws -> Double {
        let start = now()
        let client = try await LoadClient(address, token: token, device: "raw")
        defer { client.close() }
        let received = try await messages(missedSince: positions, client)
        let elapsed = now() - start
        guard received == count else { throw BenchError("\(received) of \(count) messages arrived") }
        return elapsed
    }

    /// Sends sync requests until no message is missing.
    ///
    /// One response has at most 512 KiB.
    private func messages(missedSince positions: [LogPosition], _ client: LoadClient) async throws -> Int {
        var count = 0
        var behind = positions
        while !behind.isEmpty {
            let body = await client.request(SyncConversations.logs(behind))
            var next: [LogPosition] = []
            var reader = try JSONReader(body)
            try reader.object { (name, value) throws(ChatError) in
                guard name == "logs" else { return try value.skip() }
                let answers = try value.list("logs", limit: 100) { (answer) throws(ChatError) in
                    try LogSyncResult(from: &answer)
                }
                (count, next) = try Self.advance(behind, by: answers, count)
            }
            behind = next
        }
        return count
    }

    /// Applies an answer to the positions that were requested.
    ///
    /// - Returns: The number of messages received so far, and the positions of the logs whose messages are incomplete.
    static func advance(
        _ behind: [LogPosition], by answers: [LogSyncResult], _ count: Int
    ) throws(ChatError) -> (count: Int, behind: [LogPosition]) {
        var count = count
        var next: [LogPosition] = []
        for (position, answer) in zip(behind, answers) {
            let page = try answer.result.get().page
            count += page.messages.count
            var reached = position
            reached.seq = max(position.seq, page.coverage.upper)
            if reached.seq < page.state.head { next.append(reached) }
        }
        return (count, next)
    }
}

extension LogPosition {
    /// The end of a log, when the head was created.
    init(end head: ConversationHead) {
        self.init(
            conversation: head.conversation, epoch: head.state.epoch, view: head.state.view, seq: head.head, rev: 0)
    }
}
