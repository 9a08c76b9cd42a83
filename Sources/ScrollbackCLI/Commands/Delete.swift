import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire

struct Delete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delete messages, for everyone or for one user; or a whole range of history.",
        discussion: """
            Messages are given by id or as seq:N. One's own are recalled, others' take a moderator; stubs stay. --for me \
            deletes them for that user alone. A range (--from, --to, or --all) takes the admin key and is final: what lies \
            in it is gone for everyone.

            Against the demo community of `make run`:
              scrollback delete group:albatross seq:61 --as bob
              scrollback delete group:albatross seq:1 seq:2 --as alice --for me
              scrollback delete community:harbour/weather --from seq:1 --to seq:101
            """)

    @OptionGroup var conversation: ConversationArgument

    @Argument(help: ArgumentHelp("The messages: ids, or seq:N.", valueName: "message"))
    var messages: [String] = []

    @Option(name: .customLong("as"), help: "Who deletes; not needed for a range.", transform: ScrollbackCLI.user)
    var user: UserID?

    @Option(name: .customLong("for"), help: "For whom: everyone, or me.")
    var audience = Audience.everyone

    @Option(help: "A range: from this anchor, included.")
    var from: String?

    @Option(help: "A range: to this anchor, excluded.")
    var to: String?

    @Flag(help: "Everything there is.")
    var all = false

    @OptionGroup var connection: ConnectionOptions

    enum Audience: String, ExpressibleByArgument, CaseIterable {
        case everyone, me
    }

    private var isRange: Bool { from != nil || to != nil || all }

    func validate() throws {
        if isRange, !messages.isEmpty { throw ValidationError("give messages, or a range, not both") }
        if isRange, audience == .me { throw ValidationError("a range is deleted for everyone: see clear for oneself") }
        if all, from != nil || to != nil { throw ValidationError("--all does not go with --from or --to") }
        if !isRange, messages.isEmpty {
            throw ValidationError("name messages, or a range with --from, --to or --all")
        }
        if !isRange, user == nil { throw ValidationError("--as says who deletes") }
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
        guard let user else { throw ChatError.invalidParameter("as", "is missing") }
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
        abstract: "Hide a conversation's history from one user, up to its newest message.",
        discussion: """
            Nobody else sees a difference. Against the demo community of `make run`:
              scrollback clear community:harbour/berths --as omar
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "From whom.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "Up to this place (default: the newest).")
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
