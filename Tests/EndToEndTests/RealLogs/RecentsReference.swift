import Foundation
import Scrollback

/// What people's lists of recent conversations must show, found from the files alone: dictionaries and counting, and
/// nothing of the code under test.
///
/// The rule, in words: somebody has every conversation that they spoke in, and in a community every channel. A list goes by
/// the time of the newest message, newest first. Unread is what others said after the place up to which one has read. One's
/// own messages never count; and since what is imported is as if it were said now, one's own message moves that place on
/// where nothing unread lies before it, which takes nothing from what others said.
struct RecentsReference: Sendable {
    /// One conversation in somebody's list.
    struct Entry: Equatable, Sendable, CustomStringConvertible {
        var count: Int
        var last: Utterance
        var unread: Int

        var description: String { "\(count) messages, \(unread) unread, the last \(last)" }
    }

    private var said: [ConversationID: [ChatLog.Line]] = [:]
    private var conversations: [String: Set<ConversationID>] = [:]
    /// How far somebody has read where they said so: the number of messages.
    private var read: [String: [ConversationID: Int]] = [:]
    /// What somebody took out of their list, where nothing was said since.
    private var removed: [String: Set<ConversationID>] = [:]

    var people: [String] { conversations.keys.sorted() }
    var messages: Int { said.values.map(\.count).reduce(0, +) }

    // MARK: Reading the files

    /// Each channel a group, of those who spoke there.
    mutating func addGroups(_ lines: [ChatLog.Line]) throws {
        for (channel, lines) in Dictionary(grouping: lines, by: \.channel) {
            add(lines, as: .group(try Identifier(channel)), of: Set(lines.map(\.sender)))
        }
    }

    /// Each channel one of a community, of all who spoke in any.
    mutating func addCommunity(_ name: Identifier, _ lines: [ChatLog.Line]) throws {
        let members = Set(lines.map(\.sender))
        for (channel, lines) in Dictionary(grouping: lines, by: \.channel) {
            add(lines, as: .community(name, channel: try Identifier(channel)), of: members)
        }
    }

    /// All channels with the same two senders one direct conversation, by time and else as the file has it.
    ///
    /// - Returns: how many channels have not two senders, and how many messages these have.
    mutating func addPairs(_ lines: [ChatLog.Line]) throws -> (channels: Int, messages: Int) {
        var leftOut = (channels: 0, messages: 0)
        var pairs: [[String]: [(place: Int, line: ChatLog.Line)]] = [:]
        let placed = lines.enumerated().map { (place: $0.offset, line: $0.element) }
        for (_, channel) in Dictionary(grouping: placed, by: \.line.channel) {
            let senders = Set(channel.map(\.line.sender)).sorted()
            if senders.count == 2 {
                pairs[senders, default: []] += channel
            } else {
                leftOut.channels += 1
                leftOut.messages += channel.count
            }
        }
        for (two, lines) in pairs {
            let sorted = lines.sorted { ($0.line.moment, $0.place) < ($1.line.moment, $1.place) }
            add(
                sorted.map(\.line), as: .direct(between: try UserID(two[0]), and: try UserID(two[1])), of: Set(two))
        }
        return leftOut
    }

    private mutating func add(_ lines: [ChatLog.Line], as id: ConversationID, of members: Set<String>) {
        said[id] = lines
        for member in members { conversations[member, default: []].insert(id) }
    }

    /// The conversations of somebody, by absolute names.
    func conversations(of user: String) -> Set<ConversationID> { conversations[user] ?? [] }

    // MARK: What a list shows

    /// Somebody has read the first messages of a conversation.
    mutating func markRead(_ id: ConversationID, upTo count: Int, by user: String) {
        read[user, default: [:]][id] = max(count, read[user]?[id] ?? 0)
    }

    /// Somebody has taken a conversation out of their list.
    mutating func remove(_ id: ConversationID, by user: String) {
        removed[user, default: []].insert(id)
    }

    func entry(_ id: ConversationID, of user: String) -> Entry? {
        guard let lines = said[id], let last = lines.last else { return nil }
        let unread = lines.dropFirst(min(lines.count, read[user]?[id] ?? 0)).count { $0.sender != user }
        return Entry(
            count: lines.count, last: Utterance(text: last.text, sender: last.sender, time: last.moment), unread: unread
        )
    }

    /// By absolute names.
    func list(of user: String) -> [ConversationID: Entry] {
        var entries: [ConversationID: Entry] = [:]
        for id in conversations(of: user).subtracting(removed[user] ?? []) { entries[id] = entry(id, of: user) }
        return entries
    }

    /// The people with the most conversations, most first.
    func busiest(_ count: Int) -> [String] {
        Array(
            people.sorted { a, b in
                let (ofA, ofB) = (conversations[a]?.count ?? 0, conversations[b]?.count ?? 0)
                return ofA == ofB ? a < b : ofA > ofB
            }.prefix(count))
    }

    /// The first thing that a list shows otherwise than it must.
    ///
    /// - Parameter shown: the list in its order, by absolute names.
    static func difference(
        _ shown: [(id: ConversationID, entry: Entry)], totalUnread: Int, from expected: [ConversationID: Entry]
    ) -> String? {
        for (id, entry) in shown {
            guard let wanted = expected[id] else { return "\(id) is shown, and is not theirs" }
            if entry != wanted { return "\(id): \(entry), expected \(wanted)" }
        }
        guard Set(shown.map(\.id)).count == shown.count else { return "a conversation is shown twice" }
        guard shown.count == expected.count else {
            let missing = expected.keys.filter { id in !shown.contains { $0.id == id } }
            return "\(shown.count) conversations are shown, of \(expected.count): not \(missing)"
        }
        let times = shown.map(\.entry.last.time)
        if let (newer, older) = zip(times, times.dropFirst()).first(where: { $0 < $1 }) {
            return "one of \(newer) stands before one of \(older)"
        }
        let total = expected.values.map(\.unread).reduce(0, +)
        return totalUnread == total ? nil : "\(totalUnread) unread in all, expected \(total)"
    }
}

extension ChatLog.Line {
    /// The time with milliseconds, which have an order as text.
    var moment: String { time.contains(".") ? time : time.replacingOccurrences(of: "Z", with: ".000Z") }
}
