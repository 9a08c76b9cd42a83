import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire

struct Read: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Mark conversations as read.",
        discussion: """
            Specify one or more conversations, all of a kind, or all. If one of several conversations fails, the \
            command continues with the others and exits with status 1.

            Examples:
              scrollback read group:swift --as alice
              scrollback read group:swift --as alice --seq 120
              scrollback read group:swift direct:bob --as alice
              scrollback read --kind direct --as alice
              scrollback read --all --as alice
            """)

    @Argument(
        help: "At most 100 conversations: direct:bob, group:swift, community:city/general or system:billing.",
        transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
    var conversations: [ConversationID] = []

    @Option(name: .customLong("as"), help: "The user who has read the conversations.", transform: ScrollbackCLI.user)
    var reader: UserID

    @Option(help: "The sequence number of the last read message (default: the newest). Only for one conversation.")
    var seq: Int64?

    @Option(help: "All conversations of this kind: direct, group, community or system.", transform: listedKind)
    var kind: ConversationKind?

    @Flag(help: "All conversations.")
    var all = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        let ways = [!conversations.isEmpty, kind != nil, all].count { $0 }
        guard ways == 1 else { throw ValidationError("Specify conversations, --kind or --all.") }
        guard conversations.count <= 100 else { throw ValidationError("Specify at most 100 conversations.") }
        if seq != nil, conversations.count != 1 { throw ValidationError("--seq requires exactly one conversation.") }
    }

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: reader)
            if conversations.isEmpty {
                try await readAll(api)
            } else if conversations.count == 1 {
                show(try await read(conversations[0], api))
            } else {
                try await readEach(api)
            }
        }
    }

    private func read(_ id: ConversationID, _ api: ServerAPI) async throws(ChatError) -> ReadSummary {
        let head = try await api.head(of: id)
        return try await api.object("PUT", ServerAPI.path(id, "/read")) { writer in
            writer.field("seq", seq ?? head.head)
            writer.field("epoch", head.state.epoch)
        } read: { (reader) throws(ChatError) in
            try ReadSummary(from: &reader)
        }
    }

    private func readEach(_ api: ServerAPI) async throws {
        var isWhole = true
        // Use one request for each conversation, so that a lost connection keeps the completed ones.
        for id in conversations {
            let answer: ReadResult
            do throws(ChatError) {
                answer = ReadResult(conversation: id, result: .success(try await read(id, api)))
            } catch {
                guard error.code != .unreachable else { throw error }
                answer = ReadResult(conversation: id, result: .failure(error))
                isWhole = false
            }
            show(answer)
        }
        if !isWhole { throw Exit.failed }
    }

    private func show(_ answer: ReadResult) {
        if connection.json {
            var writer = JSONWriter()
            answer.write(to: &writer)
            Output.json(writer)
        }
        switch answer.result {
        case .success(let summary):
            if !connection.json { Output.line("\(answer.conversation)  \(summary.displayText)") }
        case .failure(let error): Output.error("error: \(answer.conversation): \(error.message) (\(error.code))")
        }
    }

    private func readAll(_ api: ServerAPI) async throws(ChatError) {
        let count = try await api.object("POST", "/v1/read") { writer in
            if let kind { writer.field("kind", kind.rawValue) } else { writer.field("all", true) }
        } read: { (reader) throws(ChatError) in
            var count: Int64?
            try reader.object { (name, value) throws(ChatError) in
                if name == "read" { count = try value.integer() } else { try value.skip() }
            }
            return try count.required("read")
        }
        if connection.json {
            Output.json { $0.field("read", count) }
        } else {
            Output.line("read \(count) conversation\(count == 1 ? "" : "s")")
        }
    }

    private func show(_ summary: ReadSummary) {
        if connection.json { Output.json { summary.writeMembers(to: &$0) } } else { Output.line(summary.displayText) }
    }
}

extension ReadSummary {
    fileprivate var displayText: String { "read to \(readSeq), \(unread) unread, \(mentions) mentions" }
}

extension ServerAPI {
    func head(of id: ConversationID) async throws(ChatError) -> ConversationHead {
        try await object("GET", Self.path(id)) { (reader) throws(ChatError) in try ConversationHead(from: &reader) }
    }
}
