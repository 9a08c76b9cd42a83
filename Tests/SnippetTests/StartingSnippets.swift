import Foundation
import Scrollback
import ScrollbackTesting
import Testing

/// The examples of the article on getting started.
@Suite("Examples: getting started")
struct StartingSnippets {
    func open(server: URL, folder: URL) async throws -> ChatClient {
        let client = try await ChatClient.open(
            .init(server: server, user: "alice", store: .directory(folder)) {
                try await backend.chatToken()
            })
        client.connect()
        return client
    }

    func connection(of client: ChatClient, show: Show<String>) async {
        for await state in client.connection {
            switch state {
            case .idle: show("not connected")
            case .connecting: show("connecting")
            case .online: show("online")
            case .waiting(let date): show("retrying at \(date)")
            case .rejected(let error): show("the server rejected this device: \(error.message)")
            }
        }
    }

    func firstMessage(client: ChatClient, show: Show<String>) async throws {
        let chat = client.conversation(.direct("bob"))
        try await chat.send(.text("hello"))
        for message in try await chat.history(limit: 20).messages {
            show("\(message.sender): \(message.text ?? "")")
        }
    }

    func names(typed text: String) throws -> ConversationID {
        let group = ConversationID.group("swift")  // Traps if the literal is invalid.
        let typed = try ConversationID.group(Identifier(text, parameter: "group"))  // Throws if the text is invalid.
        return typed == group ? group : typed
    }

    func recents(of client: ChatClient, show: Show<[String]>, badge: Show<Int64>) async {
        for await list in client.recents.views(limit: 50) {
            show(list.conversations.map { "\(list.title(of: $0)): \($0.unread)" })
            badge(list.totalUnread)
        }
    }

    func signOut(_ client: ChatClient, show: Show<String>) async throws {
        let report = try await client.signOut(erasing: true)
        if !report.unsent.isEmpty { show("\(report.unsent.count) messages were not sent") }
    }

    @Test("The connection state becomes online after connect")
    func connects() async throws {
        let server = try TestServer(users: ["alice"])
        let client = try await server.disconnectedClient("alice")
        var received: [String] = []
        let (stream, show) = AsyncStream.makeStream(of: String.self)
        let screen = Task { await connection(of: client) { show.yield($0) } }
        client.connect()
        for await text in stream {
            received.append(text)
            if text == "online" { break }
        }
        #expect(received.last == "online")
        await server.close()
        await screen.value
    }

    @Test("A first message appears in the history and in the recipient's list of recents")
    func sends() async throws {
        let stage = try await Stage()
        _ = try await stage.alice.conversation(.direct("bob")).send(.text("before")).waitUntilSent()
        var lines: [String] = []
        try await firstMessage(client: stage.alice) { lines.append($0) }
        #expect(lines.contains("alice: before"))
        await stage.alice.waitForOutbox()
        let (badges, badge) = AsyncStream.makeStream(of: Int64.self)
        let list = Task { await recents(of: stage.bob, show: { _ in }, badge: { badge.yield($0) }) }
        for await count in badges where count == 2 { break }
        await stage.server.close()
        await list.value
    }

    @Test("Invalid names throw an error")
    func checksNames() throws {
        #expect(try names(typed: "swift") == .group("swift"))
        #expect(throws: ChatError.self) { try names(typed: "") }
    }

    @Test("Signing out reports unsent messages")
    func signsOut() async throws {
        let stage = try await Stage()
        stage.server.goOffline("alice")
        try await stage.chat.send(.text("hello"))
        var received: String?
        try await signOut(stage.alice) { received = $0 }
        #expect(received == "1 messages were not sent")
        await stage.server.close()
    }
}
