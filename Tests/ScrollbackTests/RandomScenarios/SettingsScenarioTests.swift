import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSync
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

/// Random scenarios in which Bob changes and reads conversations on two clients at once, with late answers and lost
/// connections. After activity stops, both clients, a new client and the server must agree on every entry.
@Suite("Concurrent changes of the recents list")
struct SettingsScenarioTests {
    @Test("After activity stops, two clients, a new client and the server have the same entries and counts")
    func entriesAndCountsConverge() async throws {
        try await Seeds.each(upTo: 2_000, per: 25, Self.failure)
    }

    private static func failure(of seed: UInt64) async throws -> String? {
        var scenario = try await SettingsScenario(seed: seed)
        for _ in 0..<30 { try await scenario.step() }
        let wrong = try await scenario.disagreement()
        await scenario.server.close()
        guard let wrong else { return nil }
        return """
            \(wrong)
            replay with SCROLLBACK_SEED=\(seed) swift test --filter SettingsScenarioTests
            \(scenario.steps.joined(separator: "\n"))
            """
    }
}

private struct SettingsScenario {
    let server: TestServer
    private(set) var steps: [String] = []
    private var random: SplitMix64
    private let alice: ChatClient
    private let devices: [ChatClient]
    private var isOffline = false
    private var isDelayed = false

    private static let places: [ConversationID] = [.group("one"), .group("two"), .direct("alice")]

    init(seed: UInt64) async throws {
        random = SplitMix64(seed: seed)
        server = try TestServer(users: ["alice", "bob"])
        for name in ["one", "two"] as [Identifier] { try await server.makeGroup(name, members: ["alice", "bob"]) }
        alice = try await server.client("alice")
        devices = [try await server.client("bob"), try await server.client("bob")]
        for place in Self.places { try await alice.sendMessages(1...2, in: Self.alices(place)) }
        for device in devices {
            _ = try await eventually { try await device.recents.view().totalUnread == 6 }
        }
    }

    private static func alices(_ place: ConversationID) -> ConversationID {
        place == .direct("alice") ? .direct("bob") : place
    }

    mutating func step() async throws {
        let place = Self.places[Int.random(in: 0...2, using: &random)]
        let number = Int.random(in: 0...1, using: &random)
        let (device, flag) = (devices[number], Bool.random(using: &random))
        let chat = device.conversation(place)
        var what: String
        switch Int.random(in: 0...17, using: &random) {
        case 0, 1, 2:
            what = "alice writes"
            try await alice.sendMessages(1...1, in: Self.alices(place))
        case 3, 4:
            what = "muted \(flag)"
            try await chat.setMuted(flag)
        case 5:
            what = "pinned \(flag)"
            try await chat.setPinned(flag)
        case 6, 7:
            what = "marked"
            try await chat.markUnread()
        case 8, 9:
            what = "read"
            try await chat.markRead()
        case 10, 11:
            what = "removed, read \(flag)"
            try await device.recents.remove(place, options: .init(marksRead: flag))
        case 12:
            what = "added"
            try await device.recents.add(place, options: .init(showsLastMessage: flag))
        case 13:
            what = "all read"
            try await device.recents.markAllRead(of: flag ? .group : nil)
        case 14:
            isDelayed.toggle()
            what = "late \(isDelayed)"
            server.setDelayed(isDelayed, "bob")
        case 15:
            isOffline.toggle()
            what = "offline \(isOffline)"
            isOffline ? server.goOffline("bob") : server.goOnline("bob")
        case 16:
            what = "The connection drops."
            server.goOffline("bob")
            if !isOffline { server.goOnline("bob") }
        default:
            what = "some time"
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...8, using: &random)))
        }
        steps.append("\(number) \(place): \(what)")
    }

    /// The difference between the clients and the server after activity stops.
    mutating func disagreement() async throws -> String? {
        server.setDelayed(false, "bob")
        server.goOnline("bob")
        let new = try await server.client("bob")
        var wrong: String?
        _ = try await eventually {
            wrong = try await difference(devices + [new])
            guard wrong == nil else { return false }
            // The agreement must last.
            try await Task.sleep(for: .milliseconds(40))
            wrong = try await difference(devices + [new])
            return wrong == nil
        }
        return wrong
    }

    private func difference(_ devices: [ChatClient]) async throws -> String? {
        let bob = Caller(user: "bob")
        let heads = try server.engine.recents(limit: 100, by: bob).heads
        let wanted = heads.map { head in
            facts(
                head.conversation, head.unread, head.mentions,
                [head.isMuted, head.isPinned, head.isMarkedUnread], head.lastMessage?.seq)
        }.sorted()
        let total = try server.engine.totals(by: bob)
        for (index, device) in devices.enumerated() {
            let view = try await device.recents.view()
            // An entry that a user added manually shows its last message only if that client chose so.
            let shown = view.conversations.map { entry in
                facts(
                    entry.id, entry.unread, entry.mentions, [entry.isMuted, entry.isPinned, entry.isMarkedUnread],
                    entry.lastMessage?.seq ?? heads.first { $0.conversation == entry.id }?.lastMessage?.seq)
            }.sorted()
            let pending = try await device.core.store.read { reader in
                try reader.pendingReads().map { "\($0)" } + reader.pendingSettings().map { "\($0)" }
            }
            if shown != wanted || view.totals != total || !pending.isEmpty {
                return """
                    device \(index) shows \(shown), \(view.totals), and has yet to send \(pending)
                    the server has \(wanted), \(total)
                    """
            }
            let faults = try await device.verifyIntegrity()
            if !faults.isEmpty { return "device \(index): \(faults)" }
        }
        return nil
    }

    private func facts(
        _ id: ConversationID, _ unread: Int64, _ mentions: Int64, _ flags: [Bool], _ last: Seq?
    ) -> String {
        "\(id) \(unread) \(mentions) \(flags.map { $0 ? "1" : "0" }.joined()) \(last ?? 0)"
    }
}
