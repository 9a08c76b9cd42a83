import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import Synchronization
import TestSupport
import Testing

@Suite struct IndexingTests {
    private let group = ConversationID.group("g")

    @Test func `What is committed while the index is updated waits for the next update`() async throws {
        let folder = try TemporaryFolder()
        let store = InterruptingStore()
        let harness = try EngineHarness(store: store)
        let search = try SQLiteSearch(store, in: folder.url)
        try harness.make(group, members: ["alice"])
        try await search.indexPendingCommits()

        @Sendable func send() throws {
            try harness.send(to: group, by: "alice")
            search.committed([group], lastCommit: try store.lastCommit)
        }
        // A message arrives after each of the next ten reads.
        let rest = Mutex(10)
        @Sendable func sendAfterRead() throws {
            try send()
            let isLast = rest.withLock { rest in
                rest -= 1
                return rest == 0
            }
            if !isLast { store.interrupt(after: 1, sendAfterRead) }
        }
        try send()
        store.interrupt(after: 1, sendAfterRead)
        try await search.indexPendingCommits()
        #expect(rest.withLock { $0 } > 0)

        while rest.withLock({ $0 }) > 0 { try await search.indexPendingCommits() }
        try await search.indexPendingCommits()
        let row = try #require(try store.read { try $0.conversation(group) })
        #expect(try search.isComplete([row]))
        #expect(row.head >= 11)
        try search.close()
    }
}
