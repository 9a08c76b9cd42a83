import ScrollbackModel

/// A reference implementation of some conversations as plain lists, with their messages and memberships.
final class SyncModel {
    static let groups: [ConversationID] = [.group("g"), .group("h")]
    static let city = ConversationID.community("city")
    static let open = ConversationID.community("city", channel: "open")
    static let secret = ConversationID.community("city", channel: "secret")
    static let direct = ConversationID.direct(between: "alice", and: "bob")
    static let logs = groups + [open, secret, direct]
    /// The conversations that members receive without a subscription.
    static let streams = groups + [secret, direct]

    struct Entry {
        var sender: UserID
        var submission: Submission
        var text: String { submission.content.json.text }
    }

    private(set) var entries: [ConversationID: [Entry]] = [:]
    /// The texts that each user's connected device must have received, in order.
    private(set) var received: [UserID: [String]] = [:]
    /// The spans of the memberships: the sequence numbers above the key, up to and including the value.
    private var spans: [ConversationID: [UserID: [Int: Int?]]] = [:]

    func isMember(_ log: ConversationID, _ user: UserID) -> Bool {
        if log == Self.direct { return log.namedUsers.contains(user) }
        return spans[log]?[user]?.values.contains { $0 == nil } ?? false
    }

    /// Whether a user sees a conversation at all, even if only a part of its history.
    func isVisible(_ log: ConversationID, _ user: UserID) -> Bool {
        log == Self.direct ? isMember(log, user) && entries[log] != nil : spans[log]?[user] != nil
    }

    func visible(_ log: ConversationID, _ user: UserID) -> Set<Seq> {
        let head = entries[log]?.count ?? 0
        if log == Self.direct { return isMember(log, user) && head > 0 ? Set((1...head).map { Seq($0) }) : [] }
        var places: Set<Seq> = []
        for (joined, left) in spans[log]?[user] ?? [:] {
            for place in joined..<(left ?? head) { places.insert(Seq(place) + 1) }
        }
        return places
    }

    func sendMessage(_ submission: Submission, in log: ConversationID, by sender: UserID) {
        add(submission, in: log, by: sender)
        guard Self.streams.contains(log) else { return }
        let text = MessageContent(known: .text, json: submission.content.json).text ?? ""
        let people = log == Self.direct ? log.namedUsers : Array((spans[log] ?? [:]).keys)
        for user in people where isMember(log, user) { received[user, default: []].append(text) }
    }

    func add(_ submission: Submission, in log: ConversationID, by sender: UserID) {
        entries[log, default: []].append(Entry(sender: sender, submission: submission))
    }

    func join(_ log: ConversationID, _ user: UserID, sinceBeginning: Bool = false) {
        let joined = sinceBeginning ? 0 : entries[log]?.count ?? 0
        spans[log, default: [:]][user, default: [:]][joined] = .some(nil)
    }

    func leave(_ log: ConversationID, _ user: UserID) {
        for (joined, left) in spans[log]?[user] ?? [:] where left == nil {
            spans[log]?[user]?[joined] = entries[log]?.count ?? 0
        }
    }

    func joinCity(_ user: UserID) { join(Self.open, user) }

    /// Removes a user from the community and from its private channels.
    func leaveCity(_ user: UserID) {
        leave(Self.open, user)
        if isMember(Self.secret, user) { leave(Self.secret, user) }
    }

    /// Replaces a log by a new one with the same name.
    func remake(_ log: ConversationID, _ members: [UserID]) {
        entries[log] = nil
        spans[log] = nil
        for user in members { join(log, user) }
    }
}
