import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSync
import ScrollbackTesting
import TestSupport
import Testing

/// Random scenarios in which the server's store goes back to an earlier state without notice, as a snapshot of a volume
/// that is put back.
@Suite("Stores that go back")
struct RollbackScenarioTests {
    @Test("After the store went back, every device ends whole and equal to the server and to a new device")
    func devicesConverge() async throws {
        try await Seeds.each(per: 4, Self.failure)
    }

    @Test("A device that stored a lost message finds the rollback, drops it and sends its user's own messages again")
    func oneRollback() async throws {
        let group = ConversationID.group("swift")
        let store = MemoryStore(generation: 1)
        let server = try TestServer(users: ["alice", "bob", "carol"], store: store)
        try await server.makeGroup("swift", members: ["alice", "bob", "carol"])
        let folder = try TemporaryFolder()
        let alice = try await server.client("alice", store: .directory(folder.url))
        var carol = try await server.client("carol")
        try await alice.ready()
        try await carol.sendMessages(1...3, in: group)
        let copy = store.copy()
        try await carol.sendMessages(4...6, in: group)
        try await alice.sendMessages(7...7, in: group)
        #expect(try await eventually { try await texts(alice, in: group) == (1...7).map(String.init) })
        // The process ends. What a new one presents is only what is stored.
        await alice.close()
        await carol.close()

        try server.restart(with: copy)
        carol = try await server.client("carol")
        try await carol.sendMessages(14...18, in: group)
        #expect(copy.generation == 1)
        let again = try await server.client("alice", store: .directory(folder.url))
        let everything = ["1", "2", "3", "14", "15", "16", "17", "18", "7"]
        for client in [again, carol] {
            var shown: [String] = []
            let isEqual = try await eventually {
                client.retryConnection()
                shown = try await texts(client, in: group)
                return shown == everything
            }
            #expect(isEqual, "\(client.user) shows \(shown)")
        }
        #expect(copy.generation != 1)
        await server.close()
    }

    @Test("A lost message that is older than a day fails, and is sent again if the user retries it")
    func oldMessage() async throws {
        let group = ConversationID.group("swift")
        let store = MemoryStore(generation: 1)
        let server = try TestServer(users: ["alice"], store: store)
        try await server.makeGroup("swift", members: ["alice"])
        let alice = try await server.client("alice")
        try await alice.ready()
        let copy = store.copy()
        let message = try await alice.sendMessages(1...1, in: group)[0]
        server.advance(by: 25 * 60 * 60)
        try server.restart(with: copy)
        let hasFailed = try await eventually {
            alice.retryConnection()
            guard case .failed(let failure)? = try await alice.core.store.read({ try $0.pending(message.id) })?.state
            else { return false }
            return failure.error.code == .expired
        }
        #expect(hasFailed)
        #expect(try server.messages(in: group).isEmpty)
        try await alice.conversation(group).sendHandle(for: message.id).retry()
        #expect(try await eventually { try server.messages(in: group).map(\.id) == [message.id] })
        await server.close()
    }

    private func texts(_ client: ChatClient, in id: ConversationID) async throws -> [String] {
        let page = try await client.conversation(id).history(.earliest, limit: 100, sort: .oldestFirst)
        return page.messages.compactMap(\.text)
    }

    private static func failure(of seed: UInt64) async throws -> String? {
        var scenario = try await RollbackScenario(seed: seed)
        try await scenario.run()
        let violations = try await scenario.violationsAtRest()
        await scenario.server.close()
        guard !violations.isEmpty else { return nil }
        return """
            \(violations.joined(separator: "\n"))
            replay with SCROLLBACK_SEED=\(seed) swift test --filter RollbackScenarioTests
            \(scenario.steps.joined(separator: "\n"))
            """
    }
}

/// Two users with one device each change a group and their direct conversation. The store is copied at a random moment
/// and put back at a later one.
private struct RollbackScenario {
    let server: TestServer
    var steps: [String] = []
    private var store: MemoryStore
    private var generator: SplitMix64
    private var devices: [ChatClient] = []
    private var offline: Set<UserID> = []
    private var snapshot: MemoryStore?
    private var count = 0
    /// The texts that users sent and did not recall or edit, by sender.
    private var texts: [UserID: Set<String>] = [:]

    private static let users: [UserID] = ["alice", "bob"]
    private static let group = ConversationID.group("swift")

    init(seed: UInt64) async throws {
        generator = SplitMix64(seed: seed)
        store = MemoryStore(generation: generator.next())
        server = try TestServer(users: Self.users, store: store)
        try await server.makeGroup("swift", members: Self.users)
        for user in Self.users { devices.append(try await server.client(user)) }
    }

    mutating func run() async throws {
        let copied = Int.random(in: 0..<30, using: &generator)
        let restored = Int.random(in: copied..<50, using: &generator)
        // Half of the scenarios restart the server in between, so that the store goes back past an incarnation.
        let restarted = generator.chance(50) ? Int.random(in: copied...restored, using: &generator) : nil
        for number in 0..<60 {
            if number == copied {
                steps.append("the store is copied at commit \(store.lastCommit)")
                snapshot = store.copy()
            }
            if number == restarted {
                steps.append("the server restarts")
                try restart(with: store)
            }
            if number == restored, let snapshot {
                steps.append("the copy is put back after commit \(store.lastCommit)")
                try restart(with: snapshot)
            }
            try await step()
        }
    }

    private mutating func restart(with store: MemoryStore) throws {
        self.store = store
        try server.restart(with: store)
        for device in devices where generator.chance(50) { device.retryConnection() }
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &generator)]
    }

    private mutating func own(_ device: ChatClient, in id: ConversationID) async throws -> Message? {
        let page = try await device.conversation(id).history(.latest, limit: 10, from: .local)
        let own = page.messages.filter { $0.sender == device.user && !$0.isDeleted }
        return own.isEmpty ? nil : pick(own)
    }

    private mutating func step() async throws {
        let device = pick(devices)
        let id: ConversationID = pick([Self.group, Self.group, .direct(device.user == "bob" ? "alice" : "bob")])
        let chat = device.conversation(id)
        switch Int.random(in: 0..<22, using: &generator) {
        case 0..<9:
            count += 1
            let text = "message \(count)"
            steps.append("\(device.user) sends \(text) to \(id)")
            texts[device.user, default: []].insert(text)
            try await chat.send(.text(text))
        case 9:
            guard let message = try await own(device, in: id) else { break }
            count += 1
            steps.append("\(device.user) edits \(message.text ?? "") to edit \(count)")
            if let text = message.text { texts[device.user]?.remove(text) }
            _ = try? await chat.edit(message.id, to: .text("edit \(count)"))
        case 10:
            guard let message = try await own(device, in: id) else { break }
            steps.append("\(device.user) recalls \(message.text ?? "")")
            if let text = message.text { texts[device.user]?.remove(text) }
            _ = try? await chat.recall(message.id)
        case 11:
            steps.append("\(device.user) reads \(id)")
            try await chat.markRead()
        case 12:
            steps.append("\(device.user) mutes or unmutes \(id)")
            _ = try? await chat.setMuted(generator.chance(50))
        case 13:
            steps.append("\(device.user) pins or unpins \(id)")
            _ = try? await chat.setPinned(generator.chance(50))
        case 14, 15:
            steps.append("\(device.user) goes offline")
            offline.insert(device.user)
            server.goOffline(device.user)
        case 16, 17:
            guard let user = offline.sorted().first else { break }
            steps.append("\(user) comes online")
            offline.remove(user)
            server.goOnline(user)
        case 18:
            steps.append("\(device.user) loses the next acknowledgement")
            server.loseNextAcknowledgement(of: device.user)
        default:
            try await Task.sleep(for: .milliseconds(Int64.random(in: 1...8, using: &generator)))
        }
    }

    // MARK: At rest

    mutating func violationsAtRest() async throws -> [String] {
        for user in Self.users { server.goOnline(user) }
        var found = ["not checked"]
        let end = ContinuousClock.now + .seconds(90)
        while ContinuousClock.now < end {
            for device in devices { device.retryConnection() }
            found = try await differences()
            if found.isEmpty { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        return try await found + lostMessages()
    }

    /// What differs between the devices, the server and new devices.
    private func differences() async throws -> [String] {
        var found: [String] = []
        for device in devices {
            let unfinished = try await unfinishedWork(of: device)
            guard unfinished.isEmpty else { return ["\(device.user) is not at rest: \(unfinished)"] }
            let new = try await server.client(device.user)
            do {
                for id in [Self.group, .direct(device.user == "bob" ? "alice" : "bob")] {
                    found += try await differences(of: device, from: new, in: id)
                }
                let lists = try await [device, new].asyncMap { client in
                    try await client.recents.view(limit: 10).conversations.map {
                        "\($0.id) \($0.unread) \($0.isMuted) \($0.isPinned) \($0.lastMessage?.text ?? "-")"
                    }
                }
                if lists[0] != lists[1] { found.append("\(device.user) lists \(lists[0]), a new device \(lists[1])") }
                found += try await device.verifyIntegrity().map { "\(device.user): \($0)" }
            } catch let error as ChatError {
                found.append("\(device.user): \(error)")
            }
            await new.close()
        }
        return found
    }

    /// What a device still has to do before its state can be compared.
    private func unfinishedWork(of device: ChatClient) async throws -> [String] {
        var work = try await device.core.store.read { reader in
            try reader.outbox().filter { !$0.isFailed }.map { "\($0.id) in \($0.conversation) is \($0.state)" }
                + reader.unconfirmedMessages(limit: 10).map { "\($0) is unconfirmed" }
                + reader.outdatedConversations().map { "\($0) is outdated" }
        }
        if !device.core.isCurrent(Self.group) {
            let state = await device.connection.first { _ in true }
            work.insert("the connection is \(state.map { "\($0)" } ?? "closed")", at: 0)
        }
        return work
    }

    private func differences(
        of device: ChatClient, from new: ChatClient, in id: ConversationID
    ) async throws -> [String] {
        func shown(_ client: ChatClient) async throws -> [String] {
            let page = try await client.conversation(id).history(.earliest, limit: 100, sort: .oldestFirst)
            if let error = page.remoteError { throw error }
            return page.messages.map { "\($0.seq) \($0.id) \($0.sender) \($0.rev) \($0.text ?? "-")" }
        }
        guard try server.serverState(of: id, for: device.user) != nil else {
            let isKnown = try await device.core.store.read { try $0.log(of: id) != nil }
            return isKnown ? ["\(device.user) has \(id), which the server does not have"] : []
        }
        let (own, others) = (try await shown(device), try await shown(new))
        return own == others ? [] : ["\(device.user) shows \(own) in \(id), a new device \(others)"]
    }

    /// The messages that were sent and are neither on the server nor in their sender's outbox.
    private func lostMessages() async throws -> [String] {
        let caller = Caller(user: "admin", isAdmin: true)
        var known: Set<String> = []
        for id in [Self.group, ConversationID.direct(between: "alice", and: "bob")] {
            guard (try? server.engine.head(of: id, by: caller)) != nil else { continue }
            let messages = try server.messages(in: id)
            let all = messages.compactMap(\.text)
            if Set(messages.map(\.id)).count != messages.count { return ["\(id) has a message twice: \(all)"] }
            known.formUnion(all)
        }
        for device in devices {
            for id in [Self.group, .direct(device.user == "bob" ? "alice" : "bob")] {
                let pending = try await device.core.store.read { try $0.pending(in: id) }
                known.formUnion(pending.compactMap(\.submission.content.text))
            }
        }
        return Self.users.flatMap { user in
            (texts[user] ?? []).subtracting(known).sorted().map { "\(user)'s \"\($0)\" disappeared" }
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
