import ScrollbackEngine
import ScrollbackModel
import TestSupport
import Testing

/// The users who are connected to other nodes.
@Suite("The directory of connected users")
struct NodeDirectoryTests {
    private let here = NodeID(bits: 1)
    private let there = NodeID(bits: 2)
    private let online = ConnectedUser(isInForeground: true, isOnline: true)
    private let background = ConnectedUser(isInForeground: false, isOnline: false)

    @Test("Only changes are sent, each with the next number")
    func changes() {
        var directory = NodeDirectory(own: here)
        #expect(directory.set("alice", nil) == nil)
        #expect(directory.set("alice", online) == .change(from: here, number: 1, "alice", online))
        #expect(directory.set("alice", online) == nil)
        #expect(directory.set("alice", nil) == .change(from: here, number: 2, "alice", nil))
        #expect(directory.beat == .beat(from: here, number: 2))
    }

    @Test("A new node requests all users of the others, and then follows their changes")
    func following() {
        var (first, second) = (NodeDirectory(own: here), NodeDirectory(own: there))
        _ = first.set("alice", online)
        _ = first.set("bob", background)
        let request = second.receive(first.beat, now: 0).replies
        #expect(request == [.request(to: here)])
        #expect(first.receive(.request(to: there), now: 0).replies.isEmpty)
        for part in first.receive(request[0], now: 0).replies {
            #expect(second.receive(part, now: 0).changed == ["alice"])
        }
        #expect(second.receive(first.beat, now: 1).replies.isEmpty)
        #expect(second.isOnlineElsewhere("alice") && second.isInForegroundElsewhere("alice"))
        #expect(!second.isOnlineElsewhere("bob") && !second.isInForegroundElsewhere("bob"))
        let change = NodeDirectory.Message.change(from: here, number: 3, "alice", nil)
        #expect(first.set("alice", nil) == change)
        #expect(second.receive(change, now: 1).changed == ["alice"])
        #expect(second.receive(change, now: 1).changed == [])
        #expect(!second.isOnlineElsewhere("alice"))
    }

    @Test("A missed change is noticed with the next beat")
    func missedChange() {
        var (first, second) = (NodeDirectory(own: here), NodeDirectory(own: there))
        for part in first.receive(.request(to: here), now: 0).replies { _ = second.receive(part, now: 0) }
        _ = first.set("alice", online)
        let late = NodeDirectory.Message.change(from: here, number: 2, "bob", online)
        #expect(first.set("bob", online) == late)
        #expect(second.receive(late, now: 0).changed == [])
        #expect(!second.isOnlineElsewhere("bob"))
        #expect(second.receive(first.beat, now: 1).replies == [.request(to: here)])
        for part in first.receive(.request(to: here), now: 1).replies {
            #expect(second.receive(part, now: 1).changed == ["alice", "bob"])
        }
        #expect(second.receive(first.beat, now: 2).replies.isEmpty)
    }

    @Test("The users of a node that is silent for ten seconds count as offline")
    func silence() {
        var (first, second) = (NodeDirectory(own: here), NodeDirectory(own: there))
        _ = first.set("alice", online)
        for part in first.receive(.request(to: here), now: 0).replies { _ = second.receive(part, now: 0) }
        #expect(second.removeSilentNodes(now: NodeDirectory.lifetime) == [])
        #expect(second.removeSilentNodes(now: NodeDirectory.lifetime + 1) == ["alice"])
        #expect(!second.isOnlineElsewhere("alice"))
        // It comes back.
        #expect(second.receive(first.beat, now: 20).replies == [.request(to: here)])
    }

    @Test("Many users are sent in several messages, and are known when the last one arrives")
    func parts() {
        var (first, second) = (NodeDirectory(own: here), NodeDirectory(own: there))
        for number in 0..<4_500 { _ = first.set(UserID(known: "u\(number)"), online) }
        let messages = first.receive(.request(to: here), now: 0).replies
        #expect(messages.count == 3)
        #expect(second.receive(messages[0], now: 0).changed.isEmpty)
        #expect(!second.isOnlineElsewhere("u0"))
        #expect(second.receive(messages[2], now: 0).changed.isEmpty)
        _ = second.receive(messages[0], now: 0)
        _ = second.receive(messages[1], now: 0)
        #expect(second.receive(messages[2], now: 0).changed.count == 4_500)
        #expect(second.isOnlineElsewhere("u4499"))
    }

    @Test("After lost, repeated and reordered messages, all nodes know the same", arguments: Seeds.range(300))
    func histories(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let users = (0..<6).map { UserID(known: "u\($0)") }
        var directories = (1...3).map { NodeDirectory(own: NodeID(bits: UInt64($0))) }
        var truth: [[UserID: ConnectedUser]] = Array(repeating: [:], count: 3)
        var waiting: [(target: Int, message: NodeDirectory.Message)] = []
        func send(_ message: NodeDirectory.Message, from index: Int) {
            for target in 0..<3 where target != index { waiting.append((target, message)) }
        }
        func deliver(_ target: Int, _ message: NodeDirectory.Message) {
            for reply in directories[target].receive(message, now: 0).replies { send(reply, from: target) }
        }
        for _ in 0..<200 {
            let index = Int.random(in: 0..<3, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0:
                let user = users[Int.random(in: 0..<users.count, using: &generator)]
                let connected: ConnectedUser? =
                    Bool.random(using: &generator)
                    ? nil
                    : ConnectedUser(
                        isInForeground: Bool.random(using: &generator), isOnline: Bool.random(using: &generator))
                truth[index][user] = connected
                if let message = directories[index].set(user, connected) { send(message, from: index) }
            case 1: send(directories[index].beat, from: index)
            default:
                guard !waiting.isEmpty else { continue }
                let next = Int.random(in: 0..<min(3, waiting.count), using: &generator)
                let (target, message) = waiting[next]
                if Int.random(in: 0..<5, using: &generator) != 0 { waiting.remove(at: next) }
                if Int.random(in: 0..<5, using: &generator) != 0 { deliver(target, message) }
            }
        }
        // Nothing is lost any more.
        waiting = []
        for _ in 0..<3 {
            for index in 0..<3 { send(directories[index].beat, from: index) }
            while !waiting.isEmpty {
                let (target, message) = waiting.removeFirst()
                deliver(target, message)
            }
        }
        for index in 0..<3 {
            for user in users {
                let others = (0..<3).filter { $0 != index }.compactMap { truth[$0][user] }
                #expect(directories[index].isOnlineElsewhere(user) == others.contains { $0.isOnline })
                #expect(directories[index].isInForegroundElsewhere(user) == others.contains { $0.isInForeground })
            }
        }
    }

    @Test("Nodes are listed by name until they stop or are silent for ten seconds")
    func infos() {
        var directory = NodeDirectory(own: here)
        func info(_ bits: UInt64, _ name: String) -> NodeInfo {
            NodeInfo(id: NodeID(bits: bits), name: name, version: "1", startedAt: 9)
        }
        #expect(!directory.hasOthers)
        for (bits, name) in [(1, "own"), (2, "b"), (3, "a")] { directory.receive(info(UInt64(bits), name), now: 0) }
        #expect(directory.hasOthers && directory.infos.map(\.name) == ["a", "b"])
        directory.receive(info(2, "c"), now: 9)
        _ = directory.removeSilentNodes(now: 11)
        #expect(directory.infos.map(\.name) == ["c"])
        #expect(directory.remove(there) == [] && !directory.hasOthers)
    }
}
