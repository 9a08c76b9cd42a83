import ArgumentParser
import Foundation
import ScrollbackModel

struct Admin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Look after a server: who is there, who may come in, what was reported, who leaves for good.",
        discussion: """
            Every command takes an administrator's token: that of the data directory, or --key.

            Beside `make run`:
              scrollback admin users
              scrollback admin ban mallory --for 7d --reason "spam"
              scrollback admin erase mallory --messages anonymize --yes
            """,
        subcommands: [
            AdminUsers.self, AdminConversations.self, AdminConnections.self, AdminDisconnect.self,
            AdminDeactivate.self, AdminActivate.self, AdminBan.self, AdminUnban.self, AdminBans.self,
            AdminReports.self, AdminClose.self, AdminErase.self, AdminJob.self,
        ])
}

/// How much of a list is printed.
struct ListOptions: ParsableArguments {
    @Option(help: "How many at most; all of them without it.")
    var limit: Int?

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1") }
    }
}

extension ServerAPI {
    /// Prints the elements of a list that comes in pages, as the server has them, or as a line of words each.
    func print(
        _ path: String, _ name: String, _ options: ListOptions, json: Bool, words: (JSONFields) -> String
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
                if json { Output.json(element) } else { Output.line(words(try JSONFields(element))) }
            }
            left -= elements.count
            cursor = next
        } while cursor != nil && left > 0
    }
}

/// The members of an object that a line of words is made of.
struct JSONFields {
    private var values: [String: RawJSON] = [:]

    init(_ json: RawJSON) throws(ChatError) {
        var values: [String: RawJSON] = [:]
        var reader = JSONReader(json.text)
        try reader.object { (name, value) throws(ChatError) in values[name] = try value.raw() }
        self.values = values
    }

    /// A member as a person reads it; empty where there is none.
    subscript(_ name: String) -> String {
        guard let json = values[name] else { return "" }
        var reader = JSONReader(json.text)
        return reader.nextIsString ? (try? reader.string()) ?? "" : json.text
    }

    func object(_ name: String) -> JSONFields? { values[name].flatMap { try? JSONFields($0) } }
}

/// Joins what there is to say into one line: what somebody wrote begins none of its own.
func joined(_ words: String...) -> String {
    words.filter { !$0.isEmpty }.map { word in String(word.map { $0.isNewline ? " " : $0 }) }.joined(separator: "  ")
}
