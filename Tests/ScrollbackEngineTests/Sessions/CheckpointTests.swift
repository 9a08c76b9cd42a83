import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

/// A store that goes back to an earlier state is found by the checkpoints of clients.
@Suite("Checkpoints")
struct CheckpointTests {
    private let group = ConversationID.group("g")
    private let key = Checkpoints.makeKey()

    /// Starts a server on a store.
    private func start(
        _ store: any MessageStore, rolledBack: @escaping @Sendable (Checkpoints.Rollback) -> Void = { _ in }
    ) throws -> EngineHarness {
        try EngineHarness(store: store, checkpointKey: key, rolledBack: rolledBack)
    }

    private func original() throws -> (store: MemoryStore, server: EngineHarness) {
        let store = MemoryStore(generation: 1)
        let server = try start(store)
        try server.make(group, members: ["alice", "bob"])
        return (store, server)
    }

    @Test("A start of the server begins an incarnation before its first other commit")
    func incarnations() throws {
        let store = MemoryStore(generation: 1)
        let first = try start(store)
        try first.make(group, members: ["alice"])
        let last = store.lastCommit
        _ = try start(store)
        let rows = try store.read { try $0.incarnations() }
        #expect(rows.map(\.firstCommit) == [1, last + 1])
        #expect(Set(rows.map(\.id)).count == 2)
        #expect(rows.map(\.generation) == [1, 1])
        #expect(rows.map(\.lostAfter) == [nil, nil])
    }

    @Test("Two copies of a store that both run have different incarnations")
    func copies() throws {
        let (store, _) = try original()
        let copies = [store.copy(), store.copy()]
        for copy in copies { _ = try start(copy) }
        let ids = try copies.map { copy in try copy.read { try $0.incarnations().last?.id } }
        #expect(ids[0] != ids[1])
    }

    @Test("Every event of stored data, and every answer, carries a checkpoint that covers it")
    func coverage() throws {
        let (store, server) = try original()
        let sessions = SessionHarness(server)
        let bob = sessions.device("bob")
        #expect(try bob.checkpoint == nil)
        func isCovered(_ what: String) throws {
            let checkpoint = try #require(try bob.checkpoint, "\(what) has no checkpoint")
            #expect(try server.engine.checkpoints.check(checkpoint).finding == .consistent)
            #expect(checkpoint.contains(".\(store.lastCommit)."), "after \(what)")
            bob.transport.forget(keeping: 1)
        }
        let seq = try server.send(to: group, by: "alice")
        try isCovered("a message")
        let engine = server.engine
        _ = try server.done {
            engine.putUser("bob", ProfileChange(name: "Bob"), by: Caller(user: "bob"), completion: $0)
        }
        try isCovered("a profile")
        _ = try server.done {
            engine.change(
                group, .settings(isMuted: true, isPinned: nil), by: Caller(user: "bob"), completion: $0)
        }
        try isCovered("a setting")
        let id = try #require(try server.store.read { try $0.message(at: seq, in: 1) }?.id)
        let deleted: Message = try server.done {
            engine.delete(id, in: group, by: EngineHarness.admin, completion: $0)
        }
        #expect(deleted.isDeleted)
        try isCovered("a recall")
        try server.send("later", to: group, by: "alice")
        bob.transport.forget(keeping: 1)
        bob.request(SyncConversations.window(cursor: nil, limit: 10))
        try isCovered("a window")
        bob.request(SendMessage(conversation: group, submission: server.submission("own")))
        try isCovered("an acknowledgement")
    }

    @Test("A client that has seen no more than the store has is welcome, whatever incarnation it saw")
    func consistent() throws {
        let (store, server) = try original()
        let bob = SessionHarness(server).device("bob")
        try server.send(to: group, by: "alice")
        let first = try #require(try bob.checkpoint)
        try server.send(to: group, by: "alice")
        let second = try #require(try bob.checkpoint)
        let restarted = try start(store)
        for checkpoint in [first, second] {
            let device = SessionHarness(restarted).device("bob", checkpoint: checkpoint)
            #expect(try device.isWelcome && device.closes.isEmpty)
            #expect(try device.lostAfter == nil)
        }
        #expect(store.generation == 1)
    }

    @Test("A copy that is put back gets one new generation, and every client learns what may be lost")
    func putBack() throws {
        let (store, server) = try original()
        let devices = SessionHarness(server)
        let (alice, bob, carol) = (devices.device("alice"), devices.device("bob"), devices.device("bob", "tablet"))
        try server.send("kept", to: group, by: "alice")
        let old = try #require(try carol.checkpoint)
        let copy = store.copy()
        try server.send("lost", to: group, by: "alice")
        let newest = try #require(try bob.checkpoint)
        try server.send("lost too", to: group, by: "alice")

        let found = Mutex<[Checkpoints.Rollback]>([])
        let restored = try start(copy) { rollback in found.withLock { $0.append(rollback) } }
        let before = try #require(try copy.read { try $0.incarnations().last?.newest })
        let sessions = SessionHarness(restored)
        let connected = sessions.device("alice", checkpoint: old)
        #expect(try connected.isWelcome)
        // Two clients are ahead of the store at the same time, but only the first one renews the generation.
        guard case .rolledBack(let other) = try restored.engine.checkpoints.check(try alice.checkpoint).finding else {
            Issue.record("Alice's device is not ahead.")
            return
        }
        let ahead = sessions.device("bob", checkpoint: newest)
        #expect(try !ahead.isWelcome)
        #expect(ahead.closes == [.restarting])
        #expect(connected.closes == [.restarting])
        _ = try restored.done { restored.engine.recover(from: other, completion: $0) }
        #expect(found.withLock { $0.count } == 1)
        let generation = copy.generation
        #expect(generation != 1)
        // All of them now belong to the earlier generation.
        for checkpoint in [newest, old] {
            let device = sessions.device("bob", checkpoint: checkpoint)
            #expect(try device.isWelcome && device.closes.isEmpty)
            #expect(try device.lostAfter == before)
        }
        #expect(copy.generation == generation)
        // A client with a checkpoint of the new generation has nothing to recover.
        let fresh = sessions.device("alice")
        // The harness of the other server has used its first IDs.
        _ = try restored.send(restored.submission("new", id: MessageID(high: 9, low: 9)), to: group, by: "bob")
        let device = sessions.device("alice", "second", checkpoint: try fresh.checkpoint)
        #expect(try device.lostAfter == nil && device.isWelcome)
    }

    @Test("A commit with the same number in another incarnation does not hide that the store went back")
    func sameNumbers() throws {
        let (store, server) = try original()
        let bob = SessionHarness(server).device("bob")
        let copy = store.copy()
        try server.send("lost", to: group, by: "alice")
        let seen = try #require(try bob.checkpoint)
        let restored = try start(copy)
        for _ in 0..<5 { try restored.send("other", to: group, by: "alice") }
        #expect(SessionHarness(restored).device("bob", checkpoint: seen).closes == [.restarting])
        #expect(copy.generation != 1)
    }

    @Test("A store that went back past the start of an incarnation, or past a new generation, is found once")
    func earlierIncarnations() throws {
        let (store, _) = try original()
        let copy = store.copy()
        let second = try start(store)
        let bob = SessionHarness(second).device("bob")
        try second.send("lost", to: group, by: "alice")
        let seen = try #require(try bob.checkpoint)
        let restored = try start(copy)
        let snapshot = copy.copy()
        _ = SessionHarness(restored).device("bob", checkpoint: seen)
        let generation = copy.generation
        #expect(generation != 1)
        let renewed = SessionHarness(restored).device("bob")
        try restored.send("new", to: group, by: "alice")
        let newer = try #require(try renewed.checkpoint)
        let again = try start(snapshot)
        #expect(SessionHarness(again).device("bob", checkpoint: newer).closes == [.restarting])
        let last = snapshot.generation
        #expect(![1, generation].contains(last))
        // Otherwise, every connection of this client would end all others.
        let lost = SessionHarness(again).device("bob", checkpoint: newer)
        #expect(try lost.isWelcome && lost.closes.isEmpty)
        #expect(try lost.lostAfter != nil)
        #expect(snapshot.generation == last)
    }

    @Test(
        "A checkpoint that the server did not issue is ignored",
        arguments: ["", "a.b.c", "1", "x.9223372036854775807.AAAAAAAAAAA", "..", "é.1.AAAA"])
    func invalid(_ text: String) throws {
        let (store, server) = try original()
        #expect(try SessionHarness(server).device("bob", checkpoint: text).isWelcome)
        #expect(store.generation == 1)
    }

    @Test("A client can't raise the commit number, or change the incarnation, of its checkpoint")
    func forged() throws {
        let (store, server) = try original()
        let bob = SessionHarness(server).device("bob")
        try server.send(to: group, by: "alice")
        let parts = try #require(try bob.checkpoint).split(separator: ".").map(String.init)
        let other = String(parts[0].reversed())
        for checkpoint in ["\(parts[0]).99999.\(parts[2])", "\(other).\(parts[1]).\(parts[2])"] {
            let device = SessionHarness(server).device("bob", checkpoint: checkpoint)
            #expect(try device.isWelcome && device.lostAfter == nil)
        }
        #expect(store.generation == 1)
    }

    @Test("A machine that is resumed in its own incarnation is found if it has fewer commits")
    func resumedMachine() throws {
        let (store, server) = try original()
        let bob = SessionHarness(server).device("bob")
        try server.send(to: group, by: "alice")
        let seen = try #require(try bob.checkpoint)
        #expect(try server.engine.checkpoints.check(seen).finding == .consistent)
        let parts = seen.split(separator: ".")
        let next = server.engine.checkpoints.checkpoint(of: store.lastCommit + 1)
        guard case .rolledBack = try server.engine.checkpoints.check("\(parts[0]).\(next)").finding else {
            Issue.record("A commit that the store does not have is accepted.")
            return
        }
    }

    @Test("A jump of the system clock begins an incarnation of the same generation, and connections start again")
    func clockJump() throws {
        let (store, server) = try original()
        let sessions = SessionHarness(server)
        let bob = sessions.device("bob")
        try server.send(to: group, by: "alice")
        let seen = try #require(try bob.checkpoint)
        let date = server.clock.now
        let engine = server.engine
        engine.checkClocks(date: date, uptime: .zero)
        engine.checkClocks(date: date + 60, uptime: .seconds(61))
        #expect(bob.closes.isEmpty)
        #expect(try store.read { try $0.incarnations().count } == 1)
        engine.checkClocks(date: date + 3_600, uptime: .seconds(62))
        #expect(bob.closes == [.restarting])
        let rows = try store.read { try $0.incarnations() }
        #expect(rows.count == 2 && rows.map(\.generation) == [1, 1])
        // The clocks agree again.
        engine.checkClocks(date: date + 3_610, uptime: .seconds(72))
        #expect(try store.read { try $0.incarnations().count } == 2)
        #expect(try sessions.device("bob", checkpoint: seen).isWelcome)
        #expect(store.generation == 1)
    }

    // MARK: Connections during a renewal

    /// A client that has seen a commit that the store does not have.
    private func rollback(_ server: EngineHarness) throws -> Checkpoints.Rollback {
        let checkpoints = server.engine.checkpoints
        let text = "\(checkpoints.lineage).\(checkpoints.checkpoint(of: 999))"
        guard case .rolledBack(let rollback) = try checkpoints.check(text).finding else {
            throw ChatError(.internalError, "The client is not ahead.")
        }
        return rollback
    }

    @Test("A request whose answer was computed before a renewal gets no answer after it")
    func lateAnswer() throws {
        let (_, server) = try original()
        let sessions = SessionHarness(server)
        let bob = sessions.device("bob")
        sessions.offload.hold()
        let ref = bob.request(SyncConversations.window(cursor: nil, limit: 10))
        let rollback = try rollback(server)
        _ = try server.done { server.engine.recover(from: rollback, completion: $0) }
        #expect(bob.closes == [.restarting])
        let count = bob.transport.bytes.count
        sessions.offload.release()
        #expect(bob.transport.bytes.count == count)
        #expect(try bob.error(ref) == nil)
    }

    @Test("A connection gets no answer after the generation changed, even before its server has adopted the change")
    func earlyGeneration() throws {
        let (store, server) = try original()
        let bob = SessionHarness(server).device("bob")
        // As between the commit of a renewal and the delivery of its event.
        try store.renewGeneration(at: server.clock.now)
        let count = bob.transport.bytes.count
        bob.request(SyncConversations.window(cursor: nil, limit: 10))
        #expect(bob.closes == [.restarting])
        #expect(bob.transport.bytes.count == count)
    }

    @Test("A connection that opens during a renewal is closed, so that its client learns what may be lost")
    func openingDuringRenewal() throws {
        let (_, server) = try original()
        let sessions = SessionHarness(server)
        let first = sessions.device("bob")
        try server.send(to: group, by: "alice")
        let seen = try #require(try first.checkpoint)
        let rollback = try rollback(server)
        let second = sessions.connect()
        second.transport.atVerified { server.engine.recover(from: rollback) { _ in } }
        second.hello("bob", "tablet", checkpoint: seen)
        #expect(second.closes == [.restarting])
        #expect(sessions.device("bob", "tablet", checkpoint: seen).closes == [])
        #expect(try sessions.device("bob", "tablet", checkpoint: seen).lostAfter != nil)
    }

    @Test("A connection that opens while an incarnation is adopted gets no checkpoints or heads of the last one")
    func framesDuringAdoption() throws {
        let (store, channel) = (MemoryStore(generation: 1), ConversationID.community("town", channel: "x"))
        let during = Mutex<(@Sendable () -> Void)?>(nil)
        let server = try start(store) { _ in during.withLock { $0 }?() }
        try server.make(.community("town"), members: ["alice", "bob"])
        try server.put(channel)
        try server.send(to: channel, by: "alice")
        let sessions = SessionHarness(server)
        let bob = Mutex<Device?>(nil)
        during.withLock {
            $0 = {
                let device = sessions.device("bob")
                server.engine.hub.announceChannelHeads()
                bob.withLock { $0 = device }
            }
        }
        let rollback = try rollback(server)
        _ = try server.done { server.engine.recover(from: rollback, completion: $0) }
        let device = try #require(bob.withLock { $0 })
        #expect(try device.isWelcome && device.closes.isEmpty)
        #expect(try device.events.isEmpty)
    }

    @Test("An operator can renew the generation of a store that is not running")
    func renewal() throws {
        let (store, server) = try original()
        let bob = SessionHarness(server).device("bob")
        try server.send(to: group, by: "alice")
        let seen = try #require(try bob.checkpoint)
        try store.renewGeneration(at: server.clock.now)
        #expect(store.generation != 1)
        let device = SessionHarness(try start(store)).device("bob", checkpoint: seen)
        #expect(try device.isWelcome && device.lostAfter != nil)
    }
}
