import ArgumentParser
import Scrollback
import ScrollbackModel
import ScrollbackWire

struct Drafts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List a user's drafts, or store and delete one.",
        discussion: """
            Drafts are visible to their user only, on all of the user's devices.

            Examples:
              scrollback drafts --as alice
              scrollback drafts group:albatross --text "see you at" --as alice
              scrollback drafts group:albatross --delete --as alice
            """)

    @Argument(
        help: "The conversation of the draft to store or delete.",
        transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
    var conversation: ConversationID?

    @Option(name: .customLong("as"), help: "The user whose drafts these are.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "The text of the draft to store.")
    var text: String?

    @Flag(help: "Delete the draft.")
    var delete = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        let changes = [text != nil, delete].count { $0 }
        guard changes == (conversation == nil ? 0 : 1) else {
            throw ValidationError("Specify a conversation with either --text or --delete, or none of them.")
        }
    }

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: user)
            let encryption = try connection.messageEncryption(for: user)
            guard let conversation else { return try await list(api, encryption) }
            let draft = try text.map { try encryption.seal(draft: Draft($0).json, in: conversation) }
            let rev = try await api.object("PUT", "/v1/drafts/\(ServerAPI.escape(conversation))") {
                $0.field("draft", draft)
            } read: { (reader) throws(ChatError) in
                try PutDraft.Answer(from: &reader).rev
            }
            guard connection.json else { return Output.line(draft == nil ? "deleted" : "stored") }
            Output.json { $0.field("rev", rev) }
        }
    }

    private func list(_ api: ServerAPI, _ encryption: MessageEncryption) async throws {
        var cursor = ""
        while true {
            let page = try await api.object("GET", "/v1/drafts\(cursor)") { (reader) throws(ChatError) in
                try ListDrafts.Answer(from: &reader)
            }
            for synced in page.drafts {
                guard let json = synced.draft else { continue }
                let draft = try? encryption.open(draft: json, in: synced.conversation)
                if connection.json {
                    Output.json { writer in
                        writer.field("conversation", synced.conversation)
                        writer.field("draft", draft ?? json)
                    }
                } else {
                    Output.line("\(synced.conversation)  \(draft?.string(at: "text") ?? "(can't be decrypted)")")
                }
            }
            guard page.hasMore else { return }
            cursor = "?cursor=\(page.cursor)"
        }
    }
}
