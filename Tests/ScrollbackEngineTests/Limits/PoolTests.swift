import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import Testing

@Suite("Pools of work")
struct PoolTests {
    private let group = ConversationID.group("g")

    @Test("While searches wait for a thread, connections open and lists are read")
    func blockedSearches() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        let sessions = SessionHarness(harness)
        let mallory = sessions.device("alice", "searcher")
        sessions.searches.hold()
        let search = mallory.request(SearchMessages(query: SearchQuery("tide")))
        let bob = sessions.device("bob")
        #expect(try bob.isWelcome)
        let list = bob.request(GetHeads([group]))
        try bob.answer(list) { try $0.skip() }
        #expect(throws: ChatError.self) { try mallory.answer(search) { try $0.skip() } }
        sessions.searches.release()
        try mallory.answer(search) { try $0.skip() }
    }

    @Test("A connection opens on the threads for admission, whatever it requests afterwards")
    func admission() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        let sessions = SessionHarness(harness)
        let alice = sessions.device("alice")
        #expect(sessions.usedPools == [.admission])
        alice.request(GetHeads([group]))
        alice.request(SearchMessages(query: SearchQuery("tide")))
        #expect(sessions.usedPools == [.admission, .read, .search])
    }

    @Test("A refusal because of load closes a new connection as restarting, so that the client keeps its token")
    func refusedAdmission() throws {
        let harness = try EngineHarness()
        let services = SessionServices(
            engine: harness.engine,
            verify: { _, completion in completion(.failure(ChatError(.rateLimited, "Too many.", retryAfter: 1))) },
            offload: { $2() })
        let device = Device(services, DirectLane())
        device.hello("alice")
        #expect(device.closes == [.restarting])
    }

    @Test("A search that runs too long is stopped, and says how to narrow it")
    func deadline() throws {
        let elapsed = Mutex(Duration.zero)
        let step = Mutex(Duration.zero)
        let time = SearchTime(limit: .seconds(2)) {
            let step = step.withLock { $0 }
            return elapsed.withLock { elapsed in
                elapsed += step
                return elapsed
            }
        }
        let harness = try EngineHarness(searchTime: time)
        try harness.make(group, members: ["alice"])
        for number in 0..<300 { try harness.send("tide \(number)", to: group, by: "alice") }
        func search() throws -> SearchPage {
            try harness.done {
                harness.engine.search(
                    SearchQuery("tide", limit: 5), by: Caller(user: "alice"), offload: { $0() }, completion: $0)
            }
        }
        // 300 messages are examined in less than two seconds.
        step.withLock { $0 = .milliseconds(1) }
        #expect(try search().hits.count == 5)
        step.withLock { $0 = .milliseconds(10) }
        let error = refusal { _ = try search() }
        #expect(error?.code == .overloaded && error?.status == 503 && error?.retryAfter == 5)
        #expect(error?.message.contains("Search in one conversation") == true)
        #expect(harness.engine.stoppedSearches.load(ordering: .relaxed) == 1)
    }
}
