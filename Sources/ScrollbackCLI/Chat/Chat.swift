import ArgumentParser
import Foundation
import Scrollback
import ScrollbackWire
import Synchronization

struct Chat: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Chat in a conversation in the terminal.",
        discussion:
            """
            Each line you type is sent as a message. Exit with Ctrl-D. With --store, messages remain for the next call.

            \(ChatInput.help)
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "The user to chat as.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "A directory for the client's local store (default: a temporary one).")
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
                        for message in screen.newMessages(in: view) { Output.json { message.writeMembers(to: &$0) } }
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
            await client.waitForOutbox()
            printing.cancel()
            typing.cancel()
            states.cancel()
            withExtendedLifetime(subscription) {}
            await client.close()
        }
    }

    /// The lines of standard input.
    ///
    /// Reading blocks, so it uses its own thread.
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
