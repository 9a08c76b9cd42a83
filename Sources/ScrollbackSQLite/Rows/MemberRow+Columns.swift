import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension MemberRow: StoredRow, Bindable {
    static let columns = "conversation, userID, \(updatedColumns)"
    static let updatedColumns = """
        standing, role, joinSeq, joinCountedIndex, readSeq, readCountedIndex, clearSeq, clearCountedIndex, \
        removedSeq, newDeviceFloor, isMuted, isPinned, isMarkedUnread, markedRev, view, userRev, hasDeletedRanges, \
        level
        """

    init(_ columns: inout Columns) throws {
        self.init(
            conversation: columns.integer(), user: columns.userID(), standing: try columns.enumValue("standing"),
            role: try columns.enumValue("role"))
        joinSeq = columns.integer()
        joinCountedIndex = columns.integer()
        readSeq = columns.integer()
        readCountedIndex = columns.integer()
        clearSeq = columns.integer()
        clearCountedIndex = columns.integer()
        removedSeq = columns.integer()
        newDeviceFloor = columns.integer()
        mutesPushes = columns.flag()
        isPinned = columns.flag()
        isMarkedUnread = columns.flag()
        markedRev = columns.integer()
        view = columns.integer()
        userRev = columns.integer()
        hasDeletedRanges = columns.flag()
        level = columns.optionalText().flatMap { NotificationLevel(rawValue: $0) }
    }

    func bind(to parameters: inout Parameters) {
        parameters.add(conversation, user, standing.rawValue, role.rawValue)
        parameters.add(joinSeq, joinCountedIndex, readSeq, readCountedIndex)
        parameters.add(clearSeq, clearCountedIndex, removedSeq, newDeviceFloor)
        parameters.add(mutesPushes, isPinned, isMarkedUnread, markedRev)
        parameters.add(view, userRev, hasDeletedRanges, level?.rawValue)
    }
}

extension MembershipSummary: StoredRow {
    /// The columns of a join of `conversation c` and `member m`.
    ///
    /// They are raw columns, because computing values from them is faster in Swift. Without a member row, its columns
    /// are 0.
    static let columns = """
        c.number, c.kind, c.part = '', c.isDeleted, c.isPrivate, c.head, c.countedIndex, c.lastCommit, \
        iif(c.recentSeq > 0, c.recentTime, c.timetoken), c.recentSeq, m.standing, m.userRev, m.isMuted, m.isPinned, \
        m.isMarkedUnread, m.hasDeletedRanges, m.removedSeq, c.firstSeq, c.floorCountedIndex, m.joinSeq, \
        m.joinCountedIndex, m.readSeq, m.readCountedIndex, m.clearSeq, m.clearCountedIndex
        """

    init(_ columns: inout Columns) throws {
        let number = columns.integer()
        let kind: ConversationKind = try columns.enumValue("kind")
        let isCommunityRoot = columns.flag() && kind == .community
        self.init(number: number, kind: kind, isCommunityRoot: isCommunityRoot)
        isDeleted = columns.flag()
        isPrivate = columns.flag()
        head = columns.integer()
        countedIndex = columns.integer()
        lastCommit = columns.integer()
        activeAt = columns.timetoken()
        recentSeq = columns.integer()
        standing = columns.optionalInteger().flatMap { MemberRow.Standing(rawValue: $0) }
        isMember = standing == .member
        userRev = columns.integer()
        mutesPushes = columns.flag()
        isPinned = columns.flag()
        isMarkedUnread = columns.flag()
        hasDeletedRanges = columns.flag()
        removedSeq = columns.integer()
        unreadBase = UnreadBase(
            firstSeq: columns.integer(), floorCountedIndex: columns.integer(),
            joinSeq: columns.integer(), joinCountedIndex: columns.integer(),
            readSeq: columns.integer(), readCountedIndex: columns.integer(),
            clearSeq: columns.integer(), clearCountedIndex: columns.integer())
    }
}
