import ArgumentParser
import ScrollbackModel
import ScrollbackWire

struct Profile: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show a user's profile, or change your own.",
        discussion: """
            With the demo community of `make run`:
              scrollback profile --as alice
              scrollback profile mei --as alice
              scrollback profile --as alice --name Alicja
            """)

    @Argument(help: "The user whose profile to show.", transform: ScrollbackCLI.user)
    var other: UserID?

    @Option(name: .customLong("as"), help: "The user who shows or changes it.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "The new display name. An empty text removes it.")
    var name: String?

    @Option(help: "The new URL of the picture. An empty text removes it.")
    var avatar: String?

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard other == nil || name == nil && avatar == nil else {
            throw ValidationError("--name and --avatar change your own profile: leave out the user.")
        }
    }

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: user)
            let path = "/v1/users/\(ServerAPI.escape(other ?? user))"
            let change = ProfileChange(name: name, avatar: avatar)
            let isChange = change != ProfileChange()
            let profile = try await api.object(
                isChange ? "PUT" : "GET", path, body: isChange ? { change.writeMembers(to: &$0) } : nil
            ) { (reader) throws(ChatError) in try UserProfile(from: &reader) }
            if connection.json {
                Output.json { profile.writeMembers(to: &$0) }
            } else {
                Output.line([profile.id.text, profile.name, profile.avatar].compactMap(\.self).joined(separator: "  "))
            }
        }
    }
}
