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

    // MARK: Changed conversations

    @Test("The first pass returns every conversation in windows, the newest activity first")
    func firstPass() throws {
        let harness = try EngineHarness()
        for index in 1...7 { try harness.make(.group(Identifier(known: "g\(index)")), members: ["alice"]) }
        try harness.send(to: .group("g3"), by: "alice")
        for limit in [1, 2, 3, 50] {
            let pass = try harness.pass(limit: limit, by: "alice")
            #expect(
                names(pass.heads) == [
                    "group:g3", "group:g7", "group:g6", "group:g5", "group:g4", "group:g2", "group:g1",
                ])
            #expect(try harness.pass(pass.cursor, by: "alice").heads.isEmpty)
        }
    }

    @Test("Many conversations of one commit come in windows of the requested size, each once")
    func oneCommit() throws {
        let harness = try EngineHarness()
        try harness.make(.group("known"), members: ["alice"])
        let known = try harness.pass(limit: 3, by: "alice").cursor
        try harness.change { transaction in
            for index in 1...10 {
                let group = ConversationID.group(Identifier(known: "g\(index)"))
                _ = try PutConversation(conversation: group, settings: .init(members: ["alice"]))
                    .run(transaction, harness.context)
            }
        }
        let new = (1...10).map { "group:g\($0)" }
        for (start, expected) in [(known, new), (nil, new + ["group:known"])] as [(String?, [String])] {
            var found: [String] = []
            var cursor = start
            var isDone = false
            while !isDone, found.count < 20 {
                let window = try harness.engine.syncWindow(cursor: cursor, limit: 3, by: Caller(user: "alice"))
                #expect(window.heads.count <= 3)
                found += names(window.heads)
                (cursor, isDone) = (window.cursor, window.isDone)
            }
            #expect(found.sorted() == expected.sorted())
        }
    }

    @Test("A cursor of a server version that did not split commits continues the pass")
    func olderCursors() throws {
        let harness = try EngineHarness()
        try harness.make(.group("h"), members: ["bob"])
        let before = try harness.pass(by: "alice").cursor
        for index in 1...6 { try harness.make(.group(Identifier(known: "g\(index)")), members: ["alice"]) }
        for start in [before, nil] as [String?] {
            let first = try harness.engine.syncWindow(cursor: start, limit: 2, by: Caller(user: "alice"))
            var parts = first.cursor.split(separator: ".")
            parts.remove(at: 6)
            #expect(parts.count == (start == nil ? 9 : 6))
            let rest = try harness.pass(parts.joined(separator: "."), limit: 2, by: "alice")
            #expect(names(first.heads + rest.heads) == (1...6).reversed().map { "group:g\($0)" })
        }
    }

    /// Everything that changes a conversation, or the caller's own state in it.
    private static let changes: [(String, @Sendable (EngineHarness) throws -> Void)] = [
        ("a message", { try $0.send(to: .group("g"), by: "bob") }),
        (
            "a message that doesn't update recents",
            { harness in
                var submission = harness.submission()
                submission.attributes.traits = .init(countsUnread: false, notifies: false, updatesRecents: false)
                try harness.send(submission, to: .group("g"), by: "bob")
            }
        ),
        ("a message of mine from another device", { try $0.send(to: .group("g"), by: "alice") }),
        (
            "an import of 2014",
            { harness in
                try harness.importHistory(
                    [harness.importedMessage("old", by: "bob", at: Date(timeIntervalSince1970: 1_400_000_000))],
                    into: .group("quiet"))
            }
        ),
        ("a read on another device", { try $0.read(.group("g"), to: 1, by: "alice") }),
        ("another user joins", { try $0.join(.group("g"), "carol") }),
        ("another user leaves", { try $0.leave(.group("g"), "bob") }),
        ("a change of my role", { try $0.join(.group("g"), "alice", as: .owner) }),
        ("a new name", { try $0.put(.group("g"), .init(name: "new")) }),
        ("wider visibility", { try $0.put(.group("g"), .init(visibility: .everything)) }),
        ("being added", { try $0.join(.group("other"), "alice") }),
        ("being removed", { try $0.leave(.group("g"), "alice") }),
        ("a deletion", { try $0.delete(.group("g")) }),
        (
            "a deletion and a new one without me",
            { harness in
                try harness.delete(.group("g"))
                try harness.make(.group("g"), members: ["bob"])
            }
        ),
        (
            "a deletion and a new one with me",
            { harness in
                try harness.delete(.group("g"))
                try harness.make(.group("g"), members: ["alice", "bob"])
            }
        ),
        ("a first direct message", { try $0.send(to: .direct("alice"), by: "zoe") }),
        (
            "a system message",
            { harness in
                try harness.send(
                    harness.submission(), to: .system(to: "alice", from: "billing"), by: EngineHarness.admin)
            }
        ),
        ("a message in a channel", { try $0.send(to: .community("c"), by: "bob") }),
        ("joining a community", { try $0.join(.community("d"), "alice") }),
        ("a new channel", { try $0.put(.community("c", channel: "news")) }),
    ]

    @Test(
        "Every change while a device was offline is in its next pass, even if the clock stepped back", .history(2),
        arguments: changes.indices)
    func everyOfflineChangeIsInTheNextPass(_ index: Int) throws {
        let (name, move) = Self.changes[index]
        for step in [0, 0.3, -0.3, -86_400] {
            let harness = try EngineHarness()
            try harness.make(group, members: ["alice", "bob"])
            try harness.put(.group("quiet"), .init(members: ["alice"]))
            try harness.make(.group("other"), members: ["bob"])
            try harness.make(.community("c"), members: ["alice", "bob"])
            try harness.make(.community("d"), members: ["bob"])
            try harness.send(to: group, by: "bob")
            let before = try harness.pass(by: "alice")
            // A change that does not concern alice.
            try harness.make(.group("unrelated"), members: ["bob"])
            harness.clock.advance(by: step)
            try move(harness)
            let after = try harness.pass(before.cursor, by: "alice")
            #expect(after.heads.count == 1, "\(name), clock \(step): \(names(after.heads))")
            #expect(try harness.pass(after.cursor, by: "alice").heads.isEmpty, "\(name): returned twice")
            let gone = ["being removed", "a deletion", "a deletion and a new one without me"]
            #expect(after.heads.first?.isMember == !gone.contains(name), "\(name)")
        }
    }

    @Test("An import of old messages while a device is offline is in its next pass, and is not replayed", .history(2))
    func importWhileOffline() throws {
        let harness = try EngineHarness()
        try harness.put(group, .init(members: ["alice"]))
        let before = try harness.pass(by: "alice")
        let old = Date(timeIntervalSince1970: 1_400_000_000)
        try harness.importHistory(
            (0..<30).map { harness.importedMessage("\($0)", by: "bob", at: old + Double($0)) }, into: group)
        let head = try #require(try harness.pass(before.cursor, by: "alice").heads.first)
        #expect(head.conversation == group)
        #expect(head.state.head == 30)
        #expect(head.unread == 0)
        let position = LogPosition(conversation: group, epoch: head.state.epoch, view: head.state.view, seq: 0, rev: 0)
        let sync = try harness.engine.syncLogs([position], by: Caller(user: "alice"))[0].result.get()
        #expect(sync.page.state.head == 30)
        #expect(sync.page.messages.isEmpty)
        #expect(try harness.page(of: group, by: "alice").messages.count == 30)
    }

    @Test("Missed messages are replayed in order for the configured number of days, and older ones are not", .rows(149))
    func replayDays() throws {
        let harness = try EngineHarness()
        try harness.put(group, .init(members: ["alice", "bob"]))
        for day in 0..<10 {
            if day > 0 { harness.clock.advance(by: 86_400) }
            try harness.send(to: group, by: "bob")
        }
        let head = try harness.head(group, "alice")
        func replayed() throws -> [Seq] {
            let position = LogPosition(conversation: group, epoch: head.state.epoch, view: 0, seq: 1, rev: 0)
            let sync = try harness.engine.syncLogs([position], by: Caller(user: "alice"))[0].result.get()
            #expect(sync.page.coverage.upper == 10)
            return sync.page.messages.map(\.seq)
        }
        // A message that is exactly seven days old is still replayed, so an hour passes.
        harness.clock.advance(by: 3600)
        #expect(try replayed() == [4, 5, 6, 7, 8, 9, 10])
        try harness.set { $0.replayDays = 2 }
        #expect(try replayed() == [9, 10])
        try harness.set { $0.replayDays = 0 }
        #expect(try replayed() == [])
        try harness.set { $0.replayDays = 30 }
        #expect(try replayed() == [2, 3, 4, 5, 6, 7, 8, 9, 10])
        let error = #expect(throws: ChatError.self) { try harness.set { $0.replayDays = -1 } }
        #expect(error?.parameter == "replayDays")
    }

    @Test("A pass has the changes from before its start, and changes during the pass are in the next one")
    func changesDuringAPassAreInTheNext() throws {
        let harness = try EngineHarness()
        for index in 1...6 { try harness.make(.group(Identifier(known: "g\(index)")), members: ["alice"]) }
        let first = try harness.engine.syncWindow(cursor: nil, limit: 2, by: Caller(user: "alice"))
        try harness.send(to: .group("g6"), by: "alice")
        try harness.send(to: .group("g1"), by: "alice")
        var rest: [ConversationHead] = []
        var window = first
        while !window.isDone {
            window = try harness.engine.syncWindow(cursor: window.cursor, limit: 2, by: Caller(user: "alice"))
            rest += window.heads
        }
        #expect(names(first.heads + rest) == ["group:g6", "group:g5", "group:g4", "group:g3", "group:g2"])
        #expect(names(try harness.pass(window.cursor, by: "alice").heads) == ["group:g1", "group:g6"])
    }

    @Test("A message affects only the passes of the conversation's members")
    func messagesAffectOnlyMembersPasses() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        try harness.make(.group("h"), members: ["bob"])
        let cursor = try harness.pass(by: "alice").cursor
        for _ in 1...10 { try harness.send(to: .group("h"), by: "bob") }
        #expect(try harness.pass(cursor, by: "alice").heads.isEmpty)
    }

    @Test("A cursor from before a restore starts over")
    func cursorFromBeforeRestoreStartsOver() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        let cursor = try harness.pass(by: "alice").cursor
        let other = try EngineHarness(store: MemoryStore(generation: 99))
        try other.make(group, members: ["alice"])
        let pass = try other.pass(cursor, by: "alice")
        #expect(pass.heads.count == 1)
        #expect(pass.heads[0].state.epoch != (try harness.head(group, "alice").state.epoch))
    }

    @Test(
        "An invalid cursor is refused, and the error names the parameter",
        arguments: ["", "x", "1.2", "1.2.3.4", "1..3", "-1.2.3", "1.2.zzzzzzzzzzzzzz", "é.1.2"])
    func foreignCursors(_ cursor: String) throws {
        let harness = try EngineHarness()
        let error = refusal { _ = try harness.engine.syncWindow(cursor: cursor, limit: 5, by: Caller(user: "alice")) }
        #expect(error?.code == .invalidParameter)
        #expect(error?.parameter == "cursor")
    }

    @Test("A window size out of range is refused, and the error names the parameter", arguments: [0, -1, 501])
    func windows(_ limit: Int) throws {
        let harness = try EngineHarness()
        let error = refusal { _ = try harness.engine.syncWindow(cursor: nil, limit: limit, by: Caller(user: "alice")) }
        #expect(error?.parameter == "limit")
        let list = refusal {
            _ = try harness.engine.recents(limit: limit, cursor: nil, by: Caller(user: "alice"))
        }
        #expect(list?.parameter == "limit")
    }

    @Test("The deletion of a private channel is only in the passes of its members")
    func deletedPrivateChannel() throws {
        let harness = try EngineHarness()
        try harness.make(.community("c"), members: ["alice", "bob"])
        let secret = ConversationID.community("c", channel: "secret")
        try harness.put(secret, .init(isPrivate: true, members: ["alice"]))
        let (alice, bob) = (try harness.pass(by: "alice").cursor, try harness.pass(by: "bob").cursor)
        try harness.delete(secret)
        let received = try harness.pass(alice, by: "alice").heads
        #expect(names(received) == ["community:c/secret"])
        #expect(received.first?.isMember == false)
        #expect(try harness.pass(bob, by: "bob").heads.isEmpty)
    }

    @Test("The recreation of a private channel is in the passes of former members who are no longer in it")
    func recreatedPrivateChannelReachesFormerMembers() throws {
        let harness = try EngineHarness()
        try harness.make(.community("c"), members: ["alice", "bob"])
        let secret = ConversationID.community("c", channel: "secret")
        try harness.put(secret, .init(isPrivate: true, members: ["alice"]))
        let alice = try harness.pass(by: "alice").cursor
        try harness.delete(secret)
        try harness.put(secret, .init(isPrivate: true, members: ["bob"]))
        let received = try harness.pass(alice, by: "alice").heads
        #expect(names(received) == ["community:c/secret"])
        #expect(received.first?.isMember == false)
    }

    @Test("Sync reads the last commit number before the rows, so that no commit in between is lost")
    func lastCommitIsReadBeforeTheRows() throws {
        // A commit slips in after the snapshot. Its number must not be returned as seen.
        let store = CommitReadHookStore()
        let harness = try EngineHarness(store: store)
        try harness.make(group, members: ["alice", "bob"])
        store.onCommitRead = { try harness.send("slipped in", to: .group("g"), by: "bob") }
        let pass = try harness.pass(by: "alice")
        store.onCommitRead = nil
        let head = pass.heads.first?.state.head
        let next = try harness.pass(pass.cursor, by: "alice")
        #expect(head == 1 || next.heads.map(\.state.head) == [1])
    }

    @Test("A cursor that is made while a new generation begins starts over")
    func generationDuringPass() throws {
        let store = CommitReadHookStore()
        let harness = try EngineHarness(store: store)
        try harness.make(group, members: ["alice", "bob"])
        store.onCommitRead = { try store.renewGeneration(at: harness.clock.now) }
        let cursor = try harness.pass(by: "alice").cursor
        store.onCommitRead = nil
        #expect(try harness.pass(cursor, by: "alice").heads.map(\.conversation) == [group])
    }

    @Test("A joined conversation is in the next pass, even if it changes during the pass without an event")
    func joinedConversationIsInTheNextPass() throws {
        let store = CommitReadHookStore()
        let harness = try EngineHarness(store: store)
        try harness.make(group, members: ["alice", "bob"])
        let cursor = try harness.pass(by: "carol").cursor
        try harness.join(group, "carol")
        store.onCommitRead = { try harness.leave(.group("g"), "bob") }
        let pass = try harness.pass(cursor, by: "carol")
        store.onCommitRead = nil
        #expect(pass.heads.map(\.conversation) == [group])
    }

    @Test("A former member's pass has the departure, and nothing that happens in the conversation later", .history(11))
    func formerMembersPassHasTheDeparture() throws {
        let harness = try EngineHarness()
        let channel = ConversationID.community("c", channel: "default")
        try harness.make(group, members: ["alice", "bob"])
        try harness.make(.community("c"), members: ["alice", "bob"])
        for id in [group, channel] { try harness.send(to: id, by: "alice") }
        var cursor = try harness.pass(by: "bob").cursor
        try harness.leave(group, "bob")
        try harness.leave(.community("c"), "bob")
        let left = try harness.pass(cursor, by: "bob")
        #expect(Set(names(left.heads)) == ["group:g", "community:c/default"])
        #expect(left.heads.allSatisfy { !$0.isMember })
        cursor = left.cursor
        for id in [group, channel] { try harness.send(to: id, by: "alice") }
        try harness.put(group, .init(name: "new"))
        #expect(try harness.pass(cursor, by: "bob").heads.isEmpty)
        try harness.join(group, "bob")
        #expect(names(try harness.pass(cursor, by: "bob").heads) == ["group:g"])
    }

    @Test("A pass has a departure even if the conversation changes during the pass", .history(11))
    func passHasADepartureDuringIt() throws {
        let harness = try EngineHarness()
        for index in 1...3 { try harness.make(.group(Identifier(known: "g\(index)")), members: ["alice", "bob"]) }
        let before = try harness.pass(by: "bob").cursor
        try harness.leave(.group("g1"), "bob")
        for index in 2...3 { try harness.send(to: .group(Identifier(known: "g\(index)")), by: "alice") }
        let first = try harness.engine.syncWindow(cursor: before, limit: 1, by: Caller(user: "bob"))
        try harness.send("not for bob", to: .group("g1"), by: "alice")
        let rest = try harness.pass(first.cursor, by: "bob")
        #expect(names(first.heads + rest.heads) == ["group:g3", "group:g2", "group:g1"])
        #expect(rest.heads.last?.isMember == false && rest.heads.last?.state.head == 0)
        #expect(try harness.pass(rest.cursor, by: "bob").heads.isEmpty)
    }

    @Test("Heads with long last messages come in windows of limited size, each once")
    func longHeads() throws {
        let harness = try EngineHarness()
        let text = String(repeating: "x", count: 120_000)
        let names = (1...20).map { "group:g\($0)" }
        for index in 1...20 {
            let id = ConversationID.group(Identifier(known: "g\(index)"))
            try harness.make(id, members: ["alice"])
            try harness.send(text, to: id, by: "alice")
        }
        var found: [String] = []
        var cursor: String?
        var isDone = false
        while !isDone, found.count <= 20 {
            let window = try harness.engine.syncWindow(cursor: cursor, limit: 100, by: Caller(user: "alice"))
            #expect(window.heads.count == 5 || window.isDone)
            found += self.names(window.heads)
            (cursor, isDone) = (window.cursor, window.isDone)
        }
        #expect(found == names.reversed())
        found = []
        cursor = nil
        repeat {
            let page = try harness.engine.recents(limit: 100, cursor: cursor, by: Caller(user: "alice"))
            #expect(page.heads.count <= 5)
            found += self.names(page.heads)
            cursor = page.next
        } while cursor != nil && found.count <= 20
        #expect(found == names.reversed())
    }

    @Test("Departures from conversations with long last messages come in windows of limited size, each once")
    func longDepartures() throws {
        let harness = try EngineHarness()
        let names = (1...20).map { "group:g\($0)" }
        let groups = (1...20).map { ConversationID.group(Identifier(known: "g\($0)")) }
        for id in [group] + groups { try harness.make(id, members: ["alice", "bob"]) }
        for id in groups { try harness.send(String(repeating: "x", count: 120_000), to: id, by: "alice") }
        let before = try harness.pass(by: "bob").cursor
        for id in groups { try harness.leave(id, "bob") }
        try harness.send(to: group, by: "alice")
        // No device has a cursor with a pass from before all commits, but anyone can send one.
        let generation = before.prefix { $0 != "." }
        let forged = "\(generation).0.0.0.0.\(String(Int64.max, radix: 36))"
        let caller = Caller(user: "bob")
        let first = try harness.engine.syncWindow(cursor: before, limit: 21, by: caller)
        for id in groups { try harness.send("not for bob", to: id, by: "alice") }
        for start in [first, try harness.engine.syncWindow(cursor: forged, limit: 21, by: caller)] {
            var found: [String] = []
            var window = start
            while true {
                #expect((1...6).contains(window.heads.count))
                found += self.names(window.heads)
                guard !window.isDone, found.count <= 40 else { break }
                window = try harness.engine.syncWindow(cursor: window.cursor, limit: 21, by: caller)
            }
            #expect(Set(found) == Set(names) || Set(found) == Set(names + ["group:g"]))
            // Departures of the first window changed again, and so are also at the end of the pass.
            #expect(found.count - Set(found).count <= (start.cursor == first.cursor ? 6 : 0))
        }
    }

    @Test("A head from before a read has a lower `userRev` than the result of the read")
    func headFromBeforeReadHasLowerRevision() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        for _ in 1...10 { try harness.send(to: group, by: "bob") }
        try harness.read(group, to: 7, by: "alice")
        // The head is still in flight while another device reads.
        let late = try harness.head(group, "alice")
        let answer = try harness.read(group, to: 10, by: "alice")
        #expect((late.unread, answer.unread) == (3, 0))
        #expect(late.userRev < answer.userRev)
        let next = try harness.head(group, "alice")
        #expect((next.userRev, next.unread, next.readSeq) == (answer.userRev, 0, 10))
        #expect(try harness.pass(by: "alice").heads.first?.userRev == answer.userRev)
        // Messages and reads of other users do not change alice's revision.
        try harness.send(to: group, by: "bob")
        try harness.read(group, to: 11, by: "bob")
        #expect(try harness.head(group, "alice").userRev == answer.userRev)
    }

    // MARK: Recents

    @Test("Recents are sorted by the newest message, in pages, without rooms and empty conversations")
    func recents() throws {
        let harness = try EngineHarness()
        for index in 1...5 {
            let id = ConversationID.group(Identifier(known: "g\(index)"))
            try harness.make(id, members: ["alice", "bob"])
            harness.clock.advance(by: 1)
            try harness.send(to: id, by: "bob")
        }
        try harness.make(.group("empty"), members: ["alice"])
        try harness.put(.room("r"))
        try harness.send(to: .room("r"), by: "alice")
        try harness.send(to: .direct("alice"), by: "zoe")
        try harness.send(to: .group("g2"), by: "bob")
        var found: [String] = []
        var cursor: String?
        repeat {
            let page = try harness.engine.recents(limit: 2, cursor: cursor, by: Caller(user: "alice"))
            found += names(page.heads)
            cursor = page.next
        } while cursor != nil
        #expect(found == ["group:g2", "direct:zoe", "group:g5", "group:g4", "group:g3", "group:g1"])
        // A former member's entry is sorted by the newest message that they see.
        try harness.leave(.group("g3"), "alice")
        for _ in 1...3 { try harness.send("not for alice", to: .group("g3"), by: "bob") }
        try harness.send(to: .group("g1"), by: "bob")
        let after = try harness.engine.recents(
            RecentsListFilter(kind: .group), limit: 10, cursor: nil, by: Caller(user: "alice")
        ).heads
        #expect(names(after) == ["group:g1", "group:g2", "group:g5", "group:g4", "group:g3"])
        let groups = try harness.engine.recents(
            RecentsListFilter(kind: .direct), limit: 10, cursor: nil, by: Caller(user: "alice")
        ).heads
        #expect(names(groups) == ["direct:zoe"])
        #expect(groups[0].unread == 1)
        #expect(groups[0].lastMessage?.sender == "zoe")
    }
}

/// A store that runs a closure whenever the last commit number is read outside of a snapshot.
private final class CommitReadHookStore: MessageStore, @unchecked Sendable {
    private let base = MemoryStore(generation: 7)
    /// Set and called by one test on one thread.
    nonisolated(unsafe) var onCommitRead: (() throws -> Void)?

    var generation: UInt64 { base.generation }
    var lastCommit: Int64 {
        get throws {
            let lastCommit = base.lastCommit
            try onCommitRead?()
            return lastCommit
        }
    }
    var newest: Timetoken { get throws { base.newest } }

    func vacuum() -> Bool { false }

    func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer { try base.read(body) }

    func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        try base.write(body)
    }
}
