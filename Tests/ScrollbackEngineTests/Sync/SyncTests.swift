import ContractRows
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

    @Test("Conversations of one commit, however many, come in windows as large as asked for, each once")
    func oneCommit() throws {
        let world = try World()
        try world.make(.group("known"), members: ["alice"])
        let known = try world.pass(limit: 3, by: "alice").cursor
        try world.change { transaction in
            for index in 1...10 {
                _ = try transaction.putConversation(
                    .group(Identifier(known: "g\(index)")), .init(members: ["alice"]), by: World.admin,
                    permissions: .standard)
            }
        }
        let new = (1...10).map { "group:g\($0)" }
        for (start, expected) in [(known, new), (nil, new + ["group:known"])] as [(String?, [String])] {
            var found: [String] = []
            var cursor = start
            var isDone = false
            while !isDone, found.count < 20 {
                let window = try world.engine.syncWindow(cursor: cursor, limit: 3, by: Caller(user: "alice"))
                #expect(window.heads.count <= 3)
                found += names(window.heads)
                (cursor, isDone) = (window.cursor, window.isDone)
            }
            #expect(found.sorted() == expected.sorted())
        }
    }

    @Test("A cursor of a server that never parted a commit is gone on with")
    func olderCursors() throws {
        let world = try World()
        try world.make(.group("h"), members: ["bob"])
        let before = try world.pass(by: "alice").cursor
        for index in 1...6 { try world.make(.group(Identifier(known: "g\(index)")), members: ["alice"]) }
        for start in [before, nil] as [String?] {
            let first = try world.engine.syncWindow(cursor: start, limit: 2, by: Caller(user: "alice"))
            var parts = first.cursor.split(separator: ".")
            parts.remove(at: 6)
            #expect(parts.count == (start == nil ? 9 : 6))
            let rest = try world.pass(parts.joined(separator: "."), limit: 2, by: "alice")
            #expect(names(first.heads + rest.heads) == (1...6).reversed().map { "group:g\($0)" })
        }
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

    @Test("History 2: an import of 2014 while a known device is offline is heard, and left for whoever looks there")
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
        #expect(sync.page.state.head == 30)
        #expect(sync.page.messages.isEmpty)
        #expect(try world.page(of: group, by: "alice").messages.count == 30)
    }

    @Test("What was missed is replayed for the days that are set, in order, and what is older is left", .rows(149))
    func replayDays() throws {
        let world = try World()
        try world.put(group, .init(members: ["alice", "bob"]))
        for day in 0..<10 {
            if day > 0 { world.clock.advance(by: 86_400) }
            try world.send(to: group, by: "bob")
        }
        let head = try world.head(group, "alice")
        func replayed() throws -> [Seq] {
            let position = LogPosition(conversation: group, epoch: head.state.epoch, view: 0, seq: 1, rev: 0)
            let sync = try world.engine.syncLogs([position], by: Caller(user: "alice"))[0].result.get()
            #expect(sync.page.coverage.upper == 10)
            return sync.page.messages.map(\.seq)
        }
        // One that is seven days old to the second is replayed still.
        world.clock.advance(by: 3600)
        #expect(try replayed() == [4, 5, 6, 7, 8, 9, 10])
        try world.set { $0.replayDays = 2 }
        #expect(try replayed() == [9, 10])
        try world.set { $0.replayDays = 0 }
        #expect(try replayed() == [])
        try world.set { $0.replayDays = 30 }
        #expect(try replayed() == [2, 3, 4, 5, 6, 7, 8, 9, 10])
        let error = #expect(throws: ChatError.self) { try world.set { $0.replayDays = -1 } }
        #expect(error?.parameter == "replayDays")
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

    @Test("A window out of range is refused by name", arguments: [0, -1, 501])
    func windows(_ limit: Int) throws {
        let world = try World()
        let error = refusal { _ = try world.engine.syncWindow(cursor: nil, limit: limit, by: Caller(user: "alice")) }
        #expect(error?.parameter == "limit")
        let list = refusal {
            _ = try world.engine.recents(limit: limit, cursor: nil, by: Caller(user: "alice"))
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

    @Test("Of a private channel that was made anew without them, those hear who were in it")
    func remadePrivateChannel() throws {
        let world = try World()
        try world.make(.community("c"), members: ["alice", "bob"])
        let secret = ConversationID.community("c", channel: "secret")
        try world.put(secret, .init(isPrivate: true, members: ["alice"]))
        let alice = try world.pass(by: "alice").cursor
        try world.delete(secret)
        try world.put(secret, .init(isPrivate: true, members: ["bob"]))
        let heard = try world.pass(alice, by: "alice").heads
        #expect(names(heard) == ["community:c/secret"])
        #expect(heard.first?.isMember == false)
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

    @Test("What one joined is in the pass that follows, though something slips in there that no event tells them of")
    func joinedAndMoved() throws {
        let store = SlippingStore()
        let world = try World(store: store)
        try world.make(group, members: ["alice", "bob"])
        let cursor = try world.pass(by: "carol").cursor
        try world.join(group, "carol")
        store.slip = { try world.leave(.group("g"), "bob") }
        let pass = try world.pass(cursor, by: "carol")
        store.slip = nil
        #expect(pass.heads.map(\.conversation) == [group])
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

    @Test("History 11: that somebody left is heard, though it goes on there while their pass is under way")
    func leftDuringAPass() throws {
        let world = try World()
        for index in 1...3 { try world.make(.group(Identifier(known: "g\(index)")), members: ["alice", "bob"]) }
        let before = try world.pass(by: "bob").cursor
        try world.leave(.group("g1"), "bob")
        for index in 2...3 { try world.send(to: .group(Identifier(known: "g\(index)")), by: "alice") }
        let first = try world.engine.syncWindow(cursor: before, limit: 1, by: Caller(user: "bob"))
        try world.send("not for bob", to: .group("g1"), by: "alice")
        let rest = try world.pass(first.cursor, by: "bob")
        #expect(names(first.heads + rest.heads) == ["group:g3", "group:g2", "group:g1"])
        #expect(rest.heads.last?.isMember == false && rest.heads.last?.state.head == 0)
        #expect(try world.pass(rest.cursor, by: "bob").heads.isEmpty)
    }

    @Test("Heads with long newest messages come in windows a slow line can carry, and each once")
    func longHeads() throws {
        let world = try World()
        let text = String(repeating: "x", count: 120_000)
        let names = (1...20).map { "group:g\($0)" }
        for index in 1...20 {
            let id = ConversationID.group(Identifier(known: "g\(index)"))
            try world.make(id, members: ["alice"])
            try world.send(text, to: id, by: "alice")
        }
        var found: [String] = []
        var cursor: String?
        var isDone = false
        while !isDone, found.count <= 20 {
            let window = try world.engine.syncWindow(cursor: cursor, limit: 100, by: Caller(user: "alice"))
            #expect(window.heads.count == 5 || window.isDone)
            found += self.names(window.heads)
            (cursor, isDone) = (window.cursor, window.isDone)
        }
        #expect(found == names.reversed())
        found = []
        cursor = nil
        repeat {
            let page = try world.engine.recents(limit: 100, cursor: cursor, by: Caller(user: "alice"))
            #expect(page.heads.count <= 5)
            found += self.names(page.heads)
            cursor = page.next
        } while cursor != nil && found.count <= 20
        #expect(found == names.reversed())
    }

    @Test("A head that was read before a position moved is older than the read's answer by its userRev")
    func lateHead() throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"])
        for _ in 1...10 { try world.send(to: group, by: "bob") }
        try world.read(group, to: 7, by: "alice")
        // On its way while another device reads on.
        let late = try world.head(group, "alice")
        let answer = try world.read(group, to: 10, by: "alice")
        #expect((late.unread, answer.unread) == (3, 0))
        #expect(late.userRev < answer.userRev)
        let next = try world.head(group, "alice")
        #expect((next.userRev, next.unread, next.readSeq) == (answer.userRev, 0, 10))
        #expect(try world.pass(by: "alice").heads.first?.userRev == answer.userRev)
        // What others say and read is no change of hers.
        try world.send(to: group, by: "bob")
        try world.read(group, to: 11, by: "bob")
        #expect(try world.head(group, "alice").userRev == answer.userRev)
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
            let page = try world.engine.recents(limit: 2, cursor: cursor, by: Caller(user: "alice"))
            found += names(page.heads)
            cursor = page.next
        } while cursor != nil
        #expect(found == ["group:g2", "direct:zoe", "group:g5", "group:g4", "group:g3", "group:g1"])
        // A new device hears of everything, and what it has in the list is sorted by what it may see.
        try world.leave(.group("g3"), "alice")
        for _ in 1...3 { try world.send("not for alice", to: .group("g3"), by: "bob") }
        try world.send(to: .group("g1"), by: "bob")
        let after = try world.engine.recents(
            ListFilter(kind: .group), limit: 10, cursor: nil, by: Caller(user: "alice")
        ).heads
        #expect(names(after) == ["group:g1", "group:g2", "group:g5", "group:g4", "group:g3"])
        let groups = try world.engine.recents(
            ListFilter(kind: .direct), limit: 10, cursor: nil, by: Caller(user: "alice")
        ).heads
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

    func giveBackRoom() -> Bool { false }

    func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer { try base.read(body) }

    func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        try base.write(body)
    }
}
