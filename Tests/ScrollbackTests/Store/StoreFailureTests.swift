import ContractRows
import Foundation
import GRDB
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

@Suite("A client whose store fails", .timeLimit(.minutes(10)))
struct StoreFailureTests {
    /// Creates a client whose database can be made to refuse certain writes.
    private func withPhone(_ body: (TestServer, ChatClient, DatabaseQueue) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer()
        let alice = try await server.client("alice", store: .directory(folder.url))
        // The client may be writing at the same time.
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let path = folder.url.appending(path: "client.sqlite").path
        try await body(server, alice, try DatabaseQueue(path: path, configuration: configuration))
        await server.close()
    }

    @Test("A message that can't be stored is refused and not queued", .rows(90))
    func unstorableMessageIsRefused() async throws {
        try await withPhone { _, alice, database in
            let chat = alice.conversation(.direct("bob"))
            try await database.refuse("INSERT ON outbox")
            await #expect(
                performing: { try await chat.send(.text("hello")) },
                throws: { ($0 as? ChatError)?.code == .localStorage })
            await #expect(
                performing: { try await chat.send(.file(.data(Data([1])))) },
                throws: { ($0 as? ChatError)?.code == .localStorage })
            try await database.allow()
            #expect(try await alice.pendingCount() == 0)
            #expect(try await chat.send(.text("hello")).waitUntilSent().seq == 1)
        }
    }

    @Test("A file whose upload state can't be stored is uploaded later and keeps its order")
    func unrecordedUploadRunsLater() async throws {
        try await withPhone { _, alice, database in
            let chat = alice.conversation(.direct("bob"))
            try await database.refuse("UPDATE OF state ON outbox WHEN NEW.state = 'uploading'")
            let file = try await chat.send(.file(.data(Data([1]))))
            let text = try await chat.send(.text("after it"))
            for await state in alice.connection { if case .waiting = state { break } }
            try await database.allow()
            #expect(try await file.waitUntilSent().seq == 1)
            #expect(try await text.waitUntilSent().seq == 2)
        }
    }

    @Test("A message that can't be deleted from the store is not cancelled, and `cancel` throws")
    func undeletableMessageIsNotCancelled() async throws {
        try await withPhone { server, alice, database in
            try await alice.ready()
            server.goOffline("alice")
            for await state in alice.connection where state != .online { break }
            let sending = try await alice.conversation(.direct("bob")).send(.text("hello"))
            try await database.refuse("DELETE ON outbox")
            await #expect(
                performing: { try await sending.cancel() }, throws: { ($0 as? ChatError)?.code == .localStorage })
            try await database.allow()
            server.goOnline("alice")
            #expect(try await sending.waitUntilSent().seq == 1)
        }
    }

    @Test("A handle whose store can't be read waits until it can")
    func handleOutlivesFailedReads() async throws {
        try await withPhone { server, alice, database in
            try await alice.ready()
            server.goOffline("alice")
            for await state in alice.connection where state != .online { break }
            let sending = try await alice.conversation(.direct("bob")).send(.text("hello"))
            try await database.write { try $0.execute(sql: "ALTER TABLE outbox RENAME TO hidden") }
            let waiting = Task { try await sending.waitUntilSent() }
            // Time for the first read, which fails.
            try await Task.sleep(for: .milliseconds(500))
            try await database.write { try $0.execute(sql: "ALTER TABLE hidden RENAME TO outbox") }
            server.goOnline("alice")
            #expect(try await waiting.value.seq == 1)
        }
    }

    @Test("A client whose store fails at the end of a sync pass is not current until a pass succeeds")
    func failedPassLeavesClientOutdated() async throws {
        try await withPhone { server, alice, database in
            let group = ConversationID.group("swift")
            let chat = alice.conversation(group)
            try await server.makeGroup("swift", members: ["bob"])
            let sending = try await chat.send(.text("hello"))
            for await state in sending.states { if case .failed = state { break } }
            server.goOffline("alice")
            try await server.setMember("alice", of: group, true)
            // Another device of Alice sends the message. This device then removes it from its outbox.
            try await server.perform {
                $0.send(
                    Submission(id: sending.id, content: .text("hello")), to: group, by: Caller(user: "alice"),
                    completion: $1)
            }
            try await database.refuse("DELETE ON outbox")
            server.goOnline("alice")
            try await eventually("The client stores the head") {
                try await alice.core.store.read { try $0.recent(group)?.lastMessage }
            }
            // The loop has handled the window when it answers.
            await #expect(throws: ChatError.self) {
                try await chat.sendHandle(for: MessageID(UUID())).retry()
            }
            #expect(!alice.core.isCurrent(group))
            try await database.allow()
            alice.retryConnection()
            try await alice.ready()
            #expect(try await alice.pendingCount() == 0)
        }
    }
}

extension DatabaseQueue {
    fileprivate func refuse(_ what: String) async throws {
        try await write {
            try $0.execute(sql: "CREATE TRIGGER full BEFORE \(what) BEGIN SELECT RAISE(ABORT, 'full'); END")
        }
    }

    fileprivate func allow() async throws {
        try await write { try $0.execute(sql: "DROP TRIGGER full") }
    }
}
