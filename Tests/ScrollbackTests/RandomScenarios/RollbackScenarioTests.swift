import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSync
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@testable import Scrollback

/// Random scenarios in which the server's store goes back to an earlier state without notice, as a snapshot of a volume
/// that is put back.
@Suite("Stores that go back")
struct RollbackScenarioTests {
    @Test("After the store went back, every device ends whole and equal to the server and to a new device")
    func devicesConverge() async throws {
        try await Seeds.each(per: 10, Self.failure)
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

    @Test("A message that is acknowledged before its conversation is read again survives another rollback")
    func twoRollbacks() async throws {
        let group = ConversationID.group("swift")
        let store = MemoryStore(generation: 1)
        let server = try TestServer(users: ["alice"], store: store)
        try await server.makeGroup("swift", members: ["alice"])
        let held = HeldTransport { $0.type == "sync" || $0.type == "heads" || $0.type == "refresh" }
        let alice = try await server.client("alice") { held.use(in: &$0) }
        try await alice.ready()
        try await alice.sendMessages(1...1, in: group)
        #expect(try await eventually { try server.messages(in: group).count == 1 })
        let copies = [store.copy(), store.copy()]
        try await alice.sendMessages(2...2, in: group)
        #expect(try await eventually { try await alice.core.store.read { try $0.outbox().isEmpty } })

        try server.restart(with: copies[0])
        held.hold()
        try await alice.sendMessages(3...3, in: group)
        // The device has another message of the first generation and an answer of the second one.
        #expect(
            try await eventually {
                alice.retryConnection()
                return try await alice.core.store.read { try $0.outbox().isEmpty }
            })
        #expect(try server.messages(in: group).compactMap(\.text) == ["1", "3"])

        try server.restart(with: copies[1])
        held.release()
        let isWhole = try await eventually {
            alice.retryConnection()
            return try Set(server.messages(in: group).compactMap(\.text)) == ["1", "2", "3"]
        }
        #expect(isWhole)
        await server.close()
    }

    /// What the server still has after the first of two rollbacks.
    enum FirstRollback: CaseIterable {
        case losesNewestMessage, losesNothing
    }

    @Test("Messages that only the second, deeper rollback loses are sent again", arguments: FirstRollback.allCases)
    func deeperRollback(first: FirstRollback) async throws {
        // A device loads only the newest message of a channel again.
        let channel = ConversationID.community("city", channel: "open")
        let store = MemoryStore(generation: 1)
        let server = try TestServer(users: ["alice"], store: store)
        try await server.makeCommunity("city", channels: ["open"], members: ["alice"])
        let alice = try await server.client("alice")
        try await alice.ready()
        let deepCopy = store.copy()
        let sent = try await alice.sendMessages(1...3, in: channel)
        let copy = store.copy()
        switch first {
        case .losesNewestMessage: try await alice.sendMessages(4...4, in: channel)
        // The server reports that it may have lost all messages.
        case .losesNothing: try copy.renewGeneration(at: server.now)
        }
        let expected = try server.messages(in: channel).compactMap(\.text)

        try server.restart(with: copy)
        let hasRecovered = try await eventually {
            alice.retryConnection()
            let isLoadedAgain = try await alice.core.store.read { reader in
                try reader.message(sent[0].id, in: channel) == nil && reader.outbox().isEmpty
                    && reader.unconfirmedMessages(limit: 1).isEmpty && reader.outdatedConversations().isEmpty
            }
            return try isLoadedAgain && server.messages(in: channel).compactMap(\.text) == expected
        }
        #expect(hasRecovered)

        try server.restart(with: deepCopy)
        let isWhole = try await eventually {
            alice.retryConnection()
            return try Set(server.messages(in: channel).compactMap(\.text)) == Set(expected)
        }
        #expect(isWhole)
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

/// Alice on two devices and Bob on one change a group and their direct conversation. The store is copied at a random
/// moment and put back at a later one.
private struct RollbackScenario {
    private struct Device {
        var name: String
        var client: ChatClient
        var user: UserID { client.user }
        /// The other user's direct conversation with this user, as this user names it.
        var direct: ConversationID { .direct(user == "bob" ? "alice" : "bob") }
    }

    let server: TestServer
    var steps: [String] = []
    private var store: MemoryStore
    private var generator: SplitMix64
    private var devices: [Device] = []
    private var offline: Set<UserID> = []
    private var snapshot: MemoryStore?
    private var count = 0
    /// The texts and file names that users sent, and that no step edited, recalled, deleted or hid, by sender.
    private var sent: [UserID: Set<String>] = [:]

    private static let users: [UserID] = ["alice", "bob"]
    private static let group = ConversationID.group("swift")
    private static let admin = Caller(user: "admin", isAdmin: true)

    init(seed: UInt64) async throws {
        generator = SplitMix64(seed: seed)
        store = MemoryStore(generation: generator.next())
        server = try TestServer(users: Self.users, store: store)
        try await server.makeGroup("swift", members: Self.users)
        for (name, user) in [("alice's phone", "alice"), ("alice's laptop", "alice"), ("bob", "bob")] {
            devices.append(Device(name: name, client: try await server.client(UserID(user))))
        }
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
        for device in devices where generator.chance(50) { device.client.retryConnection() }
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &generator)]
    }

    /// Returns one of the newest messages that a device shows, or `nil` if none fits.
    private mutating func message(
        on device: Device, in id: ConversationID, where fits: (Message) -> Bool = { _ in true }
    ) async throws -> Message? {
        let page = try await device.client.conversation(id).history(.latest, limit: 10, from: .local)
        let found = page.messages.filter { !$0.isDeleted && fits($0) }
        return found.isEmpty ? nil : pick(found)
    }

    /// Records that a message may be missing at the end.
    private mutating func drop(_ message: Message) {
        if let label = message.content?.label { sent[message.sender]?.remove(label) }
    }

    private mutating func step() async throws {
        let device = pick(devices)
        let id = pick([Self.group, Self.group, device.direct])
        let chat = device.client.conversation(id)
        switch Int.random(in: 0..<28, using: &generator) {
        case 0..<9: try await send(on: device, to: chat)
        case 9: try await sendFile(on: device, to: chat)
        case 10: try await edit(on: device, in: chat)
        case 11, 12: try await recallOrHide(on: device, in: chat)
        case 13: try await deleteRange()
        case 14, 15: try await react(on: device, in: chat)
        case 16:
            steps.append("\(device.name) reads \(id)")
            try await chat.markRead()
        case 17:
            steps.append("\(device.name) mutes or unmutes \(id)")
            _ = try? await chat.setMuted(generator.chance(50))
        case 18:
            steps.append("\(device.name) pins or unpins \(id)")
            _ = try? await chat.setPinned(generator.chance(50))
        case 19:
            count += 1
            let draft = generator.chance(70) ? "draft \(count)" : nil
            steps.append("\(device.name) stores the draft \(draft ?? "nil") in \(id)")
            try await chat.setDraft(draft.map { Draft($0) })
        case 20, 21:
            steps.append("\(device.user) goes offline")
            offline.insert(device.user)
            server.goOffline(device.user)
        case 22, 23:
            guard let user = offline.sorted().first else { break }
            steps.append("\(user) comes online")
            offline.remove(user)
            server.goOnline(user)
        case 24:
            steps.append("\(device.user) loses the next acknowledgement")
            server.loseNextAcknowledgement(of: device.user)
        default:
            try await Task.sleep(for: .milliseconds(Int64.random(in: 1...8, using: &generator)))
        }
    }

    // MARK: Steps

    private mutating func send(on device: Device, to chat: Conversation) async throws {
        count += 1
        let text = "message \(count)"
        steps.append("\(device.name) sends \(text) to \(chat.id)")
        sent[device.user, default: []].insert(text)
        try await chat.send(.text(text))
    }

    private mutating func sendFile(on device: Device, to chat: Conversation) async throws {
        count += 1
        let name = "file \(count).txt"
        steps.append("\(device.name) sends \(name) to \(chat.id)")
        sent[device.user, default: []].insert(name)
        try await chat.send(.file(.data(Data(name.utf8), name: name)))
    }

    private mutating func edit(on device: Device, in chat: Conversation) async throws {
        let user = device.user
        let message = try await message(on: device, in: chat.id) { $0.sender == user && $0.type == .text }
        guard let message else { return }
        count += 1
        steps.append("\(device.name) edits \(message.text ?? "") to edit \(count)")
        drop(message)
        _ = try? await chat.edit(message.id, to: .text("edit \(count)"))
    }

    private mutating func recallOrHide(on device: Device, in chat: Conversation) async throws {
        let user = device.user
        let hides = generator.chance(50)
        let message = try await message(on: device, in: chat.id) { hides || $0.sender == user }
        guard let message else { return }
        steps.append("\(device.name) \(hides ? "hides" : "recalls") \(message.content?.label ?? "")")
        // A user's own message that is hidden on all of their devices is not sent again.
        if message.sender == user { drop(message) }
        _ = try? await chat.delete(message.id, for: hides ? .me : .everyone)
    }

    /// An administrator deletes up to three messages of the group that follow each other.
    private mutating func deleteRange() async throws {
        let messages = try server.messages(in: Self.group)
        guard let last = messages.last, let first = messages.randomElement(using: &generator) else { return }
        let end = min(last.seq + 1, first.seq + Seq.random(in: 1...3, using: &generator))
        steps.append("an administrator deletes \(first.seq)..<\(end) of \(Self.group)")
        for message in messages where (first.seq..<end).contains(message.seq) { drop(message) }
        let range = DeleteRange(from: .seq(first.seq), to: .seq(end))
        try await server.perform { $0.delete(range, of: Self.group, by: Self.admin, completion: $1) }
    }

    private mutating func react(on device: Device, in chat: Conversation) async throws {
        guard let message = try await message(on: device, in: chat.id) else { return }
        let value = pick(["👍", "🎉"])
        let user = device.user
        let isOwn = message.actions.contains { $0.value == value && $0.senders.contains(user) }
        steps.append("\(device.name) \(isOwn ? "removes" : "adds") \(value) on \(message.content?.label ?? "")")
        if isOwn {
            _ = try? await chat.unreact(value, from: message.id)
        } else {
            _ = try? await chat.react(value, to: message.id)
        }
    }

    // MARK: At rest

    mutating func violationsAtRest() async throws -> [String] {
        for user in Self.users { server.goOnline(user) }
        var found = ["not checked"]
        _ = try await eventually {
            for device in devices { device.client.retryConnection() }
            found = try await differences()
            return found.isEmpty
        }
        return try await found + lostMessages() + missingFiles()
    }

    /// What differs between the devices, the server and a new device of each user.
    private func differences() async throws -> [String] {
        for device in devices {
            let unfinished = try await unfinishedWork(of: device)
            guard unfinished.isEmpty else { return ["\(device.name) is not at rest: \(unfinished)"] }
        }
        var found: [String] = []
        for user in Self.users {
            let new = try await server.client(user)
            for device in devices where device.user == user {
                do {
                    found += try await differences(of: device, from: new)
                } catch let error as ChatError {
                    found.append("\(device.name): \(error)")
                }
            }
            await new.close()
        }
        return found
    }

    private func differences(of device: Device, from new: ChatClient) async throws -> [String] {
        var found: [String] = []
        for id in [Self.group, device.direct] { found += try await differences(of: device, from: new, in: id) }
        let lists = try await [device.client, new].asyncMap { client in
            try await client.recents.view(limit: 10).conversations.map {
                "\($0.id) \($0.unread) \($0.isMuted) \($0.isPinned) \($0.lastMessage?.text ?? "-")"
            }
        }
        if lists[0] != lists[1] { found.append("\(device.name) lists \(lists[0]), a new device \(lists[1])") }
        found += try await draftDifferences(of: device)
        return try await found + device.client.verifyIntegrity().map { "\(device.name): \($0)" }
    }

    private func draftDifferences(of device: Device) async throws -> [String] {
        var found: [String] = []
        let stored = try server.engine.drafts(since: nil, by: Caller(user: device.user)).drafts
        for id in [Self.group, device.direct] {
            let draft = try stored.first { $0.conversation == id }?.draft.map { try Draft(stored: $0.text).text }
            let shown = try await device.client.conversation(id).draft()?.text
            if shown != draft {
                found.append("\(device.name) has the draft \(shown ?? "nil") in \(id), the server \(draft ?? "nil")")
            }
        }
        return found
    }

    /// What a device still has to do before its state can be compared.
    private func unfinishedWork(of device: Device) async throws -> [String] {
        let core = device.client.core
        var work = try await core.store.read { reader in
            try reader.outbox().filter { !$0.isFailed }.map { "\($0.id) in \($0.conversation) is \($0.state)" }
                + reader.unconfirmedMessages(limit: 10).map { "\($0) is unconfirmed" }
                + reader.outdatedConversations().map { "\($0) is outdated" }
        }
        let hasDrafts = try await core.store.read {
            try $0.nextPendingDraft() != nil || $0.draftCursorIfBehind() != nil
        }
        if hasDrafts { work.append("drafts are not synchronized") }
        if !core.isCurrent(Self.group) {
            let state = await device.client.connection.first { _ in true }
            work.insert("the connection is \(state.map { "\($0)" } ?? "closed")", at: 0)
        }
        return work
    }

    private func differences(
        of device: Device, from new: ChatClient, in id: ConversationID
    ) async throws -> [String] {
        func shown(_ client: ChatClient) async throws -> [Message] {
            let page = try await client.conversation(id).history(.earliest, limit: 100, sort: .oldestFirst)
            if let error = page.remoteError { throw error }
            return page.messages
        }
        guard try server.serverState(of: id, for: device.user) != nil else {
            let isKnown = try await device.client.core.store.read { try $0.log(of: id) != nil }
            return isKnown ? ["\(device.name) has \(id), which the server does not have"] : []
        }
        var found: [String] = []
        let messages = try await shown(device.client)
        let (own, others) = (messages.map(Self.describe), try await shown(new).map(Self.describe))
        if own != others { found.append("\(device.name) shows \(own) in \(id), a new device \(others)") }
        // What a device can't place is unsent or failed. What it shows as stored is neither.
        let queued = try await device.client.core.store.read { try $0.pending(in: id) }.map(\.id)
        for message in messages where queued.contains(message.id) {
            found.append("\(device.name) also has \(message.content?.label ?? "-") in its outbox")
        }
        return found
    }

    private static func describe(_ message: Message) -> String {
        let actions = message.actions.map { "\($0.value)\($0.senders)" }.joined()
        let label = message.content?.label ?? "-"
        return "\(message.seq) \(message.id) \(message.sender) \(message.rev) \(label) \(actions)"
    }

    /// The messages that were sent and are neither on the server nor in their sender's outbox.
    private func lostMessages() async throws -> [String] {
        var known: Set<String> = []
        for (id, messages) in try serverMessages() {
            let all = messages.compactMap { $0.content?.label }
            if Set(messages.map(\.id)).count != messages.count { return ["\(id) has a message twice: \(all)"] }
            known.formUnion(all)
        }
        for device in devices {
            for id in [Self.group, device.direct] {
                let pending = try await device.client.core.store.read { try $0.pending(in: id) }
                known.formUnion(pending.compactMap(\.submission.content.label))
            }
        }
        return Self.users.flatMap { user in
            (sent[user] ?? []).subtracting(known).sorted().map { "\(user)'s \"\($0)\" disappeared" }
        }
    }

    /// The messages on the server whose file is not there.
    private func missingFiles() async throws -> [String] {
        var missing: [String] = []
        for (_, messages) in try serverMessages() {
            for media in messages.compactMap({ $0.content?.media }) {
                guard let id = media.id, let name = media.name else { continue }
                let bytes = try? await server.engine.bytes(of: id, by: Self.admin)
                if bytes != Array(name.utf8) { missing.append("\(name) is not on the server") }
            }
        }
        return missing
    }

    private func serverMessages() throws -> [(ConversationID, [Message])] {
        try [Self.group, ConversationID.direct(between: "alice", and: "bob")].compactMap { id in
            guard (try? server.engine.head(of: id, by: Self.admin)) != nil else { return nil }
            return (id, try server.messages(in: id))
        }
    }
}

extension MessageContent {
    /// The text, or the name of the file.
    fileprivate var label: String? { media?.name ?? text }
}

extension Array {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
