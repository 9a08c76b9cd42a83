import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire

// What a user sets in one conversation, on all of their devices; nobody else sees it.

struct Unread: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Mark a conversation as unread by hand, until it is read the next time.",
        discussion: """
            The counts stay as they are. `scrollback read` ends the mark.

            Example:
              scrollback unread group:swift --as alice
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "Whose mark.", transform: ScrollbackCLI.user)
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
        abstract: "Pin a conversation before the others in your list.",
        discussion: """
            Examples:
              scrollback pin group:swift --as alice
              scrollback pin group:swift --off --as alice
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "Whose list.", transform: ScrollbackCLI.user)
    var user: UserID

    @Flag(help: "Do not pin it any more.")
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
        abstract: "Mute a conversation for yourself: no push comes of it.",
        discussion: """
            What is unread is counted all the same, and counted apart. To keep somebody else from writing is a moderator's, \
            over HTTP.

            Examples:
              scrollback mute group:swift --as alice
              scrollback mute group:swift --off --as alice
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "Who wants no push.", transform: ScrollbackCLI.user)
    var user: UserID

    @Flag(help: "Do not mute it any more.")
    var off = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            try await connection.change(conversation.id, "/settings", as: user) { $0.field("muted", !off) }
        }
    }
}

extension ConnectionOptions {
    /// Changes a user's own state in a conversation, and says what it is then.
    fileprivate func change(
        _ id: ConversationID, _ path: String, as user: UserID, _ members: @escaping (inout JSONWriter) -> Void
    ) async throws {
        let api = try await api(as: user)
        let summary = try await api.object("PUT", ServerAPI.path(id, path), body: members) {
            (reader) throws(ChatError) in
            try ReadSummary(from: &reader)
        }
        if json { return Output.json { summary.writeMembers(to: &$0) } }
        var words: [String] = []
        if summary.isPinned { words.append("pinned") }
        if summary.isMuted { words.append("muted") }
        if summary.isMarkedUnread { words.append("marked unread") }
        words += ["\(summary.unread) unread", "\(summary.mentions) mentions"]
        Output.line("\(id)  \(words.joined(separator: ", "))")
    }
}
