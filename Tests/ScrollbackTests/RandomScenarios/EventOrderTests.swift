import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSync
import ScrollbackTesting
import Synchronization
import TestSupport
import Testing

/// Delivers events, answers and transactions in random orders. The seed determines the order, so a fault can be
/// replayed.
@Suite("Orders of events and answers")
struct EventOrderTests {
    @Test("A client agrees with the server for every order of events and answers")
    func clientAgreesForEveryOrder() async throws {
        try await Seeds.each(upTo: 20_000, per: 2, Self.failure)
    }

    private static func failure(of seed: UInt64) async throws -> String? {
        var scenario = try await OrderScenario(seed: seed)
        for _ in 0..<80 { try await scenario.step() }
        let wrong = try await scenario.differences()
        try scenario.device.close()
        guard !wrong.isEmpty else { return nil }
        return """
            \(wrong.joined(separator: "\n"))
            replay with SCROLLBACK_SEED=\(seed) swift test --filter EventOrderTests
            \(scenario.steps.joined(separator: "\n"))
            """
    }
}

/// One random scenario. Alice and Carol send, recall and edit. Bob reads, hides and clears, on this client and on
/// another.
private struct OrderScenario {
    let device: SteppedClient
    private(set) var steps: [String] = []
    private let engine: Engine
    private let clock = Clock()
    private var random: SplitMix64
    private var messages: [ConversationID: [(id: MessageID, sender: UserID)]] = [:]

    private static let admin = Caller(user: "root", isAdmin: true)
    private static let channel = ConversationID.community("city", channel: "general")
    private static let places: [ConversationID] = [.group("one"), .direct("alice"), channel, channel]

    /// A deterministic clock that never returns the same time twice.
    private final class Clock: Sendable {
        private let ticks = Mutex<Int64>(0)

        var now: Date {
            ticks.withLock { ticks in
                ticks += 1
                return Date(timeIntervalSince1970: 1_800_000_000 + Double(ticks))
            }
        }
    }

    init(seed: UInt64) async throws {
        random = SplitMix64(seed: seed)
        engine = try Engine(
            store: MemoryStore(generation: 0x5EED), execution: .inline, clock: { [clock] in clock.now })
        let members: [UserID] = ["alice", "bob", "carol"]
        let settings: [(ConversationID, ConversationSettings)] = [
            (.group("one"), ConversationSettings(name: "one", members: members)),
            (.community("city"), ConversationSettings(name: "city", members: members)),
            (Self.channel, ConversationSettings(name: "general")),
        ]
        for (id, settings) in settings {
            _ = try engine.done { $0.putConversation(id, settings, by: Self.admin, completion: $1) }
        }
        device = try await SteppedClient(engine)
    }

    // MARK: Choices

    private mutating func chance(_ one: UInt64) -> Bool { random.next() % one == 0 }
    private mutating func newID() -> MessageID { MessageID(at: clock.now, using: &random) }

    /// The conversation ID that works for every user.
    private func name(_ place: ConversationID) -> ConversationID { place.absolute(for: "bob") }

    private mutating func entry(of place: ConversationID) -> (seq: Seq, id: MessageID, sender: UserID)? {
        // Usually one of the newest messages, because answers are about them.
        let all = messages[place, default: []].enumerated().map {
            (Seq($0.offset + 1), $0.element.id, $0.element.sender)
        }
        return (chance(4) ? all : all.suffix(3)).randomElement(using: &random)
    }

    // MARK: Steps

    mutating func step() async throws {
        let place = Self.places.randomElement(using: &random) ?? Self.channel
        switch Int.random(in: 0...27, using: &random) {
        case 0...4: try sendMessage(in: place)
        case 5, 6: try recall(in: place)
        case 7: try edit(in: place)
        case 8: try hide(in: place)
        case 9: try deleteRange(in: place)
        case 10: try await read(in: place)
        case 11: try readElsewhere(in: place)
        case 12: try clear(in: place)
        case 13, 14:
            engine.hub.announceChannelHeads()
            steps.append("channels are announced")
        default:
            try await device.step(using: &random)
        }
    }

    private mutating func sendMessage(in place: ConversationID) throws {
        let senders: [UserID] = place == .direct("alice") ? ["alice"] : ["alice", "carol"]
        let sender = chance(8) ? "bob" : senders.randomElement(using: &random) ?? "alice"
        let type: MessageType = chance(4) ? .notice : .text
        let mentions: Mentions? =
            ([nil, nil, .users(["bob"]), .everyone()] as [Mentions?]).randomElement(using: &random) ?? nil
        let content = try MessageContent(type: type, json: RawJSON(known: #"{"text":"hello"}"#))
        // A reply also changes the first message of its thread.
        let replyTo = chance(3) ? entry(of: place)?.id : nil
        let submission = Submission(
            id: newID(), content: content, attributes: MessageAttributes(mentions: mentions, replyTo: replyTo))
        do {
            _ = try engine.done { $0.send(submission, to: name(place), by: Caller(user: sender), completion: $1) }
        } catch  where replyTo != nil {
            return  // The sender can't see the message replied to.
        }
        messages[place, default: []].append((submission.id, sender))
        steps.append("\(place) \(messages[place]?.count ?? 0): \(sender) \(type)\(mentions == nil ? "" : " @")")
    }

    private mutating func recall(in place: ConversationID) throws {
        guard let entry = entry(of: place) else { return }
        _ = try? engine.done { engine, completion in
            engine.delete([entry.id], in: name(place), by: Caller(user: entry.sender), completion: completion)
        }
        steps.append("\(place): \(entry.sender) recalls \(entry.seq)")
    }

    private mutating func edit(in place: ConversationID) throws {
        guard let entry = entry(of: place) else { return }
        let edit = MessageEdit(.text("edited"), mentions: chance(2) ? .remove : .set(.users(["bob"])))
        _ = try? engine.done { engine, completion in
            engine.edit(entry.id, in: name(place), edit, by: Caller(user: entry.sender), completion: completion)
        }
        steps.append("\(place): \(entry.sender) edits \(entry.seq)")
    }

    private mutating func hide(in place: ConversationID) throws {
        guard let entry = entry(of: place) else { return }
        _ = try? engine.done { $0.hide([entry.id], in: place, by: SteppedClient.bob, completion: $1) }
        steps.append("bob hides \(place) \(entry.seq)")
    }

    private mutating func deleteRange(in place: ConversationID) throws {
        guard chance(2), let entry = entry(of: place) else { return }
        let range = DeleteRange(from: .seq(entry.seq), to: .seq(entry.seq + Seq(random.next() % 3)))
        _ = try? engine.done {
            $0.delete(range, of: name(place), by: Self.admin, completion: $1)
        }
        steps.append("\(place): from \(entry.seq) on some are deleted")
    }

    private mutating func read(in place: ConversationID) async throws {
        let seq = entry(of: place)?.seq
        try await device.read(place, upTo: seq)
        steps.append("bob reads \(place) to \(seq ?? 0) here")
    }

    private mutating func readElsewhere(in place: ConversationID) throws {
        guard let entry = entry(of: place), let head = try? engine.head(of: place, by: SteppedClient.bob) else {
            return
        }
        let change = StateChange.read(seq: entry.seq, epoch: head.state.epoch, userRev: nil)
        _ = try engine.done { $0.change(place, change, by: SteppedClient.bob, completion: $1) }
        steps.append("bob reads \(place) to \(entry.seq) elsewhere")
    }

    private mutating func clear(in place: ConversationID) throws {
        guard chance(3), let entry = entry(of: place), let head = try? engine.head(of: place, by: SteppedClient.bob)
        else { return }
        _ = try engine.done {
            $0.clear(place, through: entry.seq, epoch: head.state.epoch, by: SteppedClient.bob, completion: $1)
        }
        steps.append("bob clears \(place) to \(entry.seq)")
    }

    // MARK: At rest

    /// The differences between the client and the server after all events and answers are processed.
    mutating func differences() async throws -> [String] {
        engine.hub.announceChannelHeads()
        for _ in 0..<10_000 where !device.isQuiet { try await device.step(using: &random) }
        guard device.isQuiet else { return ["The client never stops sending requests."] }
        var wrong: [String] = []
        for place in Set(Self.places) {
            guard let head = try? engine.head(of: place, by: SteppedClient.bob) else { continue }
            let (entry, state, log) = try await device.store.read { reader in
                (try reader.recent(place), try reader.readState(of: place), try reader.log(of: place))
            }
            let shown = "\(entry?.unread ?? 0) and \(entry?.mentions ?? 0), last \(entry?.lastMessage?.seq ?? 0)"
            let serverState = "\(head.unread) and \(head.mentions), last \(head.lastMessage?.seq ?? 0)"
            guard shown != serverState || state.map({ !$0.isExact }) ?? false else { continue }
            wrong.append(
                "\(place): \(shown), not \(serverState)\n\(String(describing: state))\n\(String(describing: log))"
            )
        }
        return wrong
    }
}
