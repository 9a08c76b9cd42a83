import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire

struct AdminUsers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "users", abstract: "List users, sorted by name.")

    @Option(help: "Only users whose names start with this text.")
    var prefix: String?

    @Option(help: "Only users in this state: active, deactivated, erasing or erased.")
    var state: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            var path = "/v1/admin/users?prefix=\(ServerAPI.escape(prefix ?? ""))"
            if let state { path += "&state=\(ServerAPI.escape(state))" }
            try await connection.adminAPI().print(path, "users", list, json: connection.json) { user in
                let ban = user.object("ban").map { "banned \($0["until"].isEmpty ? "" : "until \($0["until"])")" } ?? ""
                return joined(user["user"], user["name"], user["state"] == "active" ? "" : user["state"], ban)
            }
        }
    }
}

struct AdminConversations: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conversations", abstract: "List conversations, sorted by kind and name.")

    @Option(help: "Only conversations of this kind: direct, group, community, room or system.")
    var kind: String?

    @Option(help: "Only conversations whose first name component starts with this text.")
    var prefix: String?

    @Option(help: "Only conversations of this user.", transform: ScrollbackCLI.user)
    var user: UserID?

    @OptionGroup var list: ListOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            var query: [String] = []
            if let kind { query.append("kind=\(ServerAPI.escape(kind))") }
            if let prefix { query.append("prefix=\(ServerAPI.escape(prefix))") }
            if let user { query.append("user=\(ServerAPI.escape(user))") }
            let path = "/v1/admin/conversations" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
            try await connection.adminAPI().print(path, "conversations", list, json: connection.json) { row in
                joined(
                    row["conversation"], row["name"], "\(row["head"]) messages",
                    row["lastActivity"].isEmpty ? "" : "last \(row["lastActivity"])", row["standing"])
            }
        }
    }
}

struct AdminConnections: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connections", abstract: "List open connections, sorted by user and device.")

    @Option(help: "Only connections of this user.", transform: ScrollbackCLI.user)
    var user: UserID?

    @OptionGroup var list: ListOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let path = "/v1/admin/connections" + (user.map { "?user=\(ServerAPI.escape($0))" } ?? "")
            try await connection.adminAPI().print(path, "connections", list, json: connection.json) { row in
                joined(
                    row["user"], row["device"], "since \(row["since"])", "last active \(row["lastHeard"])",
                    "\(row["queuedBytes"]) bytes queued")
            }
        }
    }
}

struct AdminDisconnect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disconnect",
        abstract: "Close a user's connections.",
        discussion: "Clients reconnect automatically. To prevent that, deactivate or ban the user.")

    @Argument(help: "The user to disconnect.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "Only the connection of this device.")
    var device: String?

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let device = device.map { "/\(ServerAPI.escape($0))" } ?? ""
            let path = "/v1/admin/connections/\(ServerAPI.escape(user))\(device)"
            let count = try await connection.adminAPI().object("DELETE", path) { (reader) throws(ChatError) in
                var count: Int64?
                try reader.object { (name, value) throws(ChatError) in
                    if name == "closed" { count = try value.integer() } else { try value.skip() }
                }
                return try count.required("closed")
            }
            if connection.json {
                Output.json { $0.field("closed", count) }
            } else {
                Output.line("closed \(count) connections")
            }
        }
    }
}

struct AdminReports: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reports", abstract: "List reported messages, newest first.")

    @Option(help: "Only reports in this state: open or closed (default: both).")
    var state: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let path = "/v1/reports" + (state.map { "?state=\(ServerAPI.escape($0))" } ?? "")
            try await connection.adminAPI().print(path, "reports", list, json: connection.json) { report in
                let message = report.object("message")
                return joined(
                    "\(report["number"]) \(report["state"])", report["conversation"], report["reason"],
                    "\(report["reporter"]): \(report["text"])",
                    "\(message?["sender"] ?? ""): \((message?["content"] ?? "").prefix(200))")
            }
        }
    }
}

struct AdminClose: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "close", abstract: "Close or reopen a report.")

    @Argument(help: "The number of the report.")
    var number: Int

    @Option(help: "A note about the outcome, visible to administrators.")
    var note: String?

    @Flag(help: "Reopen the report.")
    var reopen = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let report = try await connection.adminAPI().object("PUT", "/v1/reports/\(number)") { writer in
                writer.field("state", reopen ? "open" : "closed")
                writer.field("note", note)
            } read: { (reader) throws(ChatError) in
                try reader.raw()
            }
            if connection.json {
                Output.json(report)
            } else {
                Output.line("report \(number) is \(reopen ? "open" : "closed")")
            }
        }
    }
}
