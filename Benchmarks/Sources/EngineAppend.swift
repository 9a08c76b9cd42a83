import ArgumentParser
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ScrollbackWire
import Synchronization

struct EngineAppend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure durable appends of the engine, 128 in flight, next to raw SQLite in batches of 128.")

    @Option var duration = 6.0
    @Option(parsing: .upToNextOption, help: "The numbers of conversations over which the appends are spread.")
    var conversations = [50, 1000]

    func run() async throws {
        for conversations in conversations {
            let raw = try measureRaw(conversations)
            let ours = try await Self.measure(conversations, for: duration)
            report(
                "append, \(conversations) conversations",
                String(
                    format: "%.0f/s  %@   raw SQLite %.0f/s   ratio %.2f (budget 0.50)", ours.median,
                    ours.durations.summary, raw, ours.median / raw))
        }
    }

    private func measureRaw(_ conversations: Int) throws -> Double {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let database = RawSQLite(folder.url.appending(path: "raw.db").path)
        database.makeMessages()
        return database.insert(for: duration, batch: 128, conversations: conversations)
    }

    /// Measures appends to conversations of a new store.
    static func measure(
        _ conversations: Int, for duration: Double, _ options: SQLiteStore.Options = .init()
    ) async throws -> Figures {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let store = try SQLiteStore(directory: folder.url, options: options)
        let engine = try Engine(store: store)
        for number in 0..<conversations {
            await withCheckedContinuation { continuation in
                // Administrators have no daily quota of groups.
                engine.execute(
                    PutConversation(
                        conversation: .group(Identifier(known: "g\(number)")),
                        settings: ConversationSettings(members: ["sender"])),
                    by: Caller(user: "admin", isAdmin: true)
                ) { result in
                    if case .failure(let error) = result { fatalError("\(error)") }
                    continuation.resume()
                }
            }
        }
        let end = now() + duration
        let load = AppendLoad(engine: engine, conversations: conversations) { _ in now() < end }
        load.start()
        let sample = await load.finished()
        engine.commits.close()
        try store.close()
        return Figures(rates: [Double(sample.count) / duration], durations: sample)
    }
}

/// Keeps 128 appends in flight: each completion submits the next one.
final class AppendLoad: Sendable {
    private let engine: Engine
    private let conversations: Int
    private let mayStart: @Sendable (Int) -> Bool
    private let state: Mutex<State>
    private let content = MessageContent.text(String(repeating: "x", count: 289))

    private struct State {
        var sample = Sample()
        var started = 0
        var inFlight = 0
        var random: UInt32 = 12345
        var generator: SplitMix64
        var waiter: CheckedContinuation<Sample, Never>?
    }

    /// Creates a load on the conversations `g0`, `g1` and so on, of which the user `sender` is a member.
    ///
    /// - Parameters:
    ///   - seed: Determines the IDs of the messages.
    ///   - mayStart: Returns whether to submit another append, given how many were submitted.
    init(engine: Engine, conversations: Int, seed: UInt64 = 7, while mayStart: @escaping @Sendable (Int) -> Bool) {
        self.engine = engine
        self.conversations = conversations
        self.mayStart = mayStart
        state = Mutex(State(generator: SplitMix64(seed: seed)))
    }

    func start() {
        for _ in 0..<128 { next() }
    }

    /// The number of completed appends.
    var count: Int { state.withLock { $0.sample.count } }

    private func next() {
        let start = now()
        let submission: (Int, Submission)? = state.withLock { state in
            guard mayStart(state.started) else { return nil }
            state.started += 1
            state.inFlight += 1
            state.random = state.random &* 1_103_515_245 &+ 12345
            let id = MessageID(at: engine.clock(), using: &state.generator)
            return (Int(state.random >> 8) % conversations, Submission(id: id, content: content))
        }
        guard let submission else { return }
        engine.send(
            submission.1, to: .group(Identifier(known: "g\(submission.0)")), by: Caller(user: "sender")
        ) { [self] result in
            guard case .success = result else { fatalError("An append failed: \(result)") }
            let last: (CheckedContinuation<Sample, Never>, Sample)? = state.withLock { state in
                state.sample.add(now() - start)
                state.inFlight -= 1
                guard state.inFlight == 0, !mayStart(state.started), let waiter = state.waiter else { return nil }
                state.waiter = nil
                return (waiter, state.sample)
            }
            if let last { last.0.resume(returning: last.1) } else { next() }
        }
    }

    func finished() async -> Sample {
        await withCheckedContinuation { continuation in
            state.withLock { $0.waiter = continuation }
        }
    }
}
