public import Foundation

/// A position in a conversation's history.
public enum HistoryPoint: Hashable, Sendable {
    /// A sequence number of 1 or above, whether or not a message exists there.
    case seq(Seq)
    /// A time, whether or not a message of the conversation has it.
    case timetoken(Timetoken)
    /// A message by its ID.
    ///
    /// If the reader can see no such message, the server answers `unknown-message`.
    case id(MessageID)
    /// A whole millisecond.
    ///
    /// Before it means earlier; after it means the next millisecond or later.
    case date(Date)
    /// The newest end, after the last message.
    case latest
    /// The oldest end, before the first message.
    case earliest
    /// The first message that is unread for the reader; the newest end if nothing is unread.
    case firstUnread

    /// Whether the point exists even in an empty history.
    package var isEnd: Bool {
        switch self {
        case .latest, .earliest, .firstUnread: true
        case .seq, .timetoken, .id, .date: false
        }
    }
}

/// The start and direction of a page.
///
/// Anchors are exclusive, except the ends of the history and `around`.
public enum Anchor: Hashable, Sendable {
    /// Older messages, from the point.
    case before(HistoryPoint)
    /// Newer messages, from the point.
    case after(HistoryPoint)
    /// Messages in both directions from the point, and the message at the point itself.
    case around(HistoryPoint, before: Int, after: Int)
    /// Newer messages from the first point (inclusive) to the second (exclusive).
    case between(HistoryPoint, HistoryPoint)
    /// Older messages from the first point (exclusive) to the second (inclusive).
    case backward(from: HistoryPoint, downTo: HistoryPoint)
    /// The continuation of another page.
    case cursor(HistoryCursor)

    package var points: [HistoryPoint] {
        switch self {
        case .before(let point), .after(let point), .around(let point, _, _): [point]
        case .between(let first, let second), .backward(let first, let second): [first, second]
        case .cursor: []
        }
    }

    /// The newest messages.
    public static var latest: Anchor { .before(.latest) }
    /// The oldest messages.
    public static var earliest: Anchor { .after(.earliest) }
    /// The first unread message, with 10 messages on both sides.
    public static var firstUnread: Anchor { .around(.firstUnread, before: 10, after: 10) }
}

/// A cursor with which a page of history continues.
///
/// The cursor is opaque: pass it back unchanged, with any limit. It contains the order and the filter of its page. An
/// altered cursor fails with `invalid-parameter`. A cursor of a conversation that was recreated fails with
/// `epoch-changed`.
public struct HistoryCursor: RawRepresentable, Hashable, Sendable {
    /// The text of the cursor, which is safe in URLs.
    public let rawValue: String

    /// Creates a cursor from the text of an earlier page; the server checks it when it is used.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The order of the messages in a page.
///
/// The order never changes which messages are in the page.
public enum Sort: String, CaseIterable, Sendable {
    case newestFirst, oldestFirst
}

/// A filter for the messages of a history; the limit counts only matching messages.
///
/// A message must match all properties that are set. Each set has 1...100 elements; otherwise the query fails with
/// `invalid-parameter`.
public struct MessageFilter: Hashable, Sendable {
    /// Only messages of these types.
    public var types: Set<MessageType>?
    /// No messages of these types.
    public var excludedTypes: Set<MessageType>?
    /// Only messages with these custom types; `nil` in the set means messages without one.
    public var customTypes: Set<String?>?
    /// Only messages from these senders.
    public var senders: Set<UserID>?
    /// Only messages that mention the reader by name or mention everyone.
    public var mentionsMe: Bool
    /// Only messages whose content is a file.
    public var hasMedia: Bool
    /// Only replies in the thread that starts with this message.
    public var thread: MessageID?
    /// No replies: only messages that are in no thread or start one.
    public var excludesReplies: Bool

    /// Creates a filter; omitted arguments filter nothing.
    public init(
        types: Set<MessageType>? = nil, excludedTypes: Set<MessageType>? = nil, customTypes: Set<String?>? = nil,
        senders: Set<UserID>? = nil, mentionsMe: Bool = false, hasMedia: Bool = false, thread: MessageID? = nil,
        excludesReplies: Bool = false
    ) {
        self.types = types
        self.excludedTypes = excludedTypes
        self.customTypes = customTypes
        self.senders = senders
        self.mentionsMe = mentionsMe
        self.hasMedia = hasMedia
        self.thread = thread
        self.excludesReplies = excludesReplies
    }

    /// Matches every message.
    public static let all = MessageFilter()
    /// Matches messages of these types.
    public static func types(_ types: Set<MessageType>) -> MessageFilter { .init(types: types) }
    /// Matches messages from these senders.
    public static func senders(_ senders: Set<UserID>) -> MessageFilter { .init(senders: senders) }
    /// Matches messages with these custom types; `nil` in the set means messages without one.
    public static func customTypes(_ types: Set<String?>) -> MessageFilter { .init(customTypes: types) }
    /// Matches messages that mention the reader by name or mention everyone.
    public static var mentionsMe: MessageFilter { .init(mentionsMe: true) }
    /// Matches messages whose content is a file: images, GIFs, files, voice messages and videos.
    public static var hasMedia: MessageFilter { .init(hasMedia: true) }
    /// Matches replies in the thread that starts with a message.
    public static func thread(_ root: MessageID) -> MessageFilter { .init(thread: root) }
    /// Matches messages that are no replies.
    public static var noReplies: MessageFilter { .init(excludesReplies: true) }

    /// Returns whether a message matches the filter for `reader`.
    public func matches(_ message: Message, reader: UserID) -> Bool {
        if let types, !types.contains(message.type) { return false }
        if let excludedTypes, excludedTypes.contains(message.type) { return false }
        if let customTypes, !customTypes.contains(message.attributes.customType) { return false }
        if let senders, !senders.contains(message.sender) { return false }
        if hasMedia, !message.type.isMedia { return false }
        if let thread, message.thread != thread { return false }
        if excludesReplies, message.thread != nil { return false }
        if mentionsMe, message.attributes.mentions?.includes(reader) != true { return false }
        return true
    }

    /// Whether the filter selects few messages, for which stores keep an index.
    package var isSelective: Bool {
        thread != nil || mentionsMe || hasMedia || types.map { !$0.contains(.text) } ?? false
            || customTypes.map { !$0.contains(nil) } ?? false
    }

    /// Returns the filter if it is valid.
    ///
    /// - Throws: `invalid-parameter` if a set is empty or has more than 100 elements, or if replies are both selected
    ///   and excluded.
    package func validated() throws(ChatError) -> MessageFilter {
        let sets: [(String, Int?)] = [
            ("types", types?.count), ("excludedTypes", excludedTypes?.count), ("customTypes", customTypes?.count),
            ("senders", senders?.count),
        ]
        for case (let name, let count?) in sets {
            if count == 0 { throw .invalidParameter(name, "must not be an empty list; omit it instead") }
            if count > 100 { throw .invalidParameter(name, "must have at most 100 entries", limit: 100) }
        }
        guard thread == nil || !excludesReplies else {
            throw .invalidParameter("excludesReplies", "can't be combined with thread, which selects replies")
        }
        return self
    }
}

/// A query for one page of history.
public struct HistoryQuery: Hashable, Sendable {
    /// The start and direction of the page.
    public var anchor: Anchor
    /// The maximum number of messages, 0...100.
    ///
    /// With `around`, the counts of the anchor apply instead.
    public var limit: Int
    /// The order in the page; a cursor has the order of its own page.
    public var sort: Sort
    /// The filter; a cursor has the filter of its own page.
    public var filter: MessageFilter
    /// Whether to return each message's individual actions; the limit is then 0...25.
    public var includesActions: Bool

    /// Creates a query; the ranges are checked when it is executed.
    public init(
        _ anchor: Anchor = .latest, limit: Int = 20, sort: Sort = .newestFirst, filter: MessageFilter = .all,
        includesActions: Bool = false
    ) {
        self.anchor = anchor
        self.limit = limit
        self.sort = sort
        self.filter = filter
        self.includesActions = includesActions
    }
}

extension HistoryQuery {
    /// Validates the ranges; values are never clamped.
    ///
    /// - Throws: `invalid-parameter` if a value is out of range.
    package func check(pageSize: Int) throws(ChatError) {
        let maximum = includesActions ? min(pageSize, Self.maximumWithActions) : pageSize
        func check(_ count: Int, _ name: String) throws(ChatError) {
            guard (0...maximum).contains(count) else {
                throw .invalidParameter(
                    name, "must be in 0...\(maximum)\(includesActions ? " if actions are included" : "")",
                    limit: maximum)
            }
        }
        if case .around(_, let before, let after) = anchor {
            try check(before, "beforeLimit")
            try check(after, "afterLimit")
        } else {
            try check(limit, "limit")
        }
        _ = try filter.validated()
        try anchor.check()
    }

    /// The maximum number of messages in a page with actions.
    package static let maximumWithActions = 25
}

extension Anchor {
    /// Validates the points.
    ///
    /// - Throws: `invalid-parameter` if a point can't match any message.
    package func check() throws(ChatError) {
        // `after(.latest)` is an error and not an empty page, because it is always a mistake.
        switch self {
        case .after(.latest):
            throw .invalidParameter("anchor", "can't be after latest; use before latest or after the last message")
        case .before(.earliest):
            throw .invalidParameter("anchor", "can't be before earliest; use after earliest")
        default: break
        }
        for case .date(let date) in points where !Self.dates.contains(date.timeIntervalSince1970) {
            throw .invalidParameter("anchor", "has a date outside of the years 0...9999")
        }
    }

    /// The range of ISO 8601 dates, in seconds since 1970.
    private static let dates: ClosedRange<TimeInterval> = -62_167_219_200...253_402_300_799
}
