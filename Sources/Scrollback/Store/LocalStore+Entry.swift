import GRDB
import ScrollbackModel
import ScrollbackSync
import SQLiteSupport

/// A row of the list of recent conversations that the current transaction is working on.
struct OpenEntry {
    let number: Int64
    let conversation: ConversationID
    var value: RecentEntry
    /// The value in the database.
    let saved: RecentEntry
    var activity: RecentEntry.Activity
}

extension LocalReader {
    /// Loads a conversation's entry.
    func entry(of id: ConversationID, numbered number: Int64) throws -> OpenEntry {
        var entry = RecentEntry(kind: id.kind)
        var activity = RecentEntry.Activity()
        try run(
            """
            SELECT lastCommit, recentTime, isFrozen, mutedUntil, newDeviceFloor, peerReadSeq, isMember, memberRev,
                ownRev, isMuted, notifications, isPinned, isMarkedUnread, removedSeq, addedTime, isRecent, sortTime,
                lastSeq, lastRev, hidesLast, missedAfter, hasDeliveries, peerDeliveredSeq, deliveredSeq, deliverySeq,
                deliverySearchedSeq, head, unread, mentions,
                (SELECT timetoken FROM message WHERE message.conversation = number AND seq = lastSeq)
            FROM conversation WHERE number = ?
            """
        ) {
            $0.add(number)
        } row: { row in
            entry.lastCommit = row.integer()
            entry.recentTime = Timetoken(stored: row.optionalInteger())
            entry.isFrozen = row.flag()
            entry.mute = Mute(stored: row.optionalNumber())
            entry.newDeviceFloor = row.integer()
            entry.peerReadSeq = row.integer()
            entry.isMember = row.flag()
            entry.membershipRev = row.integer()
            entry.settingsRev = row.integer()
            entry.isMuted = row.flag()
            entry.notifications = row.optionalText().flatMap { NotificationLevel(rawValue: $0) }
            entry.isPinned = row.flag()
            entry.isMarkedUnread = row.flag()
            entry.removedSeq = row.integer()
            entry.addedTime = Timetoken(stored: row.optionalInteger())
            entry.isListed = row.flag()
            entry.sortTime = Timetoken(rawValue: row.bits())
            entry.lastSeq = row.integer()
            entry.lastRev = row.integer()
            entry.hidesLast = row.flag()
            entry.missedAfter = row.optionalInteger()
            entry.delivery = DeliveryState(
                isOn: row.flag(), peerSeq: row.integer(), reportedSeq: row.integer(), dueSeq: row.integer(),
                searchedSeq: row.integer())
            activity = RecentEntry.Activity(head: row.integer(), unread: row.integer(), mentions: row.integer())
            entry.lastTime = Timetoken(stored: row.optionalInteger())
            return false
        }
        return OpenEntry(number: number, conversation: id, value: entry, saved: entry, activity: activity)
    }
}

extension LocalWriter {
    /// Loads a conversation's entry, inserting the row if necessary.
    func entry(of id: ConversationID) throws -> OpenEntry {
        try reader.entry(of: id, numbered: number(of: id))
    }

    /// Updates whether the conversation is listed, and its position, and saves the entry.
    func saveListing(_ entry: OpenEntry) throws {
        var entry = entry
        entry.value.updateListing(entry.activity)
        try save(entry)
    }

    /// Saves an entry if it changed.
    func save(_ entry: OpenEntry) throws {
        let value = entry.value
        guard value != entry.saved else { return }
        let profile = try value.newProfile.map {
            try reader.stored(
                ["name": $0.name, "avatar": $0.avatar], of: .conversation(entry.conversation), numbered: entry.number)
        }
        try db.cachedStatement(
            sql: """
                UPDATE conversation SET lastCommit = ?, recentTime = ?, isFrozen = ?, mutedUntil = ?,
                    newDeviceFloor = ?, peerReadSeq = ?, isMember = ?, memberRev = ?, ownRev = ?, isMuted = ?,
                    notifications = ?, isPinned = ?, isMarkedUnread = ?, removedSeq = ?, addedTime = ?, isRecent = ?,
                    sortTime = ?, lastSeq = ?, lastRev = ?, hidesLast = ?, missedAfter = ?, hasDeliveries = ?,
                    peerDeliveredSeq = ?, deliveredSeq = ?, deliverySeq = ?, deliverySearchedSeq = ?,
                    name = iif(?, ?, name), avatar = iif(?, ?, avatar)
                WHERE number = ?
                """
        ).execute(arguments: [
            value.lastCommit, value.recentTime?.stored, value.isFrozen, value.mute?.stored, value.newDeviceFloor,
            value.peerReadSeq, value.isMember, value.membershipRev, value.settingsRev, value.isMuted,
            value.notifications?.rawValue, value.isPinned, value.isMarkedUnread, value.removedSeq,
            value.addedTime?.stored, value.isListed, value.sortTime.stored, value.lastSeq, value.lastRev,
            value.hidesLast, value.missedAfter, value.delivery.isOn, value.delivery.peerSeq,
            value.delivery.reportedSeq, value.delivery.dueSeq, value.delivery.searchedSeq, profile != nil, profile?[0],
            profile != nil, profile?[1], entry.number,
        ])
    }

    /// Applies the parts of an input that concern the entry itself.
    func updateEntry(_ input: LogInput, before: LogState?, _ log: inout OpenLog, in id: ConversationID) throws {
        if let before, before.epoch != log.state?.epoch {
            try changeEntry(of: &log, in: id) { $0.reset() }
            try dropPendingOfOldEpoch(id, number: log.number)
            try removeKeptMessagesOfOldEpoch(log.number)
        }
        if before == nil, let state = log.state, try !reader.hasCompletedSync() {
            try changeEntry(of: &log, in: id) { $0.delivery.reportedSeq = state.head }
        }
        switch input {
        case .head(let head):
            let pending = try reader.pendingSettingKinds(in: id)
            let isRead = log.read?.pendingReadSeq != nil
            try changeEntry(of: &log, in: id) { $0.apply(head, pending: pending, isRead: isRead) }
            try recordMissed(before: before, &log, in: id)
        case .live(.head): try recordMissed(before: before, &log, in: id, isLive: true)
        case .live, .page, .sync, .sent, .found: break
        }
    }

    private func recordMissed(
        before: LogState?, _ log: inout OpenLog, in id: ConversationID, isLive: Bool = false
    ) throws {
        guard let state = log.state else { return }
        try changeEntry(of: &log, in: id) { $0.recordMissed(before: before, state, isLive: isLive) }
    }

    private func changeEntry(
        of log: inout OpenLog, in id: ConversationID, _ change: (inout RecentEntry) throws -> Void
    ) throws {
        var entry = try log.entry ?? reader.entry(of: id, numbered: log.number)
        try change(&entry.value)
        log.entry = entry
    }

    /// Deletes the unconfirmed read and settings that are meaningless in a new epoch.
    private func dropPendingOfOldEpoch(_ id: ConversationID, number: Int64) throws {
        try db.cachedStatement(
            sql: "UPDATE conversation SET pendingReadSeq = NULL, pendingReadCountedIndex = NULL WHERE number = ?"
        ).execute(arguments: [number])
        for kind in SettingKind.allCases where !kind.survivesNewEpoch {
            try db.cachedStatement(sql: "DELETE FROM pendingState WHERE conversation = ? AND sort = ?")
                .execute(arguments: [id.description, kind.rawValue])
        }
    }

    /// Updates the entry at the end of the transaction, and saves it.
    ///
    /// - Returns: Whether the server must be asked for the last message, and whether this device has messages to report
    ///   that it did not have before.
    func finishEntry(of log: OpenLog, in id: ConversationID) throws -> (isUncertain: Bool, hasDeliveries: Bool) {
        var entry = try log.entry ?? reader.entry(of: id, numbered: log.number)
        if let state = log.state {
            entry.activity.head = state.head
            if let range = entry.value.delivery.unreported(in: state) {
                entry.value.delivery.searched(range, newest: try reader.newestOfOthers(in: range, entry.number))
            }
        }
        if let read = log.savedRead { (entry.activity.unread, entry.activity.mentions) = (read.unread, read.mentions) }
        var isUncertain = false
        if !log.touched.isEmpty {
            isUncertain = try updateLastMessage(of: &entry, gaps: log.state?.gaps ?? SeqRangeSet(), hadRow: log.hadRow)
        }
        try saveListing(entry)
        let (before, delivery) = (entry.saved.delivery, entry.value.delivery)
        let wasDue = before.isDue && before.dueSeq == delivery.dueSeq
        return (isUncertain, delivery.isDue && !wasDue)
    }

    private func updateLastMessage(of entry: inout OpenEntry, gaps: SeqRangeSet, hadRow: Bool) throws -> Bool {
        let columns = "SELECT seq, rev, timetoken, flags FROM message WHERE conversation = ?"
        let newest = try Row.fetchCursor(
            db.cachedStatement(sql: "\(columns) ORDER BY seq DESC"), arguments: [entry.number])
        return try entry.value.updateLastMessage(gaps: gaps, hadRow: hadRow) {
            try newest.next().map { RecentEntry.StoredMessage($0) }
        } stored: { [number = entry.number] seq in
            try Row.fetchOne(db.cachedStatement(sql: "\(columns) AND seq = ?"), arguments: [number, seq])
                .map { RecentEntry.StoredMessage($0) }
        }
    }
}

extension RecentEntry.StoredMessage {
    fileprivate init(_ row: Row) {
        self.init(
            seq: row[0], rev: row[1], time: Timetoken(rawValue: UInt64(bitPattern: row[2])),
            skipsRecents: (row[3] as Int64) & MessageTraits.skipsRecentsBit != 0)
    }
}

extension Timetoken {
    fileprivate var stored: Int64 { Int64(bitPattern: rawValue) }

    fileprivate init?(stored: Int64?) {
        guard let stored else { return nil }
        self.init(rawValue: UInt64(bitPattern: stored))
    }
}
