import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import Testing

@Suite("Range deletions and retention")
struct RangeTests {
    private let group = ConversationID.group("g")
    private let harness: EngineHarness

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        try harness.set { $0.countWindowDays = nil }
    }

    private func remove(_ from: Seq?, _ to: Seq?, operation: MessageID? = nil) throws -> Int64 {
        try harness.delete(
            DeleteRange(from: from.map { .seq($0) }, to: to.map { .seq($0) }), of: group, operation: operation)
    }

    private func row() throws -> ConversationRow {
        try #require(try harness.store.read { try $0.conversation(group) })
    }

    private func seqs(_ user: UserID = "bob") throws -> [Seq] {
        try harness.page(.earliest, of: group, by: user).seqs.sorted()
    }

    private func deletedRanges() throws -> [SeqRange] {
        let number = try row().number
        return try harness.store.read { try $0.deletedRanges(of: nil, in: number).map(\.places) }
    }

    @Test("A range without messages deletes nothing and adds no change")
    func empty() throws {
        #expect(try harness.delete(.all, of: group) == 0)
        try harness.fill(group, 10)
        #expect(try remove(5, 5) == 0)
        #expect(refusal { _ = try remove(7, 3) }?.parameter == "from", "The range is crossed.")
        #expect(try remove(11, nil) == 0)
        #expect(try remove(500, 600) == 0)
        #expect(try remove(nil, 1) == 0)
        #expect(try row().rev == 0)
        #expect(try remove(nil, 4) == 3)
        #expect(try remove(nil, 4) == 0)
        #expect(try remove(1, 3) == 0)
        #expect(try row().rev == 1)
        #expect(refusal { _ = try remove(0, nil) }?.parameter == "from")
        #expect(refusal { _ = try remove(nil, 0) }?.parameter == "to")
    }

    @Test("A retried range deletion that deleted nothing deletes no later message")
    func retriedEmptyDeletionDeletesNothing() throws {
        let operation = harness.newID()
        #expect(try harness.delete(.all, of: group, operation: operation) == 0)
        try harness.send("later", to: group, by: "alice")
        #expect(try harness.delete(.all, of: group, operation: operation) == 0)
        #expect(try seqs() == [1])
        // The change is invisible but has a revision, and sync continues past it.
        let state = try harness.head(group, "bob").state
        let position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: 1, rev: 0)
        let sync = try harness.engine.syncLogs([position], by: Caller(user: "bob"))[0].result.get()
        #expect(sync.changes.isEmpty)
        #expect(sync.changedThrough == 1)
    }

    @Test("A range deletion up to the head keeps the head, and the next message is visible and counts")
    func deletionUpToHeadKeepsTheHead() throws {
        try harness.fill(group, 10)
        #expect(try remove(6, nil) == 5)
        #expect(try harness.head(group, "bob").state.head == 10)
        #expect(try harness.head(group, "bob").lastMessage?.seq == 5)
        #expect(try harness.unread(group, "bob") == Counts(5))
        try harness.send("next", to: group, by: "alice")
        #expect(try seqs() == [1, 2, 3, 4, 5, 11])
        #expect(try harness.unread(group, "bob") == Counts(6))
        try harness.read(group, to: 8, by: "bob")
        #expect(try harness.unread(group, "bob") == Counts(1))
        try harness.change { [group] in while try $0.sweep(group, limit: 2).hasMore {} }
        #expect(try harness.unread(group, "bob") == Counts(1))
        #expect(try harness.unread(group, "alice") == Counts(5))
    }

    @Test("Deleting all messages keeps the head, and the log continues from it")
    func all() throws {
        try harness.fill(group, 10)
        #expect(try harness.delete(.all, of: group) == 10)
        let state = try harness.head(group, "bob").state
        #expect((state.firstSeq, state.head) == (11, 10))
        #expect(try harness.page(of: group, by: "bob").coverage.range == nil)
        try harness.send("next", to: group, by: "alice")
        #expect(try seqs() == [11])
        #expect(try harness.unread(group, "bob") == Counts(1))
        try harness.set { $0.retention = .days(1) }
        #expect(try row().floorTime == harness.page(of: group, by: "bob").messages[0].timetoken)
    }

    @Test(
        "Adjacent deleted ranges merge, and a deleted range next to the retention floor raises the floor",
        arguments: [false, true])
    func adjacentDeletedRangesMerge(isSwept: Bool) throws {
        try harness.fill(group, 30)
        func sweep() throws {
            if isSwept { try harness.change { [group] in while try $0.sweep(group, limit: 3).hasMore {} } }
        }
        #expect(try remove(10, 12) == 2)
        try sweep()
        #expect(try remove(12, 15) == 3)
        try sweep()
        #expect(try remove(20, 22) == 2)
        try sweep()
        #expect(try deletedRanges() == [10...14, 20...21])
        #expect(try remove(8, 21) == 7)
        try sweep()
        #expect(try deletedRanges() == [8...21])
        #expect(try harness.unread(group, "bob") == Counts(16))
        #expect(try remove(nil, 8) == 7)
        try sweep()
        #expect(try deletedRanges() == [])
        #expect((try row().firstSeq, try row().floorCountedIndex) == (22, 21))
        #expect(try !row().hasDeletedRanges)
        #expect(try harness.unread(group, "bob") == Counts(9))
        #expect(try seqs() == Array(22...30))
        #expect(
            try harness.engine.counts(since: [(group, Timetoken(rawValue: 0))], by: Caller(user: "bob"))[0].count.get()
                == 9)
    }

    @Test("The message for the recents list is never in a deleted range, even if its row still exists")
    func recentMessageIsNeverInADeletedRange() throws {
        for number in 1...9 { try harness.send("\(number)", to: group, by: "alice") }
        #expect(try remove(4, 7) == 3)
        #expect(try remove(7, nil) == 3)
        #expect(try row().recentSeq == 3)
        #expect(try row().recentTime == harness.head(group, "bob").lastMessage?.timetoken)
    }

    @Test("A conversation has at most 1,000 separate deleted ranges, and its beginning can always be deleted")
    func rangesAreLimited() throws {
        let harness = try EngineHarness()
        let group = ConversationID.group("many")
        try harness.make(group, members: ["alice"])
        try harness.fill(group, 2100)
        func delete(_ seq: Seq) throws {
            try harness.delete(DeleteRange(from: .seq(seq), to: .seq(seq + 1)), of: group)
        }
        for seq in stride(from: Seq(3), to: 2003, by: 2) { try delete(seq) }
        let error = refusal { try delete(2010) }
        #expect((error?.code, error?.limit) == (.conflict, 1000))
        try harness.delete(DeleteRange(from: nil, to: .seq(100)), of: group)
        try delete(2010)
    }

    @Test("One sweep removes the rows of several deleted ranges")
    func oneSweepRemovesSeveralDeletedRanges() async throws {
        try harness.fill(group, 500)
        #expect(try remove(10, 150) == 140)
        #expect(try remove(200, 300) == 100)
        #expect(try remove(400, 410) == 10)
        #expect(try remove(nil, 5) == 4)
        try await harness.engine.sweep()
        let number = try row().number
        let left = try harness.store.read { store in
            (
                try store.deletedRanges(of: nil, in: number).filter(\.holdsMessages),
                try store.messages(in: number, 1...500, newestFirst: false, limit: .max, filter: .all, reader: "bob")
                    .count
            )
        }
        #expect(left.0.isEmpty)
        #expect(left.1 == 246)
        #expect(try await harness.engine.sweep() == 0)
    }

    @Test("Only administrators delete ranges, and a setting forbids it to them too")
    func permission() throws {
        try harness.fill(group, 3)
        #expect(refusal { _ = try harness.delete(.all, of: group, by: Caller(user: "alice")) }?.code == .forbidden)
        #expect(
            refusal { _ = try harness.delete(.all, of: group, by: Caller(user: "eve")) }?.code == .unknownConversation)
        try harness.set { $0.allowsHistoryDelete = false }
        #expect(refusal { _ = try harness.delete(.all, of: group) }?.code == .forbidden)
    }

    @Test("Deleting a range starts tidying if it succeeds")
    func deletionStartsCleanup() throws {
        try harness.fill(group, 3)
        let count = Mutex(0)
        func delete(by caller: Caller) throws {
            let context = OperationContext(
                engine: harness.engine, caller: caller, offload: { $0() }, startCleanup: { count.withLock { $0 += 1 } })
            let operation = DeleteHistory(conversation: group, range: .all, operation: nil)
            _ = try harness.done { operation.execute(context, completion: $0) }
        }
        #expect(refusal { try delete(by: Caller(user: "alice")) }?.code == .forbidden)
        #expect(count.withLock { $0 } == 0)
        try delete(by: EngineHarness.admin)
        #expect(count.withLock { $0 } == 1)
    }

    @Test("A former member's head never decreases when a deleted range includes their last position")
    func formerMembersHeadNeverDecreases() throws {
        let city = ConversationID.community("city")
        let open = ConversationID.community("city", channel: "open")
        try harness.make(city, members: ["alice", "bob"])
        try harness.put(open)
        let messages = (0..<12).map { harness.submission("\($0)") }
        for message in messages { try harness.send(message, to: open, by: "alice") }
        try harness.leave(city, "bob")
        for _ in 0..<4 { try harness.send("after", to: open, by: "alice") }
        let before = try harness.head(open, "bob").state
        #expect(before.head == 12)
        try harness.delete(DeleteRange(from: .seq(10), to: .seq(15)), of: open)
        try harness.edit(messages[0].id, in: open, "edited", by: Caller(user: "alice"))
        func check() throws {
            #expect(try harness.head(open, "bob").state.head == 14)
            #expect(try harness.page(of: open, by: "bob").seqs == Array((1...9 as SeqRange).reversed()))
            let position = LogPosition(
                conversation: open, epoch: before.epoch, view: before.view, seq: before.head, rev: before.rev)
            let sync = try harness.engine.syncLogs([position], by: Caller(user: "bob"))[0].result.get()
            // The edit was after the end of the membership.
            #expect(sync.changes.isEmpty && sync.changedThrough == before.rev)
        }
        try check()
        while try harness.change({ try $0.sweep(open, limit: 2).hasMore }) { try check() }
        try check()
    }

    // MARK: Retention

    @Test("Retention expires messages by the hour, includes imported messages, and is not undone when it ends")
    func retention() async throws {
        let old = harness.clock.now.addingTimeInterval(-400 * 86_400)
        try harness.importHistory(
            (0..<5).map { harness.importedMessage("old \($0)", by: "alice", at: old + Double($0) * 86_400) },
            into: group)
        try harness.send("today", to: group, by: "alice")
        try harness.put(group, .init(retention: .set(.days(398))))
        #expect(try await harness.engine.expire() == 1)
        #expect(
            try harness.page(.earliest, of: group, by: "alice").texts.sorted() == ["old 2", "old 3", "old 4", "today"])
        #expect(try await harness.engine.expire() == 0)
        try await harness.engine.sweep()
        try harness.put(group, .init(retention: .set(.forever)))
        harness.clock.advance(by: 1_000 * 86_400)
        #expect(try await harness.engine.expire() == 0)
        #expect(try seqs("alice") == [3, 4, 5, 6])
        // The server's retention is shorter than the age of all messages.
        try harness.set { $0.retention = .days(30) }
        try harness.put(group, .init(retention: .remove))
        #expect(try await harness.engine.expire() == 1)
        #expect(try seqs("alice") == [])
        #expect(try harness.unread(group, "bob") == Counts(0))
        try harness.send("now", to: group, by: "alice")
        #expect(try await harness.engine.expire() == 0)
        #expect(try seqs() == [7])
        #expect(try harness.unread(group, "bob") == Counts(1))
    }

    @Test(
        "The retention floor has the right counted index after it passes a deleted range", arguments: [false, true])
    func floorAfterDeletedRangeHasCountedIndex(isSwept: Bool) async throws {
        try harness.fill(group, 3)
        harness.clock.advance(by: 86_400)
        try harness.fill(group, 6)
        let notice = harness.submission("notice", type: .notice)
        try harness.send(notice, to: group, by: "alice")
        try harness.fill(group, 2)
        try harness.read(group, to: 8, by: "bob")
        #expect(try remove(4, 10) == 6)
        if isSwept { try await harness.engine.sweep() }
        try harness.set { $0.retention = .days(1) }
        harness.clock.advance(by: 10 * 3_600)
        #expect(try await harness.engine.expire() == 1)
        #expect((try row().firstSeq, try row().floorCountedIndex) == (10, 9))
        #expect(try harness.unread(group, "bob") == Counts(2))
        #expect(try harness.unread(group, "alice") == Counts(2))
        #expect(try seqs() == [10, 11, 12])
    }

    @Test("Counts go back as far as the count window if messages are kept forever")
    func countWindow() throws {
        for _ in 0..<40 {
            try harness.send("daily", to: group, by: "alice")
            harness.clock.advance(by: 86_400)
        }
        func count(_ days: Double) throws -> Int64 {
            let time = Timetoken(harness.clock.now.addingTimeInterval(-86_400 * days))
            return try harness.engine.counts(since: [(group, time)], by: Caller(user: "bob"))[0].count.get()
        }
        #expect(try count(1_000) == 40)
        try harness.set { $0.countWindowDays = 30 }
        #expect(try count(1_000) == 30)
        #expect(try count(10) == 10)
        try harness.put(group, .init(retention: .set(.days(100))))
        #expect(try count(1_000) == 40)
        #expect(try count(0) == 0)
    }

    @Test("Changes are dropped after 180 days, and a client that missed them loads the log again")
    func changesAreDroppedAfter180Days() async throws {
        let message = harness.submission("hi")
        try harness.send(message, to: group, by: "alice")
        try harness.edit(message.id, in: group, "one", by: Caller(user: "alice"))
        harness.clock.advance(by: 100 * 86_400)
        try harness.edit(message.id, in: group, "two", by: Caller(user: "alice"))
        harness.clock.advance(by: 100 * 86_400)
        try await harness.engine.prune()
        let state = try harness.head(group, "bob").state
        #expect(try row().changeFloor == 1)
        func sync(_ rev: Int64) throws -> LogSync {
            let position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: 1, rev: rev)
            return try harness.engine.syncLogs([position], by: Caller(user: "bob"))[0].result.get()
        }
        #expect(try sync(0).mustRefetch)
        #expect(try !sync(1).mustRefetch)
        #expect(try sync(1).changes.compactMap(\.text) == ["two"])
        #expect(try sync(2).changes.isEmpty)
    }
}
