import ArgumentParser
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import Synchronization

struct EngineAppend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure durable appends of the engine, 128 in flight, next to raw SQLite in batches of 128.")

    @Option var duration = 6.0

    func run() async throws {
        for conversations in [50, 1000] {
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
                engine.putConversation(
                    .group(Identifier(known: "g\(number)")), ConversationSettings(), by: Caller(user: "sender")
                ) { _ in continuation.resume() }
            }
        }
        let load = AppendLoad(engine: engine, conversations: conversations, until: now() + duration)
        for _ in 0..<128 { load.next() }
        let sample = await load.finished()
        engine.log.close()
        try store.close()
        return Figures(rates: [Double(sample.count) / duration], durations: sample)
    }
}

/// Keeps a constant number of appends in flight: each completion submits the next one.
private final class AppendLoad: Sendable {
    private let engine: Engine
    private let conversations: Int
    private let end: Double
    private let state = Mutex(State())
    private let content = MessageContent.text(String(repeating: "x", count: 289))

    private struct State {
        var sample = Sample()
        var inFlight = 0
        var random: UInt32 = 12345
        var generator = SplitMix64(seed: 7)
        var waiter: CheckedContinuation<Sample, Never>?
    }

    init(engine: Engine, conversations: Int, until end: Double) {
        self.engine = engine
        self.conversations = conversations
        self.end = end
    }

    func next() {
        let start = now()
        let submission: (Int, Submission)? = state.withLock { state in
            guard start < end else { return nil }
            state.inFlight += 1
            state.random = state.random &* 1_103_515_245 &+ 12345
            let id = MessageID(at: Date(), using: &state.generator)
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
                guard state.inFlight == 0, now() >= end, let waiter = state.waiter else { return nil }
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
