import Foundation
import Scrollback

/// Opens a client without a server, queues a message, and reads it back: what an app does offline.
@main
struct OutsideApp {
    static func main() async throws {
        guard let server = URL(string: "http://127.0.0.1:9") else { return }
        let client = try await ChatClient.open(
            .init(
                server: server, user: "alice", store: .inMemory,
                token: { "the app's own server gives this" }))
        let chat = client.conversation(.direct("bob"))
        try await chat.send(.text("hello from outside"))
        for await view in chat.timeline().views {
            for case .pending(let message) in view.items { print("queued: \(message.content.text ?? "")") }
            break
        }
        await client.close()
    }
}
