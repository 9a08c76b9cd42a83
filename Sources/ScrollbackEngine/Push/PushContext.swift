import Foundation
import ScrollbackModel
import ScrollbackWire

/// The context for creating pushes of one conversation: one snapshot, with a cache of what was read.
struct PushContext {
    let row: ConversationRow
    let store: any StoreReader
    let now: Date

    private var people: [UserID: PushUserRow?] = [:]
    private var accesses: [UserID: Access?] = [:]
    private var names: [UserID: String] = [:]
    private var accessRevoked: [UserID: Bool] = [:]

    init(row: ConversationRow, store: any StoreReader, now: Date) {
        self.row = row
        self.store = store
        self.now = now
    }

    /// The message or recall that a push is about.
    struct Subject {
        var push: PushRow
        var message: MessageID
        /// The sequence number; 0 for a message that is not stored.
        var seq: Seq
        var sender: UserID
        var text: PushSubject
        /// Whether the message of a push no longer exists.
        var isDeleted: Bool

        var isRecall: Bool { push.kind == .recall }
    }

    /// Returns the subject of a pending push, or `nil` if its message no longer exists.
    mutating func subject(of push: PushRow) throws -> Subject? {
        let isRecall = push.kind == .recall
        if !isRecall, let body = push.body {
            var reader = JSONReader(body.text)
            var fields = MessageFields()
            try reader.object { (name, value) throws(ChatError) in try fields.read(name, &value) }
            let message = try fields.transient()
            let text = try subject(
                message.content, message.content.type, message.attributes, by: message.sender, isRecalled: false)
            return Subject(
                push: push, message: message.id, seq: 0, sender: message.sender, text: text, isDeleted: false)
        }
        guard let message = try store.message(at: push.seq, in: row.number) else { return nil }
        let content = message.content.map { MessageContent(known: message.type, json: $0) }
        // A tombstone has no attributes.
        let attributes = isRecall ? try MessageAttributes(recallAttributes: push.body) : message.attributes
        let text = try subject(content, message.type, attributes, by: message.sender, isRecalled: isRecall)
        return Subject(
            push: push, message: message.id, seq: push.seq, sender: message.sender, text: text,
            isDeleted: message.isDeleted != isRecall)
    }

    private mutating func subject(
        _ content: MessageContent?, _ type: MessageType, _ attributes: MessageAttributes, by sender: UserID,
        isRecalled: Bool
    ) throws -> PushSubject {
        let name = try name(of: sender)
        let own = row.name ?? row.id.part?.text ?? row.id.target.text
        return PushSubject(
            kind: row.id.kind, sender: name,
            conversation: row.id.kind.traits.membership == .named ? name : own, type: type, text: content?.text,
            isEncrypted: content?.encrypted != nil, mentions: attributes.mentions,
            options: attributes.pushOptions ?? PushOptions(), isRecalled: isRecalled)
    }

    // MARK: Recipients

    /// Returns possible recipients of the pushes, ordered by ID: users in the index, and mentioned users.
    func people(for subjects: [Subject], after: UserID?, limit: Int) throws -> [UserID] {
        let named = Set(subjects.flatMap { $0.text.mentions?.users ?? [] })
        if row.id.kind.traits.membership == .named {
            return page(of: Set(row.id.namedUsers), after: after, limit: limit)
        }
        let isForEveryone = subjects.contains { $0.text.mentions?.everyone == true }
        var found = Set(page(of: named, after: after, limit: limit))
        for audience in try store.pushAudiences(of: row) {
            for level in isForEveryone ? [NotificationLevel.all, .mentions] : [.all] {
                found.formUnion(try store.pushRecipients(at: level, in: audience, after: after, limit: limit))
            }
        }
        return Array(found.sorted().prefix(limit))
    }

    private func page(of users: Set<UserID>, after: UserID?, limit: Int) -> [UserID] {
        Array(users.filter { user in after.map { $0 < user } ?? true }.sorted().prefix(limit))
    }

    mutating func person(_ user: UserID) throws -> PushUserRow? {
        if let known = people[user] { return known }
        let person = try store.pushUser(user)
        people[user] = .some(person)
        return person
    }

    mutating func access(_ user: UserID, _ read: () throws -> Access?) throws -> Access? {
        if let known = accesses[user] { return known }
        let access = try read()
        accesses[user] = .some(access)
        return access
    }

    /// The profile name, or the user ID.
    private mutating func name(of user: UserID) throws -> String {
        if let known = names[user] { return known }
        let name = try store.user(user)?.profile.name ?? user.text
        names[user] = name
        return name
    }

    /// Returns whether a user may not connect, and so may not read messages.
    mutating func isAccessRevoked(_ user: UserID) throws -> Bool {
        if let known = accessRevoked[user] { return known }
        var isAccessRevoked = false
        if let row = try store.user(user) {
            isAccessRevoked = row.state != .active
            if row.isBanned, let ban = try store.ban(of: user, in: BanRow.server)?.ban, ban.isActive(at: now) {
                isAccessRevoked = true
            }
        }
        accessRevoked[user] = isAccessRevoked
        return isAccessRevoked
    }
}
