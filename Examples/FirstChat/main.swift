import Foundation
import Scrollback

// The example of README.md: sends a message to a group and prints each new one until it is stopped.
// swift-format-ignore: NeverForceUnwrap
let client = try await ChatClient.open(
    .init(server: URL(string: "http://127.0.0.1:8080")!, user: "alice", store: .inMemory) {
        ProcessInfo.processInfo.environment["SCROLLBACK_TOKEN"] ?? ""
    })
client.connect()  // Returns immediately and reconnects automatically.

let chat = client.conversation(.group("albatross"))
try await chat.send(.text("Hello from Swift"))  // Returns when the message is stored on this device.

for await view in chat.timeline().views {  // Messages, pending sends and gaps, oldest first.
    guard case .message(let newest) = view.items.last else { continue }
    print("\(view.items.count) items, the newest from \(newest.sender): \(newest.text ?? "")")
}
