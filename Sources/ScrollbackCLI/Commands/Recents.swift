import ArgumentParser
import Foundation
import Scrollback
import ScrollbackWire

struct Recents: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List recent conversations with their unread counts.",
        discussion: """
            Pinned conversations come first, then the newest. The last line is the total of all conversations, \
            including those that are not listed. With --watch, the SDK keeps the list up to date until interrupted. \
            With --json, the command prints one object per conversation and then {"totals": …}. With --json and \
            --watch, each object is the whole list.

            With the demo community of `make run`:
              scrollback recents --as alice --limit 5
              scrollback recents --as alice --kind direct --unread
              scrollback recents --as mei --watch --store ./mei
            """)

    @Option(name: .customLong("as"), help: "The user whose conversations to list.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "Only conversations of this kind: direct, group, community or system.", transform: listedKind)
    var kind: ConversationKind?

    @Flag var muting: Muting?

    @Flag(help: "Only conversations with unread messages, or marked as unread.")
    var unread = false

    @Option(help: "The maximum number of conversations, 1...100.")
    var limit = 20

    @Flag(help: "Print the list again whenever it changes.")
    var watch = false

    @Option(help: "A directory for the client's local store (default: in memory). Requires --watch.")
    var store: String?

    @Option(help: "Stop after printing the list this many times, at least 1. Requires --watch.")
    var count: Int?

    @OptionGroup var connection: ConnectionOptions

    enum Muting: EnumerableFlag {
        case muted, notMuted

        static func help(for value: Muting) -> ArgumentHelp? {
            value == .muted ? "Only muted conversations." : "Only conversations that are not muted."
        }
    }

    func validate() throws {
        guard (1...100).contains(limit) else { throw ValidationError("--limit must be in 1...100.") }
        if !watch, store != nil || count != nil {
            throw ValidationError("--store and --count require --watch.")
        }
        if let count, count < 1 { throw ValidationError("--count must be at least 1.") }
    }

    func run() async throws {
        try await reporting { if watch { try await follow() } else { try await list() } }
    }

    // MARK: Listing

    private func list() async throws {
        var path = "/v1/conversations?limit=\(limit)&include=totals"
        if let kind { path += "&kind=\(kind.rawValue)" }
        if let muting { path += "&muted=\(muting == .muted)" }
        if unread { path += "&unread=true" }
        var heads: [ConversationHead] = []
        var totals = UnreadTotals()
        try await connection.api(as: user).object("GET", path) { (reader) throws(ChatError) in
            try reader.object { (name, value) throws(ChatError) in
                switch name {
                case "conversations":
                    heads = try value.list("conversations", limit: 100) { (head) throws(ChatError) in
                        try ConversationHead(from: &head)
                    }
                case "totals": totals = try UnreadTotals(from: &value)
                default: try value.skip()
                }
            }
        }
        let encryption = try connection.messageEncryption(for: user)
        for var head in heads {
            head.lastMessage = head.lastMessage.map(encryption.open)
            if connection.json {
                var writer = JSONWriter()
                head.write(to: &writer)
                Output.json(writer)
            } else {
                Output.line(Entry(head).line)
            }
        }
        if connection.json {
            Output.json { writer in
                writer.key("totals")
                totals.write(to: &writer)
            }
        } else {
            Output.line(totals.displayText)
        }
    }

    // MARK: Watching

    private func follow() async throws {
        let client = try await connection.client(for: user, store: store, connects: store == nil)
        // With a persistent store, the list can be printed without a connection.
        if store == nil { try await client.waitUntilOnline() } else { client.connect() }
        let states = client.reportConnection()
        defer { states.cancel() }
        let filter = RecentsFilter(
            kinds: kind.map { [$0] }, isMuted: muting.map { $0 == .muted }, isUnread: unread)
        var left = count
        for await view in client.recents.views(limit: limit, matching: filter) {
            if connection.json { Output.json { view.writeMembers(to: &$0) } } else { draw(view) }
            left = left.map { $0 - 1 }
            if left == 0 { break }
        }
        await client.close()
    }

    private func draw(_ view: Scrollback.Recents.View) {
        // In a terminal, clear the screen. Otherwise an empty line separates the lists.
        let isTerminal = isatty(STDOUT_FILENO) == 1
        if isTerminal { Output.write("\u{1B}[H\u{1B}[2J", to: STDOUT_FILENO) }
        for recent in view.conversations { Output.line(Entry(recent).line) }
        Output.line(view.totals.displayText + (isTerminal ? "" : "\n"))
    }
}

/// An entry of the list as one line of text.
private struct Entry {
    var id: ConversationID
    var unread: Int64
    var mentions: Int64
    var isMarkedUnread: Bool
    var isMuted: Bool
    var isPinned: Bool
    var lastMessage: Message?

    init(_ head: ConversationHead) {
        (id, unread, mentions, lastMessage) = (head.conversation, head.unread, head.mentions, head.lastMessage)
        (isMarkedUnread, isMuted, isPinned) = (head.isMarkedUnread, head.isMuted, head.isPinned)
    }

    init(_ recent: RecentConversation) {
        (id, unread, mentions, lastMessage) = (recent.id, recent.unread, recent.mentions, recent.lastMessage)
        (isMarkedUnread, isMuted, isPinned) = (recent.isMarkedUnread, recent.isMuted, recent.isPinned)
    }

    var line: String {
        var marks: [String] = []
        if isPinned { marks.append("pinned") }
        if isMuted { marks.append("muted") }
        if unread > 0 { marks.append("\(unread) unread") } else if isMarkedUnread { marks.append("marked unread") }
        if mentions > 0 { marks.append("@\(mentions)") }
        let last = lastMessage.map { "\($0.sender): \($0.displayText)" } ?? ""
        return "\(id)  \(marks.joined(separator: " "))  \(last.prefix(100))"
    }
}

extension UnreadTotals {
    /// The totals as one line of text.
    fileprivate var displayText: String {
        let muted = unread(muted: true)
        return "in all: \(unread) unread\(muted > 0 ? ", \(muted) of them muted" : ""), \(mentions) mentions"
    }
}

extension Scrollback.Recents.View {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.key("conversations")
        writer.array(conversations) { writer, recent in
            writer.object { writer in
                writer.field("conversation", recent.id)
                writer.field("name", recent.name)
                writer.field("unread", recent.unread)
                writer.field("mentions", recent.mentions)
                writer.field("muted", recent.isMuted)
                writer.field("pinned", recent.isPinned)
                writer.field("markedUnread", recent.isMarkedUnread)
                guard let message = recent.lastMessage else { return }
                writer.key("lastMessage")
                writer.object { message.writeMembers(to: &$0) }
            }
        }
        writer.key("totals")
        totals.write(to: &writer)
    }
}

/// Parses a kind of conversations that have unread counts.
func listedKind(_ text: String) throws -> ConversationKind {
    guard let kind = ConversationKind(rawValue: text), kind.traits.hasRecents else {
        throw ValidationError("The kind must be direct, group, community or system.")
    }
    return kind
}
