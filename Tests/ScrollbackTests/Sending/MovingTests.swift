import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

/// Clients whose server asks them to connect to another one.
@Suite("Clients that move to another server", .timeLimit(.minutes(10)))
struct MovingTests {
    private let group = ConversationID.group("swift")

    private func hellos(_ server: TestServer, _ user: UserID) -> Int { server.requests(of: user)["hello"] ?? 0 }

    @Test("A client that moves stays shown as online, and receives everything")
    func quietMove() async throws {
        let scene = try await scene()
        let states = Mutex<[ConnectionState]>([])
        let observer = Task { [phone = scene.phone] in
            for await state in phone.connection { states.withLock { $0.append(state) } }
        }
        try #require(try await eventually { states.withLock { !$0.isEmpty } })
        let before = hellos(scene.server, "bob")
        scene.server.askToMove("bob", within: 0)
        try await scene.alice.sendMessages(1...5, in: group)
        #expect(try await eventually { hellos(scene.server, "bob") == before + 2 })
        try await scene.alice.sendMessages(6...9, in: group)
        for device in scene.devices {
            try await device.ready()
            #expect(try await eventually { try await device.texts(in: group) == (1...9).map { "\($0)" } })
        }
        // A busy machine may take over a second for the move, which is then shown as connecting. The observer may be
        // behind the device.
        #expect(try await eventually { states.withLock { $0.last } == .online })
        let seen = states.withLock { $0 }
        #expect(!seen.contains { if case .waiting = $0 { true } else { false } }, "\(seen)")
        observer.cancel()
        await scene.server.close()
    }

    @Test("A client waits for the answers to its requests before it moves")
    func awaitsAnswers() async throws {
        let held = HeldTransport(answersTo: { $0.type == GetHistory.endpoint.frame })
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice") { held.use(in: &$0) }
        try await alice.ready()
        held.hold()
        async let page = alice.conversation(group).history(from: .remote)
        try #require(try await eventually { held.heldCount == 1 })
        let before = hellos(server, "alice")
        server.askToMove("alice", within: 3_600_000)
        // The answer arrives after the request to move.
        _ = try await alice.blockedUsers()
        // The moment to move is almost certainly over, but not the hour in which the client must move.
        server.advance(by: 3_590)
        _ = try await alice.blockedUsers()
        #expect(hellos(server, "alice") == before)
        held.release()
        #expect(try await page.messages.isEmpty)
        let hasMoved = try await eventually {
            server.advance(by: 100)
            _ = try await alice.blockedUsers()
            return hellos(server, "alice") > before
        }
        #expect(hasMoved && hellos(server, "alice") == before + 1)
        await server.close()
    }

    @Test("Messages that are sent while a client moves again and again are stored once each, in order")
    func sendingWhileMoving() async throws {
        let scene = try await scene()
        let mover = Task { [server = scene.server] in
            for step in 0..<40 {
                // A client moves at most once a second.
                server.advance(by: 1)
                for user in ["alice", "bob"] as [UserID] { server.askToMove(user, within: step % 4 * 10) }
                try await Task.sleep(for: .milliseconds(15))
            }
        }
        let numbers = (1...100).map { "\($0)" }
        try await scene.alice.sendMessages(1...100, in: group)
        try await mover.value
        #expect(try scene.server.messages(in: group).map(\.text) == numbers)
        for device in scene.devices {
            #expect(try await eventually { try await device.texts(in: group) == numbers })
        }
        await scene.server.close()
    }
}
