import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

/// Random scenarios on the real SDK and the real engine, with lost connections, lost acknowledgements and changing
/// members.
///
/// When activity stops, every client must be complete, and all clients must agree.
@Suite("Chaos with real clients and an in-memory server")
struct ChaosTests {
    @Test("After activity stops, every client shows the messages and counts of the server")
    func clientsConvergeWithTheServer() async throws {
        try await Seeds.each(per: 25, Self.failure)
    }

    private static func failure(of seed: UInt64) async throws -> String? {
        var chaos = try await Chaos(seed: seed)
        for _ in 0..<60 { try await chaos.step() }
        let violations = try await chaos.violationsAtRest()
        await chaos.server.close()
        guard !violations.isEmpty else { return nil }
        return """
            \(violations.joined(separator: "\n"))
            replay with SCROLLBACK_SEED=\(seed) swift test --filter ChaosTests
            \(chaos.steps.suffix(30).joined(separator: "\n"))
            """
    }
}

/// One random scenario.
private struct Chaos {
    let server: TestServer
    var steps: [String] = []
    private var generator: SplitMix64
    private var devices: [ChatClient] = []
    private var offline: Set<UserID> = []
    private var members: [ConversationID: Set<UserID>] = [:]
    private var sent: [ConversationID: Set<String>] = [:]
    private var isCitizen = true
    private var count = 0

    private static let users: [UserID] = ["alice", "bob", "carol"]
    private static let group = ConversationID.group("chaos")
    private static let channel = ConversationID.community("city", channel: "general")

    init(seed: UInt64) async throws {
        generator = SplitMix64(seed: seed)
        server = try TestServer(users: Self.users)
        try await server.makeGroup("chaos", members: ["alice", "bob", "carol"])
        try await server.makeCommunity("city", channels: ["general"], members: Self.users)
        members[Self.group] = Set(Self.users)
        for user in ["alice", "alice", "bob", "carol"] as [UserID] { devices.append(try await server.client(user)) }
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &generator)]
    }

    mutating func step() async throws {
        let device = pick(devices)
        let place: ConversationID = pick([
            Self.group, Self.group, .direct(device.user == "bob" ? "alice" : "bob"), Self.channel,
        ])
        switch Int.random(in: 0..<22, using: &generator) {
        case 0..<10:
            count += 1
            let text = "message \(count)"
            steps.append("\(device.user) sends \(text) to \(place)")
            let mentions: Mentions? = Int.random(in: 0..<5, using: &generator) == 0 ? .everyone() : nil
            try await device.conversation(place).send(.text(text), mentioning: mentions)
        case 10, 11:
            steps.append("\(device.user) goes offline")
            offline.insert(device.user)
            server.goOffline(device.user)
        case 12, 13:
            if let user = offline.sorted().first {
                steps.append("\(user) comes online")
                offline.remove(user)
                server.goOnline(user)
            }
        case 14:
            steps.append("\(device.user) loses the next acknowledgement")
            server.loseNextAcknowledgement(of: device.user)
        case 15:
            steps.append("\(device.user) reads \(place)")
            try await device.conversation(place).markRead()
        case 16:
            let isMember = members[Self.group]?.contains("carol") ?? false
            steps.append(isMember ? "carol leaves" : "carol joins")
            if isMember { members[Self.group]?.remove("carol") } else { members[Self.group]?.insert("carol") }
            try await server.setMember("carol", of: Self.group, !isMember)
        case 17:
            isCitizen.toggle()
            steps.append(isCitizen ? "carol joins the city" : "carol leaves the city")
            try await server.setMember("carol", of: .community("city"), isCitizen)
        case 18:
            steps.append("\(device.user) pages \(place)")
            _ = try? await device.conversation(place).history(.latest, limit: 7)
        case 19:
            steps.append("\(device.user) pages a filter")
            _ = try? await device.conversation(place).history(.latest, limit: 3, matching: .senders(["alice"]))
        default:
            try await Task.sleep(for: .milliseconds(Int64.random(in: 1...8, using: &generator)))
        }
    }

    // MARK: At rest

    mutating func violationsAtRest() async throws -> [String] {
        for user in Self.users {
            server.goOnline(user)
        }
        // A former member keeps the messages up to the leave, and receives none after it.
        if members[Self.group]?.contains("carol") == false, generator.chance(50) {
            try await server.setMember("carol", of: Self.group, true)
        }
        var found: [String] = []
        let end = Date().addingTimeInterval(90)
        while Date() < end {
            found = try await check()
            if found.isEmpty { return [] }
            for device in devices { device.retryConnection() }
            try await Task.sleep(for: .milliseconds(20))
        }
        return found
    }

    private func check() async throws -> [String] {
        var found: [String] = []
        for (index, device) in devices.enumerated() {
            let name = "\(device.user)/\(index)"
            let direct = ConversationID.direct(device.user == "bob" ? "alice" : "bob")
            for id in [Self.group, direct, Self.channel] {
                guard let serverState = try server.serverState(of: id, for: device.user) else { continue }
                let page = try await device.conversation(id).history(.earliest, limit: 100, sort: .oldestFirst)
                if let remoteError = page.remoteError { return ["\(name): \(remoteError)"] }
                let texts = page.messages.map { "\($0.seq) \($0.sender) \($0.text ?? "-")" }
                if texts != serverState.texts {
                    found.append("\(name) in \(id) shows \(texts) for \(serverState.texts)")
                }
                if id.kind.traits.hasRecents, let recent = try await device.conversation(id).recent() {
                    if recent.unread != serverState.unread {
                        found.append("\(name) in \(id) counts \(recent.unread) for \(serverState.unread)")
                    }
                    if recent.mentions != serverState.mentions {
                        found.append("\(name) in \(id) counts \(recent.mentions) mentions for \(serverState.mentions)")
                    }
                }
            }
            found += try await device.verifyIntegrity().map { "\(name): \($0)" }
            let pending = try await device.pendingCount()
            if pending > 0 { found.append("\(name) has \(pending) unsent") }
        }
        // Each message is stored once.
        for id in [Self.group, .direct(between: "alice", and: "bob"), .direct(between: "bob", and: "carol")] {
            let texts = ((try? server.messages(in: id)) ?? []).compactMap(\.text)
            if Set(texts).count != texts.count { found.append("\(id) has a message twice: \(texts)") }
        }
        return found
    }
}
