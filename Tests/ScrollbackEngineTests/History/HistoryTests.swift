import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import Testing

@Suite("History")
struct HistoryTests {
    private let group = ConversationID.group("g")

    /// Returns a harness with a group of alice and bob that has the messages `1` to `10`.
    private func harness() throws -> EngineHarness {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        for index in 1...10 {
            harness.clock.advance(by: 1)
            try harness.send("\(index)", to: group, by: "bob")
        }
        return harness
    }

    /// The messages of a page, its coverage, and whether older and newer pages exist.
    private struct Edges: Equatable {
        var seqs: [Seq]
        var lower: Seq
        var upper: Seq
        var hasOlder: Bool
        var hasNewer: Bool

        init(_ seqs: [Seq], _ lower: Seq, _ upper: Seq, older: Bool, newer: Bool) {
            (self.seqs, self.lower, self.upper, hasOlder, hasNewer) = (seqs, lower, upper, older, newer)
        }

        init(_ page: LogPage) {
            self.init(
                page.seqs, page.coverage.lower, page.coverage.upper, older: page.older != nil, newer: page.newer != nil)
        }
    }

    // MARK: Several conversations

    @Test("Pages of several conversations share how many messages a filter may examine, and have cursors to continue")
    func sharedScan() throws {
        let harness = try EngineHarness()
        let ids = (0..<4).map { ConversationID.group(Identifier(known: "g\($0)")) }
        for id in ids {
            try harness.make(id, members: ["alice"])
            try harness.fill(id, 9000)
        }
        let filter = MessageFilter(senders: ["nobody"])
        var left = ids.map { (id: $0, cursor: HistoryCursor?.none) }
        var rounds = 0
        while !left.isEmpty, rounds < 10 {
            rounds += 1
            let pages = try harness.engine.fetch(FetchQuery(left, filter: filter), by: Caller(user: "alice"))
            var examined: Int64 = 0
            left = try pages.compactMap { page in
                let found = try page.result.get()
                #expect(found.messages.isEmpty)
                examined += found.coverage.range.map { $0.upperBound - $0.lowerBound + 1 } ?? 0
                return found.older.map { (page.conversation, $0) }
            }
            #expect((1...20_000).contains(examined))
        }
        #expect((left.count, rounds) == (0, 2))
    }

    @Test("Pages around a point in several conversations share the size of an answer, and have cursors to continue")
    func sharedSizeAround() throws {
        let harness = try EngineHarness()
        let ids = (0..<10).map { ConversationID.group(Identifier(known: "g\($0)")) }
        for id in ids {
            try harness.make(id, members: ["alice"])
            for _ in 1...5 { try harness.send(String(repeating: "x", count: 50_000), to: id, by: "alice") }
        }
        let query = FetchQuery(ids.map { ($0, nil) }, anchor: .around(.seq(3), before: 2, after: 2))
        let pages = try harness.engine.fetch(query, by: Caller(user: "alice")).map { try $0.result.get() }
        #expect((8...14).contains(pages.reduce(0) { $0 + $1.messages.count }))
        #expect(pages[0].messages.map(\.seq) == [1, 2, 3, 4, 5])
        // Nothing of the last page fits, but its cursors lead to all messages.
        #expect(pages[9].messages.isEmpty)
        var seqs: [Seq] = []
        for cursor in [pages[9].older, pages[9].newer].compactMap(\.self) {
            seqs += try harness.page(.cursor(cursor), of: ids[9], by: "alice").messages.map(\.seq)
        }
        #expect(seqs.sorted() == [1, 2, 3, 4, 5])
    }

    // MARK: Boundaries

    @Test(
        "At every boundary, a page states what it covered and whether more exists, in both directions", .history(26),
        .rows(9, 11, 12, 13, 15, 16, 19, 20, 27, 28, 30, 33, 34, 35, 36, 39, 42),
        arguments: [
            (Anchor.latest, 0, [], 11, 10, true, false), (.earliest, 0, [], 1, 0, false, true),
            (.latest, 3, [10, 9, 8], 8, 10, true, false), (.earliest, 3, [3, 2, 1], 1, 3, false, true),
            (.latest, 10, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 1, 10, false, false),
            (.latest, 100, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 1, 10, false, false),
            (.before(.seq(1)), 5, [], 1, 0, false, true), (.before(.seq(2)), 5, [1], 1, 1, false, true),
            (.after(.seq(10)), 5, [], 11, 10, true, false), (.after(.seq(9)), 5, [10], 10, 10, true, false),
            (.before(.seq(11)), 2, [10, 9], 9, 10, true, false),
            (.before(.seq(1_000)), 2, [10, 9], 9, 10, true, false),
            (.after(.seq(1_000)), 2, [], 11, 10, true, false), (.before(.seq(5)), 0, [], 5, 4, true, true),
            (.after(.seq(5)), 0, [], 6, 5, true, true), (.before(.seq(5)), 4, [4, 3, 2, 1], 1, 4, false, true),
            (.before(.seq(5)), 3, [4, 3, 2], 2, 4, true, true),
            (.around(.seq(1), before: 2, after: 2), 0, [3, 2, 1], 1, 3, false, true),
            (.around(.seq(10), before: 2, after: 2), 0, [10, 9, 8], 8, 10, true, false),
            (.around(.seq(5), before: 0, after: 0), 0, [5], 5, 5, true, true),
            (.around(.seq(5), before: 1, after: 0), 0, [5, 4], 4, 5, true, true),
            (.around(.seq(1), before: 0, after: 0), 0, [1], 1, 1, false, true),
            (.around(.seq(10), before: 0, after: 0), 0, [10], 10, 10, true, false),
            (.around(.seq(11), before: 1, after: 5), 0, [10], 10, 10, true, false),
            (.around(.seq(1_000), before: 1, after: 5), 0, [10], 10, 10, true, false),
            (.around(.latest, before: 2, after: 5), 0, [10, 9], 9, 10, true, false),
            (.around(.earliest, before: 2, after: 2), 0, [2, 1], 1, 2, false, true),
            (.between(.seq(3), .seq(6)), 100, [5, 4, 3], 3, 5, false, false),
            (.between(.seq(3), .seq(6)), 2, [4, 3], 3, 4, false, true),
            (.between(.seq(3), .seq(3)), 9, [], 3, 2, false, false),
            (.between(.seq(6), .seq(3)), 9, [], 6, 5, false, false),
            (.between(.earliest, .latest), 100, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 1, 10, false, false),
            (.between(.seq(9), .seq(1_000)), 9, [10, 9], 9, 10, false, false),
            (.before(.seq(.max)), 2, [10, 9], 9, 10, true, false), (.after(.seq(.max)), 2, [], 11, 10, true, false),
            (.around(.seq(.max), before: 1, after: 5), 0, [10], 10, 10, true, false),
            (.between(.seq(9), .seq(.max)), 9, [10, 9], 9, 10, false, false),
        ] as [(Anchor, Int, [Seq], Seq, Seq, Bool, Bool)])
    func edges(
        _ anchor: Anchor, _ limit: Int, _ seqs: [Seq], _ lower: Seq, _ upper: Seq, _ older: Bool, _ newer: Bool
    ) throws {
        let page = try harness().page(anchor, limit: limit, of: group, by: "alice")
        #expect(Edges(page) == Edges(seqs, lower, upper, older: older, newer: newer), "\(anchor)")
        #expect(page.coverage.deletedRanges.isEmpty)
        #expect(!page.isFiltered)
    }

    @Test("An empty log returns an empty page without cursors for every anchor", .history(26))
    func emptyLog() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        for anchor: Anchor in [
            .latest, .earliest, .before(.seq(5)), .after(.seq(5)), .around(.seq(1), before: 5, after: 5), .firstUnread,
            .between(.earliest, .latest), .before(.timetoken(Timetoken(rawValue: 5))), .after(.date(harness.clock.now)),
            .around(.date(harness.clock.now), before: 1, after: 1),
        ] {
            let page = try harness.page(anchor, limit: 5, of: group, by: "alice")
            #expect(Edges(page) == Edges([], 1, 0, older: false, newer: false), "\(anchor)")
            #expect(
                page.state == LogHead(epoch: page.state.epoch, view: 0, head: 0, firstSeq: 1, countedIndex: 0, rev: 0))
        }
    }

    @Test("An unknown message ID is refused in every anchor, and the error names the anchor", .history(26))
    func unknownAnchors() throws {
        let harness = try harness()
        let id = harness.newID()
        for (anchor, name) in [
            (Anchor.before(.id(id)), "before"), (.after(.id(id)), "after"),
            (.around(.id(id), before: 1, after: 1), "around"),
            (.between(.id(id), .latest), "from"), (.between(.earliest, .id(id)), "to"),
        ] {
            let error = refusal { _ = try harness.page(anchor, of: group, by: "alice") }
            #expect(error?.code == .unknownMessage)
            #expect(error?.status == 404)
            #expect(error?.parameter == name)
        }
    }

    @Test("An empty last page covers nothing and has a cursor back", .history(26))
    func emptyLastPage() throws {
        let harness = try harness()
        let last = try harness.page(.after(.seq(10)), of: group, by: "alice")
        let back = try harness.page(.cursor(try #require(last.older)), limit: 3, of: group, by: "alice")
        #expect(Edges(back) == Edges([10, 9, 8], 8, 10, older: true, newer: false))
        let none = try harness.page(.latest, limit: 0, of: group, by: "alice")
        let all = try harness.page(.cursor(try #require(none.older)), limit: 100, of: group, by: "alice")
        #expect(all.seqs == (1...10).reversed())
    }

    // MARK: Parameters

    @Test(
        "Values out of range are refused with parameter and range, never clamped", .rows(14, 41, 52, 158, 159),
        arguments: [
            (HistoryQuery(limit: 101), "limit"), (HistoryQuery(limit: -1), "limit"),
            (HistoryQuery(.around(.latest, before: 101, after: 0)), "beforeLimit"),
            (HistoryQuery(.around(.latest, before: 0, after: -1)), "afterLimit"),
            (HistoryQuery(filter: .types([])), "types"), (HistoryQuery(filter: .senders([])), "senders"),
            (HistoryQuery(.before(.seq(0))), "before"), (HistoryQuery(.after(.seq(-5))), "after"),
        ])
    func ranges(_ query: HistoryQuery, _ parameter: String) throws {
        let error = refusal { _ = try harness().page(query, of: group, by: "alice") }
        #expect(error?.code == .invalidParameter)
        #expect(error?.parameter == parameter)
    }

    @Test(
        "The order within a page does not affect which messages it contains", .rows(160), arguments: Sort.allCases)
    func sorting(_ sort: Sort) throws {
        let harness = try harness()
        for anchor: Anchor in [.latest, .earliest, .around(.seq(5), before: 2, after: 2), .between(.seq(2), .seq(9))] {
            let page = try harness.page(HistoryQuery(anchor, limit: 4, sort: sort), of: group, by: "alice")
            #expect(page.seqs == (sort == .newestFirst ? page.seqs.sorted(by: >) : page.seqs.sorted()))
            let other = try harness.page(HistoryQuery(anchor, limit: 4), of: group, by: "alice")
            #expect(Set(page.seqs) == Set(other.seqs))
        }
    }

    // MARK: Cursors

    @Test("A cursor contains the filter, the order and the end of its query")
    func cursorsContainTheQuery() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "b,ob"])
        for index in 1...30 {
            try harness.send(
                harness.submission(type: index % 3 == 0 ? .image : .text, customType: index % 2 == 0 ? "a,b" : nil),
                to: group, by: "b,ob")
        }
        let filter = MessageFilter(types: [.image], customTypes: [nil, "x"], senders: ["b,ob"])
        let query = HistoryQuery(.between(.seq(2), .seq(28)), limit: 2, sort: .oldestFirst, filter: filter)
        let first = try harness.page(query, of: group, by: "alice")
        #expect(first.seqs == [3, 9])
        let second = try harness.page(.cursor(try #require(first.newer)), limit: 9, of: group, by: "alice")
        #expect(second.seqs == [15, 21, 27])
        #expect(second.newer == nil)
        #expect(second.isFiltered)
    }

    @Test(
        "A cursor that no page returned is refused, and the error names the parameter",
        arguments: [
            "", "x", "e30", "eyJkIjoib2xkZXIifQ", "!!!!", "eyJkIjoib2xkZXIiLCJzIjotNSwiZSI6IjEifQ", "AAAA", "é",
            // Sequence numbers at the limits of Int64, an end before the start, and a filter without types.
            "eyJkIjoibmV3ZXIiLCJzIjo5MjIzMzcyMDM2ODU0Nzc1ODA3LCJlIjoiMSJ9",
            "eyJkIjoibmV3ZXIiLCJzIjoxLCJ6IjotOTIyMzM3MjAzNjg1NDc3NTgwOCwiZSI6IjEifQ",
            "eyJkIjoib2xkZXIiLCJzIjo1LCJlIjoiMSIsImYiOnsidHlwZXMiOltdfX0",
        ])
    func foreignCursors(_ text: String) throws {
        let error = refusal { _ = try harness().page(.cursor(.init(rawValue: text)), of: group, by: "alice") }
        #expect(error?.code == .invalidParameter)
        #expect(error?.parameter == "cursor")
    }

    @Test("A cursor of a deleted and recreated conversation fails because the epoch has changed")
    func staleCursors() throws {
        let harness = try harness()
        let cursor = try #require(try harness.page(limit: 3, of: group, by: "alice").older)
        try harness.delete(group)
        try harness.make(group, members: ["alice", "bob"])
        for _ in 1...5 { try harness.send(to: group, by: "bob") }
        let error = refusal { _ = try harness.page(.cursor(cursor), of: group, by: "alice") }
        #expect(error?.code == .epochChanged)
        #expect(error?.status == 409)
        #expect(error?.parameter == "cursor")
    }

    @Test("A cursor continues at its position after new messages arrive")
    func cursorsAndNewMessages() throws {
        let harness = try harness()
        let newest = try harness.page(limit: 3, of: group, by: "alice")
        let oldest = try harness.page(.earliest, limit: 10, of: group, by: "alice")
        #expect(oldest.newer == nil)
        let inside = try harness.page(.earliest, limit: 9, of: group, by: "alice")
        for index in 11...13 { try harness.send("\(index)", to: group, by: "bob") }
        #expect(
            try harness.page(.cursor(try #require(newest.older)), of: group, by: "alice").seqs == (1...7).reversed())
        #expect(try harness.page(.cursor(try #require(inside.newer)), of: group, by: "alice").seqs == [13, 12, 11, 10])
    }

    @Test("A cursor of another reader shows nothing that the reader may not see")
    func cursorsOfOtherReadersRevealNothing() throws {
        let harness = try harness()
        try harness.join(group, "carol")
        try harness.send("11", to: group, by: "bob")
        let cursor = try #require(try harness.page(limit: 1, of: group, by: "alice").older)
        let page = try harness.page(.cursor(cursor), of: group, by: "carol")
        #expect(page.messages.isEmpty)
        #expect(refusal { _ = try harness.page(.cursor(cursor), of: group, by: "zoe") }?.code == .unknownConversation)
    }

    // MARK: Times

    @Test("29 messages in one millisecond are paged by date and timetoken without loss", .rows(10, 33, 171))
    func messagesOfOneMillisecondArePaged() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        try harness.send("before", to: group, by: "alice")
        harness.clock.advance(by: 1)
        let instant = harness.clock.now
        var times: [Timetoken] = []
        for index in 1...29 {
            times.append(try harness.send(harness.submission("\(index)"), to: group, by: "alice").timetoken)
        }
        harness.clock.advance(by: 1)
        try harness.send("after", to: group, by: "alice")
        #expect(Set(times.map(\.date)) == [instant])
        #expect(try harness.page(.before(.date(instant)), of: group, by: "alice").seqs == [1])
        #expect(try harness.page(.after(.date(instant)), of: group, by: "alice").seqs == [31])
        #expect(
            try harness.page(.between(.date(instant), .date(instant + 0.001)), of: group, by: "alice").seqs
                == (2...30).reversed())
        #expect(
            try harness.page(.around(.date(instant), before: 5, after: 3), of: group, by: "alice").seqs == [
                5, 4, 3, 2, 1,
            ])
        for (index, time) in times.enumerated() {
            let seq = Seq(index + 2)
            #expect(try harness.page(.before(.timetoken(time)), limit: 1, of: group, by: "alice").seqs == [seq - 1])
            #expect(try harness.page(.after(.timetoken(time)), limit: 1, of: group, by: "alice").seqs == [seq + 1])
            #expect(
                try harness.page(.around(.timetoken(time), before: 0, after: 0), of: group, by: "alice").seqs == [seq])
        }
    }

    @Test(
        "Dates and timetokens before, between and after all messages find their position",
        arguments: [-1e10, -10, 0.5, 3.5, 1e6, 1e10])
    func anyTimeFindsItsPosition(_ offset: Double) throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        let start = harness.clock.now
        for _ in 1...6 {
            try harness.send(to: group, by: "alice")
            harness.clock.advance(by: 1)
        }
        let before = offset < 0 ? 0 : min(6, Int(offset.rounded(.down)) + 1)
        let date = start.addingTimeInterval(offset)
        #expect(try harness.page(.before(.date(date)), of: group, by: "alice").seqs.count == before)
        #expect(try harness.page(.after(.date(date)), of: group, by: "alice").seqs.count == 6 - before)
        #expect(try harness.page(.before(.timetoken(Timetoken(date))), of: group, by: "alice").seqs.count == before)
    }

    // MARK: Unread

    @Test("The first unread message is the first that counts and has another sender")
    func firstUnread() throws {
        let harness = try harness()
        try harness.read(group, to: 4, by: "alice")
        #expect(try harness.page(.firstUnread, of: group, by: "alice").seqs == (1...10).reversed())
        #expect(try harness.page(.around(.firstUnread, before: 0, after: 0), of: group, by: "alice").seqs == [5])
        // Bob's own messages are not unread for him.
        #expect(try harness.page(.around(.firstUnread, before: 0, after: 0), of: group, by: "bob").seqs == [])
        try harness.send("mine", to: group, by: "alice")
        try harness.send(harness.submission(type: .notice), to: group, by: "bob")
        try harness.read(group, to: 10, by: "alice")
        #expect(try harness.page(.around(.firstUnread, before: 1, after: 0), of: group, by: "alice").seqs == [12])
        try harness.send("13", to: group, by: "bob")
        #expect(try harness.page(.around(.firstUnread, before: 0, after: 0), of: group, by: "alice").seqs == [13])
    }

    // MARK: Long messages

    @Test("A page of long messages ends at the size limit of an answer and continues from there, in every direction")
    func longMessages() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        let text = String(repeating: "x", count: 120_000)
        for _ in 1...50 { try harness.send(text, to: group, by: "alice") }
        for isNewer in [false, true] {
            var found: [Seq] = []
            var anchor: Anchor? = isNewer ? .earliest : .latest
            while let next = anchor, found.count <= 50 {
                let page = try harness.page(
                    HistoryQuery(next, limit: 100, sort: isNewer ? .oldestFirst : .newestFirst), of: group, by: "alice")
                #expect(page.seqs.count == 4 || found.count == 48)
                #expect(page.coverage == Coverage(lower: try #require(page.seqs.min()), upper: page.seqs.max() ?? 0))
                found += page.seqs
                anchor = (isNewer ? page.newer : page.older).map { .cursor($0) }
            }
            #expect(found == (isNewer ? Array(1...50) : (1...50).reversed()))
        }
        let around = try harness.page(.around(.seq(20), before: 50, after: 49), of: group, by: "alice")
        #expect(around.seqs == [21, 20, 19])
        #expect(around.older != nil && around.newer != nil)
        let some = try harness.page(HistoryQuery(.latest, limit: 100, filter: .types([.text])), of: group, by: "alice")
        #expect(some.seqs == [50, 49, 48, 47])
    }

    // MARK: Filters over long ranges

    @Test("A page with a rare filter scans at most 20,000 messages and has a cursor to continue", .rows(18, 21))
    func boundedScan() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        try harness.send(harness.submission(), to: group, by: "alice")
        try harness.fill(group, 45_000)
        try harness.send(harness.submission(), to: group, by: "alice")
        var found: [Seq] = []
        var ranges: [SeqRange] = []
        var query = HistoryQuery(.latest, limit: 5, filter: .senders(["alice"]))
        while true {
            let page = try harness.page(query, of: group, by: "alice")
            found += page.seqs
            ranges.append(try #require(page.coverage.range))
            guard let older = page.older else { break }
            query = HistoryQuery(.cursor(older), limit: 5)
        }
        #expect(found == [45_002, 1])
        #expect(ranges == [25_003...45_002, 5_003...25_002, 1...5_002])
        query = HistoryQuery(.earliest, limit: 1, filter: .senders(["nobody"]))
        var upper: [Seq] = []
        while true {
            let page = try harness.page(query, of: group, by: "alice")
            #expect(page.messages.isEmpty)
            upper.append(page.coverage.upper)
            guard let newer = page.newer else { break }
            query = HistoryQuery(.cursor(newer), limit: 1)
        }
        #expect(upper == [20_000, 40_000, 45_002])
        // Rare types have an index, so one page scans much further.
        let images = try harness.page(HistoryQuery(.latest, limit: 5, filter: .types([.image])), of: group, by: "alice")
        #expect(images.coverage.range == 1...45_002)
        #expect(images.older == nil)
    }

    // MARK: Single messages

    @Test("A message is found by its ID if the caller may see it")
    func oneMessage() throws {
        let harness = try harness()
        let submission = harness.submission("eleven")
        try harness.send(submission, to: group, by: "bob")
        let message = try harness.engine.message(submission.id, in: group, by: Caller(user: "alice"))
        #expect(message.seq == 11)
        #expect(message.text == "eleven")
        #expect(message.conversation == group)
        #expect(
            refusal { _ = try harness.engine.message(submission.id, in: group, by: Caller(user: "zoe")) }?.code
                == .unknownConversation)
        #expect(
            refusal { _ = try harness.engine.message(harness.newID(), in: group, by: Caller(user: "alice")) }?.code
                == .unknownMessage)
    }

    @Test("Pages, messages and heads of a direct conversation use the reader's name for it", .rows(6))
    func names() throws {
        let harness = try EngineHarness()
        let submission = harness.submission("hello")
        try harness.send(submission, to: .direct("bob"), by: "alice")
        #expect(try harness.page(of: .direct("bob"), by: "alice").messages.map(\.conversation) == [.direct("bob")])
        #expect(try harness.page(of: .direct("alice"), by: "bob").messages.map(\.conversation) == [.direct("alice")])
        #expect(try harness.head(.direct("alice"), "bob").conversation == .direct("alice"))
        #expect(try harness.head(.direct("alice"), "bob").lastMessage?.conversation == .direct("alice"))
        #expect(
            try harness.engine.message(submission.id, in: .direct("alice"), by: Caller(user: "bob")).conversation
                == .direct("alice"))
        let absolute = ConversationID.direct(between: "alice", and: "bob")
        #expect(
            try harness.engine.history(of: absolute, HistoryQuery(), by: EngineHarness.admin).messages.map(
                \.conversation) == [
                    absolute
                ])
        #expect(refusal { _ = try harness.page(of: absolute, by: "carol") }?.code == .unknownConversation)
    }
}
