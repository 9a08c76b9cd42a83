import Foundation
import Scrollback
import ScrollbackUI

/// Opens a client without a server, queues a message and a file, and reads them back, as an app does offline.
@main
struct OutsideApp {
    static func main() async throws {
        guard let server = URL(string: "http://127.0.0.1:9") else { return }
        let client = try await ChatClient.open(
            .init(
                server: server, user: "alice", store: .inMemory,
                token: { "a token from the app's backend" }))
        let chat = client.conversation(.direct("bob"))
        try await chat.send(.text("Hello from another package"))
        try await chat.send(.file(.data(Data("tides of November".utf8), name: "tides.txt")))
        for await view in chat.timeline().views {
            for case .pending(let message) in view.items {
                print("queued: \(message.content.text ?? message.content.media?.name ?? "")")
            }
            break
        }
        let list = RecentsModel(client.recents)
        while !list.isLoaded { await Task.yield() }
        print("listed: \(list.conversations.count)")
        await client.close()
    }
}
