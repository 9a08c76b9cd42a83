import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport

/// The traffic of a small server over some days, the same for the same seed: members join, send, read and leave.
struct Workload {
    let engine: Engine
    private var generator: SplitMix64
    private let users: [UserID] = ["alice", "bob", "carol", "عَلي 🙂", "dave"]
    private let names: [ConversationID] = [
        .group("a"), .group("b"), .community("city", channel: "default"), .community("city", channel: "private"),
        .room("lobby"),
    ]
    private let admin = Caller(user: "admin", isAdmin: true)

    init(_ store: any MessageStore, seed: UInt64) throws {
        let time = Mutex(1_700_000_000.0)
        engine = try Engine(
            store: store, execution: .inline,
            clock: {
                time.withLock { time in
                    time += 1
                    return Date(timeIntervalSince1970: time)
                }
            })
        generator = SplitMix64(seed: seed)
        for name: ConversationID in [.group("a"), .group("b"), .community("city")] {
            engine.putConversation(name, ConversationSettings(members: users), by: admin) { _ = $0 }
        }
        engine.putConversation(.room("lobby"), ConversationSettings(), by: admin) { _ = $0 }
        engine.putConversation(
            .community("city", channel: "private"), ConversationSettings(isPrivate: true, members: ["alice", "bob"]),
            by: admin
        ) { _ = $0 }
    }

    mutating func run(steps: Int) {
        for _ in 0..<steps { step() }
    }

    private mutating func step() {
        let user = users.randomElement(using: &generator) ?? "alice"
        let name = names.randomElement(using: &generator) ?? .group("a")
        let other = users.randomElement(using: &generator) ?? "bob"
        switch UInt64.random(in: 0..<20, using: &generator) {
        case 0..<10: send(to: name, by: user, mentioning: other)
        case 10..<11: send(to: .direct(other), by: user, mentioning: other)
        case 11..<16: read(name, by: user)
        case 16: engine.removeMember(user, from: name, by: admin) { _ = $0 }
        case 17: engine.putMember(user, role: nil, of: name.community ?? name, by: admin) { _ = $0 }
        case 18: engine.putUser(user, ProfileChange(name: "\(other)"), by: admin) { _ = $0 }
        default:
            if UInt64.random(in: 0..<10, using: &generator) == 0 {
                engine.deleteConversation(.group("b"), by: admin) { _ = $0 }
                engine.putConversation(.group("b"), ConversationSettings(members: users), by: admin) { _ = $0 }
            }
        }
    }

    private mutating func send(to name: ConversationID, by user: UserID, mentioning other: UserID) {
        var attributes = MessageAttributes()
        switch UInt64.random(in: 0..<8, using: &generator) {
        case 0: attributes.mentions = .users([other, user])
        case 1: attributes.mentions = .everyone()
        case 2: attributes.traits.countsUnread = false
        default: break
        }
        let isNotice = UInt64.random(in: 0..<8, using: &generator) == 0
        let content = MessageContent(known: isNotice ? .notice : .text, json: RawJSON(known: #"{"text":"hello"}"#))
        let id = MessageID(at: Date(timeIntervalSince1970: 1_700_000_000), using: &generator)
        engine.send(
            Submission(id: id, content: content, attributes: attributes), to: name, by: Caller(user: user)
        ) { _ = $0 }
    }

    private mutating func read(_ name: ConversationID, by user: UserID) {
        guard let head = try? engine.head(of: name, by: Caller(user: user)), head.head > 0 else { return }
        let seq = Seq.random(in: 0...head.head, using: &generator)
        engine.read(name, seq: seq, epoch: head.state.epoch, by: Caller(user: user)) { _ = $0 }
    }
}
