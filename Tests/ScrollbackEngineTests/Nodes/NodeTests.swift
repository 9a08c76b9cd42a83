import Foundation
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

@testable import ScrollbackEngine

/// Several nodes on one store.
@Suite("Nodes")
struct NodeTests {
    private let group = ConversationID.group("g")

    private func makeNodes(_ count: Int = 2) throws -> NodesHarness {
        let nodes = try NodesHarness(count)
        try nodes[0].make(group, members: ["alice", "bob"])
        try nodes.settle()
        return nodes
    }

    @Test("Messages that other nodes store reach the devices of all nodes in one order")
    func messages() throws {
        let nodes = try makeNodes()
        let devices = nodes.nodes.map { SessionHarness($0).device("bob") }
        for number in 1...6 { try nodes[number % 2].send("\(number)", to: group, by: "alice") }
        nodes.bus.deliverAll()
        for device in devices { #expect(try device.texts == (1...6).map { "\($0)" }) }
    }

    @Test("A node delivers what others committed before its own commit, even if no note arrives")
    func lostNotes() throws {
        let nodes = try makeNodes()
        let device = SessionHarness(nodes[1]).device("bob")
        try nodes[0].send("a", to: group, by: "alice")
        try nodes[0].send("b", to: group, by: "alice")
        #expect(try device.texts == [])
        try nodes[1].send("c", to: group, by: "alice")
        #expect(try device.texts == ["a", "b", "c"])
        nodes.bus.deliverAll()
        #expect(try device.texts == ["a", "b", "c"])
    }

    @Test("A node reads from the store what it did not receive")
    func catchingUp() throws {
        let nodes = try makeNodes()
        let device = SessionHarness(nodes[1]).device("bob")
        try nodes[0].send("a", to: group, by: "alice")
        try nodes[1].engine.node?.catchUp()
        #expect(try device.texts == ["a"])
    }

    @Test("A removed member receives nothing of what other nodes store after the removal")
    func removal() throws {
        let nodes = try makeNodes(3)
        let device = SessionHarness(nodes[2]).device("bob")
        try nodes[0].send("a", to: group, by: "alice")
        try nodes[1].leave(group, "bob")
        try nodes[0].send("b", to: group, by: "alice")
        try nodes.settle()
        #expect(try device.texts == ["a"])
    }

    @Test("Members of a channel that becomes private again stay subscribed on every node")
    func privateAgain() throws {
        let nodes = try makeNodes()
        let (town, channel) = (ConversationID.community("town"), ConversationID.community("town", channel: "x"))
        try nodes[0].make(town, members: ["alice", "bob", "carol"])
        try nodes[0].put(channel, .init(isPrivate: true, members: ["alice", "bob"]))
        try nodes.settle()
        let sessions = SessionHarness(nodes[1])
        let (bob, carol) = (sessions.device("bob"), sessions.device("carol"))
        try nodes[0].put(channel, .init(isPrivate: false))
        nodes.bus.deliverAll()
        carol.request(Subscribe([channel]))
        try nodes[0].put(channel, .init(isPrivate: true))
        try nodes[0].send("hello", to: channel, by: "alice")
        nodes.bus.deliverAll()
        #expect(try bob.texts == ["hello"])
        #expect(try carol.texts == [])
    }

    @Test("An event from before a subscription does not end it")
    func subscriptionAfterBan() throws {
        let nodes = try makeNodes()
        let room = ConversationID.room("lobby")
        try nodes[0].put(room)
        let device = SessionHarness(nodes[1]).device("bob")
        try nodes[0].ban("bob", from: room)
        try nodes[0].perform(UnbanUser(conversation: room, user: "bob"), by: EngineHarness.admin)
        // The device subscribes before its node has delivered the ban.
        #expect(try device.error(device.request(Subscribe([room]))) == nil)
        nodes.bus.deliverAll()
        try nodes[0].send("a", to: room, by: "alice")
        nodes.bus.deliverAll()
        #expect(try device.texts == ["a"])
    }

    @Test("Settings apply to the next transaction of every node")
    func settings() throws {
        let nodes = try makeNodes()
        try nodes[0].set { $0.auditDays = 5 }
        #expect(nodes[1].engine.settings.auditDays == 365)
        // No note has arrived. The transaction itself brings the settings.
        try nodes[1].send("a", to: group, by: "alice")
        #expect(nodes[1].engine.settings.auditDays == 5)
    }

    @Test("Revoking tokens and erasing a user closes the user's connections on every node")
    func closing() async throws {
        let nodes = try makeNodes()
        let sessions = SessionHarness(nodes[1])
        let (alice, bob) = (sessions.device("alice"), sessions.device("bob"))
        try nodes[0].perform(RevokeTokens(user: "alice"), by: EngineHarness.admin)
        _ = try await nodes[0].engine.erase("bob", messages: .keep, by: EngineHarness.admin)
        nodes.bus.deliverAll()
        #expect(alice.closes == [.signedOut])
        #expect(bob.closes == [.signedOut])
    }

    @Test("A request from before an erasure that another node began stores nothing")
    func erasure() async throws {
        let nodes = try makeNodes()
        let count = nodes[1].engine.erasureCount
        _ = try await nodes[0].engine.erase("bob", messages: .keep, by: EngineHarness.admin)
        let submission = nodes[1].submission("late")
        let error = refusal {
            _ = try nodes[1].done { completion in
                nodes[1].engine.send(
                    submission, to: group, by: Caller(user: "bob"), since: count, completion: completion)
            }
        }
        #expect(error?.code == .userDeactivated)
    }

    @Test("Times increase over all nodes, and come from the store's clock")
    func times() throws {
        let nodes = try makeNodes()
        var times: [Timetoken] = []
        for number in 0..<10 {
            let result = try nodes[number % 2].send(nodes[number % 2].submission(), to: group, by: "alice")
            times.append(result.timetoken)
        }
        #expect(times == times.sorted())
        #expect(Set(times).count == times.count)
    }

    @Test("A device may present the checkpoint of one node to another")
    func checkpoints() throws {
        let nodes = try makeNodes()
        let first = SessionHarness(nodes[0]).device("bob")
        try nodes[0].send("a", to: group, by: "alice")
        let checkpoint = try #require(try first.checkpoint)
        // This node has delivered nothing yet.
        let second = SessionHarness(nodes[1]).device("bob", "tablet", checkpoint: checkpoint)
        #expect(try second.isWelcome)
        #expect(try second.lostAfter == nil)
        #expect(second.closes == [])
        #expect(try nodes.store.read { try $0.incarnations() }.count == 1)
    }

    @Test("A device that has seen a new incarnation on one node may connect to another that has not delivered it")
    func newIncarnation() throws {
        let nodes = try makeNodes()
        let checkpoints = nodes[0].engine.checkpoints
        _ = SessionHarness(nodes[0])
            .device("bob", checkpoint: "\(checkpoints.lineage).\(checkpoints.checkpoint(of: 999))")
        let first = SessionHarness(nodes[0]).device("bob")
        try nodes[0].send("a", to: group, by: "alice")
        let generation = nodes.store.generation
        let second = SessionHarness(nodes[1]).device("bob", "tablet", checkpoint: try first.checkpoint)
        #expect(try second.isWelcome)
        #expect(try second.lostAfter == nil)
        #expect(nodes.store.generation == generation)
        #expect(try nodes.store.read { try $0.incarnations() }.count == 2)
    }

    @Test("A rollback that a client of one node shows makes the clients of all nodes synchronize again")
    func rollback() throws {
        let nodes = try makeNodes()
        let checkpoints = nodes[0].engine.checkpoints
        let other = SessionHarness(nodes[1]).device("alice")
        let client = SessionHarness(nodes[0])
            .device("bob", checkpoint: "\(checkpoints.lineage).\(checkpoints.checkpoint(of: 999))")
        #expect(client.closes == [.restarting])
        nodes.bus.deliverAll()
        #expect(other.closes == [.restarting])
        #expect(nodes[0].engine.checkpoints.lineage == nodes[1].engine.checkpoints.lineage)
    }

    // MARK: Unreadable notes

    private let brokenNote = Array(#"{"events":[{"event":"left"}]}"#.utf8)

    @Test("A node that can't read a note delivers and writes nothing more, and ends")
    func unreadableNote() throws {
        let nodes = try makeNodes()
        let node = try #require(nodes[1].engine.node)
        let sessions = SessionHarness(nodes[1])
        let device = sessions.device("bob")
        let number = nodes.store.lastCommit + 1
        try nodes.store.write(after: node.position, as: .random()) { _, _ in brokenNote }
        let refusal = refusal { try nodes[1].send("a", to: group, by: "alice") }
        #expect(refusal?.code == .shuttingDown)
        #expect(refusal?.message.contains("can't read the note of commit \(number)") == true)
        #expect(nodes.store.lastCommit == number)
        try nodes.store.write(after: number, as: .random()) { _, _ in
            CommitEffects(events: [.left(group, "bob")]).body
        }
        #expect(throws: CommitOrder.Failure.unreadable(number)) { try node.catchUp() }
        #expect(try device.events.isEmpty)
        #expect(sessions.device("alice").closes == [.restarting])
    }

    @Test("A node that can't read a note of the bus ends with its next poll")
    func unreadableNoteOfBus() throws {
        let nodes = try makeNodes()
        let node = try #require(nodes[1].engine.node)
        #expect(!node.mustPoll)
        let last = try #require(nodes.store.notes(from: node.position).notes.last)
        let note = CommitNote(number: last.number + 1, id: .random(), body: brokenNote)
        node.receive(BusMessage.note(note, after: last.id).bytes)
        #expect(node.mustPoll)
        #expect(throws: CommitOrder.Failure.unreadable(note.number)) { try node.catchUp() }
    }

    // MARK: Lost commits

    /// Whether a node found that the store lost a commit that it has delivered.
    private func findsLoss(_ node: EngineHarness) throws -> Bool {
        do {
            try node.engine.node?.catchUp()
            return false
        } catch CommitOrder.Failure.wentBack {
            return true
        }
    }

    @Test("A node that finds lost commits renews the generation, although the store has as many commits again")
    func lostCommits() throws {
        let nodes = try makeNodes()
        let generation = nodes.store.generation
        let copy = nodes.store.copy()
        let (bob, alice) = (SessionHarness(nodes[0]).device("bob"), SessionHarness(nodes[1]).device("alice"))
        try nodes[0].send("lost", to: group, by: "alice")
        let seen = try #require(try bob.checkpoint)
        nodes.bus.loseAll()
        nodes.store.goBack(to: copy)
        for text in ["a", "b"] { try nodes[1].send(text, to: group, by: "alice") }
        #expect(try findsLoss(nodes[0]))
        #expect(nodes.store.generation != generation)
        // The node can't continue, and does not renew the generation again.
        #expect(try findsLoss(nodes[0]))
        #expect(refusal { try nodes[0].send("c", to: group, by: "alice") }?.code == .shuttingDown)
        nodes.bus.deliverAll()
        #expect(alice.closes == [.restarting])
        let incarnations = try nodes.store.read { try $0.incarnations() }
        #expect(incarnations.count == 2)
        let again = SessionHarness(nodes[1]).device("bob", checkpoint: seen)
        #expect(try again.isWelcome)
        // The lost message can be older than those that were sent after the loss.
        #expect(try again.lostAfter == incarnations[0].newest)
    }

    @Test("A node passes the generation in a note of another node to its store")
    func generationOfNote() throws {
        let nodes = try makeNodes()
        #expect(nodes.store.adopted.isEmpty)
        let renewal = RenewGeneration(generation: Epoch(rawValue: nodes.store.generation))
        try nodes[0].perform(renewal, by: EngineHarness.admin)
        nodes.bus.deliverAll()
        #expect(nodes.store.adopted == [nodes.store.generation])
    }

    @Test("A note over the bus does not hide that the store lost the commit before it")
    func lossBeforeNote() throws {
        let nodes = try makeNodes()
        let generation = nodes.store.generation
        let copy = nodes.store.copy()
        let device = SessionHarness(nodes[0]).device("bob")
        try nodes[0].send("lost", to: group, by: "alice")
        nodes.bus.loseAll()
        nodes.store.goBack(to: copy)
        for text in ["a", "b"] { try nodes[1].send(text, to: group, by: "alice") }
        nodes.bus.deliverAll()
        #expect(try device.texts == ["lost"])
        #expect(nodes[0].engine.node?.mustPoll == true)
        #expect(try findsLoss(nodes[0]))
        #expect(nodes.store.generation != generation)
    }

    @Test("Several nodes that find lost commits at the same time renew the generation once")
    func lossOnSeveralNodes() throws {
        let nodes = try makeNodes(3)
        let copy = nodes.store.copy()
        try nodes[0].send("lost", to: group, by: "alice")
        nodes.bus.deliverAll()
        nodes.store.goBack(to: copy)
        for node in nodes.nodes { #expect(try findsLoss(node)) }
        #expect(try nodes.store.read { try $0.incarnations() }.count == 2)
    }

    @Test("A write that finds lost commits is refused, and renews the generation")
    func lossFoundByWrite() throws {
        let nodes = try makeNodes()
        let generation = nodes.store.generation
        let copy = nodes.store.copy()
        try nodes[0].send("lost", to: group, by: "alice")
        nodes.store.goBack(to: copy)
        #expect(refusal { try nodes[0].send("a", to: group, by: "alice") }?.code == .shuttingDown)
        #expect(nodes.store.generation != generation)
    }

    @Test("The generation is renewed also if the store lost an earlier renewal")
    func lostRenewal() throws {
        let nodes = try makeNodes()
        let first = nodes.store.generation
        let copy = nodes.store.copy()
        let renewal = RenewGeneration(generation: Epoch(rawValue: first))
        let second = try nodes[0].perform(renewal, by: EngineHarness.admin).generation.rawValue
        nodes.bus.loseAll()
        nodes.store.goBack(to: copy)
        #expect(try findsLoss(nodes[0]))
        #expect(![first, second].contains(nodes.store.generation))
    }

    @Test("A node that could not renew the generation goes on until it has")
    func failedRenewal() throws {
        let nodes = try makeNodes()
        let generation = nodes.store.generation
        let copy = nodes.store.copy()
        try nodes[0].send("lost", to: group, by: "alice")
        nodes.store.goBack(to: copy)
        nodes.store.failNextWrite()
        let node = try #require(nodes[0].engine.node)
        #expect(refusal { try node.catchUp() }?.code == .overloaded)
        #expect(nodes.store.generation == generation)
        #expect(try findsLoss(nodes[0]))
        #expect(nodes.store.generation != generation)
    }

    @Test("An act whose record can't be stored is an error")
    func failedRecord() async throws {
        let nodes = try makeNodes()
        nodes.store.failNextWrite()
        await #expect(throws: ChatError.self) {
            try await nodes[0].engine.audit(.issueToken, by: EngineHarness.admin, of: "alice")
        }
        try await nodes[0].engine.audit(.issueToken, by: EngineHarness.admin, of: "alice")
        let acts = try nodes.store.read { try $0.audit(AuditFilter(), below: .max, limit: 2) }
        #expect(acts.map(\.action) == ["issue-token"])
    }

    @Test("Only the leader sends scheduled messages, and takes over what other nodes scheduled")
    func scheduled() async throws {
        let nodes = try makeNodes()
        let time = nodes.clock.now + 60
        try nodes[0].perform(
            ScheduleMessage(conversation: group, submission: nodes[0].submission("later"), sendAt: time),
            by: Caller(user: "alice"))
        nodes.clock.advance(by: 61)
        for node in nodes.nodes { try await node.engine.sendScheduledMessages() }
        #expect(try nodes[0].page(of: group, by: "bob").texts == [])
        nodes[1].engine.lead(true)
        for node in nodes.nodes { try await node.engine.sendScheduledMessages() }
        #expect(try nodes[0].page(of: group, by: "bob").texts == ["later"])
        // A message that another node schedules later wakes up the leader.
        try nodes[0].perform(
            ScheduleMessage(
                conversation: group, submission: nodes[0].submission("again"), sendAt: nodes.clock.now + 60),
            by: Caller(user: "alice"))
        nodes.bus.deliverAll()
        nodes.clock.advance(by: 61)
        try await nodes[1].engine.sendScheduledMessages()
        #expect(try nodes[0].page(of: group, by: "bob").texts == ["again", "later"])
    }

    @Test("A user's daily limits cover what the user adds on all nodes")
    func quotas() throws {
        let nodes = try makeNodes()
        try nodes[0].set { $0.quotas[.groups] = 4 }
        let alice = Caller(user: "alice")
        var created = 0
        for number in 0..<8 {
            let id = ConversationID.group(Identifier(known: "n\(number)"))
            if refusal({ try nodes[number % 2].put(id, by: alice) }) == nil { created += 1 }
        }
        #expect(created == 4)
    }

    @Test("A commit whose note was read before its end is counted once")
    func ownNote() throws {
        let nodes = try makeNodes()
        let node = try #require(nodes[1].engine.node)
        let device = SessionHarness(nodes[1]).device("bob")
        var note = CommitNote(number: 0, id: .random(), body: CommitEffects(events: [.left(group, "bob")]).body)
        try nodes.store.write(after: node.position, as: note.id) { _, turn in
            note.number = turn.commit
            return note.body
        }
        // Another thread reads the note before the log announces the commit.
        try node.catchUp()
        #expect(try device.events.count == 1)
        node.committed(note) { Issue.record("The commit was announced twice.") }
        #expect(node.position == note.number)
    }

    @Test("Settings of a later commit stay")
    func laterSettings() throws {
        let engine = try makeNodes()[0].engine
        var settings = engine.settings
        settings.auditDays = 7
        engine.replaceSettings(settings, of: 90)
        settings.auditDays = 8
        engine.replaceSettings(settings, of: 89)
        #expect(engine.settings.auditDays == 7)
    }

    // MARK: Signals

    /// Lets all nodes know of each other's connections.
    private func announce(_ nodes: NodesHarness) {
        for _ in 0..<2 {
            for node in nodes.nodes { node.engine.announceNode() }
            nodes.bus.deliverAll()
        }
    }

    @Test("Users see who is online on other nodes, and since when they are not")
    func presence() throws {
        let nodes = try makeNodes()
        try nodes[0].set { $0.people.presence = true }
        nodes.bus.deliverAll()
        let alice = SessionHarness(nodes[0]).device("alice")
        let watch = alice.request(FetchPresence(users: ["bob"], isOn: true))
        #expect(try alice.error(watch) == nil)
        let bob = SessionHarness(nodes[1]).sharing("bob")
        announce(nodes)
        nodes[0].engine.notifyWatchersOfOfflineUsers()
        func seen() throws -> [Bool] {
            try alice.events.compactMap { event in
                if case .presence("bob", let presence) = event { return presence.isOnline }
                return nil
            }
        }
        #expect(try seen() == [true])
        let list = try nodes[0].engine.presence(of: ["bob"], by: Caller(user: "alice"))
        #expect(list.entries.map(\.presence.isOnline) == [true])
        bob.session.disconnected()
        nodes.clock.advance(by: 6)
        nodes[1].engine.notifyWatchersOfOfflineUsers()
        nodes.bus.deliverAll()
        nodes[0].engine.notifyWatchersOfOfflineUsers()
        #expect(try seen() == [true, false])
    }

    @Test("Typing reaches the devices of other nodes, except those of users who blocked the typing user")
    func typing() throws {
        let nodes = try makeNodes()
        try nodes[0].join(group, "carol")
        try nodes[0].perform(BlockUser(user: "alice"), by: Caller(user: "carol"))
        nodes.bus.deliverAll()
        let sessions = SessionHarness(nodes[1])
        let (bob, carol) = (sessions.device("bob"), sessions.device("carol"))
        try nodes[0].engine.signalTyping(in: group, isTyping: true, by: Caller(user: "alice"))
        nodes.bus.deliverAll()
        func sawTyping(_ device: Device) throws -> Bool {
            try device.events.contains { event in
                if case .typing = event { return true }
                return false
            }
        }
        #expect(try sawTyping(bob))
        #expect(try !sawTyping(carol))
    }

    @Test("A device that connects to another node replaces its earlier connection, but not a new one")
    func replacedDevice() throws {
        let nodes = try makeNodes()
        let first = SessionHarness(nodes[0]).device("bob", "phone")
        let tablet = SessionHarness(nodes[0]).device("bob", "tablet")
        nodes.clock.advance(by: 60)
        let second = SessionHarness(nodes[1]).device("bob", "phone")
        nodes.bus.deliverAll()
        #expect(first.closes == [.replaced])
        #expect(tablet.closes == [])
        // The signal of the first connection arrives late.
        _ = SessionHarness(nodes[0]).device("bob", "phone")
        nodes.bus.deliverAll()
        #expect(second.closes == [])
    }

    @Test("A user who is in the foreground on another node gets no push")
    func foreground() throws {
        let nodes = try makeNodes()
        let bob = SessionHarness(nodes[1]).device("bob")
        announce(nodes)
        #expect(!nodes[0].engine.isAway("bob"))
        bob.request(SetActivity(isActive: false))
        nodes.bus.deliverAll()
        #expect(nodes[0].engine.isAway("bob"))
    }

    @Test("An administrator closes the connections of a user to all nodes")
    func administrator() throws {
        let nodes = try makeNodes()
        let bob = SessionHarness(nodes[1]).device("bob")
        _ = try nodes[0].perform(CloseConnections(user: "bob"), by: EngineHarness.admin)
        nodes.bus.deliverAll()
        #expect(bob.closes == [.restarting])
    }
}
