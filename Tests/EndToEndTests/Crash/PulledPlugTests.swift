import Foundation
import Scrollback
import Synchronization
import Testing

@Suite("The plug is pulled")
struct PulledPlugTests {
    @Test("Whatever was acknowledged is there once, at its place, however often the server is killed")
    func pulledPlug() async throws {
        let kills = Run.isLong ? 20 : 4
        let server = try await RunningServer.start()
        let groups = (0..<5).map { ConversationID.group(Identifier(stringLiteral: "plug\($0)")) }
        let users = (0..<50).map { UserID(stringLiteral: "sender\($0)") }
        let members = users.map { "\"\($0)\"" }.joined(separator: ",")
        for group in groups {
            let answer = try await server.admin().call(
                "PUT", "/v1/conversations/\(group)", "{\"members\":[\(members)]}")
            try #require(answer.status == 201)
        }
        var clients: [ChatClient] = []
        for user in users { clients.append(try await Device.open(server, user)) }

        let acknowledged = Acknowledged()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (number, client) in clients.enumerated() {
                let chat = client.conversation(groups[number % groups.count])
                tasks.addTask { [client] in
                    while !acknowledged.isOver {
                        let sending = try await chat.send(.text("\(client.user) \(UUID().uuidString)"))
                        acknowledged.add(try await sending.delivered())
                    }
                }
            }
            tasks.addTask { [clients] in
                for _ in 0..<kills {
                    try await Task.sleep(for: .milliseconds(Int64.random(in: 50...900)))
                    server.kill()
                    try await Task.sleep(for: .milliseconds(Int64.random(in: 0...300)))
                    try await server.start()
                    for client in clients { client.retryConnection() }
                }
                try await Task.sleep(for: .milliseconds(500))
                acknowledged.end()
            }
            try await tasks.waitForAll()
        }
        for client in clients { await client.flushed() }

        let messages = acknowledged.all
        #expect(messages.count > 500)
        for group in groups {
            let stored = try await Device.everything(in: group, of: server)
            let places = Dictionary(stored.map { ($0.id, $0.seq) }, uniquingKeysWith: { _, _ in -1 })
            #expect(places.count == stored.count, "a message is there twice")
            #expect(stored.map(\.seq) == Array(1...Int64(stored.count)), "places are not dense")
            for message in messages where message.conversation == group {
                #expect(places[message.id] == message.seq, "\(message.id) was acknowledged at \(message.seq)")
            }
        }
        for client in clients { await client.close() }
        try await server.terminate()
        let verified = try await RunningServer.command(["verify", server.data.path])
        #expect(verified.code == 0, "\(verified.output)")
    }
}

/// The messages servers said they have.
private final class Acknowledged: Sendable {
    private let messages = Mutex<[Message]>([])
    func add(_ message: Message) { messages.withLock { $0.append(message) } }
    var all: [Message] { messages.withLock { $0 } }

    private let over = Mutex(false)
    var isOver: Bool { over.withLock { $0 } }
    func end() { over.withLock { $0 = true } }
}
