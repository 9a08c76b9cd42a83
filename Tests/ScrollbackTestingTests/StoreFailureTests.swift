import ContractRows
import Foundation
import GRDB
import Scrollback
import ScrollbackTesting
import Testing

@Suite("A device whose store fails")
struct StoreFailureTests {
    @Test("A message that can't be kept is refused, and nothing of it is queued", .rows(90))
    func full() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "scrollback-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let world = try ChatWorld()
        let alice = try await world.client("alice", store: .directory(folder))
        let chat = alice.conversation(.direct("bob"))
        let database = try DatabaseQueue(path: folder.appending(path: "client.sqlite").path)
        try await database.write {
            try $0.execute(
                sql: "CREATE TRIGGER full BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'full'); END")
        }
        await #expect(
            performing: { try await chat.send(.text("hello")) },
            throws: { ($0 as? ChatError)?.code == .localStorage })
        await #expect(
            performing: { try await chat.send(.file(.data(Data([1])))) },
            throws: { ($0 as? ChatError)?.code == .localStorage })
        try await database.write { try $0.execute(sql: "DROP TRIGGER full") }
        #expect(try await alice.pendingCount() == 0)
        #expect(try await chat.send(.text("hello")).delivered().seq == 1)
        await world.close()
    }
}
