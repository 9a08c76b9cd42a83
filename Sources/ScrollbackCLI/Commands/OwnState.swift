import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire

// Commands that change a user's own state in a conversation, which is the same on all of the user's devices.

struct Unread: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Mark a conversation as unread.",
        discussion: """
            The unread count does not change. `scrollback read` removes the marking.

            Example:
              scrollback unread group:swift --as alice
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "The user whose conversation to mark.", transform: ScrollbackCLI.user)
    var user: UserID

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            try await connection.change(conversation.id, "/unread", as: user) { _ in }
        }
    }
}

struct Pin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Pin a conversation to the top of a user's list.",
        discussion: """
            Examples:
              scrollback pin group:swift --as alice
              scrollback pin group:swift --off --as alice
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "The user whose list to change.", transform: ScrollbackCLI.user)
    var user: UserID

    @Flag(help: "Unpin the conversation.")
    var off = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            try await connection.change(conversation.id, "/settings", as: user) { $0.field("pinned", !off) }
        }
    }
}

struct Mute: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Mute a conversation's push notifications for a user.",
        discussion: """
            Messages still count as unread, in a separate total. To prevent a member from writing, a moderator uses \
            the HTTP API.

            Examples:
              scrollback mute group:swift --as alice
              scrollback mute group:swift --off --as alice
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "The user who mutes the conversation.", transform: ScrollbackCLI.user)
    var user: UserID

    @Flag(help: "Unmute the conversation.")
    var off = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            try await connection.change(conversation.id, "/settings", as: user) { $0.field("muted", !off) }
        }
    }
}

extension ConnectionOptions {
    /// Changes a user's own state in a conversation and prints the new state.
    fileprivate func change(
        _ id: ConversationID, _ path: String, as user: UserID, _ members: @escaping (inout JSONWriter) -> Void
    ) async throws {
        let api = try await api(as: user)
        let summary = try await api.object("PUT", ServerAPI.path(id, path), body: members) {
            (reader) throws(ChatError) in
            try ReadSummary(from: &reader)
        }
        if json { return Output.json { summary.writeMembers(to: &$0) } }
        var parts: [String] = []
        if summary.isPinned { parts.append("pinned") }
        if summary.isMuted { parts.append("muted") }
        if summary.isMarkedUnread { parts.append("marked unread") }
        parts += ["\(summary.unread) unread", "\(summary.mentions) mentions"]
        Output.line("\(id)  \(parts.joined(separator: ", "))")
    }
}
