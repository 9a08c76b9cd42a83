import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import StoreFiles

// Conversions between columns, parameters and the engine's rows, in the column order of `Query`.

extension Columns {
    mutating func conversation() throws -> ConversationRow {
        let number = integer()
        let id = try conversationID()
        let encryptedRow = EncryptedRow.conversation(id)
        let name = try optionalText("name", of: encryptedRow)
        let avatar = try optionalText("avatar", of: encryptedRow)
        let metadata = try json("metadata", of: encryptedRow)
        let visibility: HistoryVisibility = try enumValue("visibility")
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
        row.countedIndex = integer()
        row.timetoken = Timetoken(rawValue: bits())
        row.rev = integer()
        row.firstSeq = integer()
        row.floorCountedIndex = integer()
        row.floorTime = Timetoken(rawValue: bits())
        row.sweptSeq = integer()
        row.changeFloor = integer()
        row.retention = optionalInteger()
        row.hasDeletedRanges = flag()
        row.view = integer()
        row.isFrozen = flag()
        row.capacity = optionalInteger()
        row.hasMutes = flag()
        row.blocks = DirectBlocks(rawValue: integer())
        row.recentSeq = integer()
        row.recentTime = Timetoken(rawValue: bits())
        row.flags = ConversationFlags(rawValue: integer())
        row.lastCommit = integer()
        return row
    }

    private mutating func conversationID() throws -> ConversationID {
        let kind: ConversationKind = try enumValue("kind")
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
        var row = MemberRow(conversation: conversation, user: user, standing: standing, role: try enumValue("role"))
        row.joinSeq = integer()
        row.joinCountedIndex = integer()
        row.readSeq = integer()
        row.readCountedIndex = integer()
        row.clearSeq = integer()
        row.clearCountedIndex = integer()
        row.removedSeq = integer()
        row.newDeviceFloor = integer()
        row.isMuted = flag()
        row.isPinned = flag()
        row.isMarkedUnread = flag()
        row.markedRev = integer()
        row.view = integer()
        row.userRev = integer()
        row.hasDeletedRanges = flag()
        row.level = optionalText().flatMap { NotificationLevel(rawValue: $0) }
        return row
    }

    mutating func membershipSummary() throws -> MembershipSummary {
        let number = integer()
        let kind: ConversationKind = try enumValue("kind")
        let isCommunityRoot = flag() && kind == .community
        var row = MembershipSummary(number: number, kind: kind, isCommunityRoot: isCommunityRoot)
        row.isDeleted = flag()
        row.isPrivate = flag()
        row.head = integer()
        row.countedIndex = integer()
        row.lastCommit = integer()
        row.activeAt = Timetoken(rawValue: bits())
        row.recentSeq = integer()
        row.standing = optionalInteger().flatMap { MemberRow.Standing(rawValue: $0) }
        row.isMember = row.standing == .member
        row.userRev = integer()
        row.isMuted = flag()
        row.isPinned = flag()
        row.isMarkedUnread = flag()
        row.hasDeletedRanges = flag()
        row.removedSeq = integer()
        row.unreadBase = UnreadBase(
            firstSeq: integer(), floorCountedIndex: integer(), joinSeq: integer(), joinCountedIndex: integer(),
            readSeq: integer(), readCountedIndex: integer(), clearSeq: integer(), clearCountedIndex: integer())
        return row
    }

    mutating func recentsCandidate() -> RecentsCandidate {
        let number = integer()
        let time = Timetoken(rawValue: bits())
        let place = RecentsPosition(isPinned: flag(), time: time, number: number)
        return RecentsCandidate(place: place, isMember: flag(), isCommunityRoot: flag())
    }

    mutating func block() throws -> BitBlock {
        let index = integer()
        guard let words = bytes(as: SIMD16<UInt64>.self) else { throw Self.unreadable("words") }
        return BitBlock(index: index, words: words)
    }

    mutating func deletedRange() throws -> DeletedRangeRow {
        let lower = integer()
        let upper = integer()
        guard lower <= upper else { throw Self.unreadable("upper") }
        return DeletedRangeRow(lower...upper, userRev: integer(), holdsMessages: flag())
    }

    mutating func change() throws -> ChangeRow {
        let rev = integer()
        guard let kind = ChangeRow.Kind(rawValue: integer()) else { throw Self.unreadable("kind") }
        let lower = integer()
        let upper = integer()
        guard lower <= upper else { throw Self.unreadable("upper") }
        return ChangeRow(
            rev: rev, kind: kind, places: lower...upper, at: Timetoken(rawValue: bits()),
            operation: optionalUUID().map { MessageID($0) }, digest: integer(), answer: integer())
    }

    mutating func action(in conversation: Int64) throws -> ActionRow {
        let seq = integer()
        let timetoken = Timetoken(rawValue: bits())
        return ActionRow(
            seq: seq, timetoken: timetoken, sender: UserID(known: text()), type: text(),
            value: try text("value", of: .action(conversation, seq, timetoken)))
    }

    mutating func key() throws -> KeyRow {
        guard let id = optionalUUID() else { throw Self.unreadable("id") }
        return KeyRow(
            id: MessageID(id), sender: UserID(known: text()), digest: integer(), seq: integer(),
            countedIndex: integer(),
            timetoken: Timetoken(rawValue: bits()))
    }

    mutating func message(in conversation: Int64) throws -> MessageRow {
        let seq = integer()
        let encryptedRow = EncryptedRow.message(conversation, seq)
        let countedIndex = integer()
        let timetoken = Timetoken(rawValue: bits())
        guard let id = optionalUUID() else { throw Self.unreadable("id") }
        let sender = UserID(known: text())
        let type = MessageType(rawValue: text())
        let digest = integer()
        let flags = integer()
        let rev = integer()
        let editedAt = optionalDate()
        var attributes = MessageAttributes(customType: optionalText())
        attributes.setFlags(bits: flags)
        attributes.mentions = try optionalText("mentions", of: encryptedRow).map { try Mentions(stored: $0) }
        attributes.replyTo = optionalUUID().map { MessageID($0) }
        let thread = optionalUUID().map { MessageID($0) }
        let replyCount = optionalInteger()
        let lastReply = Timetoken(rawValue: bits())
        let actions = try optionalText("actions", of: encryptedRow).map { try [ActionSummary](stored: $0) }
        attributes.metadata = try json("metadata", of: encryptedRow)
        attributes.extra = try json("extra", of: encryptedRow)
        attributes.push = try json("push", of: encryptedRow)
        return MessageRow(
            seq: seq, countedIndex: countedIndex, timetoken: timetoken, id: MessageID(id), sender: sender, type: type,
            content: try json("content", of: encryptedRow), attributes: attributes, rev: rev, editedAt: editedAt,
            digest: digest, thread: thread,
            replies: replyCount.map { ReplySummary(count: $0, lastReplyAt: lastReply) }, actions: actions ?? [])
    }

    mutating func user() throws -> UserRow {
        let id = UserID(known: text())
        let encryptedRow = EncryptedRow.user(id)
        let profile = UserProfile(
            id: id, name: try optionalText("name", of: encryptedRow),
            avatar: try optionalText("avatar", of: encryptedRow),
            metadata: try json("metadata", of: encryptedRow))
        return UserRow(
            profile: profile, rev: integer(), revokedAt: optionalDate(),
            state: UserState(rawValue: integer()) ?? .deactivated, isBanned: flag())
    }

    mutating func json(_ column: String, of row: EncryptedRow) throws -> RawJSON? {
        try optionalText(column, of: row).map { RawJSON(known: $0) }
    }

    private mutating func enumValue<Value: RawRepresentable>(_ column: String) throws -> Value
    where Value.RawValue == String {
        guard let value = Value(rawValue: text()) else { throw Self.unreadable(column) }
        return value
    }

    static func unreadable(_ column: String) -> ChatError {
        ChatError(.internalError, "The store has a value in column \(column) that this version can't read.")
    }
}

extension Parameters {
    /// Binds the kind, target and part of a conversation.
    mutating func add(_ id: ConversationID) {
        add(id.kind.rawValue)
        add(id.target.text)
        add(id.part?.text ?? "")
    }

    /// Binds all columns except the number and the ID.
    mutating func add(settingsOf row: ConversationRow) {
        let encryptedRow = EncryptedRow.conversation(row.id)
        add(row.name, "name", of: encryptedRow)
        add(row.avatar, "avatar", of: encryptedRow)
        add(row.metadata?.text, "metadata", of: encryptedRow)
        add(row.visibility.rawValue)
        add(row.isPrivate)
        add(row.isDeleted)
        add(row.createdAt)
        add(bits: row.salt)
        add(row.head)
        add(row.countedIndex)
        add(bits: row.timetoken.rawValue)
        add(row.rev)
        add(row.firstSeq)
        add(row.floorCountedIndex)
        add(bits: row.floorTime.rawValue)
        add(row.sweptSeq)
        add(row.changeFloor)
        add(row.retention)
        add(row.hasDeletedRanges)
        add(row.view)
        add(row.isFrozen)
        add(row.capacity)
        add(row.hasMutes)
        add(row.blocks.rawValue)
        add(row.recentSeq)
        add(bits: row.recentTime.rawValue)
        add(row.flags.rawValue)
        add(row.lastCommit)
    }

    mutating func add(_ row: MemberRow) {
        add(row.conversation)
        add(row.user.text)
        add(row.standing.rawValue)
        add(row.role.rawValue)
        add(row.joinSeq)
        add(row.joinCountedIndex)
        add(row.readSeq)
        add(row.readCountedIndex)
        add(row.clearSeq)
        add(row.clearCountedIndex)
        add(row.removedSeq)
        add(row.newDeviceFloor)
        add(row.isMuted)
        add(row.isPinned)
        add(row.isMarkedUnread)
        add(row.markedRev)
        add(row.view)
        add(row.userRev)
        add(row.hasDeletedRanges)
        add(row.level?.rawValue)
    }

    /// Binds the kind and user of a set.
    mutating func add(_ set: BitSet) {
        switch set {
        case .removed, .deleted:
            add(set == .removed ? 0 : 1)
            add("")
        case .uncounted(let user):
            add(2)
            add(user.text)
        }
    }

    mutating func add(_ row: ChangeRow) {
        add(row.rev)
        add(row.kind.rawValue)
        add(row.places.lowerBound)
        add(row.places.upperBound)
        add(bits: row.at.rawValue)
        add(row.operation?.uuid)
        add(row.digest)
        add(row.answer)
    }

    mutating func add(_ row: KeyRow) {
        add(row.id.uuid)
        add(row.sender.text)
        add(row.digest)
        add(row.seq)
        add(row.countedIndex)
        add(bits: row.timetoken.rawValue)
    }

    mutating func add(_ row: ActionRow, in conversation: Int64) {
        add(row.seq)
        add(bits: row.timetoken.rawValue)
        add(row.sender.text)
        add(row.type)
        add(row.value, "value", of: .action(conversation, row.seq, row.timetoken))
    }

    mutating func add(_ row: MessageRow, in conversation: Int64) {
        add(row.seq)
        add(row.countedIndex)
        add(bits: row.timetoken.rawValue)
        add(row.id.uuid)
        add(row.sender.text)
        add(row.type.rawValue)
        add(row.digest)
        add(stateOf: row, in: conversation)
    }

    /// Binds the columns that a change can alter.
    mutating func add(stateOf row: MessageRow, in conversation: Int64) {
        let encryptedRow = EncryptedRow.message(conversation, row.seq)
        add(row.attributes.flagBits)
        add(row.rev)
        add(row.editedAt)
        add(row.attributes.customType)
        add(row.attributes.mentions?.stored, "mentions", of: encryptedRow)
        add(row.attributes.replyTo?.uuid)
        add(row.thread?.uuid)
        add(row.replies?.count)
        add(row.replies.map { Int64(bitPattern: $0.lastReplyAt.rawValue) })
        add(row.actions.isEmpty ? nil : row.actions.stored, "actions", of: encryptedRow)
        add(row.attributes.metadata?.text, "metadata", of: encryptedRow)
        add(row.attributes.extra?.text, "extra", of: encryptedRow)
        add(row.attributes.push?.text, "push", of: encryptedRow)
        add(row.content?.text, "content", of: encryptedRow)
    }

    mutating func add(_ row: UserRow) {
        let encryptedRow = EncryptedRow.user(row.profile.id)
        add(row.profile.id.text)
        add(row.profile.name, "name", of: encryptedRow)
        add(row.profile.avatar, "avatar", of: encryptedRow)
        add(row.profile.metadata?.text, "metadata", of: encryptedRow)
        add(row.rev)
        add(row.revokedAt)
        add(row.state.rawValue)
        add(row.isBanned)
    }
}
