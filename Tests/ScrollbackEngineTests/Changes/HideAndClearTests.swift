import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

@Suite("Messages that users hide or clear for themselves")
struct HideAndClearTests {
    private let group = ConversationID.group("g")
    private let harness: EngineHarness

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
    }

    private func sent(_ count: Int) throws -> [MessageID] {
        try (0..<count).map { number in
            let submission = harness.submission("\(number)")
            try harness.send(submission, to: group, by: "alice")
            return submission.id
        }
    }

    @Test("Hiding all messages leaves an empty history, and later messages are visible")
    func hideAll() throws {
        let ids = try sent(5)
        #expect(try harness.hide(ids, in: group, by: "bob") == 5)
        #expect(try harness.hide(ids, in: group, by: "bob") == 0)
        let head = try harness.head(group, "bob")
        #expect((head.state.firstSeq, head.state.head) == (6, 5))
        #expect(head.lastMessage == nil)
        #expect(head.unread == 0)
        // The entry stays in the recents list, without a last message.
        let entry = try #require(try harness.engine.recents(limit: 10, by: Caller(user: "bob")).heads.first)
        #expect(entry.lastMessage == nil && entry.recentTime != nil)
        _ = try sent(1)
        #expect(try harness.page(of: group, by: "bob").seqs == [6])
        #expect(try harness.unread(group, "bob") == Counts(1))
        #expect(try harness.page(of: group, by: "alice").seqs.count == 6)
    }

    @Test("A user can hide 1,000 separate ranges of a conversation, and after that merge them or clear the history")
    func rangesAreLimited() throws {
        try harness.fill(group, 2100)
        func ids(_ seqs: some Sequence<Int>) -> [MessageID] {
            seqs.map { MessageID(high: 0x7000, low: 0x8000_0000_0000_0000 | UInt64($0)) }
        }
        let odd = Array(stride(from: 1, to: 2000, by: 2))
        for start in stride(from: 0, to: odd.count, by: 100) {
            #expect(try harness.hide(ids(odd[start..<start + 100]), in: group, by: "bob") == 100)
        }
        let error = refusal { try harness.hide(ids([2002]), in: group, by: "bob") }
        #expect((error?.code, error?.limit) == (.conflict, 1000))
        #expect(try harness.unread(group, "bob") == Counts(1100))
        // Other users have their own ranges. A message between two ranges makes them one.
        #expect(try harness.hide(ids([2002]), in: group, by: "alice") == 1)
        #expect(try harness.hide(ids([2]), in: group, by: "bob") == 1)
        #expect(try harness.hide(ids([2002]), in: group, by: "bob") == 1)
        try harness.clear(group, through: 2050, by: "bob")
        #expect(try harness.hide(ids([2060, 2062]), in: group, by: "bob") == 2)
    }

    @Test("Clearing only moves up, absorbs hidden messages below, and leaves later messages visible")
    func clear() throws {
        let ids = try sent(6)
        #expect(try harness.hide([ids[1], ids[4]], in: group, by: "bob") == 2)
        #expect(try harness.clear(group, through: 3, by: "bob").unread == 2)
        let rev = try harness.head(group, "bob").userRev
        #expect(try harness.clear(group, through: 2, by: "bob").unread == 2)
        #expect(try harness.clear(group, through: 0, by: "bob").unread == 2)
        #expect(try harness.head(group, "bob").userRev == rev, "a lower position changes nothing")
        #expect(try harness.page(of: group, by: "bob").seqs == [6, 4])
        let number = try #require(try harness.store.read { try $0.conversation(group)?.number })
        #expect(try harness.store.read { try $0.deletedRanges(of: "bob", in: number).map(\.places) } == [5...5])
        #expect(try harness.clear(group, through: 6, by: "bob").unread == 0)
        #expect(try harness.store.read { try $0.member("bob", of: number)?.hasDeletedRanges } == false)
        #expect(refusal { try harness.clear(group, through: 7, by: "bob") }?.parameter == "seq")
        _ = try sent(1)
        #expect(try harness.page(of: group, by: "bob").seqs == [7])
        #expect(try harness.unread(group, "bob") == Counts(1))
    }

    @Test("A device that was offline receives the ranges that another device hid, once")
    func offlineDeviceReceivesHiddenRangesOnce() throws {
        let ids = try sent(6)
        let cursor = try harness.pass(by: "bob").cursor
        try harness.hide([ids[1], ids[2]], in: group, by: "bob")
        let first = try harness.pass(cursor, by: "bob")
        #expect(first.heads.map(\.hidden) == [[2...3]])
        try harness.hide([ids[5]], in: group, by: "bob")
        let second = try harness.pass(first.cursor, by: "bob")
        #expect(second.heads.map(\.hidden) == [[6...6]])
        #expect(try harness.pass(second.cursor, by: "bob").heads.isEmpty)
        // A new device has none of these messages.
        #expect(try harness.pass(by: "bob").heads.map(\.hidden) == [[]])
    }

    @Test("Administrators who are not members can't hide or clear messages")
    func administrator() throws {
        let ids = try sent(1)
        for refused in [
            refusal {
                let _: Int = try harness.done {
                    harness.engine.hide(ids, in: group, by: EngineHarness.admin, completion: $0)
                }
            },
            refusal {
                let epoch = try harness.head(group, "bob").state.epoch
                let _: ReadSummary = try harness.done {
                    harness.engine.clear(group, through: 1, epoch: epoch, by: EngineHarness.admin, completion: $0)
                }
            },
        ] { #expect(refused?.code == .notMember) }
    }

    // MARK: Live events

    @Test("Hide and clear events reach only the user's own devices, even in direct conversations")
    func hideAndClearEventsReachOwnDevicesOnly() throws {
        let sessions = SessionHarness(harness)
        let message = harness.submission("hi")
        try harness.send(message, to: .direct("bob"), by: "alice")
        try harness.send("ho", to: .direct("bob"), by: "alice")
        let (alice, phone, laptop) = (
            sessions.device("alice"), sessions.device("bob", "phone"), sessions.device("bob", "laptop")
        )
        try harness.hide([message.id], in: .direct("alice"), by: "bob")
        try harness.clear(.direct("alice"), through: 2, by: "bob")
        #expect(try alice.events.isEmpty)
        for device in [phone, laptop] {
            #expect(
                try device.events.compactMap { event -> [SeqRange]? in
                    if case .hidden(_, _, let places) = event { return places }
                    return nil
                } == [[1...1], [1...2]])
            #expect(
                try device.events.compactMap { event -> Int64? in
                    if case .read(.direct("alice"), let summary) = event { return summary.unread }
                    return nil
                } == [1, 0])
        }
    }

    @Test("A change to a hidden or cleared message reaches the user as a revision only, even after reconnecting")
    func changesToHiddenMessagesAreRevisionsOnly() throws {
        for id in [group, ConversationID.direct(between: "alice", and: "bob")] {
            let messages = (0..<3).map { harness.submission("\($0)") }
            for message in messages { try harness.send(message, to: id, by: "alice") }
            let sessions = SessionHarness(harness)
            let (alice, bob) = (sessions.device("alice"), sessions.device("bob"))
            try harness.hide([messages[1].id], in: id, by: "bob")
            let late = sessions.device("bob", "late")
            try harness.edit(messages[1].id, in: id, "edited hidden", by: Caller(user: "alice"))
            try harness.edit(messages[2].id, in: id, "edited shown", by: Caller(user: "alice"))
            for device in [bob, late] {
                #expect(try device.changes.compactMap(\.text) == ["edited shown"])
                #expect(try device.heads.map(\.rev) == [1])
            }
            #expect(try alice.changes.compactMap(\.text) == ["edited hidden", "edited shown"])
            try harness.clear(id, through: 3, by: "bob")
            try harness.edit(messages[2].id, in: id, "edited cleared", by: Caller(user: "alice"))
            #expect(try bob.changes.count == 1)
            try harness.send("new", to: id, by: "alice")
            #expect(try bob.texts == ["new"])
        }
    }

    @Test("Members get changes to messages they can't see as revisions only, and range deletions in full")
    func changesToInvisibleMessagesAreRevisionsOnly() throws {
        try harness.put(group, .init(visibility: .everything))
        let ids = try sent(2)
        let sessions = SessionHarness(harness)
        let bob = sessions.device("bob")
        try harness.edit(ids[0], in: group, "open", by: Caller(user: "alice"))
        #expect(try bob.changes.compactMap(\.text) == ["open"])
        try harness.put(group, .init(visibility: .sinceJoin))
        try harness.join(group, "carol")
        let carol = sessions.device("carol")
        try harness.edit(ids[0], in: group, "closed", by: Caller(user: "alice"))
        #expect(try carol.changes.isEmpty)
        #expect(try carol.heads.map(\.rev) == [2])
        #expect(try bob.heads.map(\.rev) == [2], "no member is certain to see the message")
        let new = try sent(1)
        try harness.react("+1", to: new[0], in: group, by: Caller(user: "bob"))
        for device in [bob, carol] { #expect(try device.changes.last?.rev == 3) }
        try harness.delete(DeleteRange(from: .seq(2), to: .seq(3)), of: group)
        for device in [bob, carol] { #expect(try device.changes.last == .removed(2...2, rev: 4)) }
        try harness.leave(group, "carol")
        carol.transport.forget()
        try harness.delete(new[0], in: group, by: Caller(user: "alice"))
        #expect(try carol.events.isEmpty)
    }

    @Test("A reply updates the first message of its thread for the members who see that message")
    func replyUpdatesTheThreadsFirstMessage() throws {
        let ids = try sent(1)
        try harness.join(group, "carol")
        let sessions = SessionHarness(harness)
        let (bob, carol) = (sessions.device("bob"), sessions.device("carol"))
        var reply = harness.submission("reply")
        reply.attributes.replyTo = ids[0]
        try harness.send(reply, to: group, by: "bob")
        for device in [bob, carol] { #expect(try device.texts == ["reply"]) }
        #expect(try bob.changes.compactMap(\.text) == ["0"])
        #expect(try carol.changes.isEmpty)
        #expect(try carol.heads.map(\.rev) == [1])
    }
}
