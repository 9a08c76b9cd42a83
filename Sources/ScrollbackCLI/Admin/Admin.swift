import ArgumentParser
import Foundation
import ScrollbackModel

struct Admin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Manage users, connections, bans, reports, scheduled messages, erasure and webhooks.",
        discussion: """
            Every command requires an administrator token: the one of --key-file, of SCROLLBACK_ADMIN_KEY, or of the \
            data directory.

            For a server started with `make run`:
              scrollback admin users
              scrollback admin ban mallory --for 7d --reason "spam"
              scrollback admin erase mallory --messages anonymize --yes
            """,
        subcommands: [
            AdminUsers.self, AdminConversations.self, AdminConnections.self, AdminDisconnect.self,
            AdminDeactivate.self, AdminActivate.self, AdminBan.self, AdminUnban.self, AdminBans.self,
            AdminReports.self, AdminClose.self, AdminErase.self, AdminJob.self, AdminDeliveries.self, AdminReplay.self,
            AdminAudit.self, AdminScheduled.self, AdminHooks.self,
        ])
}

/// The options of commands that print a list.
struct ListOptions: ParsableArguments {
    @Option(help: "The maximum number of entries, at least 1 (default: no limit).")
    var limit: Int?

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1.") }
    }
}

extension ServerAPI {
    /// Prints the elements of a paged list, either as JSON or as one line of text each.
    func print(
        _ path: String, _ name: String, _ options: ListOptions, json: Bool, text: (JSONFields) -> String
    ) async throws(ChatError) {
        var left = options.limit ?? .max
        var cursor: String?
        repeat {
            let page = "\(path)\(path.contains("?") ? "&" : "?")limit=\(min(left, 100))"
            let (elements, next) = try await object(
                "GET", cursor.map { "\(page)&cursor=\(Self.escape($0))" } ?? page
            ) { (reader) throws(ChatError) in
                var elements: [RawJSON] = []
                var next: String?
                try reader.object { (key, value) throws(ChatError) in
                    switch key {
                    case name:
                        try value.array { (element) throws(ChatError) in elements.append(try element.raw()) }
                    case "cursor": next = try value.null() ? nil : value.string()
                    default: try value.skip()
                    }
                }
                return (elements, next)
            }
            for element in elements {
                if json { Output.json(element) } else { Output.line(text(try JSONFields(element))) }
            }
            left -= elements.count
            cursor = next
        } while cursor != nil && left > 0
    }
}

/// The members of a JSON object, for printing them as text.
struct JSONFields {
    private var values: [String: RawJSON] = [:]

    init(_ json: RawJSON) throws(ChatError) {
        var values: [String: RawJSON] = [:]
        var reader = JSONReader(json.text)
        try reader.object { (name, value) throws(ChatError) in values[name] = try value.raw() }
        self.values = values
    }

    /// The value of a member as text, or an empty string if it is missing.
    subscript(_ name: String) -> String {
        guard let json = values[name] else { return "" }
        var reader = JSONReader(json.text)
        return reader.nextIsString ? (try? reader.string()) ?? "" : json.text
    }

    func object(_ name: String) -> JSONFields? { values[name].flatMap { try? JSONFields($0) } }
}

/// Joins texts into one line and replaces line breaks, so that user content can't start a new line.
func joined(_ parts: String...) -> String {
    parts.filter { !$0.isEmpty }.map { word in String(word.map { $0.isNewline ? " " : $0 }) }.joined(separator: "  ")
}
