import ArgumentParser
import Foundation
import ScrollbackModel

struct AdminDeliveries: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries", abstract: "List the deliveries of events to a webhook, newest first.")

    enum State: String, ExpressibleByArgument, CaseIterable {
        case pending, delivered
    }

    @Argument(help: "The webhook: a name in webhooks.subscriptions, or after.")
    var webhook: String

    @Option(help: "Only pending or only delivered events.")
    var state: State?

    @OptionGroup var list: ListOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let query = state.map { "?state=\($0.rawValue)" } ?? ""
            try await connection.adminAPI().print(
                "/v1/webhooks/\(ServerAPI.escape(webhook))/deliveries\(query)", "deliveries", list,
                json: connection.json
            ) { entry in
                joined(
                    entry["number"], entry["state"], entry["event"], entry["conversation"],
                    entry["seq"].isEmpty ? "" : "seq \(entry["seq"])",
                    entry["attempts"] == "1" ? "1 attempt" : "\(entry["attempts"]) attempts", entry["attemptedAt"],
                    entry["error"])
            }
        }
    }
}

struct AdminReplay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Send delivered events to a webhook again.",
        discussion: "The numbers are those of `scrollback admin deliveries`.")

    @Argument(help: "The webhook: a name in webhooks.subscriptions, or after.")
    var webhook: String

    @Option(help: "The number of the first delivery.")
    var from: Int64

    @Option(help: "The number of the last delivery (default: only the first).")
    var through: Int64?

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let api = try connection.adminAPI()
            var count: Int64 = 0
            var next: Int64? = from
            while let first = next {
                let path = "/v1/webhooks/\(ServerAPI.escape(webhook))/replay"
                let answer = try await api.object("POST", path) { writer in
                    writer.field("from", first)
                    writer.field("through", through ?? from)
                } read: { (reader) throws(ChatError) in
                    var (count, next): (Int64, Int64?) = (0, nil)
                    try reader.object { (key, value) throws(ChatError) in
                        switch key {
                        case "count": count = try value.integer()
                        case "next": next = try value.null() ? nil : value.integer()
                        default: try value.skip()
                        }
                    }
                    return (count, next)
                }
                count += answer.0
                next = answer.1
            }
            if connection.json {
                Output.json { writer in
                    writer.field("webhook", webhook)
                    writer.field("count", count)
                }
            } else {
                Output.line("\(count) \(count == 1 ? "event is" : "events are") sent to \(webhook) again")
            }
        }
    }
}
