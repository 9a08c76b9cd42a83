import Foundation
import ScrollbackModel

/// A reference implementation of one conversation as a plain list, which the engine must match.
///
/// It favors readability over speed: every query scans the whole list.
struct ReferenceLog {
    struct Reaction: Equatable {
        var user: UserID
        var value: String
        var time: Timetoken
    }

    struct Entry {
        var seq: Seq
        var id: MessageID
        var time: Timetoken
        var sender: UserID
        var type: MessageType
        var text: String
        var customType: String?
        var mentions: Mentions?
        var counts: Bool
        var thread: MessageID?
        var submission: Submission
        var isEdited = false
        /// Whether the message was recalled or deleted by ID and is a tombstone.
        var isTombstone = false
        /// Whether a range deletion or retention removed the message for all users.
        var isGone = false
        var reactions: [Reaction] = []
        /// Whether the reader is a former member and the message was edited after the end of their membership.
        var isEditedLater = false
        /// When the message was last edited.
        var editedAt: Date?
    }

    struct Person {
        /// The spans of the membership: the sequence numbers above `joined`, up to and including `left`.
        var spans: [(joined: Seq, left: Seq?)] = []
        var role = Role.member
        var read: Seq = 0
        var cleared: Seq = 0
        var hidden: Set<Seq> = []
        /// When the membership ended, for a former member.
        var endedAt: Date?
        /// The messages that were edited since the membership ended.
        var editedSince: Set<Seq> = []
        /// The times of the reactions that existed when the membership ended.
        var knownReactions: Set<Timetoken> = []

        var isMember: Bool { spans.last.map { $0.left == nil } ?? false }
        var hasBeenMember: Bool { !spans.isEmpty }
    }

    let kind: ConversationKind
    var visibility = HistoryVisibility.sinceJoin
    var entries: [Entry] = []
    var people: [UserID: Person] = [:]

    var head: Seq { entries.last?.seq ?? 0 }

    /// Whether a user sees all messages without a membership: in a room, or as an administrator.
    func seesAll(_ user: UserID) -> Bool { kind == .room || user == "root" }
    func maySee(_ user: UserID) -> Bool { seesAll(user) || people[user]?.hasBeenMember == true }
    func isMember(_ user: UserID) -> Bool { people[user]?.isMember == true }

    func index(_ id: MessageID) -> Int? { entries.firstIndex { $0.id == id } }

    // MARK: Visibility

    func readerHead(_ user: UserID) -> Seq {
        if seesAll(user) || isMember(user) { return head }
        return people[user]?.spans.compactMap(\.left).max() ?? 0
    }

    /// Whether a user could see an entry, ignoring what they hid or cleared.
    func wasShown(_ entry: Entry, to user: UserID) -> Bool {
        if entry.isGone { return false }
        if seesAll(user) { return true }
        guard let person = people[user] else { return false }
        if visibility == .everything { return person.isMember || entry.seq <= readerHead(user) }
        return person.spans.contains { entry.seq > $0.joined && entry.seq <= $0.left ?? .max }
    }

    func sees(_ user: UserID, _ entry: Entry) -> Bool {
        let person = people[user]
        return wasShown(entry, to: user) && entry.seq > person?.cleared ?? 0
            && person?.hidden.contains(entry.seq) != true
    }

    func visible(to user: UserID) -> [Entry] { entries.filter { sees(user, $0) } }

    /// Whether a user sees the conversation as it was when their membership ended.
    func isFormer(_ user: UserID) -> Bool {
        !seesAll(user) && people[user]?.hasBeenMember == true && !isMember(user)
    }

    /// Returns an entry as a user sees it.
    ///
    /// - Parameter isTombstone: Whether the engine returned a tombstone. An edit in the millisecond of the end counts
    ///   as later if the message changed again.
    func shown(_ entry: Entry, to user: UserID, isTombstone: Bool) -> Entry {
        guard isFormer(user), let person = people[user] else { return entry }
        var entry = entry
        entry.reactions = entry.reactions.filter { person.knownReactions.contains($0.time) }
        let isAmbiguous = entry.editedAt != nil && entry.editedAt == person.endedAt && isTombstone
        guard !entry.isTombstone, person.editedSince.contains(entry.seq) || isAmbiguous else { return entry }
        entry.isEditedLater = true
        entry.text = ""
        entry.customType = nil
        entry.mentions = nil
        entry.isEdited = false
        return entry
    }

    /// Ends a user's membership.
    mutating func end(_ user: UserID, at date: Date?) {
        guard var person = people[user], let last = person.spans.indices.last else { return }
        person.spans[last].left = head
        person.endedAt = date
        person.editedSince = []
        person.knownReactions = Set(entries.flatMap(\.reactions).map(\.time))
        people[user] = person
    }

    // MARK: Counts

    private func isAbove(_ entry: Entry, _ read: Seq, _ person: Person) -> Bool {
        entry.seq > max(read, person.spans.last?.joined ?? 0, person.cleared)
    }

    func unread(_ user: UserID) -> [Entry] {
        guard kind != .room, let person = people[user], person.isMember else { return [] }
        return entries.filter { entry in
            isAbove(entry, person.read, person) && entry.counts && !entry.isGone && entry.sender != user
                && !person.hidden.contains(entry.seq)
        }
    }

    /// Returns the number of unread mentions.
    ///
    /// - Parameter read: The engine's read marker, because a member's own message can advance it.
    func unreadMentions(_ user: UserID, above read: Seq) -> Int {
        guard kind != .room, let person = people[user], person.isMember else { return 0 }
        return entries.count { entry in
            isAbove(entry, read, person) && entry.sender != user && sees(user, entry)
                && entry.mentions?.includes(user) == true
        }
    }

    /// The counted indexes, in the order of the entries.
    var numbers: [Int64] {
        var countedIndex: Int64 = 0
        return entries.map { entry in
            if entry.submission.traits.countsUnread { countedIndex += 1 }
            return countedIndex
        }
    }

    // MARK: Filters

    func matches(_ entry: Entry, _ filter: MessageFilter, _ reader: UserID) -> Bool {
        if let types = filter.types, !types.contains(entry.type) { return false }
        if let types = filter.excludedTypes, types.contains(entry.type) { return false }
        if let types = filter.customTypes, !types.contains(entry.customType) { return false }
        if let senders = filter.senders, !senders.contains(entry.sender) { return false }
        if filter.hasMedia, entry.type != .image, entry.type != .video { return false }
        if let thread = filter.thread, entry.thread != thread { return false }
        if filter.excludesReplies, entry.thread != nil { return false }
        // An edit must not be revealed by the filters that match it.
        if entry.isEditedLater, filter.customTypes != nil || filter.hasMedia { return false }
        if filter.mentionsMe, entry.mentions?.includes(reader) != true { return false }
        return true
    }

    // MARK: Changes

    mutating func makeTombstone(at index: Int, lowersUnread: Bool) {
        entries[index].isTombstone = true
        entries[index].text = ""
        entries[index].customType = nil
        entries[index].mentions = nil
        entries[index].reactions = []
        entries[index].isEdited = false
        if lowersUnread { entries[index].counts = false }
    }

    /// Whether a user may change or delete a message: their own as a member, and those of others with the role
    /// `others`.
    func mayChange(_ entry: Entry, _ user: UserID, others: Role?) -> Bool {
        if user == "root" { return true }
        if entry.sender == user { return kind == .room || isMember(user) }
        guard let others, isMember(user), kind == .group || kind == .community else { return false }
        return people[user].map { $0.role >= others } ?? false
    }
}
