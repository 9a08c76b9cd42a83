import Scrollback
import ScrollbackModel

/// A reference model of a group: a list of messages and their changes.
///
/// It uses arrays and filters and aims to be obviously correct, not fast. The tests compare the real implementation
/// with it.
struct ReferenceConversation {
    struct Entry {
        var id: MessageID
        var sender: UserID
        var text: String
        var type: MessageType
        var customType: String?
        var mentions: Mentions?
        var timetoken: Timetoken
        /// The root message of the thread.
        var thread: MessageID?
        /// Whether the message was recalled or deleted and only a tombstone remains.
        var isTombstone = false
        /// Whether the message was removed for everyone, by a range deletion or by retention.
        var isGone = false
        var hiddenFor: Set<UserID> = []
        var reactions: [(user: UserID, value: String)] = []
    }

    /// All messages in order. The sequence number of a message is its index plus one.
    var entries: [Entry] = []
    /// The last sequence number before each join, and the last one before each leave.
    var spans: [UserID: [(joined: Int, left: Int?)]] = [:]
    var seesEverything = false
    var readSeq: [UserID: Int] = [:]
    var clearSeq: [UserID: Int] = [:]

    func isMember(_ user: UserID) -> Bool { spans[user]?.contains { $0.left == nil } ?? false }

    func index(of id: MessageID) -> Int? { entries.firstIndex { $0.id == id } }

    // MARK: Visibility

    func isVisible(_ index: Int, to user: UserID) -> Bool {
        let entry = entries[index]
        let seq = index + 1
        guard !entry.isGone, !entry.hiddenFor.contains(user), seq > clearSeq[user] ?? 0 else { return false }
        guard let spans = spans[user] else { return false }
        if seesEverything { return isMember(user) || spans.contains { seq <= $0.left ?? .max } }
        return spans.contains { $0.joined < seq && seq <= $0.left ?? .max }
    }

    func visible(to user: UserID, _ filter: MessageFilter = .all) -> [Int] {
        entries.indices.filter { isVisible($0, to: user) && passes(entries[$0], filter, reader: user) }
    }

    private func passes(_ entry: Entry, _ filter: MessageFilter, reader: UserID) -> Bool {
        // A tombstone keeps only its type and sender.
        let customType = entry.isTombstone ? nil : entry.customType
        let mentions = entry.isTombstone ? nil : entry.mentions
        if let types = filter.types, !types.contains(entry.type) { return false }
        if let types = filter.excludedTypes, types.contains(entry.type) { return false }
        if let types = filter.customTypes, !types.contains(customType) { return false }
        if let senders = filter.senders, !senders.contains(entry.sender) { return false }
        if filter.excludesReplies, entry.thread != nil { return false }
        if filter.mentionsMe, mentions?.includes(reader) != true { return false }
        if filter.hasMedia, ![.image, .gif, .file, .voice, .video].contains(entry.type) { return false }
        if let thread = filter.thread, entry.thread != thread { return false }
        return true
    }

    // MARK: Pages

    /// The sequence numbers next to a point, below and above it. A point is one sequence number or lies between two.
    private func place(_ point: HistoryPoint) -> (below: Int, above: Int) {
        switch point {
        case .latest: (entries.count, entries.count + 1)
        case .earliest: (0, 1)
        case .seq(let seq): (Int(seq) - 1, Int(seq) + 1)
        case .id(let id): index(of: id).map { ($0, $0 + 2) } ?? (0, 1)
        case .timetoken(let time):
            (
                entries.lastIndex { $0.timetoken < time }.map { $0 + 1 } ?? 0,
                (entries.firstIndex { $0.timetoken > time } ?? entries.count) + 1
            )
        case .date, .firstUnread: preconditionFailure("The model does not support this point.")
        }
    }

    /// The messages of a page, newest first.
    func page(_ anchor: Anchor, limit: Int, _ filter: MessageFilter, for user: UserID) -> [Int] {
        let all = visible(to: user, filter)
        func older(_ top: Int, downTo bottom: Int = 1, _ limit: Int) -> [Int] {
            Array(all.reversed().filter { $0 + 1 <= top && $0 + 1 >= bottom }.prefix(limit))
        }
        func newer(_ bottom: Int, upTo top: Int = .max, _ limit: Int) -> [Int] {
            Array(all.filter { $0 + 1 >= bottom && $0 + 1 <= top }.prefix(limit)).reversed()
        }
        switch anchor {
        case .before(let point): return older(place(point).below, limit)
        case .after(let point): return newer(place(point).above, limit)
        case .between(let from, let to): return newer(place(from).below + 1, upTo: place(to).below, limit)
        case .backward(let from, let to): return older(place(from).below, downTo: place(to).below + 1, limit)
        case .around(let point, let before, let after):
            let (below, above) = place(point)
            let itself = above - below == 2 ? all.filter { $0 == below } : []
            return newer(above, after) + itself + older(below, before)
        case .cursor: preconditionFailure("The model does not support cursors.")
        }
    }

    // MARK: Counts

    private func counts(_ index: Int, for user: UserID) -> Bool {
        let entry = entries[index]
        let joined = spans[user]?.last?.joined ?? 0
        return isVisible(index, to: user) && entry.sender != user && index + 1 > max(readSeq[user] ?? 0, joined)
            && !entry.isTombstone
    }

    /// Marks the user's own newest message as read if it follows no unread countable message and no unread mention.
    mutating func advanceReadMarker(by user: UserID) {
        let own = entries.count
        let floor = entries.firstIndex { !$0.isGone } ?? entries.count
        let position = max(
            readSeq[user] ?? 0, spans[user]?.last?.joined ?? 0, clearSeq[user] ?? 0, min(floor, own - 1))
        let between = entries[min(position, own - 1)..<(own - 1)]
        let isClear = between.allSatisfy { entry in
            entry.type == .notice
                && (entry.isTombstone || entry.sender == user || entry.mentions?.includes(user) != true)
        }
        if isClear { readSeq[user] = own }
    }

    func unread(of user: UserID) -> Int {
        entries.indices.count { counts($0, for: user) && entries[$0].type != .notice }
    }

    func mentions(of user: UserID) -> Int {
        entries.indices.count { counts($0, for: user) && entries[$0].mentions?.includes(user) == true }
    }

    func replies(to id: MessageID) -> Int {
        entries.count { $0.thread == id && !$0.isTombstone && !$0.isGone }
    }
}
