import ArgumentParser
import Foundation
import Scrollback
import ScrollbackWire
import Synchronization

struct Chat: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Talk in a conversation, live, in a terminal.",
        discussion:
            """
            Each line you type is sent. End with Ctrl-D. With --store, what you read and typed stays for next time.

            \(ChatInput.help)
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "Who you are.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "A directory for the client's store, which lasts between calls.")
    var store: String?

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let client = try await connection.client(for: user, store: store)
            client.connect()
            let chat = client.conversation(conversation.id)
            let subscription = chat.subscribe()
            let isJSON = connection.json
            let states = client.reportConnection()
            let printing = Task {
                var screen = ChatScreen(user: user)
                for await view in chat.timeline(at: .latest, window: 50).views {
                    if isJSON {
                        for message in screen.news(in: view) { Output.json { message.writeMembers(to: &$0) } }
                    } else {
                        for line in screen.lines(for: view) { Output.line(line) }
                    }
                    try? await chat.markRead()
                }
            }
            let typing = Task {
                for await users in chat.typing where !users.isEmpty {
                    let names = users.map(\.text).joined(separator: ", ")
                    Output.error("— \(names) \(users.count == 1 ? "is" : "are") typing —")
                }
            }
            for await line in Self.lines() where !line.isEmpty {
                do {
                    try await ChatInput(line).perform(in: chat, as: user)
                } catch {
                    Output.error("not sent: \(error)")
                }
            }
            await client.flushed()
            printing.cancel()
            typing.cancel()
            states.cancel()
            withExtendedLifetime(subscription) {}
            await client.close()
        }
    }

    /// The lines that are typed.
    ///
    /// Reading blocks, so it has a thread of its own.
    private static func lines() -> AsyncStream<String> {
        AsyncStream { continuation in
            let thread = Thread {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
            thread.start()
        }
    }
}
