import ArgumentParser
import Scrollback
import ScrollbackModel
import ScrollbackWire

struct People: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Search the users of the server by name and ID.",
        discussion: """
            The setting `directory` decides whom a user finds. It is off by default: turn it on with `scrollback \
            settings --directory sharedConversations`.

            Example:
              scrollback people ali --as bob
            """)

    @Argument(help: "The beginnings of words of the name or the ID.")
    var text: String

    @Option(name: .customLong("as"), help: "The user who searches.", transform: ScrollbackCLI.user)
    var user: UserID

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: user)
            var cursor = ""
            repeat {
                let path = "/v1/users?text=\(ServerAPI.escape(text))&limit=100\(cursor)"
                let page = try await api.object("GET", path) { (reader) throws(ChatError) in
                    try SearchUsers.Answer(from: &reader)
                }
                for profile in page.elements {
                    if connection.json {
                        Output.json { profile.writeMembers(to: &$0) }
                    } else {
                        Output.line("\(profile.id)  \(profile.name ?? "")")
                    }
                }
                cursor = page.cursor.map { "&cursor=\(ServerAPI.escape($0))" } ?? ""
            } while !cursor.isEmpty
        }
    }
}
