import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer

struct ClusterRotateSecret: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate-secret",
        abstract: "Let all nodes sign tokens with a new secret, without a restart.",
        discussion: """
            First, all nodes accept tokens of the new secret. About 20 seconds later, they sign with it. Tokens of the \
            old secret remain valid for --overlap more days. Then connections with such tokens are closed. Each node \
            writes the new secret and a new administrator token to its data directory.

            The command waits until the nodes sign with the new secret. If it is interrupted, they do so anyway. The \
            exit code is 1 if another rotation has just begun.

            A server without other nodes does the same within about 5 seconds.
            """)

    @Option(help: "The number of days for which tokens of the old secret remain valid, 0...366.")
    var overlap = SecretRotator.standardOverlapDays

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        try Token.check(overlap: overlap)
    }

    func run() async throws {
        try await reporting {
            let api = try connection.adminAPI()
            let rotation = try await api.object("POST", "/v1/admin/secret") {
                $0.field("overlapDays", overlap)
            } read: { (reader) throws(ChatError) in
                try JSONFields(reader.raw())
            }
            let delay = Double(rotation["delaySeconds"]) ?? 0
            // The times are whole seconds, and each node looks every two seconds whether it must replace its admin.key.
            try await Task.sleep(for: .seconds(delay + 4))
            if connection.json {
                Output.json { writer in
                    for name in ["key", "signsAt", "retiresAt"] { writer.field(name, rotation[name]) }
                }
            } else {
                Output.line(
                    "the secret \(rotation["key"]) signs tokens now; tokens of the old one are valid until "
                        + rotation["retiresAt"])
                Output.line("each node has a new administrator token in the file admin.key of its data directory")
            }
        }
    }
}
