import ArgumentParser
import Foundation
import ScrollbackModel

struct AdminDeactivate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deactivate",
        abstract: "Deactivate a user.",
        discussion: "The user can't connect until `activate`. All of the user's data remains.")

    @Argument(help: "The user to deactivate.", transform: ScrollbackCLI.user)
    var user: UserID

    @OptionGroup var connection: ConnectionOptions

    func run() async throws { try await connection.setState(of: user, "deactivated") }
}

struct AdminActivate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activate", abstract: "Reactivate a deactivated user.")

    @Argument(help: "The deactivated user.", transform: ScrollbackCLI.user)
    var user: UserID

    @OptionGroup var connection: ConnectionOptions

    func run() async throws { try await connection.setState(of: user, "active") }
}

extension ConnectionOptions {
    fileprivate func setState(of user: UserID, _ state: String) async throws {
        try await reporting {
            let answer = try await adminAPI().object("PUT", "/v1/users/\(ServerAPI.escape(user))/state") {
                $0.field("state", state)
            } read: { (reader) throws(ChatError) in
                try reader.raw()
            }
            if json { Output.json(answer) } else { Output.line("\(user) is \(state)") }
        }
    }
}

struct AdminErase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Erase a user permanently.",
        discussion: """
            The user loses access immediately. A background job then removes the user's data, and this command waits \
            for it. Erasure can't be undone. To save the data first, run `scrollback export --user`.
            """)

    @Argument(help: "The user to erase.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(
        help: """
            What happens to the user's messages: keep them under the user's name, anonymize them with a random name, \
            or erase them and leave tombstones.
            """)
    var messages: MessageHandling

    enum MessageHandling: String, ExpressibleByArgument, CaseIterable {
        case keep, anonymize, erase
    }

    @Flag(help: "Confirm the erasure. Without this flag, the command does nothing.")
    var yes = false

    @Flag(help: "Print the job and exit without waiting for its end.")
    var detach = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            guard yes else {
                throw ChatError.invalidParameter(
                    "--yes",
                    "is required to erase \(user) with --messages \(messages.rawValue), which can't be undone")
            }
            let api = try connection.adminAPI()
            let path = "/v1/users/\(ServerAPI.escape(user))?messages=\(messages.rawValue)"
            var job = try await api.object("DELETE", path) { (reader) throws(ChatError) in try reader.raw() }
            var lastOutput = ContinuousClock.now
            var lastError = ""
            while !detach, case let fields = try JSONFields(job), fields["state"] != "done" {
                let isNewError = fields["error"] != lastError
                // The job may take long and retries failed steps, so print its progress and each new error.
                if isNewError || ContinuousClock.now - lastOutput > .seconds(5) {
                    Output.error(try AdminJob.displayText(job).printable)
                    (lastOutput, lastError) = (.now, fields["error"])
                }
                try await Task.sleep(for: .milliseconds(200))
                job = try await api.job(fields["id"])
            }
            if connection.json { Output.json(job) } else { Output.line(try AdminJob.displayText(job)) }
        }
    }
}

struct AdminJob: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "job", abstract: "Print the progress of a job.")

    @Argument(help: "The number of the job, which `erase` prints.")
    var id: Int

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let job = try await connection.adminAPI().job(String(id))
            if connection.json { Output.json(job) } else { Output.line(try Self.displayText(job)) }
        }
    }

    static func displayText(_ job: RawJSON) throws(ChatError) -> String {
        let fields = try JSONFields(job)
        let done = fields.object("done")
        return joined(
            "job \(fields["id"]) \(fields["state"])", "erase \(fields["user"])",
            "\(done?["messages"] ?? "0") messages in \(done?["conversations"] ?? "0") conversations",
            "\(done?["files"] ?? "0") files", fields["error"])
    }
}

extension ServerAPI {
    fileprivate func job(_ id: String) async throws(ChatError) -> RawJSON {
        try await object("GET", "/v1/admin/jobs/\(Self.escape(id))") { (reader) throws(ChatError) in
            try reader.raw()
        }
    }
}
