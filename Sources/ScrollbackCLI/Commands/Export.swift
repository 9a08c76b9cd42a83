import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Export a conversation, or all data of a user, as JSON lines.",
        discussion: """
            A conversation is exported from the oldest message to the newest, in the format of `scrollback import`. \
            The files of messages are not exported.

            With --user, the command exports all data of a user, one JSON object per line: profile, memberships, \
            messages, reactions, files with links, bans, mutes, receipts, blocked users, invitations and reports. The \
            last line contains the number of preceding lines.
            """)

    @Argument(
        help: "The conversation: direct:alice/bob, group:swift, community:city/general or room:lobby.",
        transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
    var conversation: ConversationID?

    @Option(help: "The user whose data to export, instead of a conversation.", transform: ScrollbackCLI.user)
    var user: UserID?

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard (conversation == nil) != (user == nil) else {
            throw ValidationError("Specify either a conversation or a user with --user.")
        }
    }

    func run() async throws {
        try await reporting {
            if let user { return try await connection.adminAPI().writeExport(about: user) }
            guard let conversation else { return }
            let api = try connection.adminAPI()
            let channel = conversation.part ?? conversation.target
            var progress: Progress?
            var count = 0
            try await api.forEachPage(of: conversation, HistoryQuery(.earliest, limit: 100, sort: .oldestFirst)) {
                page in
                if progress == nil { progress = Progress("exporting", total: Int(page.state.head)) }
                for message in page.messages where !message.isDeleted {
                    Output.json { writer in
                        writer.field("id", message.id)
                        writer.field("channel", channel)
                        writer.field("sender", message.sender)
                        writer.field("time", message.sentAt)
                        if message.type == .text { writer.field("text", message.text) }
                        writer.field("type", message.type)
                        writer.field("content", message.content?.json)
                        message.attributes.writeMembers(to: &writer)
                    }
                    count += 1
                }
                // The total is a position: deleted and expired messages are not exported.
                if let last = page.messages.last { progress?.show(Int(last.seq), "\(count) messages") }
                return true
            }
            progress?.finish(progress?.total ?? 0, "\(count) messages")
        }
    }
}

extension ServerAPI {
    func history(of id: ConversationID, _ query: HistoryQuery) async throws(ChatError) -> LogPage {
        try await object("GET", Self.path(id, "/messages?\(Self.query(query.parameters))")) {
            (reader) throws(ChatError) in try LogPage(from: &reader)
        }
    }

    /// Requests pages in the direction of the query's anchor, until `body` returns `false` or the history ends.
    func forEachPage(
        of id: ConversationID, _ query: HistoryQuery, _ body: (LogPage) -> Bool
    ) async throws(ChatError) {
        var query = query
        let readsForward = if case .after = query.anchor { true } else { false }
        while true {
            let page = try await history(of: id, query)
            guard body(page), let next = readsForward ? page.newer : page.older else { return }
            query.anchor = .cursor(next)
        }
    }
}
