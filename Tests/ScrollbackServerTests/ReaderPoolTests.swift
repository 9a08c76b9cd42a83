import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
@testable import ScrollbackServer
import Synchronization
import TestSupport
import Testing

@Suite("Reader pools")
struct ReaderPoolTests {
    /// Blocks threads until it is opened.
    private final class Latch: Sendable {
        private let gate = DispatchSemaphore(value: 0)
        private let blocked = Atomic<Int>(0)

        var blockedCount: Int { blocked.load(ordering: .sequentiallyConsistent) }

        func wait() {
            blocked.add(1, ordering: .sequentiallyConsistent)
            gate.wait()
            gate.signal()
        }

        func open() { gate.signal() }
    }

    private func pools() -> ReaderPools {
        let pools = ReaderPools(ServerOptions(directory: URL(filePath: "/nonexistent")), ServerMetrics())
        pools.start()
        return pools
    }

    /// Runs work in a pool and waits for its end.
    private func run(in pool: ReaderPool, for owner: WorkOwner) async throws {
        let isDone = Atomic<Bool>(false)
        pool.submit(for: owner) { isDone.store(true, ordering: .sequentiallyConsistent) }
        #expect(try await eventually { isDone.load(ordering: .sequentiallyConsistent) })
    }

    @Test("Searches that occupy all their threads keep no read and no new connection waiting")
    func blockedSearches() async throws {
        let pools = pools()
        let latch = Latch()
        for user in 0..<20 { pools[.search].submit(for: .user(UserID(known: "\(user)"))) { latch.wait() } }
        #expect(try await eventually { latch.blockedCount == pools[.search].threadCount })
        try await run(in: pools[.read], for: .user("0"))
        try await run(in: pools[.admission], for: .user("0"))
        #expect(pools[.search].depth == 20 - pools[.search].threadCount)
        latch.open()
        try await pools.shutdown()
    }

    @Test("Reads on all threads of all pools have a connection to the store each")
    func connections() async throws {
        let folder = try TemporaryFolder()
        let (store, search, _) = try ServerOptions(directory: folder.url).openStore()
        let pools = pools()
        let latch = Latch()
        var total = 0
        for pool in WorkPool.allCases {
            for user in 0..<pools[pool].threadCount {
                pools[pool].submit(for: .user(UserID(known: "\(user)"))) { try? store.read { _ in latch.wait() } }
                total += 1
            }
        }
        #expect(try await eventually { latch.blockedCount == total })
        latch.open()
        try await pools.shutdown()
        try search.close()
        try store.close()
    }

    @Test("Reads that occupy all their threads keep no new connection waiting")
    func blockedReads() async throws {
        let pools = pools()
        let latch = Latch()
        for user in 0..<20 { pools[.read].submit(for: .user(UserID(known: "\(user)"))) { latch.wait() } }
        #expect(try await eventually { latch.blockedCount == pools[.read].threadCount })
        try await run(in: pools[.admission], for: .user("newcomer"))
        latch.open()
        try await pools.shutdown()
    }

    @Test("One user's slow reads leave threads free for another user")
    func share() async throws {
        let pool = ReaderPool(threads: 4, maximumOwnCount: 100)
        pool.start()
        let latch = Latch()
        for _ in 0..<50 { pool.submit(for: .user("flood")) { latch.wait() } }
        #expect(try await eventually { latch.blockedCount == 2 })
        try await run(in: pool, for: .user("alice"))
        #expect(latch.blockedCount == 2)
        latch.open()
        try await pool.shutdown()
        #expect(latch.blockedCount == 50)
    }

    @Test("A pool refuses a user's requests above the bound, and those of others not")
    func bound() async throws {
        let pool = ReaderPool(threads: 2, maximumOwnCount: 3)
        pool.start()
        let latch = Latch()
        let refusals = Mutex<[ChatError]>([])
        func submit(_ owner: WorkOwner) {
            pool.submit(for: owner) {
                latch.wait()
            } refused: { error in
                refusals.withLock { $0.append(error) }
            }
        }
        submit(.user("flood"))
        #expect(try await eventually { latch.blockedCount == 1 })
        for _ in 0..<5 { submit(.user("flood")) }
        submit(.user("alice"))
        for _ in 0..<5 { submit(.administrator("root")) }
        let found = refusals.withLock { $0 }
        #expect(found.map(\.code) == [.rateLimited, .rateLimited])
        #expect(found.allSatisfy { $0.limit == 3 && $0.retryAfter == 1 })
        latch.open()
        try await pool.shutdown()
    }
}
