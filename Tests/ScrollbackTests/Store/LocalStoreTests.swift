import ContractRows
import Foundation
import GRDB
import Scrollback
import ScrollbackModel
import ScrollbackSync
import TestSupport
import Testing

@Suite("The local store")
struct LocalStoreTests {
    private let store: LocalStore

    init() throws {
        store = try LocalStore(directory: nil, user: "alice")
    }

    @Test("A page that was read before a recall does not restore the recalled message", .history(3))
    func stalePageDoesNotRestoreMessage() async throws {
        try await apply(.head(head(20, rev: 10)))
        try await apply(.page(swift, page(11...20, rev: 10)))
        try await apply(.live(.changed(swift, Epoch(rawValue: 7), .message(message(4, nil, rev: 11)))))
        try await apply(.live(.changed(swift, Epoch(rawValue: 7), .message(message(14, nil, rev: 12)))))
        try await apply(.page(swift, page(1...20, rev: 10)))
        let rows = try await rows()
        #expect(rows[4] == "")
        #expect(rows[14] == "")
        #expect(rows.count == 20)
        #expect(try await store.read { try $0.violations() } == [])
    }

    @Test("A read that throws leaves no transaction open")
    func failedRead() async throws {
        for _ in 0..<10 {
            await #expect(throws: ChatError.self) {
                try await store.read { _ in throw ChatError(.internalError, "The read fails.") }
            }
        }
        try await apply(.head(head(20, rev: 10)))
        #expect(try await store.read { try $0.log(of: swift)?.head } == 20)
    }

    @Test("Two changes that arrive in reverse order are both applied", .history(4))
    func reorderedChanges() async throws {
        try await apply(.head(head(10, rev: 10)))
        try await apply(.page(swift, page(1...10, rev: 10)))
        let edit = message(3, "edited", rev: 12)
        try await apply(.live(.changed(swift, Epoch(rawValue: 7), .message(edit))))
        try await apply(.live(.changed(swift, Epoch(rawValue: 7), .message(message(4, "changed", rev: 11)))))
        let position = try #require(try await store.read { try $0.log(of: swift)?.position(in: swift) })
        var nothing = page(1...1, rev: 12)
        nothing.messages = []
        nothing.coverage = .empty(above: 10)
        try await apply(
            .sync(
                LogSync(page: nothing, changes: [.message(edit)], changedThrough: 12, mustRefetch: false),
                asked: position))
        let rows = try await rows()
        #expect(rows[3] == "edited")
        #expect(rows[4] == "changed")
        #expect(try await store.read { try $0.violations() } == [])
    }

    @Test("Counts from before a read on another client do not undo the read", .history(12))
    func delayedCounts() async throws {
        var old = head(10, unread: 3, readSeq: 7, userRev: 5)
        old.lastMessage = message(10)
        try await apply(.head(old))
        #expect(try await store.read { try $0.recent(swift)?.unread } == 3)
        let read = ReadSummary(
            epoch: Epoch(rawValue: 7), readSeq: 10, unread: 0, mentions: 0, isMarkedUnread: false, seq: 10,
            countedIndex: 10,
            rev: 0, userRev: 6)
        _ = try await store.write { try $0.apply(read, in: swift) }
        try await apply(.head(old))
        #expect(try await store.read { try $0.recent(swift)?.unread } == 0)
    }

    @Test("A stale answer does not undo newer settings, whether it is a head or a summary", .history(12))
    func delayedSettings() async throws {
        var old = head(10, readSeq: 10, userRev: 5)
        old.lastMessage = message(10)
        let late = old
        try await apply(.head(late))
        func take(_ isSet: Bool, removedSeq: Seq = 0, userRev: Int64) async throws -> RecentConversation? {
            let summary = ReadSummary(
                epoch: Epoch(rawValue: 7), readSeq: 10, unread: 0, mentions: 0, isMarkedUnread: isSet, isMuted: isSet,
                isPinned: isSet, removedSeq: removedSeq, seq: 10, countedIndex: 10, rev: 0, userRev: userRev)
            _ = try await store.write { try $0.apply(summary, in: swift) }
            return try await store.read { try $0.recent(swift) }
        }
        _ = try await take(true, userRev: 6)
        try await apply(.head(late))
        let entry = try #require(try await take(false, userRev: 5))
        #expect(entry.isMarkedUnread && entry.isMuted && entry.isPinned)
        _ = try await take(true, removedSeq: 10, userRev: 7)
        try await apply(.head(late))
        #expect(try await take(true, userRev: 6) == nil)
    }

    @Test("A delayed head restores neither an old name nor an old membership", .history(12))
    func delayedHead() async throws {
        var old = head(10, unread: 3, readSeq: 7, userRev: 5)
        (old.lastMessage, old.name, old.lastCommit) = (message(10), "old", 4)
        var left = old
        (left.name, left.lastCommit, left.isMember, left.userRev) = ("new", 5, false, 6)
        var back = left
        (back.lastCommit, back.isMember, back.userRev) = (6, true, 7)
        for (head, late, total) in [(left, old, 0), (back, left, 3)] as [(ConversationHead, ConversationHead, Int64)] {
            for head in [late, head, late] { try await apply(.head(head)) }
            #expect(try await store.read { try $0.recent(swift)?.name } == "new")
            #expect(try await store.read { try $0.totals().unread } == total)
        }
    }

    @Test("Unacknowledged settings win over received heads, and the server's values apply afterwards")
    func unacknowledgedSettingsWin() async throws {
        var head = head(10, readSeq: 10, userRev: 5)
        head.lastMessage = message(10)
        try await apply(.head(head))
        let changes: [StateChange] = [
            .settings(isMuted: true, isPinned: nil), .settings(isMuted: nil, isPinned: true), .markUnread,
        ]
        for change in changes { #expect(try await store.write { try $0.set(change, in: swift) }) }
        for userRev in [5, 6] as [Int64] {
            head.userRev = userRev
            try await apply(.head(head))
            let entry = try #require(try await store.read { try $0.recent(swift) })
            #expect(entry.isMuted && entry.isPinned && entry.isMarkedUnread)
        }
        for kind in [SettingKind.mark, .muted, .pinned] {
            let pending = try #require(try await store.read { try $0.pendingSettings().first })
            #expect(pending.kind == kind)
            try await store.write { try $0.removePending(pending) }
        }
        head.userRev = 7
        try await apply(.head(head))
        let entry = try #require(try await store.read { try $0.recent(swift) })
        #expect(!entry.isMuted && !entry.isPinned && !entry.isMarkedUnread)
    }

    @Test("After the last window, totals no longer include conversations that no window returned")
    func totalsAfterTheLastWindow() async throws {
        var totals = UnreadTotals()
        totals.add(9, mentions: 1, kind: .group, isMuted: false)
        var head = head(10, unread: 3, readSeq: 7)
        head.lastMessage = message(10)
        for (isLast, total) in [(false, 9), (true, 3)] as [(Bool, Int64)] {
            let (heads, told) = ([head], isLast ? nil : totals)
            _ = try await store.write { writer in
                try writer.store(heads, totals: told, isLastWindow: isLast)
            }
            #expect(try await store.read { try $0.totals().unread } == total)
        }
    }

    @Test("A setting that changes while its request is in flight is sent again")
    func settingChangedInFlightIsSentAgain() async throws {
        try await apply(.head(head(10)))
        func mute(_ isMuted: Bool) async throws -> PendingSetting {
            #expect(try await store.write { try $0.set(.settings(isMuted: isMuted, isPinned: nil), in: swift) })
            return try #require(try await store.read { try $0.pendingSettings().first })
        }
        let firstChange = try await mute(true)
        _ = try await mute(false)
        try await store.write { try $0.removePending(firstChange) }
        let left = try await store.read { try $0.pendingSettings().map(\.change) }
        #expect(left == [.settings(isMuted: false, isPinned: nil)])
    }

    @Test("A removed entry stays removed when heads arrive before the server acknowledges the removal")
    func unacknowledgedRemovalSurvivesHeads() async throws {
        var old = head(10, unread: 3, readSeq: 7, userRev: 5)
        (old.lastMessage, old.recentTime) = (message(10), Timetoken(rawValue: 10))
        try await apply(.head(old))
        #expect(try await store.write { try $0.removeRecent(swift, marksRead: false, excludesFromNewDevices: false) })
        var newer = old
        newer.userRev = 6
        for head in [old, newer] {
            try await apply(.head(head))
            #expect(try await store.read { try $0.recent(swift) } == nil)
        }
        #expect(try await store.read { try $0.pendingSettings().map(\.kind) } == [.list])
        // A new message arrives.
        var next = head(11, unread: 4, readSeq: 7, userRev: 6)
        next.lastMessage = message(11)
        try await apply(.head(next))
        #expect(try await store.read { try $0.recent(swift)?.unread } == 4)
    }

    @Test("An entry removed with `stopsRoaming` and added again is still excluded from new devices")
    func readdedEntryStaysExcluded() async throws {
        var head = head(10, readSeq: 10)
        head.lastMessage = message(10)
        try await apply(.head(head))
        let place = EpochPosition(seq: 10, epoch: Epoch(rawValue: 7))
        func next() async throws -> PendingSetting? { try await store.read { try $0.pendingSettings().first } }
        func remove() async throws {
            #expect(
                try await store.write { try $0.removeRecent(swift, marksRead: false, excludesFromNewDevices: true) })
        }
        try await remove()
        #expect(try await store.write { try $0.addRecent(swift, at: nil, showsLast: true) })
        for change in [StateChange.addRecent, .excludeFromNewDevices(at: place)] {
            let pending = try #require(try await next())
            #expect(pending.change == change)
            try await store.write { try $0.removePending(pending) }
        }
        // A removal that was sent with the exclusion sends it once.
        try await remove()
        let pending = try #require(try await next())
        #expect(pending.change == .removeRecent(at: place, excludesFromNewDevices: true))
        try await store.write { try $0.removePending(pending) }
        #expect(try await next()?.kind == nil)
    }

    @Test("A conversation unknown to the server is deleted unless it was added manually or has queued messages")
    func unknownConversationIsDeleted() async throws {
        let carol = ConversationID.direct("carol")
        var head = head(10, readSeq: 10)
        head.lastMessage = message(10)
        try await apply(.head(head))
        let id = MessageID(high: 0x7000, low: 99)
        _ = try await store.write { writer in
            _ = try writer.addRecent(carol, at: nil, showsLast: true)
            return try writer.insert(Submission(id: id, content: .text("hi")), to: swift, now: Date())
        }
        func forget() async throws -> [ConversationID] {
            try await store.write { writer in
                for id in [swift, carol] { try writer.deleteIfGone(id) }
            }
            return try await store.read { try $0.recents(limit: 10).map(\.id) }
        }
        #expect(try await forget() == [swift, carol])
        try await store.write { try $0.removeFromOutbox(id) }
        #expect(try await forget() == [carol])
    }

    @Test(
        "Messages of a page that arrives before the head are counted by sender and mentions", .history(13))
    func pageBeforeHead() async throws {
        try await apply(.head(head(10, readSeq: 10)))
        var page = page(11...13, rev: 0)
        page.state = state(13, rev: 0)
        for index in page.messages.indices {
            switch page.messages[index].seq {
            case 12: page.messages[index].attributes.mentions = .users(["alice"])
            case 13: page.messages[index].sender = "alice"
            default: break
            }
        }
        try await apply(.page(swift, page))
        try await apply(.live(.head(swift, page.state)))
        let own = try #require(page.messages.first { $0.seq == 13 })
        try await apply(.sent(own))
        let recent = try await store.read { try $0.recent(swift) }
        #expect(recent?.unread == 2)
        #expect(recent?.mentions == 1)
    }

    @Test("A log with a new epoch takes the server's counts, and its queued reads are dropped", .history(17))
    func newEpochTakesServerCounts() async throws {
        var old = head(10, unread: 3, readSeq: 7, userRev: 5)
        old.lastMessage = message(10)
        try await apply(.head(old))
        #expect(try await store.write { try $0.markRead(swift, upTo: nil) })
        var new = head(8, unread: 6, readSeq: 2, userRev: 1)
        new.state.epoch = Epoch(rawValue: 8)
        (new.isMarkedUnread, new.isPinned, new.lastMessage) = (true, true, message(8))
        new.lastMessage?.epoch = new.state.epoch
        try await apply(.head(new))
        let entry = try #require(try await store.read { try $0.recent(swift) })
        #expect(entry.unread == 6 && entry.isMarkedUnread && entry.isPinned)
        #expect(try await store.read { try $0.pendingReads().isEmpty })
        // An input without counts for another epoch makes the client request the head.
        var page = page(1...8, rev: 0)
        page.state.epoch = Epoch(rawValue: 9)
        let position = try #require(try await store.read { try $0.log(of: swift)?.position(in: swift) })
        let sync = LogSync(page: page, changes: [], changedThrough: 0, mustRefetch: false)
        let inputs = [LogInput.sync(sync, asked: position)]
        #expect(try await store.write { try $0.apply(inputs) }.contains { $0.needsHead })
    }

    @Test("Messages to report as delivered are due again when a group that grew too large is small again")
    func deliveriesAreDueAgain() async throws {
        func hasDeliveries(_ input: LogInput) async throws -> Bool {
            try await store.write { try $0.apply([input]) }.last?.hasDeliveries ?? false
        }
        var group = head(3)
        group.hasDeliveryReceipts = true
        #expect(try await !hasDeliveries(.head(group)))
        #expect(try await hasDeliveries(.live(.message(message(4)))))
        group.hasDeliveryReceipts = false
        #expect(try await !hasDeliveries(.head(group)))
        group.hasDeliveryReceipts = true
        #expect(try await hasDeliveries(.head(group)))
        #expect(try await !hasDeliveries(.head(group)))
    }

    @Test("Messages, changes and pages in any order lead to the newest version of each row")
    func anyOrder() async throws {
        for seed in 1...40 as ClosedRange<UInt64> {
            let store = try LocalStore(directory: nil, user: "alice")
            var generator = SplitMix64(seed: seed)
            // Messages 1...30 as sent, followed by changes 1...30 to some of them.
            let edits = (1...30).map { rev in
                message(
                    Seq.random(in: 1...30, using: &generator), Bool.random(using: &generator) ? "edit \(rev)" : nil,
                    rev: Int64(rev))
            }
            func asOf(_ rev: Int64) -> [Seq: Message] {
                var rows = Dictionary(uniqueKeysWithValues: (1...30 as SeqRange).map { ($0, message($0)) })
                for edit in edits where edit.rev <= rev { rows[edit.seq] = edit }
                return rows
            }
            var inputs: [LogInput] = edits.map { .live(.changed(swift, $0.epoch, .message($0))) }
            for _ in 0..<10 {
                let lower = Seq.random(in: 1...30, using: &generator)
                let upper = Seq.random(in: lower...30, using: &generator)
                let rev = Int64.random(in: 0...30, using: &generator)
                inputs.append(.page(swift, page(lower...upper, rev: rev, rows: asOf(rev))))
            }
            inputs.shuffle(using: &generator)
            let all = inputs
            _ = try await store.write { try $0.apply([.head(head(30, rev: 0))] + all) }
            let position = try #require(try await store.read { try $0.log(of: swift)?.position(in: swift) })
            let missed = edits.filter { $0.rev > position.rev }.map { LogChange.message($0) }
            let whole = page(1...30, rev: 30, rows: asOf(30))
            var nothing = whole
            nothing.messages = []
            nothing.coverage = .empty(above: 30)
            let sync = LogSync(page: nothing, changes: missed, changedThrough: 30, mustRefetch: false)
            _ = try await store.write { try $0.apply([.sync(sync, asked: position), .page(swift, whole)]) }
            let found = try await Self.rows(store)
            #expect(found == asOf(30).mapValues { $0.text ?? "" }, "seed \(seed)")
            #expect(try await store.read { try $0.violations() } == [], "seed \(seed)")
        }
    }

    @Test("The files of a store are for their owner only, also in an existing directory")
    func permissions() throws {
        let folder = try TemporaryFolder()
        let directory = folder.url.appending(component: "store")
        func openToOthers() throws -> [String] {
            let names = try FileManager.default.subpathsOfDirectory(atPath: directory.path) + ["."]
            return try names.filter { name in
                let attributes = try FileManager.default.attributesOfItem(atPath: directory.appending(path: name).path)
                return try #require(attributes[.posixPermissions] as? Int) & 0o077 != 0
            }
        }
        let store = try LocalStore(directory: directory, user: "alice")
        let file = try store.files.store(Data("picture".utf8))
        #expect(try openToOthers() == [])
        #expect(FileManager.default.fileExists(atPath: directory.appending(component: "client.sqlite-wal").path))
        try store.close()
        for path in [directory, store.files.url(of: file.hash).deletingLastPathComponent()] { chmod(path.path, 0o755) }
        for path in [directory.appending(component: "client.sqlite"), store.files.url(of: file.hash)] {
            chmod(path.path, 0o644)
        }
        try LocalStore(directory: directory, user: "alice").close()
        #expect(try openToOthers() == [])
    }

    @Test("A store that is in use, belongs to another user or is of a newer version is refused with the reason")
    func refused() throws {
        let folder = try TemporaryFolder()
        let open = try LocalStore(directory: folder.url, user: "alice")
        #expect {
            try LocalStore(directory: folder.url, user: "alice")
        } throws: {
            ($0 as? ChatError)?.message.hasSuffix("is in use: only one client can open it at a time.") == true
        }
        try open.close()
        #expect {
            try LocalStore(directory: folder.url, user: "bob")
        } throws: {
            ($0 as? ChatError)?.message.contains("belongs to another user") == true
        }
        try LocalStore(directory: folder.url, user: "alice").close()
        let file = try DatabaseQueue(path: folder.url.appending(path: "client.sqlite").path)
        try file.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99')") }
        try file.close()
        #expect {
            try LocalStore(directory: folder.url, user: "alice")
        } throws: {
            ($0 as? ChatError)?.code == .localStorage
                && ($0 as? ChatError)?.message.contains("newer version of the SDK") == true
        }
    }

    @Test("A file of schema 14 keeps the values of the tables and columns that schema 15 renames")
    func renamedColumns() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(component: "client.sqlite")
        func rows() throws -> [[String]] {
            try DatabaseQueue(path: file.path).read { db in
                try ["conversation", "message", "deletedRange"].map { table in
                    try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { "\($0)" }
                }
            }
        }
        func change(_ body: (Database) throws -> Void) throws { try DatabaseQueue(path: file.path).write(body) }

        let old = try LocalStore(directory: folder.url, user: "alice")
        var later = page(11...20, rev: 10)
        later.messages.removeAll { $0.seq == 12 }
        later.coverage = Coverage(lower: 11, upper: 20, deletedRanges: SeqRangeSet(CollectionOfOne(12...12)))
        let inputs: [LogInput] = [.head(head(20, rev: 10, unread: 4)), .page(swift, later)]
        _ = try await old.write { try $0.apply(inputs) }
        let log = try await old.read { try $0.log(of: swift) }
        try old.close()
        try change { db in
            for (number, column) in LocalStore.renamedColumns.filter({ $0.table == "conversation" }).enumerated()
            where column.old != "n" {
                try db.execute(sql: "UPDATE conversation SET \(column.new) = \(number + 2)")
            }
        }
        let before = try rows()
        #expect(before.allSatisfy { !$0.isEmpty }, "\(before)")
        try change { db in
            for (table, old, new) in LocalStore.renamedColumns {
                try db.execute(sql: "ALTER TABLE \(table) RENAME COLUMN \(new) TO \(old)")
            }
            try db.execute(
                sql: """
                    ALTER TABLE deletedRange RENAME TO void;
                    DROP TABLE keptMessage;
                    DELETE FROM grdb_migrations WHERE identifier IN ('15', '16');
                    """)
        }

        let new = try LocalStore(directory: folder.url, user: "alice")
        #expect(try await new.read { try $0.log(of: swift) } == log)
        try new.close()
        #expect(try rows() == before)
    }

    @Test("Requests to a closed store fail with `closed`, in memory and on disk")
    func closed() async throws {
        let folder = try TemporaryFolder()
        for directory in [nil, folder.url] {
            let store = try LocalStore(directory: directory, user: "alice")
            // The store closes during these requests, and each request must complete.
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        do {
                            if number == 100 { try store.close() }
                            _ = try await store.read { try $0.recents(limit: 1) }
                            _ = try await store.write { try $0.apply([.head(head(Seq(number)))]) }
                        } catch {
                            #expect((error as? ChatError)?.code == .closed, "\(error)")
                        }
                    }
                }
            }
            let error = await #expect(throws: ChatError.self) { try await store.read { _ = try $0.recents(limit: 1) } }
            #expect(error?.code == .closed)
            await #expect(throws: ChatError.self) { try await store.write { _ = try $0.apply([]) } }
        }
    }

    @Test(
        "The peer's read position only rises within a log, and mute and freeze follow the last head"
    )
    func peersReadPositionOnlyRises() async throws {
        func userState() async throws -> LocalUserState { try await store.read { try $0.userState(in: swift) } }
        #expect(try await userState() == LocalUserState())
        // Nothing else is known of the conversation yet.
        try await store.write { try $0.savePeerRead(3, in: swift) }
        let end = Date(timeIntervalSince1970: 1_795_255_260.5)
        for (told, event, expected) in [(2, 0, 3), (5, 0, 5), (4, 9, 9), (7, 8, 9)] as [(Seq, Seq, Seq)] {
            var head = head(20)
            head.peerReadSeq = told
            head.mute = .until(end)
            head.isFrozen = true
            try await apply(.head(head))
            if event > 0 { try await store.write { try $0.savePeerRead(event, in: swift) } }
            // A message that was read was delivered.
            let state = LocalUserState(
                peerReadSeq: expected, peerDeliveredSeq: expected, isFrozen: true, mute: .until(end))
            #expect(try await userState() == state)
        }
        var new = head(2)
        new.state.epoch = Epoch(rawValue: 8)
        new.peerReadSeq = 1
        new.mute = .forever
        try await apply(.head(new))
        let replaced = LocalUserState(peerReadSeq: 1, peerDeliveredSeq: 1, isFrozen: false, mute: .forever)
        #expect(try await userState() == replaced)
        new.mute = nil
        try await apply(.head(new))
        #expect(try await userState().mute == nil)
    }

    // MARK: Helpers

    private func apply(_ input: LogInput) async throws {
        _ = try await store.write { try $0.apply([input]) }
    }

    private func rows() async throws -> [Seq: String] { try await Self.rows(store) }

    /// The text of each row, empty for recalled messages.
    private static func rows(_ store: LocalStore) async throws -> [Seq: String] {
        let messages = try await store.read { reader in
            guard let log = try reader.localLog(of: swift) else { return [Message]() }
            return try reader.newer(from: 1, to: nil, limit: 1000, filter: .all, in: log).messages
        }
        return Dictionary(uniqueKeysWithValues: messages.map { ($0.seq, $0.text ?? "") })
    }
}

private let swift: ConversationID = .group("swift")

private func message(_ seq: Seq, _ text: String? = "hello", rev: Int64 = 0) -> Message {
    Message(
        conversation: swift, seq: seq, countedIndex: seq, id: MessageID(high: 0x7000, low: UInt64(seq)),
        timetoken: Timetoken(rawValue: UInt64(seq)), epoch: Epoch(rawValue: 7), sender: "bob", type: .text,
        content: text.map(MessageContent.text), rev: rev)
}

private func state(_ head: Seq, rev: Int64) -> LogHead {
    LogHead(epoch: Epoch(rawValue: 7), view: 0, head: head, firstSeq: 1, countedIndex: head, rev: rev)
}

private func head(
    _ seq: Seq, rev: Int64 = 0, unread: Int64 = 0, readSeq: Seq = 0, userRev: Int64 = 0
) -> ConversationHead {
    ConversationHead(
        conversation: swift, state: state(seq, rev: rev), unread: unread, readSeq: readSeq, userRev: userRev)
}

/// A page of these sequence numbers from a snapshot at revision `rev`.
private func page(_ places: SeqRange, rev: Int64, rows: [Seq: Message] = [:]) -> LogPage {
    LogPage(
        messages: places.map { rows[$0] ?? message($0) },
        coverage: Coverage(lower: places.lowerBound, upper: places.upperBound, deletedRanges: SeqRangeSet()),
        isFiltered: false, older: nil, newer: nil, state: state(max(20, places.upperBound), rev: rev))
}
