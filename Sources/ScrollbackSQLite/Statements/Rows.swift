import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import StoreFiles

// How the engine's rows are taken from columns and handed to parameters, in the order `Query` lists them.

extension Columns {
    mutating func conversation() throws -> ConversationRow {
        let number = integer()
        let id = try conversationID()
        let name = optionalText()
        let avatar = optionalText()
        let metadata = json()
        let visibility: HistoryVisibility = try choice("visibility")
        let isPrivate = flag()
        let isDeleted = flag()
        let createdAt = optionalDate() ?? Date(timeIntervalSinceReferenceDate: 0)
        var row = ConversationRow(id: id, salt: bits(), createdAt: createdAt)
        row.number = number
        row.name = name
        row.avatar = avatar
        row.metadata = metadata
        row.visibility = visibility
        row.isPrivate = isPrivate
        row.isDeleted = isDeleted
        row.head = integer()
        row.n = integer()
        row.timetoken = Timetoken(rawValue: bits())
        row.rev = integer()
        row.firstSeq = integer()
        row.floorN = integer()
        row.view = integer()
        row.moved = integer()
        return row
    }

    private mutating func conversationID() throws -> ConversationID {
        let kind: ConversationKind = try choice("kind")
        let target = text()
        let part = text()
        switch kind {
        case .direct: return .direct(between: UserID(known: target), and: UserID(known: part))
        case .system: return .system(to: UserID(known: target), from: UserID(known: part))
        case .community:
            return .community(Identifier(known: target), channel: part.isEmpty ? nil : Identifier(known: part))
        case .group: return .group(Identifier(known: target))
        case .room: return .room(Identifier(known: target))
        }
    }

    mutating func member() throws -> MemberRow {
        let conversation = integer()
        let user = UserID(known: text())
        guard let standing = MemberRow.Standing(rawValue: integer()) else { throw Self.unreadable("standing") }
        var row = MemberRow(conversation: conversation, user: user, standing: standing, role: try choice("role"))
        row.joinSeq = integer()
        row.joinN = integer()
        row.readSeq = integer()
        row.readN = integer()
        row.clearSeq = integer()
        row.clearN = integer()
        row.isMuted = flag()
        row.isPinned = flag()
        row.isMarkedUnread = flag()
        row.view = integer()
        row.userRev = integer()
        return row
    }

    mutating func hidden() -> HiddenRow {
        HiddenRow(
            lowerSeq: integer(), upperSeq: integer(), lowerN: integer(), upperN: integer(), below: integer())
    }

    mutating func message() throws -> MessageRow {
        let seq = integer()
        let n = integer()
        let timetoken = Timetoken(rawValue: bits())
        guard let id = optionalUUID() else { throw Self.unreadable("id") }
        let sender = UserID(known: text())
        let type = MessageType(rawValue: text())
        let traits = MessageTraits(bits: integer())
        let digest = integer()
        let rev = integer()
        let editedAt = optionalDate()
        var attributes = MessageAttributes(customType: optionalText(), traits: traits)
        attributes.mentions = try optionalText().map { try Mentions(stored: $0) }
        attributes.replyTo = optionalUUID().map { MessageID($0) }
        attributes.metadata = json()
        attributes.extra = json()
        attributes.push = json()
        return MessageRow(
            seq: seq, n: n, timetoken: timetoken, id: MessageID(id), sender: sender, type: type, content: json(),
            attributes: attributes, rev: rev, editedAt: editedAt, digest: digest)
    }

    mutating func user() -> UserRow {
        let profile = UserProfile(
            id: UserID(known: text()), name: optionalText(), avatar: optionalText(), metadata: json())
        return UserRow(profile: profile, rev: integer(), revokedAt: optionalDate())
    }

    private mutating func json() -> RawJSON? { optionalText().map { RawJSON(known: $0) } }

    private mutating func choice<Value: RawRepresentable>(_ column: String) throws -> Value
    where Value.RawValue == String {
        guard let value = Value(rawValue: text()) else { throw Self.unreadable(column) }
        return value
    }

    private static func unreadable(_ column: String) -> ChatError {
        ChatError(.internalError, "the store holds a \(column) that this version can't read")
    }
}

extension Parameters {
    /// A conversation's kind, target and part.
    mutating func add(_ id: ConversationID) {
        add(id.kind.rawValue)
        add(id.target.text)
        add(id.part?.text ?? "")
    }

    /// Everything but the number and the name.
    mutating func add(settingsOf row: ConversationRow) {
        add(row.name)
        add(row.avatar)
        add(row.metadata?.text)
        add(row.visibility.rawValue)
        add(row.isPrivate)
        add(row.isDeleted)
        add(row.createdAt)
        add(bits: row.salt)
        add(row.head)
        add(row.n)
        add(bits: row.timetoken.rawValue)
        add(row.rev)
        add(row.firstSeq)
        add(row.floorN)
        add(row.view)
        add(row.moved)
    }

    mutating func add(_ row: MemberRow) {
        add(row.conversation)
        add(row.user.text)
        add(row.standing.rawValue)
        add(row.role.rawValue)
        add(row.joinSeq)
        add(row.joinN)
        add(row.readSeq)
        add(row.readN)
        add(row.clearSeq)
        add(row.clearN)
        add(row.isMuted)
        add(row.isPinned)
        add(row.isMarkedUnread)
        add(row.view)
        add(row.userRev)
    }

    mutating func add(_ run: HiddenRow) {
        add(run.lowerSeq)
        add(run.upperSeq)
        add(run.lowerN)
        add(run.upperN)
        add(run.below)
    }

    mutating func add(_ row: MessageRow) {
        add(row.seq)
        add(row.n)
        add(bits: row.timetoken.rawValue)
        add(row.id.uuid)
        add(row.sender.text)
        add(row.type.rawValue)
        add(row.attributes.traits.bits)
        add(row.digest)
        add(row.rev)
        add(row.editedAt)
        add(row.attributes.customType)
        add(row.attributes.mentions?.stored)
        add(row.attributes.replyTo?.uuid)
        add(row.attributes.metadata?.text)
        add(row.attributes.extra?.text)
        add(row.attributes.push?.text)
        add(row.content?.text)
    }

    mutating func add(_ row: UserRow) {
        add(row.profile.id.text)
        add(row.profile.name)
        add(row.profile.avatar)
        add(row.profile.metadata?.text)
        add(row.rev)
        add(row.revokedAt)
    }
}

extension Mentions {
    fileprivate var stored: String {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.text
    }

    /// Reads what was stored as it is: the rules for what comes from outside may be stricter than they were.
    fileprivate init(stored text: String) throws {
        var reader = JSONReader(text)
        var everyone = false
        var users: [UserID] = []
        var pushText: String?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "everyone": everyone = try value.bool()
            case "users":
                try value.array { (user) throws(ChatError) in users.append(UserID(known: try user.string())) }
            case "pushText": pushText = try value.string()
            default: try value.skip()
            }
        }
        self.init(everyone: everyone, users: users, pushText: pushText)
    }
}
