import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire

extension Scope: ExpressibleByArgument {}

struct Token: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print a token, signed by the data directory's secret.",
        discussion: """
            With --rotate a new secret is made first: it signs from now on, and tokens of the old one are accepted for \
            --overlap days more. The admin key is renewed with it. A running server takes the new secret over by itself.

            A token is good for all that its user may do, or with --scope for a part of it: read, write (messages), manage \
            (conversations and members), account (what is the user's own). For one that reads and sends and no more:
              scrollback token bot --scope read --scope write
            """)

    @Argument(help: "Who the token is for.", transform: ScrollbackCLI.user)
    var user: UserID

    @Flag(help: "A token with the admin scope.")
    var admin = false

    @Option(help: "What the token is good for, if not for all; once for each.")
    var scope: [Scope] = []

    @Option(help: "Days until it expires, 1...366 (default: 30); 0 for never, administrators only.")
    var days = 30

    @Flag(help: "Make a new secret first.")
    var rotate = false

    @Option(help: "Days for which tokens of the old secret are still accepted.")
    var overlap = 30

    @Option(help: "The data directory.")
    var data = "./scrollback-data"

    @Flag(help: "Print a JSON object.")
    var json = false

    private var scopes: Scopes { admin ? Scopes([.admin]) : scope.isEmpty ? .all : Scopes(Set(scope)) }

    func validate() throws {
        guard !admin || scope.isEmpty else { throw ValidationError("--admin is good for all: leave out --scope") }
        guard (1...366).contains(days) || days == 0 && admin else {
            throw ValidationError("--days must be in 1...366, or 0 with --admin")
        }
        guard (0...366).contains(overlap) else { throw ValidationError("--overlap must be in 0...366") }
    }

    func run() async throws {
        try await reporting {
            let directory = URL(filePath: data, directoryHint: .isDirectory)
            guard FileManager.default.fileExists(atPath: directory.appending(path: "secrets.json").path) else {
                throw ChatError.invalidParameter(
                    "data",
                    "has no secrets.json (\(directory.path)): start a server there once, or name its directory with --data"
                )
            }
            if rotate {
                var keys = try SigningKeys.open(in: directory)
                keys.rotate(overlap: Double(overlap) * 86_400)
                try keys.save(in: directory)
            }
            let tokens = try await TokenService(directory: directory)
            // The admin key is a token too, and would end with the secret that signed it.
            if rotate, AdminKey.exists(in: directory) { try await AdminKey.write(in: directory, tokens) }
            let token = try await tokens.token(
                for: user, scopes: scopes, lifetime: days == 0 ? nil : Double(days) * 86_400)
            if json {
                Output.json { writer in
                    writer.field("user", user)
                    writer.field("token", token)
                }
            } else {
                Output.line(token)
            }
        }
    }
}
