import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import Testing

@Suite("Range deletions and retention")
struct RangeTests {
    private let group = ConversationID.group("g")
    private let world: World

    init() throws {
        world = try World()
        try world.make(group, members: ["alice", "bob"])
        try world.set { $0.countWindowDays = nil }
    }

    private func remove(_ from: Seq?, _ to: Seq?, operation: MessageID? = nil) throws -> Int64 {
        try world.delete(
            DeleteRange(from: from.map { .seq($0) }, to: to.map { .seq($0) }), of: group, operation: operation)
    }

    private func row() throws -> ConversationRow {
        try #require(try world.store.read { try $0.conversation(group) })
    }

    private func seqs(_ user: UserID = "bob") throws -> [Seq] {
        try world.page(.earliest, of: group, by: user).seqs.sorted()
    }

    private func holes() throws -> [SeqRange] {
        let number = try row().number
        return try world.store.read { try $0.voids(of: nil, in: number).map(\.places) }
    }

    @Test("A range without messages deletes nothing and adds no change")
    func empty() throws {
        #expect(try world.delete(.all, of: group) == 0)
        try world.fill(group, 10)
        #expect(try remove(5, 5) == 0)
        #expect(try remove(7, 3) == 0)
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
    func emptyAgain() throws {
        let operation = world.newID()
        #expect(try world.delete(.all, of: group, operation: operation) == 0)
        try world.send("later", to: group, by: "alice")
        #expect(try world.delete(.all, of: group, operation: operation) == 0)
        #expect(try seqs() == [1])
        // The change is invisible but has a revision, and sync continues past it.
        let state = try world.head(group, "bob").state
        let position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: 1, rev: 0)
        let sync = try world.engine.syncLogs([position], by: Caller(user: "bob"))[0].result.get()
        #expect(sync.changes.isEmpty)
        #expect(sync.changedThrough == 1)
    }

    @Test("A range deletion up to the head keeps the head, and the next message is visible and counts")
    func throughHead() throws {
        try world.fill(group, 10)
        #expect(try remove(6, nil) == 5)
        #expect(try world.head(group, "bob").state.head == 10)
        #expect(try world.head(group, "bob").lastMessage?.seq == 5)
        #expect(try world.unread(group, "bob") == Counts(5))
        try world.send("next", to: group, by: "alice")
        #expect(try seqs() == [1, 2, 3, 4, 5, 11])
        #expect(try world.unread(group, "bob") == Counts(6))
        try world.read(group, to: 8, by: "bob")
        #expect(try world.unread(group, "bob") == Counts(1))
        try world.change { [group] in while try $0.sweep(group, limit: 2).hasMore {} }
        #expect(try world.unread(group, "bob") == Counts(1))
        #expect(try world.unread(group, "alice") == Counts(5))
    }

    @Test("Deleting all messages keeps the head, and the log continues from it")
    func all() throws {
        try world.fill(group, 10)
        #expect(try world.delete(.all, of: group) == 10)
        let state = try world.head(group, "bob").state
        #expect((state.firstSeq, state.head) == (11, 10))
        #expect(try world.page(of: group, by: "bob").coverage.range == nil)
        try world.send("next", to: group, by: "alice")
        #expect(try seqs() == [11])
        #expect(try world.unread(group, "bob") == Counts(1))
        try world.set { $0.retention = .days(1) }
        #expect(try row().floorTime == world.page(of: group, by: "bob").messages[0].timetoken)
    }

    @Test(
        "Adjacent deleted ranges merge, and a deleted range next to the retention floor raises the floor",
        arguments: [false, true])
    func holesJoin(isSwept: Bool) throws {
        try world.fill(group, 30)
        func sweep() throws {
            if isSwept { try world.change { [group] in while try $0.sweep(group, limit: 3).hasMore {} } }
        }
        #expect(try remove(10, 12) == 2)
        try sweep()
        #expect(try remove(12, 15) == 3)
        try sweep()
        #expect(try remove(20, 22) == 2)
        try sweep()
        #expect(try holes() == [10...14, 20...21])
        #expect(try remove(8, 21) == 7)
        try sweep()
        #expect(try holes() == [8...21])
        #expect(try world.unread(group, "bob") == Counts(16))
        #expect(try remove(nil, 8) == 7)
        try sweep()
        #expect(try holes() == [])
        #expect((try row().firstSeq, try row().floorN) == (22, 21))
        #expect(try !row().hasVoids)
        #expect(try world.unread(group, "bob") == Counts(9))
        #expect(try seqs() == Array(22...30))
        #expect(
            try world.engine.counts(since: [(group, Timetoken(rawValue: 0))], by: Caller(user: "bob"))[0].count.get()
                == 9)
    }

    @Test("The message for the recents list is never in a deleted range, even if its row still exists")
    func recentPastHole() throws {
        for number in 1...9 { try world.send("\(number)", to: group, by: "alice") }
        #expect(try remove(4, 7) == 3)
        #expect(try remove(7, nil) == 3)
        #expect(try row().recentSeq == 3)
        #expect(try row().recentTime == world.head(group, "bob").lastMessage?.timetoken)
    }

    @Test("One sweep removes the rows of several deleted ranges")
    func severalHoles() async throws {
        try world.fill(group, 500)
        #expect(try remove(10, 150) == 140)
        #expect(try remove(200, 300) == 100)
        #expect(try remove(400, 410) == 10)
        #expect(try remove(nil, 5) == 4)
        try await world.engine.sweep()
        let number = try row().number
        let left = try world.store.read { store in
            (
                try store.voids(of: nil, in: number).filter(\.holdsMessages),
                try store.messages(in: number, 1...500, newestFirst: false, limit: .max, filter: .all, reader: "bob")
                    .count
            )
        }
        #expect(left.0.isEmpty)
        #expect(left.1 == 246)
        #expect(try await world.engine.sweep() == 0)
    }

    @Test("Only administrators delete ranges, and a setting forbids it to them too")
    func permission() throws {
        try world.fill(group, 3)
        #expect(refusal { _ = try world.delete(.all, of: group, by: Caller(user: "alice")) }?.code == .forbidden)
        #expect(
            refusal { _ = try world.delete(.all, of: group, by: Caller(user: "eve")) }?.code == .unknownConversation)
        try world.set { $0.allowsHistoryDelete = false }
        #expect(refusal { _ = try world.delete(.all, of: group) }?.code == .forbidden)
    }

    @Test("Deleting a range starts tidying if it succeeds")
    func tidying() throws {
        try world.fill(group, 3)
        let count = Mutex(0)
        func delete(by caller: Caller) throws {
            let context = OperationContext(
                engine: world.engine, caller: caller, offload: { $0() }, tidy: { count.withLock { $0 += 1 } })
            let operation = DeleteHistory(conversation: group, range: .all, operation: nil)
            _ = try world.done { operation.execute(context, completion: $0) }
        }
        #expect(refusal { try delete(by: Caller(user: "alice")) }?.code == .forbidden)
        #expect(count.withLock { $0 } == 0)
        try delete(by: World.admin)
        #expect(count.withLock { $0 } == 1)
    }

    @Test("A former member's head never decreases when a deleted range includes their last position")
    func holeWhereSomebodyLeft() throws {
        let city = ConversationID.community("city")
        let open = ConversationID.community("city", channel: "open")
        try world.make(city, members: ["alice", "bob"])
        try world.put(open)
        let messages = (0..<12).map { world.submission("\($0)") }
        for message in messages { try world.send(message, to: open, by: "alice") }
        try world.leave(city, "bob")
        for _ in 0..<4 { try world.send("after", to: open, by: "alice") }
        let before = try world.head(open, "bob").state
        #expect(before.head == 12)
        try world.delete(DeleteRange(from: .seq(10), to: .seq(15)), of: open)
        try world.edit(messages[0].id, in: open, "edited", by: Caller(user: "alice"))
        func check() throws {
            #expect(try world.head(open, "bob").state.head == 14)
            #expect(try world.page(of: open, by: "bob").seqs == Array((1...9 as SeqRange).reversed()))
            let position = LogPosition(
                conversation: open, epoch: before.epoch, view: before.view, seq: before.head, rev: before.rev)
            let sync = try world.engine.syncLogs([position], by: Caller(user: "bob"))[0].result.get()
            #expect(sync.changes.compactMap(\.text) == ["edited"])
        }
        try check()
        while try world.change({ try $0.sweep(open, limit: 2).hasMore }) { try check() }
        try check()
    }

    // MARK: Retention

    @Test("Retention expires messages by the hour, includes imported messages, and is not undone when it ends")
    func retention() async throws {
        let old = world.clock.now.addingTimeInterval(-400 * 86_400)
        try world.importHistory(
            (0..<5).map { world.said("old \($0)", by: "alice", at: old + Double($0) * 86_400) }, into: group)
        try world.send("today", to: group, by: "alice")
        try world.put(group, .init(retention: .some(.days(398))))
        #expect(try await world.engine.expire() == 1)
        #expect(
            try world.page(.earliest, of: group, by: "alice").texts.sorted() == ["old 2", "old 3", "old 4", "today"])
        #expect(try await world.engine.expire() == 0)
        try await world.engine.sweep()
        try world.put(group, .init(retention: .some(.forever)))
        world.clock.advance(by: 1_000 * 86_400)
        #expect(try await world.engine.expire() == 0)
        #expect(try seqs("alice") == [3, 4, 5, 6])
        // The server's retention is shorter than the age of all messages.
        try world.set { $0.retention = .days(30) }
        try world.put(group, .init(retention: .some(nil)))
        #expect(try await world.engine.expire() == 1)
        #expect(try seqs("alice") == [])
        #expect(try world.unread(group, "bob") == Counts(0))
        try world.send("now", to: group, by: "alice")
        #expect(try await world.engine.expire() == 0)
        #expect(try seqs() == [7])
        #expect(try world.unread(group, "bob") == Counts(1))
    }

    @Test(
        "The retention floor has the right counted index after it passes a deleted range", arguments: [false, true])
    func floorPastHole(isSwept: Bool) async throws {
        try world.fill(group, 3)
        world.clock.advance(by: 86_400)
        try world.fill(group, 6)
        let notice = world.submission("notice", type: .notice)
        try world.send(notice, to: group, by: "alice")
        try world.fill(group, 2)
        try world.read(group, to: 8, by: "bob")
        #expect(try remove(4, 10) == 6)
        if isSwept { try await world.engine.sweep() }
        try world.set { $0.retention = .days(1) }
        world.clock.advance(by: 10 * 3_600)
        #expect(try await world.engine.expire() == 1)
        #expect((try row().firstSeq, try row().floorN) == (10, 9))
        #expect(try world.unread(group, "bob") == Counts(2))
        #expect(try world.unread(group, "alice") == Counts(2))
        #expect(try seqs() == [10, 11, 12])
    }

    @Test("Counts go back as far as the count window if messages are kept forever")
    func countWindow() throws {
        for _ in 0..<40 {
            try world.send("daily", to: group, by: "alice")
            world.clock.advance(by: 86_400)
        }
        func count(_ days: Double) throws -> Int64 {
            let time = Timetoken(world.clock.now.addingTimeInterval(-86_400 * days))
            return try world.engine.counts(since: [(group, time)], by: Caller(user: "bob"))[0].count.get()
        }
        #expect(try count(1_000) == 40)
        try world.set { $0.countWindowDays = 30 }
        #expect(try count(1_000) == 30)
        #expect(try count(10) == 10)
        try world.put(group, .init(retention: .some(.days(100))))
        #expect(try count(1_000) == 40)
        #expect(try count(0) == 0)
    }

    @Test("Changes are dropped after 180 days, and a client that missed them loads the log again")
    func forgotten() async throws {
        let message = world.submission("hi")
        try world.send(message, to: group, by: "alice")
        try world.edit(message.id, in: group, "one", by: Caller(user: "alice"))
        world.clock.advance(by: 100 * 86_400)
        try world.edit(message.id, in: group, "two", by: Caller(user: "alice"))
        world.clock.advance(by: 100 * 86_400)
        try await world.engine.forget()
        let state = try world.head(group, "bob").state
        #expect(try row().changeFloor == 1)
        func sync(_ rev: Int64) throws -> LogSync {
            let position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: 1, rev: rev)
            return try world.engine.syncLogs([position], by: Caller(user: "bob"))[0].result.get()
        }
        #expect(try sync(0).mustRefetch)
        #expect(try !sync(1).mustRefetch)
        #expect(try sync(1).changes.compactMap(\.text) == ["two"])
        #expect(try sync(2).changes.isEmpty)
    }
}
