import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

/// Tests requests whose answer is late or never comes.
@Suite("Timeouts of requests", .timeLimit(.minutes(10)))
struct RequestTimeoutTests {
    private let group = ConversationID.group("swift")

    /// Creates a server with a group that has one message, and a client whose transport can hold answers.
    private func server(
        holding held: HeldTransport, configure: (inout ChatClient.Configuration) -> Void = { _ in }
    ) async throws -> (server: TestServer, alice: ChatClient) {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        _ = try await server.client("bob").conversation(group).send(.text("hi")).waitUntilSent()
        let alice = try await server.client("alice") {
            held.use(in: &$0)
            configure(&$0)
        }
        return (server, alice)
    }

    @Test(
        "A request fails with `timeout` after its own timeout, and one with a longer timeout still gets its answer",
        .rows(91, 172, 248))
    func ownTimeout() async throws {
        let held = HeldTransport(answersTo: { $0.type == GetHistory.endpoint.frame })
        let (server, alice) = try await server(holding: held)
        let chat = alice.conversation(group)
        held.hold()
        // It begins first. With any common timeout, it would fail first.
        async let patient = withRequestOptions(RequestOptions(timeout: .seconds(600))) {
            try await chat.history(from: .remote)
        }
        #expect(try await eventually { held.heldCount == 1 })
        let error = await #expect(throws: ChatError.self) {
            try await withRequestOptions(RequestOptions(timeout: .milliseconds(100))) {
                try await chat.history(from: .remote)
            }
        }
        #expect(error?.code == .timeout && error?.isTemporary == true)
        held.release()
        #expect(try await patient.messages.map(\.text) == ["hi"])
        await server.close()
    }

    @Test("A request that timed out is repeated as often as its options allow", .rows(248))
    func repeatedAfterTimeout() async throws {
        let held = HeldTransport(answersTo: { $0.type == GetHistory.endpoint.frame })
        let (server, alice) = try await server(holding: held)
        let chat = alice.conversation(group)
        let before = server.historyRequests(of: "alice")
        held.hold()
        let error = await #expect(throws: ChatError.self) {
            try await withRequestOptions(RequestOptions(timeout: .milliseconds(100), retries: 1)) {
                try await chat.history(from: .remote)
            }
        }
        #expect(error?.code == .timeout)
        #expect(try await eventually { server.historyRequests(of: "alice") - before == 2 })
        async let retried = withRequestOptions(RequestOptions(timeout: .seconds(1), retries: 10)) {
            try await chat.history(from: .remote)
        }
        try #require(try await eventually { server.historyRequests(of: "alice") - before >= 4 })
        held.release()
        #expect(try await retried.messages.map(\.text) == ["hi"])
        await server.close()
    }

    @Test("The timeout of a request includes the wait for a connection", .rows(248))
    func timeoutWhileConnecting() async throws {
        let held = HeldTransport(welcome: true)
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice"])
        let alice = try await server.disconnectedClient("alice", configure: held.use)
        held.hold()
        alice.connect()
        let error = await #expect(throws: ChatError.self) {
            try await withRequestOptions(RequestOptions(timeout: .milliseconds(100))) {
                try await alice.conversation(group).history(from: .remote)
            }
        }
        #expect(error?.code == .timeout)
        held.release()
        #expect(try await eventually { (try? await alice.conversation(group).history(from: .remote)) != nil })
        await server.close()
    }

    @Test("A request whose task is cancelled while it waits for a connection fails once, and is not sent")
    func cancelledWhileConnecting() async throws {
        let held = HeldTransport(welcome: true)
        let server = try TestServer()
        let alice = try await server.disconnectedClient("alice", configure: held.use)
        held.hold()
        alice.connect()
        #expect(try await eventually { held.heldCount == 1 })
        let patient = Task { try await alice.blockedUsers() }
        let cancelled = Task { try await alice.blockedUsers() }
        // In this time, the request usually begins to wait. The result is the same if it doesn't.
        try await Task.sleep(for: .milliseconds(50))
        cancelled.cancel()
        let error = await #expect(throws: ChatError.self) { try await cancelled.value }
        #expect(error?.code == .cancelled && error?.isTemporary == false)
        held.release()
        #expect(try await patient.value == [])
        #expect(server.requests(of: "alice")["blocks"] == 1)
        await server.close()
    }

    @Test("A request of a task that is already cancelled is not sent")
    func cancelledBefore() async throws {
        let server = try TestServer()
        let alice = try await server.client("alice")
        let caller = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await alice.blockedUsers()
        }
        caller.cancel()
        let error = await #expect(throws: ChatError.self) { try await caller.value }
        #expect(error?.code == .cancelled)
        #expect(try await alice.blockedUsers() == [])
        #expect(server.requests(of: "alice")["blocks"] == 1)
        await server.close()
    }

    @Test(
        "A message without an answer in time is sent again with the same ID, and the server stores it once", .rows(91))
    func sendTimesOut() async throws {
        let held = HeldTransport(answersTo: { $0.type == SendMessage.endpoint.frame })
        let (server, alice) = try await server(holding: held) { $0.requestTimeout = .seconds(1) }
        let chat = alice.conversation(group)
        held.hold()
        let sending = try await chat.send(.text("hello"))
        try #require(try await eventually { (server.requests(of: "alice")["send"] ?? 0) >= 2 })
        #expect(try server.messages(in: group).map(\.text) == ["hi", "hello"])
        held.release()
        // The outcome of the first attempt is unknown to the client, so it reports no error.
        #expect(try await sending.waitUntilSent().id == sending.id)
        #expect(try server.messages(in: group).map(\.id).filter { $0 == sending.id }.count == 1)
        #expect(try server.messages(in: group).count == 2)
        #expect(try await eventually { try await alice.texts(in: group).last == "hello" })
        #expect(try await chat.history(from: .remote).messages.map(\.text) == ["hello", "hi"])
        #expect(try await alice.texts(in: group).filter { $0 == "hello" }.count == 1)
        #expect(try await alice.pendingCount() == 0)
        await server.close()
    }

    /// The code of the error that each call ended with; `nil` for a call that returned.
    private final class Results: Sendable {
        let codes = Mutex<[String: ChatError.Code?]>([:])
    }

    @Test("Closing a client ends each call that waits for an answer once, with the error `closed`", .rows(279))
    func callsInFlightEndWhenClosing() async throws {
        let calls: [(name: String, run: @Sendable (ChatClient) async throws -> Void)] = [
            ("history", { _ = try await $0.conversation(.group("swift")).history(from: .remote) }),
            ("fetch", { _ = try await $0.fetchHistory(in: [.group("swift")]) }),
            ("counts", { _ = try await $0.messageCounts(since: [.group("swift"): Timetoken(rawValue: 0)]) }),
            ("refresh", { _ = try await $0.refresh([MessageReference(MessageID(UUID()), in: .group("swift"))]) }),
            ("actions", { _ = try await $0.conversation(.group("swift")).actions() }),
            ("search", { _ = try await $0.conversation(.group("swift")).search("hi", from: .remote) }),
            ("members", { _ = try await $0.conversation(.group("swift")).members() }),
            ("blocks", { _ = try await $0.blockedUsers() }),
        ]
        let isHeld = Atomic<Bool>(false)
        let held = HeldTransport(answersTo: { _ in isHeld.load(ordering: .acquiring) })
        let (server, alice) = try await server(holding: held)
        // Each call gets its result.
        for call in calls { try await call.run(alice) }
        isHeld.store(true, ordering: .releasing)
        held.hold()
        let results = Results()
        for call in calls {
            Task {
                let outcome: ChatError.Code?
                do {
                    try await call.run(alice)
                    outcome = nil
                } catch {
                    outcome = (error as? ChatError)?.code
                }
                results.codes.withLock { $0[call.name] = outcome }
            }
        }
        #expect(try await eventually { held.heldCount >= calls.count })
        #expect(results.codes.withLock { $0.isEmpty })
        await alice.close()
        #expect(try await eventually { results.codes.withLock { $0.count } == calls.count })
        #expect(results.codes.withLock { Set($0.values) } == [.closed])
        // A second answer to the same call would end the process.
        held.release()
        await server.close()
    }
}
