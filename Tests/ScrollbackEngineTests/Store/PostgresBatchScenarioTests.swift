import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

/// Compares transactions of several random changes on PostgreSQL and in memory.
///
/// On PostgreSQL, a transaction reads most rows ahead, and later changes must see what earlier ones of the same
/// transaction changed. `SCROLLBACK_SEEDS` sets the number of seeds, and `SCROLLBACK_SEED` replays one seed.
@Suite(.needs(.postgres)) struct PostgresBatchScenarioTests {
    @Test func `Transactions of random changes have the same results on PostgreSQL as in memory`() throws {
        let database = try PostgresDatabase()
        for seed in Seeds.range(12) {
            guard let difference = try BatchScenario(seed: seed, database.makeStore()).run() else { continue }
            Issue.record("\(difference)\nReplay: SCROLLBACK_SEED=\(seed)")
            return
        }
    }
}

private final class BatchScenario {
    /// Starts a change, and later passes a description of its result to the closure.
    typealias Change = @Sendable (EngineHarness, @escaping @Sendable (String) -> Void) -> Void

    private static let users: [UserID] = ["alice", "bob", "carol", "dave"]
    private static let channel = ConversationID.community("town", channel: "square")
    private static let conversations: [ConversationID] = [
        .group("g"), .direct(between: "alice", and: "bob"), channel, .room("r"),
    ]

    private var random: SplitMix64
    private let harnesses: [EngineHarness]
    private var sent: [(submission: Submission, conversation: ConversationID)] = []

    init(seed: UInt64, _ store: PostgresStore) throws {
        random = SplitMix64(seed: seed)
        let stores: [any MessageStore] = [MemoryStore(generation: store.generation), store]
        harnesses = try stores.map { try EngineHarness.pushing(FakeServices(), store: $0, users: ["bob"]) }
        for harness in harnesses {
            try harness.make(.group("g"), members: ["alice", "bob", "carol"])
            try harness.make(.community("town"), members: ["alice", "bob", "carol"])
            try harness.put(Self.channel)
            try harness.put(.room("r"))
        }
    }

    /// Returns a description of the first difference.
    func run() throws -> String? {
        for _ in 0..<25 {
            for harness in harnesses { harness.clock.advance(by: 1) }
            let heads = try Self.conversations.map { try state(of: $0, harnesses[0]) }
            let changes = (0...random.below(10)).map { _ in change(heads) }
            let results = try harnesses.map { try perform(changes.map(\.change), $0) }
            for (index, pair) in zip(results[0], results[1]).enumerated() where pair.0 != pair.1 {
                let list = changes.map(\.name).joined(separator: "\n  ")
                return "\(changes[index].name): \(pair.0) in memory, \(pair.1) on PostgreSQL, of\n  \(list)"
            }
            for id in Self.conversations {
                let states = try harnesses.map { try state(of: id, $0) }
                guard states[0].text != states[1].text else { continue }
                let list = changes.map(\.name).joined(separator: "\n  ")
                return "\(id):\n\(states[0].text)\nin memory,\n\(states[1].text)\non PostgreSQL, after\n  \(list)"
            }
        }
        return nil
    }

    /// Performs changes in one transaction.
    private func perform(_ changes: [Change], _ harness: EngineHarness) throws -> [String] {
        let results = Mutex(changes.map { _ in "no answer" })
        let before = try harness.store.lastCommit
        harness.engine.commits.submit(for: .server, { _ in }) { _ in
            // Everything that is submitted before a transaction completes is in the next one.
            for (index, change) in changes.enumerated() {
                change(harness) { result in results.withLock { $0[index] = result } }
            }
        }
        #expect(try harness.store.lastCommit == before + 2)
        return results.withLock { $0 }
    }

    private struct State {
        var text: String
        var head: Seq
        var epoch: Epoch
    }

    /// Returns what all users see of a conversation.
    private func state(of id: ConversationID, _ harness: EngineHarness) throws -> State {
        var state = State(text: "", head: 0, epoch: Epoch(rawValue: 0))
        for user in Self.users {
            do {
                let head = try harness.head(id, user)
                state.head = max(state.head, head.state.head)
                state.epoch = head.state.epoch
                state.text += "\(user): \(head.unread), \(head.mentions), \(head.state.head), \(head.state.rev), "
                state.text += "\(head.peerReadSeq), \(head.peerDeliveredSeq), \(head.hasDeliveryReceipts)\n"
                for message in try harness.page(of: id, by: user).messages {
                    state.text += "  \(message.seq) \(message.timetoken) \(message.id) \(message.sender) "
                    state.text += "\(message.text ?? "–") \(String(describing: message.replies)) \(message.actions)\n"
                }
            } catch let error as ChatError {
                state.text += "\(user): \(error.code)\n"
            }
        }
        state.text += "\(try harness.store.read { try $0.pushCounts().waiting }) pushes"
        return state
    }

    // MARK: Changes

    private func change(_ heads: [State]) -> (name: String, change: Change) {
        let index = random.below(Self.conversations.count)
        let (id, head) = (Self.conversations[index], heads[index])
        let caller = Caller(user: random.pick(Self.users))
        let known = sent.filter { $0.conversation == id }.randomElement(using: &random)?.submission
        switch random.below(13) {
        case 0...4: return send(to: id, caller, replyTo: known)
        case 5:
            let (submission, conversation) = sent.randomElement(using: &random) ?? (harnesses[0].submission(), id)
            let name = "\(caller.user) sends \(submission.id) again to \(conversation)"
            return (name, send(submission, conversation, caller))
        case 6...7:
            // Another change of the transaction may store the messages after the newest one first.
            let newest = Int(head.head)
            let seq = Seq(random.pick([random.below(newest + 2), newest + random.below(3)]))
            return (
                "\(caller.user) reads \(id) to \(seq)",
                { harness, done in
                    let epoch = (try? harness.head(id, caller.user).state.epoch) ?? Epoch(rawValue: 0)
                    harness.engine.read(id, seq: seq, epoch: epoch, by: caller) { result in
                        done(Self.text(result) { "\($0.readSeq) \($0.unread) \($0.mentions) \($0.userRev)" })
                    }
                }
            )
        case 8:
            guard let known else { return send(to: id, caller, replyTo: nil) }
            let text = "edited \(random.below(100))"
            return (
                "\(caller.user) edits \(known.id) in \(id)",
                { harness, done in
                    harness.engine.edit(known.id, in: id, MessageEdit(.text(text)), by: caller) {
                        done(Self.text($0) { "\($0.seq) \($0.text ?? "")" })
                    }
                }
            )
        case 9:
            guard let known else { return send(to: id, caller, replyTo: nil) }
            return react(to: known.id, in: id, caller)
        case 10:
            guard let known else { return send(to: id, caller, replyTo: nil) }
            let deleter = random.below(2) == 0 ? EngineHarness.admin : caller
            return (
                "\(deleter.user) deletes \(known.id) in \(id)",
                { harness, done in
                    harness.engine.delete([known.id], in: id, by: deleter) { done(Self.text($0) { "\($0)" }) }
                }
            )
        case 11:
            let seq = Seq(random.below(Int(head.head) + 2))
            return (
                "\(caller.user) has received \(id) to \(seq)",
                { harness, done in
                    let epoch = (try? harness.head(id, caller.user).state.epoch) ?? Epoch(rawValue: 0)
                    let mark = DeliveryMark(conversation: id, position: EpochPosition(seq: seq, epoch: epoch))
                    harness.engine.execute(ReportDelivered([mark]), by: caller) { result in
                        done(Self.text(result) { "\($0.results.map { $0.error?.message ?? "accepted" })" })
                    }
                }
            )
        default: return manage(id, caller.user)
        }
    }

    private func react(to message: MessageID, in id: ConversationID, _ caller: Caller) -> (String, Change) {
        // Few operation IDs, so that many requests are repeated or have the ID of another request.
        let operation = random.below(2) == 0 ? MessageID(high: 0x7000, low: 1 << 63 | UInt64(random.below(5))) : nil
        let value = "\(random.below(2))"
        if random.below(3) == 0 {
            return (
                "\(caller.user) removes the reaction \(value) from \(message) in \(id)",
                { harness, done in
                    harness.engine.removeAction(
                        from: message, .own(type: "reaction", value: value), in: id, operation: operation, by: caller
                    ) { done(Self.text($0) { "\($0)" }) }
                }
            )
        }
        return (
            "\(caller.user) reacts with \(value) to \(message) in \(id)",
            { harness, done in
                harness.engine.addAction(
                    to: message, in: id, type: "reaction", value: value, operation: operation, by: caller
                ) { done(Self.text($0) { "\($0.timetoken)" }) }
            }
        )
    }

    private func send(to id: ConversationID, _ caller: Caller, replyTo known: Submission?) -> (String, Change) {
        let mentions: [Mentions?] = [
            nil, nil, Mentions(everyone: true, users: [], pushText: nil),
            Mentions(everyone: false, users: [random.pick(Self.users)], pushText: nil),
        ]
        var submission = harnesses[0].submission(
            "text \(random.below(100))", mentions: random.pick(mentions), countsUnread: random.below(5) > 0)
        if random.below(4) == 0 { submission.attributes.replyTo = known?.id }
        sent.append((submission, id))
        return ("\(caller.user) sends \(submission.id) to \(id)", send(submission, id, caller))
    }

    private func send(_ submission: Submission, _ id: ConversationID, _ caller: Caller) -> Change {
        { harness, done in
            harness.engine.send(submission, to: id, by: caller) { result in
                done(Self.text(result) { "\($0.outcome) \($0.timetoken) \(String(describing: $0.position?.seq))" })
            }
        }
    }

    /// A change by an administrator that affects what a user may do.
    private func manage(_ id: ConversationID, _ user: UserID) -> (String, Change) {
        let place = id.community ?? id
        switch random.below(6) {
        case 0:
            return (
                "\(user) leaves \(place)",
                { harness, done in
                    harness.engine.removeMember(user, from: place, by: EngineHarness.admin) {
                        done(Self.text($0) { "\($0)" })
                    }
                }
            )
        case 1...2:
            let mute: Mute?? = random.pick([nil, .some(nil), .some(.forever)])
            return (
                "\(user) is added to \(place), mute \(String(describing: mute))",
                { harness, done in
                    harness.engine.putMember(user, role: nil, mute: mute, of: place, by: EngineHarness.admin) {
                        done(Self.text($0) { "\($0)" })
                    }
                }
            )
        case 3:
            return (
                "\(user) is banned from \(place)",
                { harness, done in
                    BanUser(conversation: place, user: user).execute(harness.context) {
                        done(Self.text($0) { _ in "banned" })
                    }
                }
            )
        case 4:
            return (
                "\(user) is no longer banned from \(place)",
                { harness, done in
                    UnbanUser(conversation: place, user: user).execute(harness.context) {
                        done(Self.text($0) { _ in "no longer banned" })
                    }
                }
            )
        default:
            let range = DeleteRange(from: nil, to: .seq(Seq(random.below(8)) + 1))
            return (
                "the history of \(id) is deleted below \(String(describing: range.to))",
                { harness, done in
                    harness.engine.delete(range, of: id, by: EngineHarness.admin) { done(Self.text($0) { "\($0)" }) }
                }
            )
        }
    }

    private static func text<Answer>(_ result: Result<Answer, ChatError>, _ text: (Answer) -> String) -> String {
        switch result {
        case .success(let answer): text(answer)
        case .failure(let error): "\(error.code): \(error.message)"
        }
    }
}
