import ArgumentParser
import Foundation
import ScrollbackModel

struct AdminDeactivate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deactivate",
        abstract: "Let a user come in no more, for now.",
        discussion: "Everything of theirs stays. `activate` lets them come back.")

    @Argument(help: "Who.", transform: ScrollbackCLI.user)
    var user: UserID

    @OptionGroup var connection: ConnectionOptions

    func run() async throws { try await connection.setState(of: user, "deactivated") }
}

struct AdminActivate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activate", abstract: "Let a user come in again who was deactivated.")

    @Argument(help: "Who.", transform: ScrollbackCLI.user)
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
        abstract: "Erase a user for good.",
        discussion: """
            They are shut out at once, and what is theirs is removed by a job, which this command waits for. It can't be \
            undone: without --yes it only says what it would do. `scrollback export --user` writes down first what is held.
            """)

    @Argument(help: "Who.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(
        help: """
            What becomes of what they said: keep it under their name, anonymize it under a random one, or erase it and \
            leave stubs.
            """)
    var messages: Fate

    enum Fate: String, ExpressibleByArgument, CaseIterable {
        case keep, anonymize, erase
    }

    @Flag(help: "Do it.")
    var yes = false

    @Flag(help: "Don't wait for the job's end.")
    var detach = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            guard yes else {
                throw ChatError.invalidParameter(
                    "--yes",
                    "is missing: this would erase \(user), with messages=\(messages.rawValue), and can't be undone")
            }
            let api = try connection.adminAPI()
            let path = "/v1/users/\(ServerAPI.escape(user))?messages=\(messages.rawValue)"
            var job = try await api.object("DELETE", path) { (reader) throws(ChatError) in try reader.raw() }
            var told = ContinuousClock.now
            var trouble = ""
            while !detach, case let fields = try JSONFields(job), fields["state"] != "done" {
                let isNewTrouble = fields["error"] != trouble
                // It may take long, and is tried again as often as it fails: whoever waits should see which it is.
                if isNewTrouble || ContinuousClock.now - told > .seconds(5) {
                    Output.error(try AdminJob.words(job).printable)
                    (told, trouble) = (.now, fields["error"])
                }
                try await Task.sleep(for: .milliseconds(200))
                job = try await api.job(fields["id"])
            }
            if connection.json { Output.json(job) } else { Output.line(try AdminJob.words(job)) }
        }
    }
}

struct AdminJob: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "job", abstract: "Print how far a job has come.")

    @Argument(help: "Its number, which `erase` prints.")
    var id: Int

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let job = try await connection.adminAPI().job(String(id))
            if connection.json { Output.json(job) } else { Output.line(try Self.words(job)) }
        }
    }

    static func words(_ job: RawJSON) throws(ChatError) -> String {
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
