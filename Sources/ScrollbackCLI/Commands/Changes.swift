import ArgumentParser
import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire

/// The argument that identifies a message of a conversation.
struct MessageArgument: ParsableArguments {
    @Argument(help: ArgumentHelp("The message: its ID, or seq:N with its sequence number.", valueName: "message"))
    var message: String

    /// Returns the message's ID.
    ///
    /// Requests the message if the argument is a sequence number.
    func id(in conversation: ConversationID, _ api: ServerAPI) async throws -> MessageID {
        try await Self.id(message, in: conversation, api)
    }

    static func id(_ text: String, in conversation: ConversationID, _ api: ServerAPI) async throws -> MessageID {
        guard text.hasPrefix("seq:") else { return try MessageID(text) }
        let point = try HistoryParameters.point(text, "message")
        let query = HistoryQuery(.around(point, before: 0, after: 0))
        guard let message = try await api.history(of: conversation, query).messages.first else {
            throw ChatError(.unknownMessage, "No visible message has the position \(text).", parameter: "message")
        }
        return message.id
    }
}

struct Edit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Edit the text of a message.",
        discussion: """
            With the demo community of `make run`, where seq:61 is a message of bob:
              scrollback edit group:albatross seq:61 "Tide is at 06:50!" --as bob
            """)

    @OptionGroup var conversation: ConversationArgument
    @OptionGroup var message: MessageArgument

    @Argument(help: "The new text.")
    var text: String

    @Option(name: .customLong("as"), help: "The sender of the message.", transform: ScrollbackCLI.user)
    var editor: UserID

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: editor)
            let id = try await message.id(in: conversation.id, api)
            let encryption = try connection.messageEncryption(for: editor)
            let edit = try encryption.seal(MessageEdit(.text(text)), of: id, by: editor, in: conversation.id)
            let edited = try await api.object("PATCH", ServerAPI.path(conversation.id, "/messages/\(id)")) {
                edit.writeMembers(to: &$0)
            } read: { (reader) throws(ChatError) in
                try Message(from: &reader)
            }
            Output.show(encryption.open(edited), json: connection.json)
        }
    }
}

struct React: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Add a reaction to a message or remove it.",
        discussion: """
            With the demo community of `make run`:
              scrollback react group:albatross seq:61 ⛵️ --as alice
              scrollback react group:albatross seq:61 ⛵️ --as alice --remove
            """)

    @OptionGroup var conversation: ConversationArgument
    @OptionGroup var message: MessageArgument

    @Argument(help: "The reaction: an emoji or another text of 1...128 bytes.")
    var value: String

    @Option(name: .customLong("as"), help: "The user who reacts.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "The type of the message action.")
    var type = MessageAction.reaction

    @Flag(help: "Remove the reaction.")
    var remove = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: user)
            let id = try await message.id(in: conversation.id, api)
            let path = ServerAPI.path(conversation.id, "/messages/\(id)/actions")
            if remove {
                let action = try await own(id, path, api)
                try await api.perform("DELETE", path + "/\(action.timetoken)")
                return show(action)
            }
            let action = try await api.object("POST", path) { writer in
                writer.field("type", type)
                writer.field("value", value)
            } read: { (reader) throws(ChatError) in
                try MessageAction(from: &reader)
            }
            show(action)
        }
    }

    private func show(_ action: MessageAction) {
        if connection.json {
            Output.json { action.writeMembers(to: &$0) }
        } else {
            Output.line("\(action.timetoken) \(action.sender) \(action.type) \(action.value)")
        }
    }

    /// Returns the user's own action with this type and value.
    private func own(_ id: MessageID, _ path: String, _ api: ServerAPI) async throws -> MessageAction {
        var cursor: String? = ""
        while let after = cursor {
            let page = after.isEmpty ? "?limit=100" : "?limit=100&cursor=\(after)"
            var found: [MessageAction] = []
            var next: String?
            try await api.object("GET", path + page) { (reader) throws(ChatError) in
                try reader.object { (name, value) throws(ChatError) in
                    switch name {
                    case "actions":
                        found = try value.list("actions", limit: 100) { (action) throws(ChatError) in
                            try MessageAction(from: &action)
                        }
                    case "cursor": next = try value.string()
                    default: try value.skip()
                    }
                }
            }
            if let action = found.first(where: { $0.sender == user && $0.type == type && $0.value == value }) {
                return action
            }
            cursor = next
        }
        throw ChatError(.unknownMessage, "\(user) has no \(type) \(value) on this message.", parameter: "value")
    }
}
