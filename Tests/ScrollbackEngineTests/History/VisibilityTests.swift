import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Visible history")
struct VisibilityTests {
    private let group = ConversationID.group("g")

    /// Returns a group with the messages `1` to `123`, which mention everyone and count as unread.
    ///
    /// Bob joined before 51, left after 80, and rejoined before 120.
    private func world(_ visibility: HistoryVisibility = .sinceJoin) throws -> (world: World, ids: [MessageID]) {
        let world = try World()
        try world.make(group, members: ["alice"], visibility: visibility)
        var ids: [MessageID] = []
        for seq in 1...123 {
            if seq == 51 || seq == 120 { try world.join(group, "bob") }
            if seq == 81 { try world.leave(group, "bob") }
            let submission = world.submission("\(seq)", mentions: .everyone())
            ids.append(submission.id)
            world.clock.advance(by: 1)
            try world.send(submission, to: group, by: "alice")
        }
        return (world, ids)
    }

    private let seen = Set((51...80).map { Seq($0) } + (120...123).map { Seq($0) })

    @Test(
        "No entry point returns messages from outside a member's spans, and no gap is requested forever", .history(5),
        .rows(46, 47, 170))
    func everyDoor() throws {
        let (world, ids) = try world()
        let bob = Caller(user: "bob")
        let state = try world.head(group, "bob").state
        #expect((state.head, state.firstSeq, state.n) == (123, 51, 123))

        // History with every anchor and filter.
        let points: [HistoryPoint] = [
            .latest, .earliest, .firstUnread, .seq(1), .seq(50), .seq(51), .seq(81), .seq(100), .seq(119), .seq(120),
            .seq(123),
            .seq(500), .timetoken(Timetoken(world.clock.now - 100)), .date(world.clock.now - 30),
            .date(world.clock.now - 80),
            .id(ids[59]),
        ]
        for point in points {
            let anchors: [Anchor] = [
                .before(point), .after(point), .around(point, before: 100, after: 100), .between(point, .latest),
                .between(.earliest, point),
            ]
            for anchor in anchors where anchor != .before(.earliest) && anchor != .after(.latest) {
                for filter in [MessageFilter.all, .types([.text]), .mentionsMe, .senders(["alice"])] {
                    let page = try world.page(HistoryQuery(anchor, limit: 100, filter: filter), of: group, by: "bob")
                    #expect(Set(page.seqs).isSubset(of: seen), "\(anchor)")
                    #expect(
                        page.coverage.range.map { 51...123 ~= $0.lowerBound && 51...123 ~= $0.upperBound } ?? true,
                        "\(anchor)")
                    #expect(page.state == state)
                }
            }
        }

        // Messages and voids together cover everything from the first visible message to the head.
        let all = try world.page(.earliest, limit: 100, of: group, by: "bob")
        #expect(Set(all.seqs) == seen)
        #expect(all.coverage == Coverage(lower: 51, upper: 123, voids: SeqRangeSet([81...119])))
        #expect(all.older == nil && all.newer == nil)
        // One empty page fills a gap inside the voids.
        let hole = try world.page(.between(.seq(90), .seq(100)), of: group, by: "bob")
        #expect(hole.messages.isEmpty)
        #expect(hole.coverage == Coverage(lower: 90, upper: 99, voids: SeqRangeSet([90...99])))

        // Single messages by ID, and anchors by ID.
        for (index, id) in ids.enumerated() {
            let isSeen = seen.contains(Seq(index + 1))
            #expect((refusal { _ = try world.engine.message(id, in: group, by: bob) } == nil) == isSeen)
            #expect((refusal { _ = try world.page(.before(.id(id)), limit: 0, of: group, by: "bob") } == nil) == isSeen)
        }

        // Sync from several positions.
        for seq in [0, 40, 79, 80, 81, 119, 120, 122] as [Seq] {
            let position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: seq, rev: 0)
            let page = try world.engine.syncLogs([position], by: bob)[0].result.get().page
            #expect(Set(page.seqs).isSubset(of: seen))
            #expect(Set(page.seqs) == seen.filter { $0 > seq })
        }

        // Counts start at the last join.
        #expect(try world.unread(group, "bob") == Counts(4, 4))
        try world.read(group, to: 100, by: "bob")
        #expect(try world.unread(group, "bob") == Counts(4, 4))
        try world.read(group, to: 121, by: "bob")
        #expect(try world.unread(group, "bob") == Counts(2, 2))
        #expect(try world.page(.around(.firstUnread, before: 0, after: 0), of: group, by: "bob").seqs == [122])
    }

    @Test("Wider visibility changes the view and makes older messages readable", .history(5), .rows(46, 170))
    func widening() throws {
        let (world, _) = try world()
        let before = try world.head(group, "bob").state
        let cursor = try world.pass(by: "bob").cursor
        try world.put(group, .init(visibility: .everything))
        let after = try #require(try world.pass(cursor, by: "bob").heads.first).state
        #expect(after.view > before.view)
        #expect((after.head, after.firstSeq, after.epoch) == (123, 1, before.epoch))
        let page = try world.page(.earliest, limit: 100, of: group, by: "bob")
        #expect(page.seqs == (1...100).reversed())
        #expect(page.coverage.voids.isEmpty)
        #expect(try world.unread(group, "bob") == Counts(4, 4), "messages from before the join are not unread")
        // Setting the same value changes nothing, and narrower visibility changes the view again.
        try world.put(group, .init(visibility: .everything))
        #expect(try world.head(group, "bob").state.view == after.view)
        try world.put(group, .init(visibility: .sinceJoin))
        #expect(try world.head(group, "bob").state.view > after.view)
        #expect(try Set(world.page(.earliest, limit: 100, of: group, by: "bob").seqs) == seen)
    }

    @Test(
        "Former members see messages up to their departure, limited by the history visibility",
        arguments: HistoryVisibility.allCases)
    func left(_ visibility: HistoryVisibility) throws {
        let (world, _) = try world(visibility)
        try world.leave(group, "bob")
        for index in 124...130 { try world.send("\(index)", to: group, by: "alice") }
        let page = try world.page(.latest, limit: 100, of: group, by: "bob")
        #expect(page.state.head == 123)
        #expect(page.state.n == 123)
        #expect(page.seqs.first == 123)
        #expect(page.newer == nil)
        let all = try world.page(.earliest, limit: 100, of: group, by: "bob")
        #expect(all.seqs.count == (visibility == .everything ? 100 : 34))
        #expect(try world.unread(group, "bob") == Counts(0))
        #expect(try world.head(group, "bob").isMember == false)
        #expect(try world.head(group, "bob").lastMessage?.seq == 123)
        #expect(try world.page(.after(.seq(123)), of: group, by: "bob").messages.isEmpty)
        #expect(try world.page(.around(.seq(126), before: 1, after: 5), of: group, by: "bob").seqs == [123])
    }

    @Test(
        "A member who left an empty conversation sees no later message",
        arguments: HistoryVisibility.allCases)
    func leftEmpty(_ visibility: HistoryVisibility) throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"], visibility: visibility)
        try world.leave(group, "bob")
        for _ in 1...3 { try world.send("secret", to: group, by: "alice") }
        let page = try world.page(.latest, of: group, by: "bob")
        #expect(page.messages.isEmpty)
        #expect(page.state.head == 0)
        #expect(page.coverage.range == nil)
    }

    @Test("A member who leaves and rejoins at the same position misses nothing")
    func rejoinedAtOnce() throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"])
        try world.send("1", to: group, by: "alice")
        for _ in 1...3 {
            try world.leave(group, "bob")
            try world.join(group, "bob")
        }
        try world.send("2", to: group, by: "alice")
        #expect(try world.page(of: group, by: "bob").texts == ["2", "1"])
        try world.leave(group, "bob")
        try world.send("3", to: group, by: "alice")
        #expect(try world.page(of: group, by: "bob").texts == ["2", "1"])
    }

    @Test("A page across 500,000 invisible messages takes one request, with and without a filter", .history(6))
    func acrossAVoid() throws {
        let world = try World()
        try world.make(group, members: ["bob"])
        try world.fill(group, 100)
        try world.leave(group, "bob")
        try world.fill(group, 500_000)
        try world.join(group, "bob")
        try world.fill(group, 100)
        for filter in [MessageFilter.all, .types([.text])] {
            func page(_ anchor: Anchor, _ sort: Sort = .newestFirst) throws -> LogPage {
                try world.page(HistoryQuery(anchor, limit: 100, sort: sort, filter: filter), of: group, by: "bob")
            }
            let older = try page(.before(.seq(500_101)))
            #expect(older.seqs == (1...100).reversed())
            #expect(older.coverage == Coverage(lower: 1, upper: 500_100, voids: SeqRangeSet([101...500_100])))
            #expect(older.older == nil && older.newer != nil)
            let newer = try page(.after(.seq(100)), .oldestFirst)
            #expect(newer.seqs == Array(500_101...500_200))
            #expect(newer.coverage == Coverage(lower: 101, upper: 500_200, voids: SeqRangeSet([101...500_100])))
            #expect(newer.older != nil && newer.newer == nil)
            let around = try page(.around(.seq(1_000), before: 100, after: 100))
            #expect(around.seqs == (500_101...500_200).reversed() + (1...100).reversed())
        }
    }

    // MARK: Communities

    @Test("Community members see channels from join to departure, even if the clock steps back")
    func communityChannels() throws {
        let world = try World()
        let (open, late) = (
            ConversationID.community("c", channel: "open"), ConversationID.community("c", channel: "late")
        )
        try world.make(.community("c"), members: ["alice"])
        try world.put(open)
        for _ in 1...3 { try world.send("early", to: open, by: "alice") }
        world.clock.advance(by: -500)
        try world.join(.community("c"), "bob")
        world.clock.advance(by: -500)
        try world.put(late)
        try world.send("one", to: open, by: "alice")
        try world.send("two", to: late, by: "alice")
        #expect(try world.page(of: open, by: "bob").texts == ["one"])
        #expect(try world.page(of: late, by: "bob").texts == ["two"])
        world.clock.advance(by: -500)
        try world.leave(.community("c"), "bob")
        world.clock.advance(by: -500)
        try world.send("after", to: open, by: "alice")
        #expect(try world.page(of: open, by: "bob").texts == ["one"])
        #expect(try world.head(open, "bob").state.head == 4)
        try world.join(.community("c"), "bob")
        try world.send("again", to: open, by: "alice")
        let page = try world.page(of: open, by: "bob")
        #expect(page.texts == ["again", "one"])
        #expect(page.coverage == Coverage(lower: 4, upper: 6, voids: SeqRangeSet([5...5])))
        #expect(try world.unread(open, "bob") == Counts(1))
    }

    @Test("A join position survives a restart, even if the clock steps back before the next message")
    func joinedBeforeARestart() throws {
        let store = MemoryStore(generation: 3)
        let world = try World(store: store)
        try world.make(.community("c"), members: ["alice"])
        world.clock.advance(by: 3_600)
        try world.join(.community("c"), "bob")
        let again = try World(store: store)
        again.clock.advance(by: -3_600)
        try again.send("hello", to: .community("c"), by: "alice")
        #expect(try again.page(of: .community("c"), by: "bob").texts == ["hello"])
        #expect(try again.unread(.community("c"), "bob") == Counts(1))
    }

    @Test("Changing the privacy of a channel changes its view and its readers")
    func privacyChanges() throws {
        let world = try World()
        let channel = ConversationID.community("c", channel: "x")
        try world.make(.community("c"), members: ["alice", "bob"])
        try world.put(channel)
        try world.send("open", to: channel, by: "alice")
        let before = try world.head(channel, "bob").state.view
        try world.put(channel, .init(isPrivate: true))
        #expect(refusal { _ = try world.page(of: channel, by: "bob") }?.code == .unknownConversation)
        try world.join(channel, "bob")
        try world.send(world.submission("closed"), to: channel, by: World.admin)
        #expect(try world.page(of: channel, by: "bob").texts == ["closed"])
        #expect(try world.head(channel, "bob").state.view > before)
        #expect(refusal { _ = try world.page(of: channel, by: "alice") }?.code == .unknownConversation)
        try world.put(channel, .init(isPrivate: false))
        #expect(try world.page(of: channel, by: "alice").texts == ["closed", "open"])
        #expect(try world.unread(channel, "alice") == Counts(1))
    }

    // MARK: Read markers and counts

    @Test("A message sent after others is not unread for its sender and marks none of them as read", .history(13))
    func ownAfterOthers() throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"])
        for _ in 1...100 { try world.send(to: group, by: "bob") }
        try world.read(group, to: 100, by: "alice")
        for _ in 1...49 { try world.send(to: group, by: "bob") }
        try world.send(world.submission(mentions: .users(["alice"])), to: group, by: "bob")
        #expect(try world.send("ok", to: group, by: "alice") == 151)
        #expect(try world.unread(group, "alice") == Counts(50, 1))
        #expect(try world.head(group, "alice").readSeq == 100)
        try world.read(group, to: 151, by: "alice")
        #expect(try world.unread(group, "alice") == Counts(0))
        #expect(try world.unread(group, "bob") == Counts(1))
    }

    @Test("Reading to the middle of a run of own messages leaves later messages unread")
    func middleOfARun() throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"])
        try world.send("1", to: group, by: "bob")
        for text in ["2", "3", "4"] { try world.send(text, to: group, by: "alice") }
        try world.send("5", to: group, by: "bob")
        #expect(try world.unread(group, "alice") == Counts(2))
        try world.read(group, to: 3, by: "alice")
        #expect(try world.unread(group, "alice") == Counts(1))
        #expect(try world.page(.around(.firstUnread, before: 0, after: 0), of: group, by: "alice").seqs == [5])
    }

    @Test("A mention in an uncounted message is an unread mention, and sending does not read it", .history(14))
    func quietMention() throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"])
        for _ in 1...9 { try world.send(to: group, by: "bob") }
        try world.read(group, to: 9, by: "alice")
        try world.send(world.submission(mentions: .users(["alice"]), countsUnread: false), to: group, by: "bob")
        #expect(try world.unread(group, "alice") == Counts(0, 1))
        try world.send("mine", to: group, by: "alice")
        #expect(try world.unread(group, "alice") == Counts(0, 1))
        #expect(try world.head(group, "alice").readSeq == 9)
        try world.read(group, to: 10, by: "alice")
        #expect(try world.unread(group, "alice") == Counts(0))
    }

    @Test("Joining a community of 500 channels writes one row and makes nothing unread", .history(16))
    func bigCommunity() throws {
        let world = try World()
        try world.make(.community("c"), members: ["alice"])
        try world.change { transaction in
            for index in 1...499 {
                _ = try transaction.putConversation(
                    .community("c", channel: Identifier(known: "x\(index)")), .init(), by: World.admin,
                    permissions: .standard)
            }
        }
        for index in 1...499 {
            try world.send(
                world.submission(mentions: .everyone()), to: .community("c", channel: Identifier(known: "x\(index)")),
                by: "alice")
        }
        try world.join(.community("c"), "bob")
        #expect(try world.store.read { try $0.memberships(of: "bob").count } == 1)
        let pass = try world.pass(limit: 100, by: "bob")
        #expect(pass.heads.count == 500)
        #expect(pass.heads.allSatisfy { $0.unread == 0 && $0.mentions == 0 })
        #expect(pass.heads.allSatisfy { $0.state.firstSeq == $0.state.head + 1 })
        try world.send(to: .community("c", channel: "x7"), by: "alice")
        #expect(try world.unread(.community("c", channel: "x7"), "bob") == Counts(1))
        #expect(
            try world.store.read { try $0.memberships(of: "bob").count } == 1,
            "a new message writes no row for bob")
    }

    @Test("A read marker never moves back, and must lie within the current log")
    func readPositions() throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"])
        for _ in 1...5 { try world.send(to: group, by: "bob") }
        #expect(try world.read(group, to: 3, by: "alice").unread == 2)
        let lower = try world.read(group, to: 1, by: "alice")
        #expect((lower.readSeq, lower.unread) == (3, 2))
        let epoch = try world.head(group, "alice").state.epoch
        func error(_ seq: Seq, _ epoch: Epoch) -> ChatError? {
            refusal {
                _ = try world.done {
                    world.engine.read(group, seq: seq, epoch: epoch, by: Caller(user: "alice"), completion: $0)
                }
            }
        }
        #expect(error(6, epoch)?.parameter == "seq")
        #expect(error(-1, epoch)?.parameter == "seq")
        #expect(error(4, Epoch(rawValue: 1))?.code == .epochChanged)
        #expect(error(5, epoch) == nil)
        let admin = refusal {
            _ = try world.done { world.engine.read(group, seq: 1, epoch: epoch, by: World.admin, completion: $0) }
        }
        #expect(admin?.code == .notMember, "an administrator who is not a member has no read marker")
        try world.put(.room("r"))
        let room = refusal {
            _ = try world.done {
                world.engine.read(.room("r"), seq: 0, epoch: epoch, by: Caller(user: "alice"), completion: $0)
            }
        }
        #expect(room?.code == .invalidParameter)
    }
}
