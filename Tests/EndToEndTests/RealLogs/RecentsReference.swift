import Foundation
import Scrollback

/// The expected lists of recent conversations, computed from the log files without the code under test.
///
/// A user has every conversation in which the user wrote, and every channel of a community. The list is sorted by the
/// time of the newest message, newest first. Unread messages are those of other users after the user's read marker.
///
/// A user's own messages never count. Importing an own message moves the read marker if no unread message precedes it,
/// which does not change the number of unread messages.
struct RecentsReference: Sendable {
    /// A conversation in a user's list.
    struct Entry: Equatable, Sendable, CustomStringConvertible {
        var count: Int
        var last: Utterance
        var unread: Int

        var description: String { "\(count) messages, \(unread) unread, the last \(last)" }
    }

    private var linesByConversation: [ConversationID: [ChatLog.Line]] = [:]
    private var conversations: [String: Set<ConversationID>] = [:]
    /// How many messages of a conversation a user has read, for conversations that the user has marked read.
    private var read: [String: [ConversationID: Int]] = [:]
    /// The conversations that a user has removed from the list and that got no message since.
    private var removed: [String: Set<ConversationID>] = [:]

    var people: [String] { conversations.keys.sorted() }
    var messages: Int { linesByConversation.values.map(\.count).reduce(0, +) }

    // MARK: Reading the files

    /// Adds each channel as a group, whose members are the users who wrote in it.
    mutating func addGroups(_ lines: [ChatLog.Line]) throws {
        for (channel, lines) in Dictionary(grouping: lines, by: \.channel) {
            add(lines, as: .group(try Identifier(channel)), of: Set(lines.map(\.sender)))
        }
    }

    /// Adds each channel as a channel of a community, whose members are the users who wrote in any channel.
    mutating func addCommunity(_ name: Identifier, _ lines: [ChatLog.Line]) throws {
        let members = Set(lines.map(\.sender))
        for (channel, lines) in Dictionary(grouping: lines, by: \.channel) {
            add(lines, as: .community(name, channel: try Identifier(channel)), of: members)
        }
    }

    /// Adds all channels with the same two senders as one direct conversation, by time and then by position in the
    /// file.
    ///
    /// - Returns: The number of channels that do not have two senders, and the number of their messages.
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
        linesByConversation[id] = lines
        for member in members { conversations[member, default: []].insert(id) }
    }

    /// Returns the absolute IDs of a user's conversations.
    func conversations(of user: String) -> Set<ConversationID> { conversations[user] ?? [] }

    // MARK: Expected lists

    /// Marks the first messages of a conversation as read by a user.
    mutating func markRead(_ id: ConversationID, upTo count: Int, by user: String) {
        read[user, default: [:]][id] = max(count, read[user]?[id] ?? 0)
    }

    /// Removes a conversation from a user's list.
    mutating func remove(_ id: ConversationID, by user: String) {
        removed[user, default: []].insert(id)
    }

    func entry(_ id: ConversationID, of user: String) -> Entry? {
        guard let lines = linesByConversation[id], let last = lines.last else { return nil }
        let unread = lines.dropFirst(min(lines.count, read[user]?[id] ?? 0)).count { $0.sender != user }
        return Entry(
            count: lines.count, last: Utterance(text: last.text, sender: last.sender, time: last.moment), unread: unread
        )
    }

    /// Returns a user's expected list by absolute conversation IDs.
    func list(of user: String) -> [ConversationID: Entry] {
        var entries: [ConversationID: Entry] = [:]
        for id in conversations(of: user).subtracting(removed[user] ?? []) { entries[id] = entry(id, of: user) }
        return entries
    }

    /// Returns the users with the most conversations, in descending order.
    func busiest(_ count: Int) -> [String] {
        Array(
            people.sorted { a, b in
                let (ofA, ofB) = (conversations[a]?.count ?? 0, conversations[b]?.count ?? 0)
                return ofA == ofB ? a < b : ofA > ofB
            }.prefix(count))
    }

    /// Returns the first difference between a list and the expected list.
    ///
    /// - Parameter shown: The list in its order, with absolute conversation IDs.
    static func difference(
        _ shown: [(id: ConversationID, entry: Entry)], totalUnread: Int, from expected: [ConversationID: Entry]
    ) -> String? {
        for (id, entry) in shown {
            guard let wanted = expected[id] else { return "\(id) is shown, but not expected" }
            if entry != wanted { return "\(id): \(entry), expected \(wanted)" }
        }
        guard Set(shown.map(\.id)).count == shown.count else { return "a conversation is shown twice" }
        guard shown.count == expected.count else {
            let missing = expected.keys.filter { id in !shown.contains { $0.id == id } }
            return "\(shown.count) of \(expected.count) conversations are shown, without \(missing)"
        }
        let times = shown.map(\.entry.last.time)
        if let (newer, older) = zip(times, times.dropFirst()).first(where: { $0 < $1 }) {
            return "a conversation of \(newer) is listed before one of \(older)"
        }
        let total = expected.values.map(\.unread).reduce(0, +)
        return totalUnread == total ? nil : "\(totalUnread) unread in total, expected \(total)"
    }
}

extension ChatLog.Line {
    /// The time with milliseconds, so that times can be compared as text.
    var moment: String { time.contains(".") ? time : time.replacingOccurrences(of: "Z", with: ".000Z") }
}
