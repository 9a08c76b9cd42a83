import ArgumentParser
import Foundation
import Scrollback
import ScrollbackWire

struct Listen: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print events as JSON objects, one per line, until interrupted.",
        discussion: """
            Reconnects automatically. Missed messages of direct conversations and groups are printed first, in order.
            """)

    @Option(name: .customLong("as"), help: "The user whose events to print.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "Receive all messages of this community channel or room. Can be repeated.")
    var subscribe: [String] = []

    @Option(help: "Stop after this number of events, at least 1 (default: no limit).")
    var count: Int?

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be at least 1.") }
    }

    func run() async throws {
        try await reporting {
            let client = try await connection.client(for: user, store: nil)
            let events = client.events
            var subscriptions: [Conversation.Subscription] = []
            for name in subscribe { subscriptions.append(client.conversation(try ConversationID(name)).subscribe()) }
            try await client.waitUntilOnline()
            Output.error("listening as \(user)")
            var left = count
            for await event in events {
                show(event)
                left = left.map { $0 - 1 }
                if left == 0 { break }
            }
            withExtendedLifetime(subscriptions) {}
            await client.close()
        }
    }

    private func show(_ event: ClientEvent) {
        Output.json { writer in
            switch event {
            case .message(let message):
                writer.field("event", "message")
                writer.key("message")
                writer.object { message.writeMembers(to: &$0) }
            case .transient(let message):
                writer.field("event", "transient")
                writer.key("message")
                writer.object { message.writeMembers(to: &$0) }
            case .changed(let message):
                writer.field("event", "changed")
                writer.key("message")
                writer.object { message.writeMembers(to: &$0) }
            case .read(let id, let user, let seq):
                writer.field("event", "read")
                writer.field("conversation", id)
                writer.field("user", user)
                writer.field("seq", seq)
            case .delivered(let id, let user, let seq):
                writer.field("event", "delivered")
                writer.field("conversation", id)
                writer.field("user", user)
                writer.field("seq", seq)
            case .member(let id, let user, let role):
                writer.field("event", "member")
                writer.field("conversation", id)
                writer.field("user", user)
                writer.field("role", role?.rawValue ?? "none")
            case .typing(let id, let user, let isTyping):
                writer.field("event", "typing")
                writer.field("conversation", id)
                writer.field("user", user)
                writer.field("isTyping", isTyping)
            case .conversation(let id, let isDeleted):
                writer.field("event", "conversation")
                writer.field("conversation", id)
                writer.field("deleted", isDeleted)
            case .invitation(let invitation):
                writer.field("event", "invitation")
                invitation.writeMembers(to: &writer)
            case .invitationEnded(let id):
                writer.field("event", "invitation")
                writer.field("conversation", id)
                writer.field("ended", true)
            case .presence(let user, let presence):
                writer.field("event", "presence")
                presence.writeMembers(of: user, to: &writer)
            case .missed(let count):
                writer.field("event", "missed")
                writer.field("count", count)
            }
        }
    }
}
