import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Recent entries")
struct RecentEntryTests {
    private typealias Stored = RecentEntry.StoredMessage

    private static func head(
        _ seq: Seq = 5, lastCommit: Int64 = 1, userRev: Int64 = 1, recentTime: UInt64? = 5, name: String? = "Swift",
        isMember: Bool = true, isMuted: Bool = false, isMarkedUnread: Bool = false, removedSeq: Seq = 0,
        peerReadSeq: Seq = 0
    ) -> ConversationHead {
        ConversationHead(
            conversation: swift, name: name, state: log(seq), isMuted: isMuted, isMarkedUnread: isMarkedUnread,
            removedSeq: removedSeq, newDeviceFloor: 2, recentTime: recentTime.map { Timetoken(rawValue: $0) },
            isMember: isMember, lastCommit: lastCommit, userRev: userRev, peerReadSeq: peerReadSeq)
    }

    /// An entry after a head, with a stored last message if `lastSeq` is above 0.
    private static func entry(_ head: ConversationHead = Self.head(), lastSeq: Seq = 0) -> RecentEntry {
        var entry = RecentEntry(kind: .group)
        entry.apply(head, pending: [], isRead: false)
        if lastSeq > 0 {
            _ = entry.updateLast([stored(lastSeq)])
        }
        entry.updateListing(.init(head: head.state.head))
        return entry
    }

    private static func stored(_ seq: Seq, rev: Int64 = 0, skips: Bool = false) -> Stored {
        Stored(seq: seq, rev: rev, time: Timetoken(rawValue: UInt64(seq)), skipsRecents: skips)
    }

    // MARK: Whether a conversation is listed

    @Test("A conversation is listed with a stored message, a reported time, unread messages or an unread marker")
    func reasons() {
        func isListed(_ activity: RecentEntry.Activity = .init(), _ change: (inout RecentEntry) -> Void = { _ in })
            -> Bool
        {
            var entry = RecentEntry(kind: .group)
            change(&entry)
            entry.updateListing(activity)
            return entry.isListed
        }
        #expect(!isListed(.init(head: 5)))
        #expect(isListed(.init(head: 5, unread: 1)))
        #expect(isListed(.init(head: 5, mentions: 1)))
        #expect(isListed(.init(head: 5)) { $0.isMarkedUnread = true })
        #expect(isListed(.init(head: 5)) { $0.recentTime = Timetoken(rawValue: 3) })
        #expect(isListed(.init(head: 5)) { $0.lastSeq = 5 })
        #expect(isListed(.init(head: 5)) { $0.isListed = true })
        #expect(isListed { $0.addedTime = Timetoken(rawValue: 0) })
    }

    @Test("A removed conversation returns with the next message, not with a head")
    func removal() {
        var entry = Self.entry(lastSeq: 5)
        #expect(entry.isListed)
        _ = entry.apply(.removeRecent(at: EpochPosition(seq: 5, epoch: log(5).epoch), excludesFromNewDevices: false))
        entry.updateListing(.init(head: 5))
        #expect(!entry.isListed && entry.removedSeq == 5)
        entry.apply(Self.head(userRev: 2), pending: [.list], isRead: false)
        entry.updateListing(.init(head: 5))
        #expect(!entry.isListed && entry.recentTime != nil)
        _ = entry.updateLast([Self.stored(6), Self.stored(5)])
        entry.updateListing(.init(head: 6))
        #expect(entry.isListed)
    }

    @Test("Rooms are never listed")
    func rooms() {
        var entry = RecentEntry(kind: .room)
        _ = entry.updateLast([Self.stored(5)])
        entry.updateListing(.init(head: 5, unread: 1))
        #expect(!entry.isListed)
    }

    @Test("A head without a time removes the conversation from the list, unless messages are stored")
    func headWithoutTime() {
        for (lastSeq, isListed) in [(0, false), (5, true)] as [(Seq, Bool)] {
            var entry = Self.entry(lastSeq: lastSeq)
            #expect(entry.isListed)
            entry.apply(Self.head(lastCommit: 2, recentTime: nil), pending: [], isRead: false)
            entry.updateListing(.init(head: 5))
            #expect(entry.isListed == isListed)
        }
    }

    @Test("The sort time is the last message's, else the server's, else the earlier one, and at least the added time")
    func sortTime() {
        var entry = Self.entry(Self.head(9, recentTime: 9), lastSeq: 7)
        #expect(entry.sortTime.rawValue == 7)
        _ = entry.updateLast([])
        entry.updateListing(.init(head: 9))
        #expect(entry.sortTime.rawValue == 9)
        entry.recentTime = nil
        entry.updateListing(.init(head: 9))
        #expect(entry.sortTime.rawValue == 9)
        #expect(entry.add(at: Timetoken(rawValue: 20), showsLast: true) == false)
        entry.updateListing(.init(head: 9))
        #expect(entry.sortTime.rawValue == 20)
    }

    @Test("Adding a conversation lists it, hides its last message until the next one, and undoes a removal")
    func adding() {
        var entry = RecentEntry(kind: .group)
        #expect(entry.add(at: nil, showsLast: false) == false)
        entry.updateListing(.init())
        #expect(entry.isListed && entry.hidesLast && entry.sortTime.rawValue == 0)
        _ = entry.updateLast([Self.stored(1)])
        #expect(!entry.hidesLast)
        _ = entry.apply(.removeRecent(at: EpochPosition(seq: 1, epoch: log(1).epoch), excludesFromNewDevices: false))
        entry.updateListing(.init(head: 1))
        #expect(!entry.isListed && entry.addedTime == nil)
        #expect(entry.add(at: nil, showsLast: true) == true)
        #expect(entry.removedSeq == 0)
    }

    // MARK: Heads and settings

    @Test("An outdated head restores neither the name, the time nor the membership")
    func outdatedHead() {
        var entry = Self.entry(Self.head(lastCommit: 5, userRev: 5, name: "new", isMember: false))
        #expect(entry.newProfile?.name == "new")
        entry.apply(
            Self.head(lastCommit: 4, userRev: 4, recentTime: 9, name: "old", isMember: true, isMuted: true),
            pending: [], isRead: false)
        #expect(entry.newProfile?.name == "new" && entry.recentTime?.rawValue == 5 && !entry.isMember)
        #expect(!entry.isMuted && entry.settingsRev == 5 && entry.membershipRev == 5)
        // A newer user revision has the current membership, even if the conversation changed since.
        entry.apply(
            Self.head(lastCommit: 4, userRev: 6, name: "old", isMember: true, isMuted: true), pending: [],
            isRead: false)
        #expect(entry.newProfile?.name == "new" && entry.isMember && entry.isMuted)
    }

    @Test("The peer's read position never decreases")
    func peerRead() {
        var entry = Self.entry(Self.head(peerReadSeq: 4))
        entry.apply(Self.head(lastCommit: 2, peerReadSeq: 3), pending: [], isRead: false)
        entry.advancePeerRead(to: 2)
        #expect(entry.peerReadSeq == 4)
    }

    @Test("Unconfirmed settings win over the server's, each kind for itself")
    func pendingSettings() {
        var summary = ReadSummary(Self.head(userRev: 2, isMuted: true, isMarkedUnread: true, removedSeq: 3))
        (summary.isPinned, summary.notifications) = (true, .mentions)
        for pending in SettingKind.allCases {
            var entry = Self.entry()
            entry.apply(settings: summary, pending: [pending], isRead: false)
            #expect(entry.isMuted == (pending != .muted))
            #expect(entry.isPinned == (pending != .pinned))
            #expect(entry.notifications == (pending == .notifications ? nil : .mentions))
            #expect(entry.isMarkedUnread == (pending != .mark))
            #expect(entry.removedSeq == (pending == .list ? 0 : 3))
            #expect(entry.settingsRev == 2)
        }
    }

    @Test("An unconfirmed read ends the server's unread marker")
    func pendingRead() {
        var entry = Self.entry()
        let summary = ReadSummary(Self.head(userRev: 2, isMarkedUnread: true))
        entry.apply(settings: summary, pending: [], isRead: true)
        #expect(!entry.isMarkedUnread)
        entry.apply(settings: summary, pending: [], isRead: false)
        #expect(entry.isMarkedUnread)
    }

    @Test("An entry that is listed only because of its unread marker leaves the list when the marker ends")
    func unreadMarker() {
        func marked() -> RecentEntry {
            var entry = RecentEntry(kind: .group)
            #expect(entry.apply(.markUnread) == true)
            #expect(entry.apply(.markUnread) == false)
            entry.updateListing(.init(head: 5))
            #expect(entry.isListed)
            return entry
        }
        var entry = marked()
        entry.endUnreadMarker()
        entry.updateListing(.init(head: 5))
        #expect(!entry.isListed)
        entry = marked()
        entry.apply(settings: ReadSummary(Self.head(userRev: 2)), pending: [], isRead: false)
        entry.updateListing(.init(head: 5))
        #expect(!entry.isListed)
    }

    @Test("A removal on another device ends an explicit addition; an older removal does not")
    func removalElsewhere() {
        var entry = Self.entry()
        _ = entry.add(at: nil, showsLast: true)
        entry.apply(settings: ReadSummary(Self.head(userRev: 2)), pending: [], isRead: false)
        #expect(entry.addedTime != nil)
        entry.apply(settings: ReadSummary(Self.head(userRev: 3, removedSeq: 5)), pending: [], isRead: false)
        #expect(entry.addedTime == nil)
    }

    @Test("A new epoch keeps mute, pin and notification settings, and resets the rest")
    func newEpoch() {
        var entry = Self.entry(Self.head(isMuted: true, peerReadSeq: 4), lastSeq: 5)
        (entry.isPinned, entry.notifications, entry.isMarkedUnread, entry.missedAfter) = (true, .all, true, 3)
        entry.reset()
        entry.updateListing(.init())
        #expect(entry.isMuted && entry.isPinned && entry.notifications == .all)
        #expect(!entry.isListed && !entry.isMarkedUnread && entry.sortTime.rawValue == 0 && entry.recentTime == nil)
        #expect(entry.lastSeq == 0 && entry.peerReadSeq == 0 && entry.missedAfter == 0 && entry.newDeviceFloor == 0)
        #expect(entry.settingsRev == 0 && entry.membershipRev == 0 && entry.lastCommit == 0)
        #expect(SettingKind.allCases.filter(\.survivesNewEpoch) == [.muted, .notifications, .pinned])
    }

    // MARK: The last message

    @Test("The last message is the newest one that the list does not skip, within the newest 100")
    func skippedMessages() {
        var entry = Self.entry()
        _ = entry.updateLast([Self.stored(9, skips: true), Self.stored(8, rev: 3)])
        #expect(entry.lastSeq == 8 && entry.lastRev == 3 && entry.lastTime?.rawValue == 8)
        // The current one stays if only skipped messages are near.
        let skipped = ((9...120) as ClosedRange<Seq>).reversed().map { Self.stored($0, skips: true) }
        _ = entry.updateLast(skipped + [Self.stored(8, rev: 3)])
        #expect(entry.lastSeq == 8)
        // The newest replaces it if it is gone.
        _ = entry.updateLast(skipped + [Self.stored(7)])
        #expect(entry.lastSeq == 120)
    }

    @Test("Only as many stored messages are read as needed")
    func fewRows() {
        var entry = Self.entry()
        var count = 0
        let rows = ((1...500) as ClosedRange<Seq>).reversed().map { Self.stored($0, skips: $0 > 498) }
        _ = entry.updateLast(rows) { count += 1 }
        #expect(count == 3)
    }

    @Test("The server is asked if the last message disappears, or an older one across a gap replaces it")
    func uncertainLastMessage() {
        var entry = Self.entry(lastSeq: 9)
        #expect(entry.updateLast([Self.stored(10)]) == false)
        #expect(entry.updateLast([Self.stored(8)], gaps: [1...3]) == false)
        entry = Self.entry(lastSeq: 9)
        #expect(entry.updateLast([Self.stored(5)], gaps: [6...7]) == true)
        #expect(entry.updateLast([]) == true)
        #expect(entry.updateLast([]) == false)
        #expect(entry.updateLast([], hadRow: true) == true)
    }

    // MARK: Missed messages

    private static func state(_ head: Seq, replayed: Seq? = nil, gaps: [SeqRange] = [], epoch: UInt64 = 7) -> LogState {
        var state = LogState(adopting: log(head, epoch: epoch))
        state.replayed = replayed ?? head
        state.gaps = SeqRangeSet(gaps)
        return state
    }

    @Test("The first missed message stays recorded until the messages missed since then are stored")
    func missed() {
        var entry = RecentEntry(kind: .group)
        entry.recordMissed(before: Self.state(5), Self.state(5))
        #expect(entry.missedAfter == nil)
        entry.recordMissed(before: Self.state(5), Self.state(8, gaps: [6...8]))
        #expect(entry.missedAfter == 5)
        entry.recordMissed(before: Self.state(8, gaps: [6...8]), Self.state(10, gaps: [6...10]))
        #expect(entry.missedAfter == 5)
        entry.recordMissed(before: Self.state(10), Self.state(12, gaps: [11...12]))
        #expect(entry.missedAfter == 10)
        entry.recordMissed(before: Self.state(12), Self.state(20, epoch: 8))
        #expect(entry.missedAfter == 10)
    }

    @Test("A live update records a missed message only the first time, and only across a gap")
    func missedLive() {
        var entry = RecentEntry(kind: .community)
        entry.recordMissed(before: Self.state(5), Self.state(6), isLive: true)
        #expect(entry.missedAfter == nil)
        entry.recordMissed(before: Self.state(6), Self.state(8, gaps: [7...8]), isLive: true)
        #expect(entry.missedAfter == 6)
        entry.recordMissed(before: Self.state(8), Self.state(9, gaps: [9...9]), isLive: true)
        #expect(entry.missedAfter == 6)
    }

    @Test("A new device has missed nothing")
    func missedOnNewDevice() {
        var entry = RecentEntry(kind: .group)
        entry.recordMissed(before: nil, Self.state(5))
        #expect(entry.missedAfter == nil)
        entry.recordMissed(before: nil, Self.state(5, replayed: 2))
        #expect(entry.missedAfter == 2)
    }
}

extension RecentEntry {
    /// Updates the last message from the stored messages, given with the newest first.
    fileprivate mutating func updateLast(
        _ rows: [StoredMessage], gaps: [SeqRange] = [], hadRow: Bool = false, onRead: () -> Void = {}
    ) -> Bool {
        var next = rows.makeIterator()
        return updateLastMessage(gaps: SeqRangeSet(gaps), hadRow: hadRow) {
            onRead()
            return next.next()
        } stored: { seq in
            rows.first { $0.seq == seq }
        }
    }
}
