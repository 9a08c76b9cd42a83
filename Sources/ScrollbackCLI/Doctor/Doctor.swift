import ArgumentParser
import Foundation
import ScrollbackModel

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check the set-up, and say what is wrong and how to mend it.",
        discussion: """
            Looks at this machine, at the data directory (it reads, and changes nothing), at the keys that tokens of others \
            are checked by, at the credentials of push services, and at the server: whether it is ready, its clock, its \
            version, the admin key, the WebSocket upgrade that some proxies don't pass, and the certificate where the \
            address is https. Each check is ok, a warning, failed, or skipped with a reason.

            It exits with 1 if a check failed. With --key, for a server on another machine, the data directory is left out.

            Beside `make run`, and through a proxy:
              scrollback doctor
              scrollback doctor --server https://chat.example.org --key "$KEY"
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(help: "Public keys of others who sign tokens, as `serve` has them (default: SCROLLBACK_TOKEN_KEYS).")
    var tokenKeys: String?

    @Option(help: "Credentials of push services, as `serve` has them (default: SCROLLBACK_PUSH_CREDENTIALS).")
    var pushCredentials: String?

    func run() async throws {
        try await reporting {
            var findings = SystemChecks.run()
            findings +=
                connection.key == nil
                ? DirectoryChecks(directory: connection.directory).run()
                : [.skipped("data directory", "with --key the server is on another machine")]
            findings += await KeyChecks(path: tokenKeys).run()
            findings += PushChecks(path: pushCredentials).run()
            findings += await ServerChecks(address: try connection.address, token: try? connection.adminToken()).run()
            report(findings)
            if findings.contains(where: { $0.outcome == .failed }) { throw Exit.failed }
        }
    }

    private func report(_ findings: [Finding]) {
        func count(_ outcome: Finding.Outcome) -> Int { findings.count { $0.outcome == outcome } }
        for finding in findings {
            if connection.json {
                Output.json { finding.writeMembers(to: &$0) }
            } else {
                let outcome = finding.outcome.rawValue.padding(toLength: 7, withPad: " ", startingAt: 0)
                Output.line("\(outcome)  \(finding.check): \(finding.detail)")
                if let fix = finding.fix { Output.line("         → \(fix)") }
            }
        }
        if connection.json {
            Output.json { writer in
                writer.field("checks", findings.count)
                writer.field("failed", count(.failed))
                writer.field("warnings", count(.warning))
                writer.field("skipped", count(.skipped))
            }
        } else {
            Output.line(
                "\(findings.count) checks: \(count(.ok)) ok, \(count(.warning)) warnings, \(count(.failed)) failed, "
                    + "\(count(.skipped)) skipped")
        }
    }
}
