import ArgumentParser
import Foundation
import ScrollbackModel

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check the installation and explain how to fix problems.",
        discussion: """
            Checks this machine, the data directory (without modifying it), the keys of external token issuers, the \
            push credentials, and the server. The server checks cover readiness, clock, version, the administrator \
            token, the WebSocket upgrade, and the certificate of an https address. Each check is ok, a warning, \
            failed, or skipped.

            Exits with status 1 if a check failed. With --key-file or SCROLLBACK_ADMIN_KEY, the command skips the data \
            directory, because the server is on another machine.

            For a server started with `make run`, and for a server behind a proxy:
              scrollback doctor
              scrollback doctor --server https://chat.example.org --key-file admin.key
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(help: "The public keys of external token issuers, as for `serve` (default: SCROLLBACK_TOKEN_KEYS).")
    var tokenKeys: String?

    @Option(help: "The file with push credentials, as for `serve` (default: SCROLLBACK_PUSH_CREDENTIALS).")
    var pushCredentials: String?

    func run() async throws {
        try await reporting {
            var findings = SystemChecks.run()
            findings +=
                connection.hasKey
                ? [.skipped("data directory", "With an administrator token, the server is on another machine.")]
                : DirectoryChecks(directory: connection.directory).run()
            findings += await KeyChecks(place: tokenKeys).run()
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
