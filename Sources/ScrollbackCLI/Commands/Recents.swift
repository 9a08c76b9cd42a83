import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire

struct Read: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Mark a conversation as read, up to its newest message.")

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "Who has read.", transform: ScrollbackCLI.user)
    var reader: UserID

    @Option(help: "Up to this place (default: the newest).")
    var seq: Int64?

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: reader)
            let head = try await api.object("GET", ServerAPI.path(conversation.id)) { (reader) throws(ChatError) in
                try ConversationHead(from: &reader)
            }
            let place = seq ?? head.head
            let summary = try await api.object("PUT", ServerAPI.path(conversation.id, "/read")) { writer in
                writer.field("seq", place)
                writer.field("epoch", head.state.epoch)
            } read: { (reader) throws(ChatError) in
                try ReadSummary(from: &reader)
            }
            if connection.json {
                Output.json { summary.writeMembers(to: &$0) }
            } else {
                Output.line("read to \(summary.readSeq), \(summary.unread) unread, \(summary.mentions) mentions")
            }
        }
    }
}

struct Recents: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List recent conversations with their unread counts.")

    @Option(name: .customLong("as"), help: "Whose.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "Only this kind: direct, group, community or system.")
    var kind: String?

    @Option(help: "How many, 1...100.")
    var limit = 20

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            var path = "/v1/conversations?limit=\(limit)"
            if let kind { path += "&kind=\(ServerAPI.escape(kind))" }
            let heads = try await connection.api(as: user).object("GET", path) { (reader) throws(ChatError) in
                var heads: [ConversationHead] = []
                try reader.object { (name, value) throws(ChatError) in
                    guard name == "conversations" else { return try value.skip() }
                    heads = try value.list("conversations", limit: 100) { (head) throws(ChatError) in
                        try ConversationHead(from: &head)
                    }
                }
                return heads
            }
            for head in heads {
                if connection.json {
                    var writer = JSONWriter()
                    head.write(to: &writer)
                    Output.line(writer.text)
                } else {
                    let unread = head.unread > 0 ? "\(head.unread) unread" : ""
                    let mentions = head.mentions > 0 ? "@\(head.mentions)" : ""
                    let last = head.lastMessage.map { "\($0.sender): \($0.words)" } ?? ""
                    let marks = [unread, mentions].filter { !$0.isEmpty }.joined(separator: " ")
                    Output.line("\(head.conversation)  \(marks)  \(last.replacing("\n", with: " ").prefix(100))")
                }
            }
        }
    }
}
