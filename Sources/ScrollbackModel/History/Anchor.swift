public import Foundation

/// A point in a conversation's history.
public enum HistoryPoint: Hashable, Sendable {
    /// A place, 1 or above, whether or not a message is still there.
    case seq(Seq)
    /// A time, which one message of the conversation has, or none.
    case timetoken(Timetoken)
    /// A message; where the server has none of this id that the reader may see, it answers `unknown-message`.
    case id(MessageID)
    /// A whole millisecond: before it means earlier, after it means the next millisecond or later.
    case date(Date)
    /// The newest end, past the last message.
    case latest
    /// The oldest end, before the first message.
    case earliest
    /// The first message that counts as unread for the reader; the newest end where nothing is unread.
    case firstUnread

    /// Whether it is one of the ends, which even an empty history has.
    package var isEnd: Bool {
        switch self {
        case .latest, .earliest, .firstUnread: true
        case .seq, .timetoken, .id, .date: false
        }
    }
}

/// Where a page begins and which way it goes.
///
/// Anchors are exclusive, except the ends themselves and `around`.
public enum Anchor: Hashable, Sendable {
    /// To older from here.
    case before(HistoryPoint)
    /// To newer from here.
    case after(HistoryPoint)
    /// Both ways from here; the message itself is given besides.
    case around(HistoryPoint, before: Int, after: Int)
    /// To newer from the first point, included, up to the second, excluded.
    case between(HistoryPoint, HistoryPoint)
    /// To older from the first point, excluded, down to the second, included.
    case backward(from: HistoryPoint, downTo: HistoryPoint)
    /// Where another page said its history goes on.
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
    /// Around the first unread message, with 10 on both sides.
    public static var firstUnread: Anchor { .around(.firstUnread, before: 10, after: 10) }
}

/// Where a page's history goes on.
///
/// Opaque: pass it back as it came, with any limit; it holds the order and the filter of the page it is from. Another
/// text is `invalid-parameter`; one of a conversation that was made anew since is `epoch-changed`.
public struct HistoryCursor: RawRepresentable, Hashable, Sendable {
    /// The text the server gave, fit for a URL.
    public let rawValue: String

    /// A cursor that a page gave earlier; it is checked when it is used.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The order of the messages in a page.
///
/// It never changes which messages are in it.
public enum Sort: String, CaseIterable, Sendable {
    case newestFirst, oldestFirst
}

/// Which messages of a history are wanted; the limit counts only those.
///
/// A message must satisfy everything that is set. Each set has 1...100 elements, else a question with this filter is
/// `invalid-parameter`.
public struct MessageFilter: Hashable, Sendable {
    /// Only these types.
    public var types: Set<MessageType>?
    /// None of these types.
    public var excludedTypes: Set<MessageType>?
    /// Only these custom types; `nil` among them means messages that have none.
    public var customTypes: Set<String?>?
    /// Only messages these users sent.
    public var senders: Set<UserID>?
    /// Only messages that mention the reader, by name or because everyone is meant.
    public var mentionsMe: Bool
    /// Only messages whose content is a file of its own.
    public var hasMedia: Bool
    /// Only the replies in the thread that begins with this message.
    public var thread: MessageID?

    /// A filter of what is given; what is left out filters nothing.
    public init(
        types: Set<MessageType>? = nil, excludedTypes: Set<MessageType>? = nil, customTypes: Set<String?>? = nil,
        senders: Set<UserID>? = nil, mentionsMe: Bool = false, hasMedia: Bool = false, thread: MessageID? = nil
    ) {
        self.types = types
        self.excludedTypes = excludedTypes
        self.customTypes = customTypes
        self.senders = senders
        self.mentionsMe = mentionsMe
        self.hasMedia = hasMedia
        self.thread = thread
    }

    /// Every message.
    public static let all = MessageFilter()
    /// Only messages of these types.
    public static func types(_ types: Set<MessageType>) -> MessageFilter { .init(types: types) }
    /// Only messages these users sent.
    public static func senders(_ senders: Set<UserID>) -> MessageFilter { .init(senders: senders) }
    /// Only messages of these custom types; `nil` among them means messages that have none.
    public static func customTypes(_ types: Set<String?>) -> MessageFilter { .init(customTypes: types) }
    /// Only messages that mention the reader, by name or because everyone is meant.
    public static var mentionsMe: MessageFilter { .init(mentionsMe: true) }
    /// Only messages whose content is a file of its own: images, GIFs, files, voice messages and videos.
    public static var hasMedia: MessageFilter { .init(hasMedia: true) }
    /// Only the replies in the thread that begins with a message.
    public static func thread(_ root: MessageID) -> MessageFilter { .init(thread: root) }

    /// Whether a message is wanted by `reader`.
    public func matches(_ message: Message, reader: UserID) -> Bool {
        if let types, !types.contains(message.type) { return false }
        if let excludedTypes, excludedTypes.contains(message.type) { return false }
        if let customTypes, !customTypes.contains(message.attributes.customType) { return false }
        if let senders, !senders.contains(message.sender) { return false }
        if hasMedia, !message.type.isMedia { return false }
        if let thread, message.thread != thread { return false }
        if mentionsMe, message.attributes.mentions?.includes(reader) != true { return false }
        return true
    }

    /// Whether it asks for what few messages are, which stores keep an index of.
    package var isSelective: Bool {
        thread != nil || mentionsMe || hasMedia || types.map { !$0.contains(.text) } ?? false
            || customTypes.map { !$0.contains(nil) } ?? false
    }

    /// Refuses filters that nothing can match.
    package func validated() throws(ChatError) -> MessageFilter {
        let sets: [(String, Int?)] = [
            ("types", types?.count), ("excludedTypes", excludedTypes?.count), ("customTypes", customTypes?.count),
            ("senders", senders?.count),
        ]
        for case (let name, let count?) in sets {
            if count == 0 { throw .invalidParameter(name, "must not be an empty list: leave it out instead") }
            if count > 100 { throw .invalidParameter(name, "must have at most 100 entries", limit: 100) }
        }
        return self
    }
}

/// One question for a page of history.
public struct HistoryQuery: Hashable, Sendable {
    /// Where the page begins and which way it goes.
    public var anchor: Anchor
    /// How many messages, 0...100.
    ///
    /// With `around` the anchor gives both counts instead.
    public var limit: Int
    /// The order in the page; with a cursor, that of the page it is from.
    public var sort: Sort
    /// Which messages count; with a cursor, the filter of the page it is from.
    public var filter: MessageFilter
    /// Whether each message's actions are wanted one by one; then the limit is 0...25.
    public var includesActions: Bool

    /// A question; whoever answers it checks the ranges.
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
    /// Refuses what is out of range; nothing is clamped.
    package func check(pageSize: Int) throws(ChatError) {
        let most = includesActions ? min(pageSize, Self.mostWithActions) : pageSize
        func check(_ count: Int, _ name: String) throws(ChatError) {
            guard (0...most).contains(count) else {
                throw .invalidParameter(
                    name, "must be in 0...\(most)\(includesActions ? " where actions are included" : "")", limit: most)
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

    /// The most messages of a page whose actions come with it.
    package static let mostWithActions = 25
}

extension Anchor {
    /// Refuses points that nobody can mean.
    package func check() throws(ChatError) {
        // Contradiction A7 of the contract: to newer from the newest end is a mistake, and not an empty page.
        switch self {
        case .after(.latest):
            throw .invalidParameter("anchor", "can't be after latest: use before latest, or after the last message")
        case .before(.earliest):
            throw .invalidParameter("anchor", "can't be before earliest: use after earliest")
        default: break
        }
        for case .date(let date) in points where !Self.dates.contains(date.timeIntervalSince1970) {
            throw .invalidParameter("anchor", "has a date outside of the years 0...9999")
        }
    }

    /// What an ISO 8601 time can say, in seconds since 1970.
    private static let dates: ClosedRange<TimeInterval> = -62_167_219_200...253_402_300_799
}
