import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire

struct Delete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delete messages or a range of history.",
        discussion: """
            Users can delete their own messages for everyone. Deleting messages of other users requires the moderator \
            role. Deleted messages leave tombstones. With --for me, the messages are deleted only for the user of --as.

            Deleting a range (--from, --to or --all) requires an administrator token. It removes the messages for \
            everyone and can't be undone.

            With the demo community of `make run`:
              scrollback delete group:albatross seq:61 --as bob
              scrollback delete group:albatross seq:1 seq:2 --as alice --for me
              scrollback delete community:harbour/weather --from seq:1 --to seq:101
            """)

    @OptionGroup var conversation: ConversationArgument

    @Argument(
        help: ArgumentHelp("The messages: their IDs, or seq:N with their sequence numbers.", valueName: "message"))
    var messages: [String] = []

    @Option(
        name: .customLong("as"), help: "The user who deletes the messages. Not needed for a range.",
        transform: ScrollbackCLI.user)
    var user: UserID?

    @Option(name: .customLong("for"), help: "Who no longer sees the messages: everyone or me.")
    var audience = Audience.everyone

    @Option(help: "The start of a range, inclusive: an anchor as for `history`.")
    var from: String?

    @Option(help: "The end of a range, exclusive: an anchor as for `history`.")
    var to: String?

    @Flag(help: "Delete the whole history of the conversation.")
    var all = false

    @OptionGroup var connection: ConnectionOptions

    enum Audience: String, ExpressibleByArgument, CaseIterable {
        case everyone, me
    }

    private var isRange: Bool { from != nil || to != nil || all }

    func validate() throws {
        if isRange, !messages.isEmpty { throw ValidationError("Specify either messages or a range.") }
        if isRange, audience == .me {
            throw ValidationError("A range is deleted for everyone. To hide history from one user, use clear.")
        }
        if all, from != nil || to != nil { throw ValidationError("--all can't be combined with --from or --to.") }
        if !isRange, messages.isEmpty {
            throw ValidationError("Specify messages, or a range with --from, --to or --all.")
        }
        if !isRange, user == nil { throw ValidationError("Specify the user who deletes the messages with --as.") }
    }

    func run() async throws {
        try await reporting {
            let count = isRange ? try await deleteRange() : try await deleteMessages()
            if connection.json {
                Output.json { $0.field("deleted", count) }
            } else {
                Output.line("\(count) deleted")
            }
        }
    }

    private func deleteRange() async throws -> Int64 {
        var query: [String] = []
        if let from { query.append("from=\(ServerAPI.escape(from))") }
        if let to { query.append("to=\(ServerAPI.escape(to))") }
        if all { query.append("all=true") }
        let path = ServerAPI.path(conversation.id, "/messages?" + query.joined(separator: "&"))
        return try await connection.adminAPI().object("DELETE", path, read: Self.count)
    }

    private func deleteMessages() async throws -> Int64 {
        guard let user else { throw ChatError.invalidParameter("as", "must be given") }
        let api = try await connection.api(as: user)
        var ids: [MessageID] = []
        for message in messages { ids.append(try await MessageArgument.id(message, in: conversation.id, api)) }
        let wanted = ids
        return try await api.object("POST", ServerAPI.path(conversation.id, "/messages/delete")) { writer in
            writer.key("ids")
            writer.array(wanted) { $0.value($1.description) }
            writer.field("for", audience.rawValue)
        } read: { (reader) throws(ChatError) in
            try Self.count(&reader)
        }
    }

    private static func count(_ reader: inout JSONReader) throws(ChatError) -> Int64 {
        var count: Int64?
        try reader.object { (name, value) throws(ChatError) in
            if name == "deleted" { count = try value.integer() } else { try value.skip() }
        }
        return try count.required("deleted")
    }
}

struct Clear: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Hide a conversation's history from one user.",
        discussion: """
            Other users still see the messages. With the demo community of `make run`:
              scrollback clear community:harbour/berths --as omar
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "The user whose view is cleared.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "The sequence number of the last hidden message (default: the newest message).")
    var seq: Int64?

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: user)
            let head = try await api.object("GET", ServerAPI.path(conversation.id)) { (reader) throws(ChatError) in
                try ConversationHead(from: &reader)
            }
            let place = seq ?? head.head
            let summary = try await api.object("PUT", ServerAPI.path(conversation.id, "/clear")) { writer in
                writer.field("seq", place)
                writer.field("epoch", head.state.epoch)
            } read: { (reader) throws(ChatError) in
                try ReadSummary(from: &reader)
            }
            if connection.json {
                Output.json { summary.writeMembers(to: &$0) }
            } else {
                Output.line("hidden up to \(place), \(summary.unread) unread")
            }
        }
    }
}
