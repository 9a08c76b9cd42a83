import ArgumentParser
import Scrollback
import ScrollbackModel
import ScrollbackWire

struct Pins: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the pinned messages of a conversation, or pin and unpin messages.",
        discussion: """
            A pinned message is pinned for everyone. To pin a conversation to the top of a list, use `scrollback pin`.

            With the demo community of `make run`:
              scrollback pins group:albatross --as alice
              scrollback pins group:albatross --add seq:61 --as alice
              scrollback pins group:albatross --remove seq:61 --as alice
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "The user who lists or pins messages.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: ArgumentHelp("Pin this message: its ID, or seq:N.", valueName: "message"))
    var add: String?

    @Option(help: ArgumentHelp("Unpin this message: its ID, or seq:N.", valueName: "message"))
    var remove: String?

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard add == nil || remove == nil else { throw ValidationError("Specify either --add or --remove.") }
    }

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: user)
            if let add {
                let id = try await MessageArgument.id(add, in: conversation.id, api)
                try await api.perform("POST", actions(on: id)) { writer in
                    writer.field("type", MessageAction.pin)
                    writer.field("value", MessageAction.pin)
                }
                show(id, isPinned: true)
            } else if let remove {
                let id = try await MessageArgument.id(remove, in: conversation.id, api)
                guard let pin = try await pin(of: id, api) else {
                    throw ChatError(.unknownMessage, "The message is not pinned.")
                }
                try await api.perform("DELETE", actions(on: id) + "/\(pin)")
                show(id, isPinned: false)
            } else {
                try await list(api)
            }
        }
    }

    private func actions(on id: MessageID) -> String { ServerAPI.path(conversation.id, "/messages/\(id)/actions") }

    private func show(_ id: MessageID, isPinned: Bool) {
        guard connection.json else { return Output.line("\(isPinned ? "pinned" : "unpinned") \(id)") }
        Output.json { writer in
            writer.field("id", id)
            writer.field("pinned", isPinned)
        }
    }

    /// Returns the time of the action that pins a message.
    private func pin(of id: MessageID, _ api: ServerAPI) async throws -> Timetoken? {
        var cursor: String?
        repeat {
            let page = try await api.object(
                "GET", actions(on: id) + "?limit=100" + (cursor.map { "&cursor=\($0)" } ?? "")
            ) { (reader) throws(ChatError) in try ListPage<MessageAction>(from: &reader) }
            if let pin = page.elements.first(where: { $0.type == MessageAction.pin }) { return pin.timetoken }
            cursor = page.cursor
        } while cursor != nil
        return nil
    }

    private func list(_ api: ServerAPI) async throws {
        let encryption = try connection.messageEncryption(for: user)
        var cursor = ""
        repeat {
            let path = ServerAPI.path(conversation.id, "/pins?limit=100\(cursor)")
            let page = try await api.object("GET", path) { (reader) throws(ChatError) in
                try ListPins.Answer(from: &reader)
            }
            for message in page.messages { Output.show(encryption.open(message), json: connection.json) }
            cursor = page.next.map { "&cursor=\($0)" } ?? ""
        } while !cursor.isEmpty
    }
}
