import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire

extension Scope: ExpressibleByArgument {}

struct Token: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print a token signed with the data directory's secret.",
        discussion: """
            With --rotate, a new secret signs this and all later tokens. Tokens of the old secret remain valid for \
            --overlap days. The administrator token is renewed. A running server loads the new secret automatically, \
            but nodes that share a database replace it by theirs. Use `scrollback cluster rotate-secret` for them.

            By default, a token has all scopes of a user. --scope limits it: read, write (messages), manage \
            (conversations and members), account (the user's own data). For a token that can only read and send \
            messages:
              scrollback token bot --scope read --scope write
            """)

    @Argument(help: "The user of the token.", transform: ScrollbackCLI.user)
    var user: UserID

    @Flag(help: "Create a token with the scope admin.")
    var admin = false

    @Option(help: "A scope of the token: read, write, manage or account. Can be repeated (default: all).")
    var scope: [Scope] = []

    @Option(help: "The lifetime of the token in days, 1...366, or 0 for no expiration (only with --admin).")
    var days = 30

    @Flag(help: "Create a new secret first.")
    var rotate = false

    @Option(help: "The number of days for which tokens of the old secret remain valid, 0...366.")
    var overlap = SecretRotator.standardOverlapDays

    @Option(help: "The data directory.")
    var data = "./scrollback-data"

    @Flag(help: "Print a JSON object.")
    var json = false

    private var scopes: Scopes { admin ? Scopes([.admin]) : scope.isEmpty ? .all : Scopes(Set(scope)) }

    func validate() throws {
        guard !admin || scope.isEmpty else { throw ValidationError("--admin can't be combined with --scope.") }
        guard (1...366).contains(days) || days == 0 && admin else {
            throw ValidationError("--days must be in 1...366, or 0 with --admin.")
        }
        try Self.check(overlap: overlap)
    }

    static func check(overlap: Int) throws {
        guard SecretRotator.overlapDays.contains(overlap) else {
            throw ValidationError("--overlap must be in \(SecretRotator.overlapDays).")
        }
    }

    func run() async throws {
        try await reporting {
            let directory = URL(filePath: data, directoryHint: .isDirectory)
            guard FileManager.default.fileExists(atPath: directory.appending(path: "secrets.json").path) else {
                throw ChatError.invalidParameter(
                    "data",
                    "has no secrets.json (\(directory.path)): start a server to create it, or use another --data"
                )
            }
            if rotate {
                var keys = try SigningKeys.open(in: directory)
                keys.rotate(overlap: Double(overlap) * 86_400)
                try keys.save(in: directory)
            }
            let tokens = try await TokenService(directory: directory)
            // The old administrator token would become invalid with the secret that signed it.
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
