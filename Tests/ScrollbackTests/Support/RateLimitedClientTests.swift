import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@Suite("Clients of a server with rate limits")
struct RateLimitedClientTests {
    private func server(_ cost: CostClass, _ perSecond: Double, burst: Double) throws -> TestServer {
        try TestServer(
            store: MemoryStore(generation: 1),
            limiter: RateLimiter([cost: RateLimiter.Rate(perSecond: perSecond, burst: burst)]))
    }

    @Test("A client above the limit of changes sends each setting, and does not repeat refused ones early")
    func settings() async throws {
        let server = try server(.write, 20, burst: 5)
        let groups = try (0..<20).map { try ConversationID("group:g\($0)") }
        for number in groups.indices { try await server.makeGroup(Identifier("g\(number)"), members: ["alice"]) }
        let chat = try await server.client("alice")
        for group in groups { try await chat.conversation(group).markUnread() }
        #expect(
            try await eventually {
                try server.engine.store.read { try $0.memberships(of: "alice").count { $0.isMarkedUnread } } == 20
            })
        // Each refusal ends a round of requests. Without the pause, each answer would repeat all refused requests.
        let sent = server.requests(of: "alice")["markUnread"] ?? 0
        #expect((groups.count...groups.count * 4).contains(sent), "\(sent) requests")
        await server.close()
    }

    @Test("A client whose settings were refused sends none of them before retryAfter")
    func pauseAfterRefusal() async throws {
        // Another setting would be accepted after 100 seconds.
        let server = try server(.write, 0.01, burst: 5)
        let groups = try (0..<20).map { try ConversationID("group:g\($0)") }
        for number in groups.indices { try await server.makeGroup(Identifier("g\(number)"), members: ["alice"]) }
        let chat = try await server.client("alice")
        for group in groups { try await chat.conversation(group).markUnread() }
        #expect(try await eventually { server.requests(of: "alice")["markUnread"] ?? 0 > 5 })
        for number in 0..<60 { try await chat.conversation(groups[number % 20]).setPinned(number % 40 < 20) }
        // A request on the same connection: its answer follows the requests of the settings.
        _ = try await chat.blockedUsers()
        // The 16 requests of the first round, and one more for each of the 5 that were accepted.
        let requests = server.requests(of: "alice")
        let sent = requests.filter { ["markUnread", "settings"].contains($0.key) }.values.reduce(0, +)
        #expect((6...21).contains(sent), "\(requests)")
        await server.close()
    }

    @Test("A client above the limit deletes all messages, and repeats a refused deletion once")
    func deletions() async throws {
        let server = try server(.write, 10, burst: 80)
        try await server.makeGroup("g", members: ["alice"])
        let chat = try await server.client("alice")
        let conversation = chat.conversation(.group("g"))
        var ids: [MessageID] = []
        for number in 0..<150 {
            let handle = try await conversation.send(.text("message \(number)"))
            _ = try await handle.waitUntilSent()
            ids.append(handle.id)
        }
        // The client sends the second deletion as soon as the first one is answered.
        var deletions: [SendHandle] = []
        for start in [0, 75] {
            deletions.append(try await conversation.delete(Array(ids[start..<start + 75]), for: .everyone))
        }
        for deletion in deletions { try await deletion.waitForCompletion() }
        let left = try server.messages(in: .group("g"))
        #expect(left.count == 150 && left.allSatisfy(\.isDeleted))
        // The second deletion is refused, because few tokens are left: it needs seven seconds after the first one.
        let sent = server.requests(of: "alice")["delete"] ?? 0
        #expect(sent == 3, "\(sent) requests")
        await server.close()
    }

    @Test("A subscription that the server has no time for waits, and the app sees no error")
    func subscriptions() async throws {
        let server = try server(.read, 4, burst: 8)
        try await server.makeRoom("lobby")
        let chat = try await server.client("alice")
        // Requests that use up the limit.
        for _ in 0..<8 { _ = try? await chat.blockedUsers() }
        let subscription = chat.conversation(.room("lobby")).subscribe()
        for await state in subscription.states {
            if case .refused(let error) = state { Issue.record("The app sees \(error).") }
            if state == .live { break }
        }
        await server.close()
    }
}
