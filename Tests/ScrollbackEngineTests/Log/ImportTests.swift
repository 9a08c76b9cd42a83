import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Import")
struct ImportTests {
    private let group = ConversationID.group("g")
    private let past = Date(timeIntervalSince1970: 1_400_000_000)

    private func world() throws -> World {
        let world = try World()
        try world.put(group)
        return world
    }

    private func batch(_ world: World, _ texts: [String], every seconds: TimeInterval = 60) -> [ImportedMessage] {
        texts.enumerated().map { world.said($1, by: "alice", at: past.addingTimeInterval(Double($0) * seconds)) }
    }

    @Test("Imported messages keep their times, their order and their senders")
    func times() throws {
        let world = try world()
        let messages = [
            world.said("one", by: "alice", at: past), world.said("two", by: "bob", at: past + 0.001),
            world.said("three", by: "alice", at: past + 3_600),
        ]
        let report = try world.importHistory(messages, into: group)
        #expect(report == ImportReport(imported: 3, skipped: 0, head: 3))
        let page = try world.page(.earliest, of: group, by: "bob")
        #expect(page.texts == ["three", "two", "one"])
        #expect(page.messages.map(\.timetoken) == messages.reversed().map { Timetoken($0.sentAt) })
        #expect(page.messages.map(\.sender) == ["alice", "bob", "alice"])
        #expect(page.messages.map(\.id) == messages.reversed().map(\.submission.id))
    }

    @Test("An import that runs again after live messages succeeds and changes nothing", .history(22))
    func again() throws {
        let world = try world()
        let messages = batch(world, ["one", "two", "three"])
        try world.importHistory(messages, into: group)
        try world.send("live", to: group, by: "alice")
        let before = try world.page(of: group, by: "alice")
        let moved = try world.store.moved
        #expect(try world.importHistory(messages, into: group) == ImportReport(imported: 0, skipped: 3, head: 4))
        #expect(
            try world.importHistory(Array(messages.dropFirst()), into: group)
                == ImportReport(imported: 0, skipped: 2, head: 4))
        #expect(try world.page(of: group, by: "alice") == before)
        // The conversation does not count as changed.
        #expect(try world.store.read { try $0.conversation(group)?.moved ?? 0 } <= moved)
    }

    @Test("A new message older than the head is refused by ID, and its batch with it", .history(22))
    func outOfOrder() throws {
        let world = try world()
        try world.importHistory(batch(world, ["one", "two"]), into: group)
        try world.send("live", to: group, by: "alice")
        let late = world.said("late", by: "alice", at: past + 30)
        let now = world.said("now", by: "alice", at: world.clock.now)
        let error = refusal { try world.importHistory([now, late], into: group) }
        #expect(error?.code == .outOfOrder)
        #expect(error?.status == 409)
        #expect(error?.parameter == "sentAt")
        #expect(error?.message.contains(late.submission.id.description) == true)
        #expect(error?.message.contains("2014-05-13T16:53:50.000Z") == true, "\(error?.message ?? "")")
        #expect(try world.page(of: group, by: "alice").texts == ["live", "two", "one"])
        // With a later time, the message is accepted.
        #expect(try world.importHistory([now], into: group).imported == 1)
    }

    @Test("Known IDs are skipped even if new messages lie between and after them", .history(22))
    func partly() throws {
        let world = try world()
        let messages = batch(world, ["one", "two", "three", "four"])
        try world.importHistory(Array(messages.prefix(2)), into: group)
        #expect(try world.importHistory(messages, into: group) == ImportReport(imported: 2, skipped: 2, head: 4))
        #expect(try world.page(of: group, by: "alice").texts == ["four", "three", "two", "one"])
    }

    @Test("Messages with equal times keep the order of the file, even across batches", .history(22))
    func equalTimes() throws {
        let world = try world()
        let messages = batch(world, (1...40).map { "\($0)" }, every: 0)
        try world.importHistory(Array(messages.prefix(15)), into: group)
        try world.importHistory(Array(messages.dropFirst(15)), into: group)
        let page = try world.page(.earliest, of: group, by: "alice")
        #expect(page.texts == (1...40).reversed().map { "\($0)" })
        #expect(Set(page.messages.map(\.sentAt)) == [past])
        #expect(Set(page.messages.map(\.timetoken)).count == 40)
        #expect(try world.importHistory(messages, into: group).skipped == 40)
    }

    @Test("An ID of another message is a conflict, both in the log and inside one file", .history(22))
    func reusedIDs() throws {
        let world = try world()
        let first = world.said("one", by: "alice", at: past)
        try world.importHistory([first], into: group)
        let id = first.submission.id
        for other in [
            world.said("other", by: "alice", at: past, id: id), world.said("one", by: "bob", at: past, id: id),
        ] {
            let error = refusal { try world.importHistory([other], into: group) }
            #expect(error?.code == .conflict)
            #expect(error?.parameter == "id")
            #expect(error?.message.contains(id.description) == true)
        }
        let twin = world.newID()
        let twins = [
            world.said("a", by: "alice", at: past + 1, id: twin), world.said("a", by: "bob", at: past + 2, id: twin),
        ]
        #expect(refusal { try world.importHistory(twins, into: group) }?.code == .conflict)
        let others = [
            world.said("a", by: "alice", at: past + 1, id: twin), world.said("b", by: "alice", at: past + 2, id: twin),
        ]
        #expect(refusal { try world.importHistory(others, into: group) }?.code == .conflict)
        // The same line twice is one message.
        let same = [
            world.said("a", by: "alice", at: past + 1, id: twin), world.said("a", by: "alice", at: past + 2, id: twin),
        ]
        #expect(try world.importHistory(same, into: group) == ImportReport(imported: 1, skipped: 1, head: 2))
        #expect(try world.page(of: group, by: "alice").texts == ["a", "one"])
    }

    @Test("A time before 1970 is refused and not clamped")
    func early() throws {
        let world = try world()
        let error = refusal {
            try world.importHistory(
                [world.said("moon", by: "neil", at: Date(timeIntervalSince1970: -14_159_040))], into: group)
        }
        #expect(error?.parameter == "sentAt")
    }

    @Test("A time in the future is refused, and its batch with it")
    func future() throws {
        let world = try world()
        let messages = [
            world.said("now", by: "alice", at: world.clock.now),
            world.said("then", by: "alice", at: world.clock.now + 60),
        ]
        let error = refusal { try world.importHistory(messages, into: group) }
        #expect(error?.code == .invalidParameter)
        #expect(error?.parameter == "sentAt")
        #expect(try world.engine.head(of: group, by: World.admin).head == 0)
    }

    @Test("Every sender of an imported message becomes a member who sees all messages")
    func members() throws {
        let world = try world()
        try world.importHistory(
            [world.said("one", by: "alice", at: past), world.said("two", by: "bob", at: past + 1)], into: group)
        #expect(
            try world.engine.members(of: group, after: nil, limit: 10, by: World.admin).map(\.id) == ["alice", "bob"])
        #expect(try world.page(of: group, by: "bob").seqs == [2, 1])
        #expect(try world.send("hi", to: group, by: "bob") == 3)
    }

    @Test("A former member with an imported message rejoins, sees all messages, and gets a new view")
    func returning() throws {
        let world = try world()
        try world.join(group, "alice")
        try world.send("before", to: group, by: "alice")
        try world.join(group, "bob")
        try world.send("together", to: group, by: "alice")
        try world.leave(group, "bob")
        try world.send("without", to: group, by: "alice")
        let before = try world.page(of: group, by: "bob")
        #expect(before.seqs == [2])
        try world.importHistory([world.said("elsewhere", by: "bob", at: world.clock.now)], into: group)
        let after = try world.page(of: group, by: "bob")
        #expect(after.seqs == [4, 3, 2, 1])
        #expect(after.state.view > before.state.view)
        // After another removal, bob sees no later message.
        try world.leave(group, "bob")
        try world.send("after", to: group, by: "alice")
        #expect(try world.page(of: group, by: "bob").seqs == [4, 3, 2, 1])
    }

    @Test("Imported messages are not unread, and neither are their mentions")
    func unread() throws {
        let world = try world()
        try world.join(group, "bob")
        try world.importHistory(
            [world.said("hey", by: "alice", at: past, mentions: .everyone(also: ["bob"]))], into: group)
        #expect(try world.unread(group, "bob") == Counts(0))
        #expect(try world.unread(group, "alice") == Counts(0))
        #expect(
            try world.page(HistoryQuery(filter: .mentionsMe), of: group, by: "bob").seqs == [1],
            "the message still mentions bob")
        try world.send("live", to: group, by: "alice")
        #expect(try world.unread(group, "bob") == Counts(1))
    }

    @Test("With `countsUnread`, imported messages are unread for old and new members, except their own")
    func counted() throws {
        let world = try world()
        try world.join(group, "carol")
        try world.importHistory(
            [
                world.said("one", by: "alice", at: past), world.said("two", by: "bob", at: past + 1),
                world.said("three", by: "alice", at: past + 2),
            ], into: group, countsUnread: true)
        #expect(try world.unread(group, "carol") == Counts(3))
        #expect(try world.unread(group, "bob") == Counts(2))
        // Alice has nothing unread before her first message, so it advances her read marker. Bob has, so his stays.
        #expect(try world.unread(group, "alice") == Counts(1))
        #expect(try world.head(group, "alice").readSeq == 1)
        #expect(try world.head(group, "bob").readSeq == 0)
        #expect(try world.page(of: group, by: "carol").messages.map(\.n) == [3, 2, 1])
        // The same messages sent live give the same counts.
        try world.make(.group("live"), members: ["alice", "bob", "carol"])
        for sender in ["alice", "bob", "alice"] as [UserID] { try world.send(to: .group("live"), by: sender) }
        for user in ["alice", "bob", "carol"] as [UserID] {
            #expect(try world.unread(.group("live"), user) == world.unread(group, user))
            #expect(try world.head(.group("live"), user).readSeq == world.head(group, user).readSeq)
        }
        #expect(try world.read(group, to: 3, by: "bob").unread == 0)
    }

    @Test("With `countsUnread`, mentions count, and messages whose type or flags do not count stay uncounted")
    func countedMentions() throws {
        let world = try world()
        try world.importHistory(
            [
                world.said("hey", by: "alice", at: past, mentions: .users(["bob"])),
                world.said("all", by: "alice", at: past + 1, mentions: .everyone()),
                world.said("quiet", by: "alice", at: past + 2, countsUnread: false),
                world.said("renamed", by: "alice", at: past + 3, type: .notice),
                world.said("hello", by: "bob", at: past + 4),
            ], into: group, countsUnread: true)
        #expect(try world.unread(group, "bob") == Counts(2, 2))
        #expect(try world.unread(group, "alice") == Counts(1))
        #expect(try world.page(of: group, by: "bob").messages.map(\.n) == [3, 2, 2, 2, 1])
    }

    @Test("An import that runs again changes no counts, regardless of `countsUnread`")
    func countedAgain() throws {
        let world = try world()
        let messages = [world.said("one", by: "alice", at: past), world.said("two", by: "bob", at: past + 1)]
        try world.importHistory(messages, into: group, countsUnread: true)
        for countsUnread in [true, false] {
            #expect(
                try world.importHistory(messages, into: group, countsUnread: countsUnread)
                    == ImportReport(imported: 0, skipped: 2, head: 2))
            #expect(try world.unread(group, "alice") == Counts(1))
        }
        // Messages that were imported without `countsUnread` stay uncounted.
        try world.importHistory([world.said("three", by: "bob", at: past + 2)], into: group)
        try world.importHistory([world.said("four", by: "bob", at: past + 3)], into: group, countsUnread: true)
        #expect(try world.unread(group, "alice") == Counts(2))
    }

    @Test("Imported messages from before a member joined a public channel are not unread for them")
    func countedChannel() throws {
        let world = try World()
        let channel = ConversationID.community("c", channel: "open")
        try world.make(.community("c"), members: ["boss"])
        try world.put(channel)
        try world.importHistory(
            [world.said("one", by: "alice", at: past), world.said("two", by: "bob", at: past + 1)], into: channel,
            countsUnread: true)
        #expect(try world.unread(channel, "boss") == Counts(0))
        #expect(try world.page(of: channel, by: "boss").seqs == [])
        #expect(try world.unread(channel, "alice") == Counts(1))
        #expect(try world.unread(channel, "bob") == Counts(1))
        world.clock.advance(by: 1)
        try world.importHistory(
            [world.said("three", by: "bob", at: world.clock.now)], into: channel, countsUnread: true)
        #expect(try world.unread(channel, "boss") == Counts(1))
        #expect(try world.unread(channel, "alice") == Counts(2))
        #expect(try world.unread(channel, "bob") == Counts(1))
    }

    @Test("A user who joins a community at the time of an import joins after all of its messages")
    func joinedAfter() throws {
        let world = try World()
        let channel = ConversationID.community("c", channel: "open")
        try world.make(.community("c"), members: ["boss"])
        try world.put(channel)
        world.clock.advance(by: 1)
        let now = world.clock.now
        try world.importHistory(
            (1...20).map { world.said("\($0)", by: "boss", at: now) }, into: channel, countsUnread: true)
        try world.join(.community("c"), "late")
        #expect(try world.page(of: channel, by: "late").seqs == [])
        #expect(try world.unread(channel, "late") == Counts(0))
        try world.send("live", to: channel, by: "boss")
        #expect(try world.page(of: channel, by: "late").seqs == [21])
        #expect(try world.unread(channel, "late") == Counts(1))
    }

    @Test("An import creates a direct conversation, and counted messages are unread for the other user")
    func countedDirect() throws {
        let world = try World()
        let pair = ConversationID.direct(between: "alice", and: "bob")
        let messages = [
            world.said("hi", by: "alice", at: past), world.said("yes?", by: "bob", at: past + 1),
            world.said("nothing", by: "alice", at: past + 2),
        ]
        // A refused import and an empty import create no conversation.
        #expect(
            refusal { try world.importHistory(messages, into: pair, by: Caller(user: "alice")) }?.code
                == .unknownConversation)
        #expect(refusal { try world.importHistory(messages.reversed(), into: pair) }?.code == .outOfOrder)
        #expect(try world.importHistory([], into: pair) == ImportReport(imported: 0, skipped: 0, head: 0))
        #expect(refusal { _ = try world.head(.direct("bob"), "alice") }?.code == .unknownConversation)

        #expect(try world.importHistory(messages, into: pair, countsUnread: true).imported == 3)
        #expect(try world.importHistory(messages, into: pair, countsUnread: true).skipped == 3)
        #expect(try world.unread(.direct("bob"), "alice") == Counts(1))
        #expect(try world.unread(.direct("alice"), "bob") == Counts(2))
    }

    @Test("Senders of an import into a channel join its community, and also the channel if it is private")
    func channels() throws {
        let world = try World()
        try world.make(.community("c"), members: ["boss"])
        let secret = ConversationID.community("c", channel: "secret")
        try world.put(secret, .init(isPrivate: true, members: ["boss"]))
        try world.importHistory([world.said("open", by: "alice", at: past)], into: .community("c"))
        try world.importHistory([world.said("closed", by: "bob", at: past)], into: secret)
        #expect(
            try world.engine.members(of: .community("c"), after: nil, limit: 10, by: World.admin).map(\.id) == [
                "alice", "bob", "boss",
            ])
        #expect(
            try world.engine.members(of: secret, after: nil, limit: 10, by: World.admin).map(\.id) == ["bob", "boss"])
        #expect(try world.page(of: .community("c"), by: "alice").texts == ["open"])
        #expect(try world.page(of: secret, by: "bob").texts == ["closed"])
        try world.send("hi", to: secret, by: "bob")
        try world.leave(.community("c"), "bob")
        try world.send("not for bob", to: secret, by: "boss")
        #expect(try world.page(of: secret, by: "bob").texts == ["hi", "closed"])
    }

    @Test("Connected members receive the new head after an import")
    func live() throws {
        let world = try world()
        try world.join(group, "bob")
        let device = Doors(world).device("bob")
        try world.importHistory(batch(world, ["one", "two"]), into: group)
        let heads: [Seq] = try device.events.compactMap { event in
            if case .head(group, let news) = event, news.n == 0 { return news.seq }
            return nil
        }
        #expect(heads == [2])
        #expect(try device.messages.isEmpty)
    }

    @Test("A counted import makes the senders' devices fetch their counts, because `n` includes their messages")
    func liveCounted() throws {
        let world = try world()
        for user in ["alice", "bob"] as [UserID] { try world.join(group, user) }
        let doors = Doors(world)
        let (alice, bob) = (doors.device("alice"), doors.device("bob"))
        try world.importHistory(batch(world, ["one", "two"]), into: group, countsUnread: true)
        func asks(_ device: Device) throws -> Int {
            try device.events.count { if case .conversation(group, isDeleted: false) = $0 { true } else { false } }
        }
        #expect(try asks(alice) == 1)
        #expect(try asks(bob) == 0)
        for device in [alice, bob] {
            let heads = try device.events.count {
                if case .head(group, let news) = $0 { news.seq == 2 && news.n == 2 } else { false }
            }
            #expect(heads == 1)
            #expect(try device.messages.isEmpty)
        }
    }

    @Test("A user banned from a community does not become a member of its channels by an import")
    func banned() throws {
        let world = try World()
        let (town, hall) = (ConversationID.community("town"), ConversationID.community("town", channel: "hall"))
        try world.make(town, members: ["alice", "bob", "mallory"])
        try world.put(hall, .init(isPrivate: true, members: ["alice"]))
        try world.ban("mallory", from: town)
        let messages = [world.said("one", by: "mallory", at: past), world.said("two", by: "bob", at: past + 1)]
        try world.importHistory(messages, into: hall)
        let members = try world.engine.members(of: hall, after: nil, limit: 9, by: World.admin).map(\.id)
        #expect(members == ["alice", "bob"])
        let number = try #require(try world.store.read { try $0.conversation(hall)?.number })
        #expect(try world.store.read { try $0.member("mallory", of: number) } == nil)
        #expect(try world.store.read { try $0.guestbook(of: "mallory", after: 0, limit: 9) } == [number])
    }

    @Test("An empty import succeeds")
    func nothing() throws {
        let world = try world()
        #expect(try world.importHistory([], into: group) == ImportReport(imported: 0, skipped: 0, head: 0))
    }
}
