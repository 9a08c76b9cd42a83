import GRDB
import ScrollbackModel
import ScrollbackWire

/// A change of a conversation's members.
enum MemberChange: Sendable {
    case put(PutMember)
    case remove(RemoveMember)

    var conversation: ConversationID {
        switch self {
        case .put(let request): request.conversation
        case .remove(let request): request.conversation
        }
    }

    var operation: MessageID? {
        switch self {
        case .put(let request): request.operation
        case .remove(let request): request.operation
        }
    }

    /// Applies the change to members, by user.
    ///
    /// - Parameter adds: Whether a user can be added, or only the known members be changed.
    func apply(to members: inout [UserID: Member], adds: (UserID) -> Bool) {
        switch self {
        case .remove(let request): members[request.user] = nil
        case .put(let request):
            let isAdded = members[request.user] == nil
            // A mute alone adds no member.
            if isAdded, request.role == nil && request.mute != nil || !adds(request.user) { return }
            var member = members[request.user] ?? Member(id: request.user, role: .member)
            member.role = request.role ?? member.role
            if let mute = request.mute { member.mute = mute }
            members[request.user] = member
        }
    }
}

extension LocalReader {
    /// Returns the queued changes of a conversation's members.
    func queuedMemberChanges(in list: ConversationID) throws -> [MemberChange] {
        try (queued(.members) + queued(.leaving)).compactMap { queued -> MemberChange? in
            switch queued.request {
            case .putMember(let request): .put(request)
            case .removeMember(let request), .leave(let request): .remove(request)
            default: nil
            }
        }.filter { $0.conversation == list }
    }

    /// Returns a member that is stored on this device, and whether members of the conversation are stored at all.
    fileprivate func storedMember(_ user: UserID, of list: ConversationID) throws -> (isListed: Bool, member: Member?) {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT role, mutedUntil FROM member WHERE conversation = ? AND user = ?"),
            arguments: [list.description, user.text])
        if let row {
            return (true, Member(id: user, role: Role(rawValue: row[0]) ?? .member, mute: Mute(stored: row[1])))
        }
        let isListed = try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM member WHERE conversation = ?)"),
            arguments: [list.description])
        return (isListed ?? false, nil)
    }

    /// Returns the members that are stored on this device, sorted by user ID.
    func storedMembers(of list: ConversationID, after user: UserID?, limit: Int) throws -> [Member] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT user, role, mutedUntil FROM member WHERE conversation = ? AND user > ? ORDER BY user LIMIT ?
                    """), arguments: [list.description, user?.text ?? "", limit]
        ).map { row in
            Member(
                id: UserID(known: row[0]), role: Role(rawValue: row[1]) ?? .member, mute: Mute(stored: row[2]))
        }
    }
}

extension LocalWriter {
    /// Stores a page of the server's list.
    ///
    /// - Parameters:
    ///   - user: The user after whom the page begins.
    ///   - last: The last user of the page; `nil` if the list ends there.
    func save(_ members: [Member], of list: ConversationID, after user: UserID?, through last: UserID?) throws {
        try db.cachedStatement(
            sql: "DELETE FROM member WHERE conversation = ?1 AND user > ?2 AND (?3 IS NULL OR user <= ?3)"
        ).execute(arguments: [list.description, user?.text ?? "", last?.text])
        for member in members { try save(member, of: list) }
    }

    private func save(_ member: Member, of list: ConversationID) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO member VALUES (?, ?, ?, ?)")
            .execute(arguments: [list.description, member.id.text, member.role.rawValue, member.mute?.stored])
    }

    private func removeMember(_ user: UserID, of list: ConversationID) throws {
        try db.cachedStatement(sql: "DELETE FROM member WHERE conversation = ? AND user = ?")
            .execute(arguments: [list.description, user.text])
    }

    /// Stores that a user joined, has another role or, without a role, left.
    ///
    /// A conversation whose members were never listed has no stored members.
    func saveMember(_ user: UserID, _ role: Role?, of list: ConversationID) throws {
        guard let role else { return try removeMember(user, of: list) }
        let (isListed, known) = try reader.storedMember(user, of: list)
        guard isListed else { return }
        try save(Member(id: user, role: role, mute: known?.mute), of: list)
    }

    /// Stores a change that the server accepted.
    func saveAccepted(_ change: MemberChange) throws {
        let list = change.conversation
        switch change {
        case .remove(let request): try removeMember(request.user, of: list)
        case .put(let request):
            let (isListed, known) = try reader.storedMember(request.user, of: list)
            guard isListed else { return }
            var members = known.map { [$0.id: $0] } ?? [:]
            change.apply(to: &members) { _ in true }
            if let member = members[request.user] { try save(member, of: list) }
        }
    }
}
