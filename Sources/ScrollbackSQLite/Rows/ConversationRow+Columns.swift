import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension ConversationRow: StoredRow, Bindable {
    static let columns = "number, kind, target, part, \(updatedColumns)"
    /// All columns except the number and the ID.
    static let updatedColumns = """
        name, avatar, metadata, visibility, isPrivate, isDeleted, createdAt, salt, head, countedIndex, timetoken, rev, \
        firstSeq, floorCountedIndex, floorTime, sweptSeq, changeFloor, retention, hasDeletedRanges, view, isFrozen, \
        capacity, hasMutes, blocks, recentSeq, recentTime, flags, namedAt, lastCommit
        """

    init(_ columns: inout Columns) throws {
        let number = columns.integer()
        let id = try ConversationID(&columns)
        let encryptedRow = EncryptedRow.conversation(id)
        let name = try columns.optionalText("name", of: encryptedRow)
        let avatar = try columns.optionalText("avatar", of: encryptedRow)
        let metadata = try columns.json("metadata", of: encryptedRow)
        let visibility: HistoryVisibility = try columns.enumValue("visibility")
        let (isPrivate, isDeleted, createdAt) = (columns.flag(), columns.flag(), columns.date())
        self.init(id: id, salt: columns.bits(), createdAt: createdAt)
        self.number = number
        self.name = name
        self.avatar = avatar
        self.metadata = metadata
        self.visibility = visibility
        self.isPrivate = isPrivate
        self.isDeleted = isDeleted
        head = columns.integer()
        countedIndex = columns.integer()
        timetoken = columns.timetoken()
        rev = columns.integer()
        firstSeq = columns.integer()
        floorCountedIndex = columns.integer()
        floorTime = columns.timetoken()
        sweptSeq = columns.integer()
        changeFloor = columns.integer()
        retention = columns.optionalInteger()
        hasDeletedRanges = columns.flag()
        view = columns.integer()
        isFrozen = columns.flag()
        capacity = columns.optionalInteger()
        hasMutes = columns.flag()
        blocks = DirectBlocks(rawValue: columns.integer())
        recentSeq = columns.integer()
        recentTime = columns.timetoken()
        flags = ConversationFlags(rawValue: columns.integer())
        namedAt = columns.timetoken()
        lastCommit = columns.integer()
    }

    /// Binds ``updatedColumns``.
    func bind(to parameters: inout Parameters) {
        let encryptedRow = EncryptedRow.conversation(id)
        parameters.add(name, "name", of: encryptedRow)
        parameters.add(avatar, "avatar", of: encryptedRow)
        parameters.add(metadata?.text, "metadata", of: encryptedRow)
        parameters.add(visibility.rawValue, isPrivate, isDeleted, createdAt)
        parameters.add(bits: salt)
        parameters.add(head, countedIndex, timetoken, rev)
        parameters.add(firstSeq, floorCountedIndex, floorTime, sweptSeq)
        parameters.add(changeFloor, retention, hasDeletedRanges, view)
        parameters.add(isFrozen, capacity, hasMutes, blocks.rawValue)
        parameters.add(recentSeq, recentTime, flags.rawValue, namedAt)
        parameters.add(lastCommit)
    }
}

extension ConversationID {
    /// Reads the kind, target and part.
    fileprivate init(_ columns: inout Columns) throws {
        let kind: ConversationKind = try columns.enumValue("kind")
        let (target, part) = (columns.text(), columns.text())
        switch kind {
        case .direct: self = .direct(between: UserID(known: target), and: UserID(known: part))
        case .system: self = .system(to: UserID(known: target), from: UserID(known: part))
        case .community:
            self = .community(Identifier(known: target), channel: part.isEmpty ? nil : Identifier(known: part))
        case .group: self = .group(Identifier(known: target))
        case .room: self = .room(Identifier(known: target))
        }
    }
}
