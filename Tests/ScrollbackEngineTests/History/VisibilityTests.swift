import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

@Suite("Visible history")
struct VisibilityTests {
    private let group = ConversationID.group("g")

    /// Returns a group with the messages `1` to `123`, which mention everyone and count as unread.
    ///
    /// Bob joined before 51, left after 80, and rejoined before 120.
    private func harness(_ visibility: HistoryVisibility = .sinceJoin) throws -> (
        harness: EngineHarness, ids: [MessageID]
    ) {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"], visibility: visibility)
        var ids: [MessageID] = []
        for seq in 1...123 {
            if seq == 51 || seq == 120 { try harness.join(group, "bob") }
            if seq == 81 { try harness.leave(group, "bob") }
            let submission = harness.submission("\(seq)", mentions: .everyone())
            ids.append(submission.id)
            harness.clock.advance(by: 1)
            try harness.send(submission, to: group, by: "alice")
        }
        return (harness, ids)
    }

    private let seen = Set((51...80).map { Seq($0) } + (120...123).map { Seq($0) })

    @Test(
        "No entry point returns messages from outside a member's spans, and no gap is requested forever", .history(5),
        .rows(46, 170))
    func entryPointsReturnOnlyVisibleMessages() throws {
        let (harness, ids) = try harness()
        let bob = Caller(user: "bob")
        let state = try harness.head(group, "bob").state
        #expect((state.head, state.firstSeq, state.countedIndex) == (123, 51, 123))

        // History with every anchor and filter.
        let points: [HistoryPoint] = [
            .latest, .earliest, .firstUnread, .seq(1), .seq(50), .seq(51), .seq(81), .seq(100), .seq(119), .seq(120),
            .seq(123),
            .seq(500), .timetoken(Timetoken(harness.clock.now - 100)), .date(harness.clock.now - 30),
            .date(harness.clock.now - 80),
            .id(ids[59]),
        ]
        for point in points {
            let anchors: [Anchor] = [
                .before(point), .after(point), .around(point, before: 100, after: 100), .between(point, .latest),
                .between(.earliest, point),
            ]
            for anchor in anchors where anchor != .before(.earliest) && anchor != .after(.latest) {
                for filter in [MessageFilter.all, .types([.text]), .mentionsMe, .senders(["alice"])] {
                    let page = try harness.page(HistoryQuery(anchor, limit: 100, filter: filter), of: group, by: "bob")
                    #expect(Set(page.seqs).isSubset(of: seen), "\(anchor)")
                    #expect(
                        page.coverage.range.map { 51...123 ~= $0.lowerBound && 51...123 ~= $0.upperBound } ?? true,
                        "\(anchor)")
                    #expect(page.state == state)
                }
            }
        }

        // Messages and deleted ranges together cover everything from the first visible message to the head.
        let all = try harness.page(.earliest, limit: 100, of: group, by: "bob")
        #expect(Set(all.seqs) == seen)
        #expect(all.coverage == Coverage(lower: 51, upper: 123, deletedRanges: SeqRangeSet([81...119])))
        #expect(all.older == nil && all.newer == nil)
        // One empty page fills a gap inside the deleted ranges.
        let invisiblePage = try harness.page(.between(.seq(90), .seq(100)), of: group, by: "bob")
        #expect(invisiblePage.messages.isEmpty)
        #expect(invisiblePage.coverage == Coverage(lower: 90, upper: 99, deletedRanges: SeqRangeSet([90...99])))

        // Single messages by ID, and anchors by ID.
        for (index, id) in ids.enumerated() {
            let isSeen = seen.contains(Seq(index + 1))
            #expect((refusal { _ = try harness.engine.message(id, in: group, by: bob) } == nil) == isSeen)
            #expect(
                (refusal { _ = try harness.page(.before(.id(id)), limit: 0, of: group, by: "bob") } == nil) == isSeen)
        }

        // Sync from several positions.
        for seq in [0, 40, 79, 80, 81, 119, 120, 122] as [Seq] {
            let position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: seq, rev: 0)
            let page = try harness.engine.syncLogs([position], by: bob)[0].result.get().page
            #expect(Set(page.seqs).isSubset(of: seen))
            #expect(Set(page.seqs) == seen.filter { $0 > seq })
        }

        // Counts start at the last join.
        #expect(try harness.unread(group, "bob") == Counts(4, 4))
        try harness.read(group, to: 100, by: "bob")
        #expect(try harness.unread(group, "bob") == Counts(4, 4))
        try harness.read(group, to: 121, by: "bob")
        #expect(try harness.unread(group, "bob") == Counts(2, 2))
        #expect(try harness.page(.around(.firstUnread, before: 0, after: 0), of: group, by: "bob").seqs == [122])
    }

    @Test(
        "Without membership, a user reads neither a group nor a private channel, unless the permission allows everyone",
        .rows(47))
    func readingWithoutMembership() throws {
        let secret = ConversationID.community("c", channel: "secret")
        let store = MemoryStore(generation: 1)
        let harness = try EngineHarness(store: store)
        try harness.make(group, members: ["alice"])
        try harness.make(.community("c"), members: ["alice", "bob"])
        try harness.put(secret, .init(isPrivate: true, members: ["alice"]))
        var ids: [ConversationID: MessageID] = [:]
        for id in [group, secret] {
            let submission = harness.submission("one")
            ids[id] = submission.id
            try harness.send(submission, to: id, by: "alice")
        }
        func requests(_ id: ConversationID) -> [(EngineHarness) throws -> Void] {
            let bob = Caller(user: "bob")
            let message = ids[id] ?? harness.newID()
            return [
                { _ = try $0.page(of: id, by: "bob") }, { _ = try $0.engine.message(message, in: id, by: bob) },
                { _ = try $0.head(id, "bob") },
            ]
        }
        for id in [group, secret] {
            for request in requests(id) {
                #expect(refusal { try request(harness) }?.code == .unknownConversation, "\(id)")
            }
        }
        var permissions = Permissions.standard
        for kind in [ConversationKind.group, .community] { permissions[.read, kind] = .anyone }
        let open = try EngineHarness(store: store, permissions: permissions)
        for id in [group, secret] {
            for request in requests(id) { #expect(refusal { try request(open) } == nil, "\(id)") }
            #expect(try open.page(of: id, by: "bob").seqs == [1])
            // Reading does not include writing.
            #expect(refusal { try open.send("hi", to: id, by: "bob") } != nil, "\(id)")
        }
    }

    @Test("Wider visibility changes the view and makes older messages readable", .history(5), .rows(46, 170))
    func widerVisibilityChangesTheView() throws {
        let (harness, _) = try harness()
        let before = try harness.head(group, "bob").state
        let cursor = try harness.pass(by: "bob").cursor
        try harness.put(group, .init(visibility: .everything))
        let after = try #require(try harness.pass(cursor, by: "bob").heads.first).state
        #expect(after.view > before.view)
        #expect((after.head, after.firstSeq, after.epoch) == (123, 1, before.epoch))
        let page = try harness.page(.earliest, limit: 100, of: group, by: "bob")
        #expect(page.seqs == (1...100).reversed())
        #expect(page.coverage.deletedRanges.isEmpty)
        #expect(try harness.unread(group, "bob") == Counts(4, 4), "messages from before the join are not unread")
        // Setting the same value changes nothing, and narrower visibility changes the view again.
        try harness.put(group, .init(visibility: .everything))
        #expect(try harness.head(group, "bob").state.view == after.view)
        try harness.put(group, .init(visibility: .sinceJoin))
        #expect(try harness.head(group, "bob").state.view > after.view)
        #expect(try Set(harness.page(.earliest, limit: 100, of: group, by: "bob").seqs) == seen)
    }

    @Test(
        "Former members see messages up to their departure, limited by the history visibility",
        arguments: HistoryVisibility.allCases)
    func left(_ visibility: HistoryVisibility) throws {
        let (harness, _) = try harness(visibility)
        try harness.leave(group, "bob")
        for index in 124...130 { try harness.send("\(index)", to: group, by: "alice") }
        let page = try harness.page(.latest, limit: 100, of: group, by: "bob")
        #expect(page.state.head == 123)
        #expect(page.state.countedIndex == 123)
        #expect(page.seqs.first == 123)
        #expect(page.newer == nil)
        let all = try harness.page(.earliest, limit: 100, of: group, by: "bob")
        #expect(all.seqs.count == (visibility == .everything ? 100 : 34))
        #expect(try harness.unread(group, "bob") == Counts(0))
        #expect(try harness.head(group, "bob").isMember == false)
        #expect(try harness.head(group, "bob").lastMessage?.seq == 123)
        #expect(try harness.page(.after(.seq(123)), of: group, by: "bob").messages.isEmpty)
        #expect(try harness.page(.around(.seq(126), before: 1, after: 5), of: group, by: "bob").seqs == [123])
    }

    @Test(
        "A member who left an empty conversation sees no later message",
        arguments: HistoryVisibility.allCases)
    func leavingAnEmptyConversation(_ visibility: HistoryVisibility) throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"], visibility: visibility)
        try harness.leave(group, "bob")
        for _ in 1...3 { try harness.send("secret", to: group, by: "alice") }
        let page = try harness.page(.latest, of: group, by: "bob")
        #expect(page.messages.isEmpty)
        #expect(page.state.head == 0)
        #expect(page.coverage.range == nil)
    }

    @Test("A member who leaves and rejoins at the same position misses nothing")
    func immediateRejoinMissesNothing() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        try harness.send("1", to: group, by: "alice")
        for _ in 1...3 {
            try harness.leave(group, "bob")
            try harness.join(group, "bob")
        }
        try harness.send("2", to: group, by: "alice")
        #expect(try harness.page(of: group, by: "bob").texts == ["2", "1"])
        try harness.leave(group, "bob")
        try harness.send("3", to: group, by: "alice")
        #expect(try harness.page(of: group, by: "bob").texts == ["2", "1"])
    }

    @Test("A page across 500,000 invisible messages takes one request, with and without a filter", .history(6))
    func pageAcrossInvisibleMessagesTakesOneRequest() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["bob"])
        try harness.fill(group, 100)
        try harness.leave(group, "bob")
        try harness.fill(group, 500_000)
        try harness.join(group, "bob")
        try harness.fill(group, 100)
        for filter in [MessageFilter.all, .types([.text])] {
            func page(_ anchor: Anchor, _ sort: Sort = .newestFirst) throws -> LogPage {
                try harness.page(HistoryQuery(anchor, limit: 100, sort: sort, filter: filter), of: group, by: "bob")
            }
            let older = try page(.before(.seq(500_101)))
            #expect(older.seqs == (1...100).reversed())
            #expect(older.coverage == Coverage(lower: 1, upper: 500_100, deletedRanges: SeqRangeSet([101...500_100])))
            #expect(older.older == nil && older.newer != nil)
            let newer = try page(.after(.seq(100)), .oldestFirst)
            #expect(newer.seqs == Array(500_101...500_200))
            #expect(newer.coverage == Coverage(lower: 101, upper: 500_200, deletedRanges: SeqRangeSet([101...500_100])))
            #expect(newer.older != nil && newer.newer == nil)
            let around = try page(.around(.seq(1_000), before: 100, after: 100))
            #expect(around.seqs == (500_101...500_200).reversed() + (1...100).reversed())
        }
    }

    // MARK: Communities

    @Test("Community members see channels from join to departure, even if the clock steps back")
    func communityChannels() throws {
        let harness = try EngineHarness()
        let (open, late) = (
            ConversationID.community("c", channel: "open"), ConversationID.community("c", channel: "late")
        )
        try harness.make(.community("c"), members: ["alice"])
        try harness.put(open)
        for _ in 1...3 { try harness.send("early", to: open, by: "alice") }
        harness.clock.advance(by: -500)
        try harness.join(.community("c"), "bob")
        harness.clock.advance(by: -500)
        try harness.put(late)
        try harness.send("one", to: open, by: "alice")
        try harness.send("two", to: late, by: "alice")
        #expect(try harness.page(of: open, by: "bob").texts == ["one"])
        #expect(try harness.page(of: late, by: "bob").texts == ["two"])
        harness.clock.advance(by: -500)
        try harness.leave(.community("c"), "bob")
        harness.clock.advance(by: -500)
        try harness.send("after", to: open, by: "alice")
        #expect(try harness.page(of: open, by: "bob").texts == ["one"])
        #expect(try harness.head(open, "bob").state.head == 4)
        try harness.join(.community("c"), "bob")
        try harness.send("again", to: open, by: "alice")
        let page = try harness.page(of: open, by: "bob")
        #expect(page.texts == ["again", "one"])
        #expect(page.coverage == Coverage(lower: 4, upper: 6, deletedRanges: SeqRangeSet([5...5])))
        #expect(try harness.unread(open, "bob") == Counts(1))
    }

    @Test("A join position survives a restart, even if the clock steps back before the next message")
    func joinPositionSurvivesRestart() throws {
        let store = MemoryStore(generation: 3)
        let harness = try EngineHarness(store: store)
        try harness.make(.community("c"), members: ["alice"])
        harness.clock.advance(by: 3_600)
        try harness.join(.community("c"), "bob")
        let again = try EngineHarness(store: store)
        again.clock.advance(by: -3_600)
        try again.send("hello", to: .community("c"), by: "alice")
        #expect(try again.page(of: .community("c"), by: "bob").texts == ["hello"])
        #expect(try again.unread(.community("c"), "bob") == Counts(1))
    }

    @Test("Changing the privacy of a channel changes its view and its readers")
    func privacyChanges() throws {
        let harness = try EngineHarness()
        let channel = ConversationID.community("c", channel: "x")
        try harness.make(.community("c"), members: ["alice", "bob"])
        try harness.put(channel)
        try harness.send("open", to: channel, by: "alice")
        let before = try harness.head(channel, "bob").state.view
        try harness.put(channel, .init(isPrivate: true))
        #expect(refusal { _ = try harness.page(of: channel, by: "bob") }?.code == .unknownConversation)
        try harness.join(channel, "bob")
        try harness.send(harness.submission("closed"), to: channel, by: EngineHarness.admin)
        #expect(try harness.page(of: channel, by: "bob").texts == ["closed"])
        #expect(try harness.head(channel, "bob").state.view > before)
        #expect(refusal { _ = try harness.page(of: channel, by: "alice") }?.code == .unknownConversation)
        try harness.put(channel, .init(isPrivate: false))
        #expect(try harness.page(of: channel, by: "alice").texts == ["closed", "open"])
        #expect(try harness.unread(channel, "alice") == Counts(1))
    }

    // MARK: Read markers and counts

    @Test("A message sent after others is not unread for its sender and marks none of them as read", .history(13))
    func ownMessageReadsNoOtherMessage() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        for _ in 1...100 { try harness.send(to: group, by: "bob") }
        try harness.read(group, to: 100, by: "alice")
        for _ in 1...49 { try harness.send(to: group, by: "bob") }
        try harness.send(harness.submission(mentions: .users(["alice"])), to: group, by: "bob")
        #expect(try harness.send("ok", to: group, by: "alice") == 151)
        #expect(try harness.unread(group, "alice") == Counts(50, 1))
        #expect(try harness.head(group, "alice").readSeq == 100)
        try harness.read(group, to: 151, by: "alice")
        #expect(try harness.unread(group, "alice") == Counts(0))
        #expect(try harness.unread(group, "bob") == Counts(1))
    }

    @Test("Reading to the middle of a run of own messages leaves later messages unread")
    func readingIntoARunOfOwnMessages() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        try harness.send("1", to: group, by: "bob")
        for text in ["2", "3", "4"] { try harness.send(text, to: group, by: "alice") }
        try harness.send("5", to: group, by: "bob")
        #expect(try harness.unread(group, "alice") == Counts(2))
        try harness.read(group, to: 3, by: "alice")
        #expect(try harness.unread(group, "alice") == Counts(1))
        #expect(try harness.page(.around(.firstUnread, before: 0, after: 0), of: group, by: "alice").seqs == [5])
    }

    @Test("A mention in an uncounted message is an unread mention, and sending does not read it", .history(14))
    func mentionInUncountedMessageIsUnread() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        for _ in 1...9 { try harness.send(to: group, by: "bob") }
        try harness.read(group, to: 9, by: "alice")
        try harness.send(harness.submission(mentions: .users(["alice"]), countsUnread: false), to: group, by: "bob")
        #expect(try harness.unread(group, "alice") == Counts(0, 1))
        try harness.send("mine", to: group, by: "alice")
        #expect(try harness.unread(group, "alice") == Counts(0, 1))
        #expect(try harness.head(group, "alice").readSeq == 9)
        try harness.read(group, to: 10, by: "alice")
        #expect(try harness.unread(group, "alice") == Counts(0))
    }

    @Test("Joining a community of 500 channels writes one row and makes nothing unread", .history(16))
    func bigCommunity() throws {
        let harness = try EngineHarness()
        try harness.make(.community("c"), members: ["alice"])
        try harness.change { transaction in
            for index in 1...499 {
                let channel = ConversationID.community("c", channel: Identifier(known: "x\(index)"))
                _ = try PutConversation(conversation: channel, settings: .init()).run(transaction, harness.context)
            }
        }
        for index in 1...499 {
            try harness.send(
                harness.submission(mentions: .everyone()), to: .community("c", channel: Identifier(known: "x\(index)")),
                by: "alice")
        }
        try harness.join(.community("c"), "bob")
        #expect(try harness.store.read { try $0.memberships(of: "bob").count } == 1)
        let pass = try harness.pass(limit: 100, by: "bob")
        #expect(pass.heads.count == 500)
        #expect(pass.heads.allSatisfy { $0.unread == 0 && $0.mentions == 0 })
        #expect(pass.heads.allSatisfy { $0.state.firstSeq == $0.state.head + 1 })
        try harness.send(to: .community("c", channel: "x7"), by: "alice")
        #expect(try harness.unread(.community("c", channel: "x7"), "bob") == Counts(1))
        #expect(
            try harness.store.read { try $0.memberships(of: "bob").count } == 1,
            "a new message writes no row for bob")
    }

    @Test("A read marker never moves back, and must lie within the current log")
    func readPositions() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        for _ in 1...5 { try harness.send(to: group, by: "bob") }
        #expect(try harness.read(group, to: 3, by: "alice").unread == 2)
        let lower = try harness.read(group, to: 1, by: "alice")
        #expect((lower.readSeq, lower.unread) == (3, 2))
        let epoch = try harness.head(group, "alice").state.epoch
        func error(_ seq: Seq, _ epoch: Epoch) -> ChatError? {
            refusal {
                _ = try harness.done {
                    harness.engine.read(group, seq: seq, epoch: epoch, by: Caller(user: "alice"), completion: $0)
                }
            }
        }
        #expect(error(6, epoch)?.parameter == "seq")
        #expect(error(-1, epoch)?.parameter == "seq")
        #expect(error(4, Epoch(rawValue: 1))?.code == .epochChanged)
        #expect(error(5, epoch) == nil)
        let admin = refusal {
            _ = try harness.done {
                harness.engine.read(group, seq: 1, epoch: epoch, by: EngineHarness.admin, completion: $0)
            }
        }
        #expect(admin?.code == .notMember, "an administrator who is not a member has no read marker")
        try harness.put(.room("r"))
        let room = refusal {
            _ = try harness.done {
                harness.engine.read(.room("r"), seq: 0, epoch: epoch, by: Caller(user: "alice"), completion: $0)
            }
        }
        #expect(room?.code == .invalidParameter)
    }
}
