import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

/// Two users of a direct conversation, with two clients each, send, read, clear, block, disconnect and reconnect.
@Suite("Random scenarios of read receipts")
struct ReceiptScenarioTests {
    @Test("After activity stops, every client shows the peer's positions of the server, including a new client")
    func readPositionsConverge() async throws {
        try await Seeds.each(upTo: 500, per: 16) { seed in
            try await ReceiptScenario.run(seed: seed)
            return nil
        }
    }
}

private struct ReceiptScenario {
    private static let people: [UserID] = ["alice", "bob"]

    private let seed: UInt64
    private var random: SplitMix64
    private let server: TestServer
    private let devices: [UserID: [ChatClient]]
    private var away: Set<UserID> = []
    private var trace: [String] = []

    static func run(seed: UInt64) async throws {
        var scenario = try await ReceiptScenario(seed)
        for step in 0..<40 {
            try await scenario.step()
            if step % 10 == 9 { try await scenario.compare() }
        }
        try await scenario.compare(withNewDevice: true)
        await scenario.server.close()
    }

    private init(_ seed: UInt64) async throws {
        self.seed = seed
        random = SplitMix64(seed: seed)
        server = try TestServer(users: Self.people)
        var devices: [UserID: [ChatClient]] = [:]
        for person in Self.people {
            devices[person] = [try await server.client(person), try await server.client(person)]
        }
        self.devices = devices
    }

    private static func other(than person: UserID) -> UserID { person == "alice" ? "bob" : "alice" }

    private mutating func step() async throws {
        guard let person = Self.people.randomElement(using: &random),
            let device = devices[person]?.randomElement(using: &random)
        else { return }
        let chat = device.conversation(.direct(Self.other(than: person)))
        let choice = Int.random(in: 0...11, using: &random)
        trace.append("\(person) does \(choice)")
        switch choice {
        case 0...4: _ = try await chat.send(.text("\(trace.count)"))
        case 5...8: try await chat.markRead()
        case 9: _ = try? await chat.clear()
        case 10:
            // An offline user can't send requests to the server.
            guard !away.contains(person) else { return }
            let isOn = Bool.random(using: &random)
            let other = Self.other(than: person)
            if isOn { try? await device.block(other) } else { try? await device.unblock(other) }
        default:
            if away.remove(person) != nil {
                server.goOnline(person)
            } else {
                away.insert(person)
                server.goOffline(person)
            }
        }
    }

    private mutating func compare(withNewDevice isLast: Bool = false) async throws {
        for person in away { server.goOnline(person) }
        away = []
        for person in Self.people {
            for device in devices[person] ?? [] { await device.waitForOutbox() }
        }
        for person in Self.people {
            var all = devices[person] ?? []
            if isLast { all.append(try await server.client(person)) }
            let id = ConversationID.direct(Self.other(than: person))
            for (index, device) in all.enumerated() {
                func serverPositions() -> [Seq] {
                    let head = try? server.engine.head(of: id, by: Caller(user: person))
                    return [head?.peerReadSeq ?? 0, head?.peerDeliveredSeq ?? 0]
                }
                let chat = device.conversation(id)
                if try await !eventually({ await Self.shown(chat) == serverPositions() }) {
                    Issue.record(
                        """
                        seed \(seed): device \(index) of \(person) \
                        shows \(await Self.shown(chat)), not \(serverPositions())
                        \(trace)
                        """)
                }
            }
        }
    }

    /// The read and delivered positions that a timeline shows, also if the conversation has no visible messages.
    private static func shown(_ chat: Conversation) async -> [Seq] {
        for await view in chat.timeline().views { return [view.peerReadSeq, view.peerDeliveredSeq] }
        return [0, 0]
    }
}
