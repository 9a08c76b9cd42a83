import Foundation
import OfflineWeek
import Scrollback
import ScrollbackSync

/// An app that a test kills repeatedly: `offline-app queue|send SERVER STORE TOKEN COUNT PICTURE`.
///
/// `queue` adds the first COUNT messages of the ``OfflineWeek`` to the outbox, and continues where a killed run
/// stopped. `send` connects and exits when the outbox is empty. No product contains this executable.
@main
struct OfflineApp {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 7, let server = URL(string: arguments[2]), let count = Int(arguments[5]) else {
            print("usage: offline-app queue|send SERVER STORE TOKEN COUNT PICTURE")
            exit(64)
        }
        var configuration = ChatClient.Configuration(
            server: server, user: "alice", store: .directory(URL(filePath: arguments[3])), token: { arguments[4] })
        configuration.pace = nil
        configuration.uploadChunkSize = 64 << 10
        let client = try await ChatClient.open(configuration)
        if arguments[1] == "queue" {
            let week = OfflineWeek()
            for number in try await client.pendingCount()..<count {
                let chat = client.conversation(week.conversation(of: number))
                let metadata = week.metadata(number)
                switch week.item(number) {
                case .text(let text): try await chat.send(.text(text), metadata: metadata)
                case .image: try await chat.send(.image(.file(URL(filePath: arguments[6]))), metadata: metadata)
                case .file(let data):
                    try await chat.send(.file(.data(data, name: "file \(number).bin")), metadata: metadata)
                }
            }
        } else {
            client.connect()
            await client.waitForOutbox()
            let failed = try await client.core.store.read { reader in
                try reader.outbox().compactMap { item -> String? in
                    guard case .failed(let error) = item.state else { return nil }
                    return "\(item.conversation): \(error)"
                }
            }
            guard failed.isEmpty else {
                print(failed.joined(separator: "\n"))
                exit(1)
            }
        }
        await client.close()
        print("done")
    }
}
