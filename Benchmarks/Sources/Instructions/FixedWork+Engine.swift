import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ScrollbackSearch
import ScrollbackWire
import Synchronization

/// Work of the engine with its store.
///
/// The writer runs on the calling thread.
extension FixedWork {
    /// Transactions are slow under valgrind, and their sizes must not depend on it.
    private static func makeEngine(_ directory: URL) throws -> Engine {
        try Engine(
            store: SQLiteStore(directory: directory), execution: .inline, clock: clock, batchTime: .seconds(3_600))
    }

    /// Creates the groups `g0`, `g1` and so on, as an administrator, who has no daily quota.
    private static func makeGroups(_ count: Int, _ engine: Engine, of members: [UserID]) {
        for first in stride(from: 0, to: count, by: 500) {
            engine.submitTogether {
                for number in first..<min(first + 500, count) {
                    engine.execute(
                        PutConversation(
                            conversation: group(number), settings: ConversationSettings(members: members)),
                        by: Caller(user: "admin", isAdmin: true), completion: check)
                }
            }
        }
    }

    private static func group(_ number: Int) -> ConversationID { .group(Identifier(known: "g\(number)")) }

    private static func text(_ generator: inout SplitMix64) -> Submission {
        Submission(
            id: MessageID(at: clock(), using: &generator), content: .text(String(repeating: "x", count: 289)))
    }

    static func appends(_ directory: URL, _ count: Int) throws -> Work {
        let engine = try makeEngine(directory)
        makeGroups(50, engine, of: ["sender"])
        return { round in
            let load = AppendLoad(engine: engine, conversations: 50, seed: UInt64(round)) { $0 < count }
            engine.submitTogether { load.start() }
            precondition(load.count == count)
        }
    }

    static func sendFrames(_ directory: URL, _ count: Int) throws -> Work {
        let engine = try makeEngine(directory)
        makeGroups(50, engine, of: ["sender"])
        let connection = CountingConnection()
        let session = Session(services: SessionServices(engine: engine), lane: connection, transport: connection)
        session.receive(HelloFrame(token: "sender", device: "phone").encoded())
        return { round in
            var generator = SplitMix64(seed: UInt64(round))
            let before = connection.frames
            for number in 0..<count {
                let request = SendMessage(conversation: group(number % 50), submission: text(&generator))
                session.receive(request.frame(ref: Int64(number)))
            }
            precondition(connection.frames == before + count)
        }
    }

    static func pages(_ directory: URL, _ count: Int) throws -> Work {
        let engine = try makeEngine(directory)
        let messages = 1_000
        try fill(engine.store, messages: messages, group: "deep", sender: "alice", clock: clock)
        return { _ in
            var random = SplitMix64(seed: 3)
            for _ in 0..<count {
                let place = Seq.random(in: 51...Int64(messages), using: &random)
                let request = GetHistory(
                    conversation: .group("deep"), query: HistoryQuery(.before(.seq(place)), limit: 50))
                let page = try request.run(engine, Caller(user: "alice"))
                precondition(page.messages.count == 50 && encodeBody(page) > 10_000)
            }
        }
    }

    static func syncs(_ directory: URL, _ count: Int) throws -> Work {
        let engine = try makeEngine(directory)
        let alice = Caller(user: "alice")
        makeGroups(20, engine, of: ["alice", "bob"])
        let window = try engine.syncWindow(cursor: nil, limit: 100, by: alice)
        let positions = window.heads.map { LogPosition(end: $0) }
        engine.submitTogether {
            var generator = SplitMix64(seed: 1)
            for number in 0..<1_000 {
                engine.send(text(&generator), to: group(number % 20), by: Caller(user: "bob"), completion: check)
            }
        }
        return { _ in
            for _ in 0..<count {
                var (received, behind) = (0, positions)
                while !behind.isEmpty {
                    let answer = try SyncConversations.logs(behind).run(engine, alice)
                    let checkpoint = try engine.checkpoints.current(on: engine.checkpoints.lineage)
                    let frame = ServerFrame.encodeResult(ref: 1, checkpoint: checkpoint) {
                        answer.writeMembers(to: &$0)
                    }
                    guard case .logs(let logs) = answer, !frame.isEmpty else { fatalError("The answer has no logs.") }
                    (received, behind) = try MissedMessages.advance(behind, by: logs, received)
                }
                precondition(received == 1_000)
            }
        }
    }

    static func recentsLists(_ directory: URL, _ count: Int) throws -> Work {
        let engine = try makeEngine(directory)
        makeGroups(1_000, engine, of: ["alice", "bob"])
        for first in stride(from: 0, to: 1_000, by: 500) {
            engine.submitTogether {
                var generator = SplitMix64(seed: UInt64(first))
                for number in first..<(first + 500) {
                    for user: UserID in ["alice", "bob"] {
                        engine.send(text(&generator), to: group(number), by: Caller(user: user), completion: check)
                    }
                }
            }
        }
        return { _ in
            for _ in 0..<count {
                let list = try ListConversations(page: Paging(limit: 100)).run(engine, Caller(user: "alice"))
                precondition(list.conversations.count == 100 && encodeBody(list) > 10_000)
            }
        }
    }

    static func indexing(_ directory: URL, _ count: Int) throws -> Work {
        let store = try SQLiteStore(directory: directory)
        var random = SplitMix64(seed: 5)
        try fill(store, messages: count, group: "deep", sender: "alice", clock: clock) { _ in
            // Few words are frequent, as in a language.
            (0..<40).map { _ in "word\(random.below(1 << random.below(14)))" }.joined(separator: " ")
        }
        return { _ in
            try SearchIndex.erase(in: directory)
            let search = try SQLiteSearch(store)
            while try search.catchUp() {}
            try search.close()
        }
    }
}

extension SessionServices {
    /// Services that run all work on the calling thread, and accept each user's ID as a token.
    init(engine: Engine) {
        self.init(
            engine: engine, verify: { $1(.success((Caller(user: UserID(known: $0)), nil))) }, offload: { $2() })
    }
}

/// Counts the frames that a session sends.
private final class CountingConnection: SessionTransport, ConnectionLane {
    private let count = EventCounter()

    var frames: Int { count.count }

    func send(_ frame: [UInt8]) { count.add() }
    func close(_ reason: CloseReason, _ text: String) { fatalError("The session was closed: \(text)") }
    func deliver(_ frame: [UInt8], to connections: [any Connection], except origin: Origin?) {}
}
