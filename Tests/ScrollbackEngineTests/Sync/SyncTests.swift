import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Sync")
struct SyncTests {
    private let group = ConversationID.group("g")

    private func names(_ heads: [ConversationHead]) -> [String] { heads.map(\.conversation.description) }

    // MARK: What moved

    @Test("A first pass gives every conversation, newest activity first, in windows")
    func firstPass() throws {
        let world = try World()
        for index in 1...7 { try world.make(.group(Identifier(known: "g\(index)")), members: ["alice"]) }
        try world.send(to: .group("g3"), by: "alice")
        for limit in [1, 2, 3, 50] {
            let pass = try world.pass(limit: limit, by: "alice")
            #expect(
                names(pass.heads) == [
                    "group:g3", "group:g7", "group:g6", "group:g5", "group:g4", "group:g2", "group:g1",
                ])
            #expect(try world.pass(pass.cursor, by: "alice").heads.isEmpty)
        }
    }

    @Test("Conversations of one commit are never parted by a window")
    func oneCommit() throws {
        let world = try World()
        try world.change { transaction in
            for index in 1...10 {
                _ = try transaction.putConversation(
                    .group(Identifier(known: "g\(index)")), .init(members: ["alice"]), by: World.admin,
                    permissions: .standard)
            }
        }
        let window = try world.engine.syncWindow(cursor: nil, limit: 3, by: Caller(user: "alice"))
        #expect(window.heads.count == 10)
        #expect(window.isDone)
    }

    /// Everything that moves a conversation, or the caller's own state in it.
    private static let moves: [(String, @Sendable (World) throws -> Void)] = [
        ("a message", { try $0.send(to: .group("g"), by: "bob") }),
        (
            "one that doesn't update recents",
            { world in
                var submission = world.submission()
                submission.attributes.traits = .init(countsUnread: false, notifies: false, updatesRecents: false)
                try world.send(submission, to: .group("g"), by: "bob")
            }
        ),
        ("a message of mine from another device", { try $0.send(to: .group("g"), by: "alice") }),
        (
            "an import of 2014",
            { world in
                try world.importHistory(
                    [world.said("old", by: "bob", at: Date(timeIntervalSince1970: 1_400_000_000))],
                    into: .group("quiet"))
            }
        ),
        ("a read on another device", { try $0.read(.group("g"), to: 1, by: "alice") }),
        ("somebody else's joining", { try $0.join(.group("g"), "carol") }),
        ("somebody else's leaving", { try $0.leave(.group("g"), "bob") }),
        ("a change of my role", { try $0.join(.group("g"), "alice", as: .owner) }),
        ("a new name", { try $0.put(.group("g"), .init(name: "new")) }),
        ("history that opens", { try $0.put(.group("g"), .init(visibility: .everything)) }),
        ("being put in", { try $0.join(.group("other"), "alice") }),
        ("being put out", { try $0.leave(.group("g"), "alice") }),
        ("a deletion", { try $0.delete(.group("g")) }),
        (
            "a deletion and a new one without me",
            { world in
                try world.delete(.group("g"))
                try world.make(.group("g"), members: ["bob"])
            }
        ),
        (
            "a deletion and a new one with me",
            { world in
                try world.delete(.group("g"))
                try world.make(.group("g"), members: ["alice", "bob"])
            }
        ),
        ("a first direct message", { try $0.send(to: .direct("alice"), by: "zoe") }),
        (
            "a system message",
            { world in
                try world.send(world.submission(), to: .system(to: "alice", from: "billing"), by: World.admin)
            }
        ),
        ("a message in a channel", { try $0.send(to: .community("c"), by: "bob") }),
        ("joining a community", { try $0.join(.community("d"), "alice") }),
        ("a new channel", { try $0.put(.community("c", channel: "news")) }),
    ]

    @Test(
        "History 2: whatever moved while a device was away is heard in its next pass, though the clock stepped back",
        arguments: moves.indices)
    func everyMove(_ index: Int) throws {
        let (name, move) = Self.moves[index]
        for step in [0, 0.3, -0.3, -86_400] {
            let world = try World()
            try world.make(group, members: ["alice", "bob"])
            try world.put(.group("quiet"), .init(members: ["alice"]))
            try world.make(.group("other"), members: ["bob"])
            try world.make(.community("c"), members: ["alice", "bob"])
            try world.make(.community("d"), members: ["bob"])
            try world.send(to: group, by: "bob")
            let before = try world.pass(by: "alice")
            // Other people's business in between.
            try world.make(.group("unrelated"), members: ["bob"])
            world.clock.advance(by: step)
            try move(world)
            let after = try world.pass(before.cursor, by: "alice")
            #expect(after.heads.count == 1, "\(name), clock \(step): \(names(after.heads))")
            #expect(try world.pass(after.cursor, by: "alice").heads.isEmpty, "\(name): heard twice")
            let gone = ["being put out", "a deletion", "a deletion and a new one without me"]
            #expect(after.heads.first?.isMember == !gone.contains(name), "\(name)")
        }
    }

    @Test("History 2: an import of 2014 while a known device is offline is heard, with its head and newest page")
    func importWhileOffline() throws {
        let world = try World()
        try world.put(group, .init(members: ["alice"]))
        let before = try world.pass(by: "alice")
        let old = Date(timeIntervalSince1970: 1_400_000_000)
        try world.importHistory((0..<30).map { world.said("\($0)", by: "bob", at: old + Double($0)) }, into: group)
        let head = try #require(try world.pass(before.cursor, by: "alice").heads.first)
        #expect(head.conversation == group)
        #expect(head.state.head == 30)
        #expect(head.unread == 0)
        let position = LogPosition(conversation: group, epoch: head.state.epoch, view: head.state.view, seq: 0, rev: 0)
        let sync = try world.engine.syncLogs([position], by: Caller(user: "alice"))[0].result.get()
        #expect(sync.page.messages.count == 30)
    }

    @Test("A pass looks at what had moved when it began; what moves meanwhile is in the next")
    func movesDuringAPass() throws {
        let world = try World()
        for index in 1...6 { try world.make(.group(Identifier(known: "g\(index)")), members: ["alice"]) }
        let first = try world.engine.syncWindow(cursor: nil, limit: 2, by: Caller(user: "alice"))
        try world.send(to: .group("g6"), by: "alice")
        try world.send(to: .group("g1"), by: "alice")
        var rest: [ConversationHead] = []
        var window = first
        while !window.isDone {
            window = try world.engine.syncWindow(cursor: window.cursor, limit: 2, by: Caller(user: "alice"))
            rest += window.heads
        }
        #expect(names(first.heads + rest) == ["group:g6", "group:g5", "group:g4", "group:g3", "group:g2"])
        #expect(names(try world.pass(window.cursor, by: "alice").heads) == ["group:g1", "group:g6"])
    }

    @Test("A message costs nobody but its conversation's members anything")
    func othersMove() throws {
        let world = try World()
        try world.make(group, members: ["alice"])
        try world.make(.group("h"), members: ["bob"])
        let cursor = try world.pass(by: "alice").cursor
        for _ in 1...10 { try world.send(to: .group("h"), by: "bob") }
        #expect(try world.pass(cursor, by: "alice").heads.isEmpty)
    }

    @Test("A cursor of a restored store begins anew")
    func restored() throws {
        let world = try World()
        try world.make(group, members: ["alice"])
        let cursor = try world.pass(by: "alice").cursor
        let other = try World(store: MemoryStore(generation: 99))
        try other.make(group, members: ["alice"])
        let pass = try other.pass(cursor, by: "alice")
        #expect(pass.heads.count == 1)
        #expect(pass.heads[0].state.epoch != (try world.head(group, "alice").state.epoch))
    }

    @Test(
        "A cursor that sync never gave is refused by name",
        arguments: ["", "x", "1.2", "1.2.3.4", "1..3", "-1.2.3", "1.2.zzzzzzzzzzzzzz", "é.1.2"])
    func foreignCursors(_ cursor: String) throws {
        let world = try World()
        let error = refusal { _ = try world.engine.syncWindow(cursor: cursor, limit: 5, by: Caller(user: "alice")) }
        #expect(error?.code == .invalidParameter)
        #expect(error?.parameter == "cursor")
    }

    @Test("A window out of range is refused by name", arguments: [0, -1, 101])
    func windows(_ limit: Int) throws {
        let world = try World()
        let error = refusal { _ = try world.engine.syncWindow(cursor: nil, limit: limit, by: Caller(user: "alice")) }
        #expect(error?.parameter == "limit")
        let list = refusal {
            _ = try world.engine.recents(kind: nil, limit: limit, cursor: nil, by: Caller(user: "alice"))
        }
        #expect(list?.parameter == "limit")
    }

    @Test("Of a private channel that was deleted, only those hear who were in it")
    func deletedPrivateChannel() throws {
        let world = try World()
        try world.make(.community("c"), members: ["alice", "bob"])
        let secret = ConversationID.community("c", channel: "secret")
        try world.put(secret, .init(isPrivate: true, members: ["alice"]))
        let (alice, bob) = (try world.pass(by: "alice").cursor, try world.pass(by: "bob").cursor)
        try world.delete(secret)
        let heard = try world.pass(alice, by: "alice").heads
        #expect(names(heard) == ["community:c/secret"])
        #expect(heard.first?.isMember == false)
        #expect(try world.pass(bob, by: "bob").heads.isEmpty)
    }

    @Test("Sync reads how far it may go before it reads the rows, so nothing between the two is lost")
    func readingOrder() throws {
        // A commit slips in after the snapshot was taken: its number must not be handed out as seen.
        let store = SlippingStore()
        let world = try World(store: store)
        try world.make(group, members: ["alice", "bob"])
        store.slip = { try world.send("slipped in", to: .group("g"), by: "bob") }
        let pass = try world.pass(by: "alice")
        store.slip = nil
        let head = pass.heads.first?.state.head
        let next = try world.pass(pass.cursor, by: "alice")
        #expect(head == 1 || next.heads.map(\.state.head) == [1])
    }

    @Test("History 11: who left hears that they left, and nothing of what goes on there")
    func afterLeaving() throws {
        let world = try World()
        let channel = ConversationID.community("c", channel: "default")
        try world.make(group, members: ["alice", "bob"])
        try world.make(.community("c"), members: ["alice", "bob"])
        for id in [group, channel] { try world.send(to: id, by: "alice") }
        var cursor = try world.pass(by: "bob").cursor
        try world.leave(group, "bob")
        try world.leave(.community("c"), "bob")
        let left = try world.pass(cursor, by: "bob")
        #expect(Set(names(left.heads)) == ["group:g", "community:c/default"])
        #expect(left.heads.allSatisfy { !$0.isMember })
        cursor = left.cursor
        for id in [group, channel] { try world.send(to: id, by: "alice") }
        try world.put(group, .init(name: "new"))
        #expect(try world.pass(cursor, by: "bob").heads.isEmpty)
        try world.join(group, "bob")
        #expect(names(try world.pass(cursor, by: "bob").heads) == ["group:g"])
    }

    // MARK: What a log has

    @Test("History 21: after 100,000 missed the answer is bounded, and every reconnect makes progress")
    func manyMissed() throws {
        let world = try World()
        try world.make(group, members: ["alice"])
        try world.fill(group, 10)
        let state = try world.head(group, "alice").state
        var position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: 10, rev: 0)
        try world.fill(group, 100_000)
        let caller = Caller(user: "alice")
        let sync = try world.engine.syncLogs([position], by: caller)[0].result.get()
        #expect(sync.page.messages.count == 100)
        #expect(sync.page.coverage == Coverage(lower: 99_911, upper: 100_010))
        #expect(sync.page.state.head == 100_010)
        // From there on it is up to date, and a gap lies below.
        position.seq = sync.page.coverage.upper
        let empty = try world.engine.syncLogs([position], by: caller)[0].result.get()
        #expect(empty.page.messages.isEmpty)
        #expect(empty.page.coverage.range == nil)
        for missed in [1, 499, 500, 501, 100_000] {
            position.seq = 100_010 - Seq(missed)
            let answer = try world.engine.syncLogs([position], by: caller)[0].result.get()
            #expect(answer.page.messages.count == (missed <= 500 ? missed : 100))
            #expect(answer.page.coverage.upper == 100_010)
            #expect(
                answer.page.messages.map(\.seq) == answer.page.messages.map(\.seq).sorted(),
                "oldest first, as they are applied")
        }
    }

    @Test("History 21: one answer about many logs holds at most 2,000 messages, and says of each where it stands")
    func manyLogs() throws {
        let world = try World()
        var positions: [LogPosition] = []
        for index in 1...8 {
            let id = ConversationID.group(Identifier(known: "g\(index)"))
            try world.make(id, members: ["alice"])
            try world.fill(id, 400)
            let epoch = try world.head(id, "alice").state.epoch
            positions.append(LogPosition(conversation: id, epoch: epoch, view: 0, seq: 0, rev: 0))
        }
        let caller = Caller(user: "alice")
        var rounds = 0
        while positions.contains(where: { $0.seq < 400 }) {
            let answers = try world.engine.syncLogs(positions, by: caller)
            #expect(answers.map(\.conversation) == positions.map(\.conversation))
            var count = 0
            let before = positions.map(\.seq)
            for (index, answer) in answers.enumerated() {
                let page = try answer.result.get().page
                #expect(page.state.head == 400)
                count += page.messages.count
                if let range = page.coverage.range { positions[index].seq = range.upperBound }
            }
            #expect(count <= 2_000)
            #expect(positions.map(\.seq) != before, "progress at every round")
            rounds += 1
            if rounds > 5 { break }
        }
        #expect(rounds == 2)
    }

    @Test("A position of a dead epoch, or beyond the head, gets the newest page")
    func foreignPositions() throws {
        let world = try World()
        try world.make(group, members: ["alice"])
        for _ in 1...5 { try world.send(to: group, by: "alice") }
        let state = try world.head(group, "alice").state
        for position in [
            LogPosition(conversation: group, epoch: Epoch(rawValue: 1), view: 0, seq: 3, rev: 0),
            LogPosition(conversation: group, epoch: state.epoch, view: 0, seq: 50, rev: 0),
        ] {
            let page = try world.engine.syncLogs([position], by: Caller(user: "alice"))[0].result.get().page
            #expect(page.coverage == Coverage(lower: 1, upper: 5))
            #expect(page.state == state)
        }
    }

    @Test("One log that may not be seen doesn't fail the answer about the others")
    func partialAnswers() throws {
        let world = try World()
        try world.make(group, members: ["alice"])
        try world.send(to: group, by: "alice")
        let epoch = try world.head(group, "alice").state.epoch
        let ids: [ConversationID] = [.group("nowhere"), group, .direct("bob")]
        let answers = try world.engine.syncLogs(
            ids.map { LogPosition(conversation: $0, epoch: epoch, view: 0, seq: 0, rev: 0) }, by: Caller(user: "alice"))
        #expect(answers.map(\.conversation) == ids)
        #expect(refusal { _ = try answers[0].result.get() }?.code == .unknownConversation)
        #expect(try answers[1].result.get().page.seqs == [1])
        #expect(refusal { _ = try answers[2].result.get() }?.code == .unknownConversation)
    }

    // MARK: Recents

    @Test("The list of recent conversations is by the newest message, in pages, without rooms and empty ones")
    func recents() throws {
        let world = try World()
        for index in 1...5 {
            let id = ConversationID.group(Identifier(known: "g\(index)"))
            try world.make(id, members: ["alice", "bob"])
            world.clock.advance(by: 1)
            try world.send(to: id, by: "bob")
        }
        try world.make(.group("empty"), members: ["alice"])
        try world.put(.room("r"))
        try world.send(to: .room("r"), by: "alice")
        try world.send(to: .direct("alice"), by: "zoe")
        try world.send(to: .group("g2"), by: "bob")
        var found: [String] = []
        var cursor: String?
        repeat {
            let page = try world.engine.recents(kind: nil, limit: 2, cursor: cursor, by: Caller(user: "alice"))
            found += names(page.heads)
            cursor = page.next
        } while cursor != nil
        #expect(found == ["group:g2", "direct:zoe", "group:g5", "group:g4", "group:g3", "group:g1"])
        // A new device hears of everything, and what it has in the list is sorted by what it may see.
        try world.leave(.group("g3"), "alice")
        for _ in 1...3 { try world.send("not for alice", to: .group("g3"), by: "bob") }
        try world.send(to: .group("g1"), by: "bob")
        let after = try world.engine.recents(kind: .group, limit: 10, cursor: nil, by: Caller(user: "alice")).heads
        #expect(names(after) == ["group:g1", "group:g2", "group:g5", "group:g4", "group:g3"])
        let groups = try world.engine.recents(kind: .direct, limit: 10, cursor: nil, by: Caller(user: "alice")).heads
        #expect(names(groups) == ["direct:zoe"])
        #expect(groups[0].unread == 1)
        #expect(groups[0].lastMessage?.sender == "zoe")
    }
}

/// A store into which something is written whenever a number is read outside of a snapshot.
private final class SlippingStore: MessageStore, @unchecked Sendable {
    private let base = MemoryStore(generation: 7)
    /// Set and called by one test on one thread.
    nonisolated(unsafe) var slip: (() throws -> Void)?

    var generation: UInt64 { base.generation }
    var moved: Int64 {
        get throws {
            let moved = base.moved
            try slip?()
            return moved
        }
    }
    var newest: Timetoken { get throws { base.newest } }

    func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer { try base.read(body) }

    func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        try base.write(body)
    }
}
