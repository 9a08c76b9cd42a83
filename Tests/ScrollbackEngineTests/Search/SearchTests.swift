import Foundation
import ScrollbackEngine
import ScrollbackModel
import TextAnalysis
import Synchronization
import Testing

extension EngineHarness {
    func search(_ query: SearchQuery, by caller: Caller) throws -> SearchPage {
        try done { engine.search(query, by: caller, offload: { $0() }, completion: $0) }
    }

    /// Returns the texts of the hits, in their order.
    func found(
        _ text: String, in id: ConversationID? = nil, sort: SearchSort = .newestFirst, by user: UserID
    ) throws -> [String] {
        let page = try search(SearchQuery(text, in: id, sort: sort, limit: 100), by: Caller(user: user))
        #expect(page.next == nil && !page.isIndexing)
        return page.hits.map(\.text)
    }
}

@Suite("Server search")
struct SearchTests {
    private let group = ConversationID.group("g")

    /// Searches in the group and in all conversations, which must find the same texts.
    private func both(_ text: String, _ harness: EngineHarness, by user: UserID) throws -> [String] {
        let everywhere = try harness.found(text, by: user)
        #expect(try harness.found(text, in: group, by: user) == everywhere)
        return everywhere
    }

    // MARK: Visibility

    @Test("A member finds the messages of their memberships, in one conversation and in all")
    func membersSearchTheirMemberships() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        try harness.send("tide one", to: group, by: "alice")
        try harness.join(group, "bob")
        try harness.send("tide two", to: group, by: "alice")
        try harness.leave(group, "bob")
        try harness.send("tide three", to: group, by: "alice")
        #expect(try both("tide", harness, by: "alice") == ["tide three", "tide two", "tide one"])
        #expect(try both("tide", harness, by: "bob") == ["tide two"])
        #expect(try both("tide", harness, by: "bob") == harness.found("TIDE tw", by: "bob"))
        try harness.join(group, "bob")
        try harness.send("tide four", to: group, by: "alice")
        #expect(try both("tide", harness, by: "bob") == ["tide four", "tide two"])
        try harness.put(group, .init(visibility: .everything))
        #expect(try both("tide", harness, by: "bob").count == 4)
        try harness.delete(group)
        #expect(try harness.found("tide", by: "bob") == [] && harness.found("tide", by: "alice") == [])
        #expect(refusal { _ = try harness.found("tide", in: group, by: "bob") }?.code == .unknownConversation)
        // A recreated group has another log.
        try harness.make(group, members: ["alice", "bob"])
        try harness.send("tide five", to: group, by: "alice")
        #expect(try both("tide", harness, by: "bob") == ["tide five"])
    }

    @Test("Recalled, edited, deleted, hidden, cleared and expired messages are not found")
    func removedMessagesAreNotFound() async throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        let alice = Caller(user: "alice")
        var ids: [MessageID] = []
        for number in 1...8 {
            let submission = harness.submission("tide \(number)")
            ids.append(submission.id)
            try harness.send(submission, to: group, by: "alice")
        }
        try harness.delete(ids[7], in: group, by: alice)
        try harness.edit(ids[6], in: group, "ebb 7", by: alice)
        #expect(try both("tide", harness, by: "bob") == (1...6).reversed().map { "tide \($0)" })
        #expect(try both("ebb", harness, by: "bob") == ["ebb 7"])
        try harness.hide([ids[5]], in: group, by: "bob")
        #expect(try both("tide", harness, by: "bob").first == "tide 5")
        #expect(try both("tide", harness, by: "alice").first == "tide 6")
        try harness.delete(DeleteRange(from: .seq(3), to: .seq(4)), of: group)
        #expect(try both("tide", harness, by: "bob") == ["tide 5", "tide 4", "tide 2", "tide 1"])
        try harness.clear(group, through: 1, by: "bob")
        #expect(try both("tide", harness, by: "bob") == ["tide 5", "tide 4", "tide 2"])
        #expect(try both("tide", harness, by: "alice").last == "tide 1")
        try harness.set { $0.retention = .days(2) }
        harness.clock.advance(by: 3 * 86_400)
        try harness.send("tide 9", to: group, by: "alice")
        try await harness.engine.expire()
        #expect(try both("tide", harness, by: "alice") == ["tide 9"])
    }

    @Test("A word in invisible messages gives the same answer as a word that does not occur")
    func invisibleMessagesRevealNothing() throws {
        let harness = try EngineHarness()
        try harness.make(.community("c"), members: ["alice", "bob", "mallory"])
        let secret = ConversationID.community("c", channel: "secret")
        try harness.put(secret, .init(isPrivate: true, members: ["alice", "bob"]))
        try harness.make(group, members: ["alice", "bob"])
        try harness.put(.room("lobby"))
        try harness.send("treasure here", to: .direct("bob"), by: "alice")
        try harness.send("treasure there", to: group, by: "alice")
        try harness.send("treasure in secret", to: secret, by: "alice")
        try harness.send("treasure aloud", to: .room("lobby"), by: "alice")
        #expect(try harness.found("treasure", by: "bob") == ["treasure in secret", "treasure there", "treasure here"])
        #expect(try harness.found("treasure", in: .direct("alice"), by: "bob") == ["treasure here"])
        for sort in SearchSort.allCases {
            for text in ["treasure", "nobodysaidthis"] {
                let page = try harness.search(SearchQuery(text, sort: sort, limit: 1), by: Caller(user: "mallory"))
                #expect(page.hits.isEmpty && page.next == nil && !page.isIndexing)
            }
        }
        // A search in a room needs its name.
        #expect(try harness.found("treasure", in: .room("lobby"), by: "mallory") == ["treasure aloud"])
        #expect(refusal { _ = try harness.found("treasure", in: secret, by: "mallory") }?.code == .unknownConversation)
        // With a name, administrators can search any conversation. Without a name, they find their own messages only.
        let admin = try harness.search(SearchQuery("treasure", in: secret), by: EngineHarness.admin)
        #expect(admin.hits.count == 1)
        #expect(try harness.search(SearchQuery("treasure"), by: EngineHarness.admin).hits.isEmpty)
    }

    @Test("Two users who search for the same words find their own messages, under their own conversation names")
    func twoUsers() throws {
        let harness = try EngineHarness()
        try harness.send("the same words", to: .direct("bob"), by: "alice")
        try harness.send("the same words", to: .direct("carol"), by: "dora")
        for (user, peer) in [("alice", "bob"), ("bob", "alice"), ("carol", "dora")] as [(UserID, UserID)] {
            let hits = try harness.search(SearchQuery("same words"), by: Caller(user: user)).hits
            #expect(hits.map(\.message.conversation) == [.direct(peer)])
            #expect(hits.first.map { hit in hit.highlights.map { String(hit.text[$0]) } } == ["same", "words"])
        }
    }

    @Test("Texts in all scripts are found, and the ranges of a hit are bytes of its text")
    func scripts() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        for text in ["今日は東京タワーへ", "صباحُ الخير يا عمر", "well done 👍🏽!", "naïve Ångström"] {
            try harness.send(text, to: group, by: "alice")
        }
        for (text, marked) in [
            ("東京", "東京"), ("الخير", "الخير"), ("👍", "👍🏽"), ("angstrom", "Ångström"), ("صباح", "صباحُ"),
        ] {
            let hits = try harness.search(SearchQuery(text), by: Caller(user: "alice")).hits
            #expect(hits.first.map { hit in hit.highlights.map { String(hit.text[$0]) } } == [marked], "\(text)")
        }
    }

    // MARK: Pages

    @Test("Pages neither skip nor repeat hits while messages are sent", arguments: SearchSort.allCases)
    func pages(sort: SearchSort) throws {
        let harness = try EngineHarness()
        let names = (0..<5).map { ConversationID.group(Identifier(known: "g\($0)")) }
        for name in names { try harness.make(name, members: ["alice", "bob"]) }
        for number in 0..<60 {
            harness.clock.advance(by: 1)
            let rest = String(repeating: " more", count: number % 7)
            try harness.send("tide \(number)\(rest)", to: names[number % 5], by: "bob")
        }
        let whole = try harness.found("tide", sort: sort, by: "alice")
        #expect(whole.count == 60)
        var seen: [String] = []
        var query = SearchQuery("tide", sort: sort, limit: 7)
        while true {
            let page = try harness.search(query, by: Caller(user: "alice"))
            #expect(page.hits.count <= 7)
            seen += page.hits.map(\.text)
            harness.clock.advance(by: 1)
            try harness.send("tide tide tide", to: names[2], by: "bob")
            guard let next = page.next else { break }
            query.cursor = next
        }
        #expect(seen == whole)
    }

    @Test("A page of long messages ends at the size limit, and the next page continues from there")
    func longMessages() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        for number in 0..<12 {
            try harness.send("tide \(number) " + String(repeating: "x", count: 100_000), to: group, by: "alice")
        }
        var counts: [Int] = []
        var query = SearchQuery("tide", limit: 100)
        while true {
            let page = try harness.search(query, by: Caller(user: "alice"))
            counts.append(page.hits.count)
            guard let next = page.next else { break }
            query.cursor = next
        }
        #expect(counts == [5, 5, 2])
    }

    @Test("Values out of range are refused by name, and a cursor only works with its own query")
    func refusals() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        for number in 1...3 { try harness.send("tide \(number)", to: group, by: "alice") }
        func refused(_ query: SearchQuery) -> String? {
            let error = refusal { _ = try harness.search(query, by: Caller(user: "alice")) }
            return error?.code == .invalidParameter ? error?.parameter : nil
        }
        #expect(refused(SearchQuery("")) == "text")
        #expect(refused(SearchQuery(String(repeating: "é", count: 129))) == "text")
        #expect(refused(SearchQuery("tide", limit: 0)) == "limit")
        #expect(refused(SearchQuery("tide", limit: 101)) == "limit")
        #expect(refused(SearchQuery("tide", after: .init(rawValue: "x"))) == "cursor")
        let next = try harness.search(SearchQuery("tide", limit: 1), by: Caller(user: "alice")).next
        #expect(next != nil)
        #expect(refused(SearchQuery("tid", after: next)) == "cursor")
        #expect(refused(SearchQuery("tide", in: group, after: next)) == "cursor")
        #expect(refused(SearchQuery("tide", sort: .bestFirst, after: next)) == "cursor")
        #expect(refused(SearchQuery("tide", after: next)) == nil)
        // Punctuation matches nothing, even if it has a meaning in the index.
        for text in ["...", "\"", "*", "- ^", "\u{0}"] {
            #expect(try harness.found(text, by: "alice") == [], "\(text)")
        }
        _ = try harness.found("NEAR( tide OR", by: "alice")
    }

    // MARK: A stale index

    /// An index that repeats its first result and never catches up in time.
    private final class StaleIndex: MessageIndex {
        private let base = ScanningIndex()
        private let known = Mutex<SearchMatches?>(nil)

        func committed(_ conversations: Set<ConversationID>, lastCommit: Int64) {}
        func isComplete(_ conversations: [ConversationRow]) -> Bool { false }
        func catchUp(
            with conversations: [ConversationRow], within time: Duration,
            completion: @escaping @Sendable (Bool) -> Void
        ) {
            #expect(time == .seconds(2))
            completion(false)
        }

        func find(
            _ terms: SearchTerms, in scopes: [SearchScope], sort: SearchSort, after position: SearchPosition?,
            limit: Int, _ store: any StoreReader, until deadline: WorkDeadline
        ) throws -> SearchMatches? {
            if let known = known.withLock({ $0 }) { return position == nil ? known : SearchMatches() }
            let found = try base.find(
                terms, in: scopes, sort: sort, after: position, limit: limit, store, until: deadline)
            known.withLock { $0 = found }
            return found
        }
    }

    @Test(
        "Hits of a stale index are shown only if they are visible now, and the page says that hits can be missing")
    func staleIndex() throws {
        let harness = try EngineHarness(index: StaleIndex())
        try harness.make(group, members: ["alice", "bob"])
        let alice = Caller(user: "alice")
        var ids: [MessageID] = []
        for number in 1...5 {
            let submission = harness.submission("tide \(number)")
            ids.append(submission.id)
            try harness.send(submission, to: group, by: "alice")
        }
        let query = SearchQuery("tide", limit: 100)
        #expect(try harness.search(query, by: Caller(user: "bob")).hits.count == 5)
        try harness.delete(ids[0], in: group, by: alice)
        try harness.edit(ids[1], in: group, "ebb", by: alice)
        try harness.hide([ids[2]], in: group, by: "bob")
        let page = try harness.search(query, by: Caller(user: "bob"))
        #expect(page.hits.map(\.text) == ["tide 5", "tide 4"] && page.isIndexing && page.next == nil)
        try harness.delete(.all, of: group)
        #expect(try harness.search(query, by: Caller(user: "bob")).hits.isEmpty)
        #expect(try harness.search(query, by: Caller(user: "mallory")).hits.isEmpty)
        // The sequence numbers now belong to another log.
        try harness.delete(group)
        try harness.make(group, members: ["bob"])
        for number in 1...5 { try harness.send("tide again \(number)", to: group, by: "bob") }
        #expect(try harness.search(query, by: Caller(user: "bob")).hits.isEmpty)
    }
}
