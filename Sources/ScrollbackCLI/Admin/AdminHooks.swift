import ArgumentParser
import Foundation
import ScrollbackModel

struct AdminHooks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hooks", abstract: "Manage incoming webhooks, through which other programs post messages.",
        discussion: """
            A program posts the JSON of Slack's incoming webhooks to the URL of the webhook. Anyone who has the URL \
            can post, so keep it secret.

            Examples:
              scrollback admin hooks create alerts group:ops --user alertmanager
              scrollback admin hooks list
              scrollback admin hooks replace-secret alerts
              scrollback admin hooks delete alerts
            """,
        subcommands: [ListHooks.self, CreateHook.self, ReplaceHookSecret.self, DeleteHook.self])

    static func path(_ hook: String, _ rest: String = "") -> String {
        "/v1/admin/hooks/\(ServerAPI.escape(hook))\(rest)"
    }
}

struct ListHooks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the incoming webhooks, without their secrets.")

    @Option(help: "Only webhooks that post as this user.", transform: ScrollbackCLI.user)
    var user: UserID?

    @OptionGroup var list: ListOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let query = user.map { "?user=\(ServerAPI.escape($0))" } ?? ""
            try await connection.adminAPI().print("/v1/admin/hooks\(query)", "hooks", list, json: connection.json) {
                joined($0["hook"], $0["conversation"], "as \($0["user"])", $0["createdAt"])
            }
        }
    }
}

struct CreateHook: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Create an incoming webhook and print its URL, or change an existing one.",
        discussion: "The URL is printed only once. An existing webhook keeps its URL.")

    @Argument(help: "The ID of the webhook: 1 to 32 characters a-z, 0-9 and -.")
    var hook: String

    @OptionGroup var conversation: ConversationArgument

    @Option(
        help: "The sender of the messages, who must be allowed to send to the conversation.",
        transform: ScrollbackCLI.user)
    var user: UserID

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let path = try await connection.adminAPI().hookURL("PUT", AdminHooks.path(hook)) { writer in
                writer.field("conversation", conversation.id)
                writer.field("user", user)
            }
            try connection.printHook(hook, path, otherwise: "\(hook) is changed and keeps its URL")
        }
    }
}

struct ReplaceHookSecret: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replace-secret", abstract: "Give an incoming webhook a new URL; the earlier one stops working.")

    @Argument(help: "The ID of the webhook.")
    var hook: String

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let path = try await connection.adminAPI().hookURL("POST", AdminHooks.path(hook, "/secret"))
            try connection.printHook(hook, path, otherwise: hook)
        }
    }
}

struct DeleteHook: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete an incoming webhook; its messages stay.")

    @Argument(help: "The ID of the webhook.")
    var hook: String

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            try await connection.adminAPI().perform("DELETE", AdminHooks.path(hook))
            guard connection.json else { return Output.line("\(hook) is deleted") }
            Output.json { $0.field("hook", hook) }
        }
    }
}

extension ServerAPI {
    /// Sends a request that can create the URL of an incoming webhook, and returns the URL's path.
    fileprivate func hookURL(
        _ method: String, _ path: String, body: ((inout JSONWriter) -> Void)? = nil
    ) async throws(ChatError) -> String? {
        try await object(method, path, body: body) { (reader) throws(ChatError) in
            var url: String?
            try reader.object { (name, value) throws(ChatError) in
                if name == "url" { url = try value.string() } else { try value.skip() }
            }
            return url
        }
    }
}

extension ConnectionOptions {
    /// Prints the URL of an incoming webhook on this server.
    ///
    /// - Parameter text: What to print if the webhook has no new URL.
    fileprivate func printHook(_ hook: String, _ path: String?, otherwise text: String) throws {
        let base = try address.absoluteString
        let url = path.map { (base.hasSuffix("/") ? String(base.dropLast()) : base) + $0 }
        guard json else { return Output.line(url ?? text) }
        Output.json { writer in
            writer.field("hook", hook)
            writer.field("url", url)
        }
    }
}
