import ArgumentParser
import AsyncHTTPClient
import Foundation
import GRDBSQLite
import NIOCore
import NIOHTTP1
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ScrollbackWire

/// Creates a group with many messages directly in the engine.
///
/// - Parameters:
///   - existing: The number of messages that an earlier call has created.
///   - text: Returns the text of a message, given its number.
func fill(
    _ store: any MessageStore, from existing: Int = 0, messages: Int, group: Identifier, sender: UserID,
    clock: @escaping @Sendable () -> Date = { Date() },
    text: (Int) -> String = { _ in String(repeating: "x", count: 289) }
) throws {
    let engine = try Engine(store: store, execution: .inline, clock: clock)
    let creation = PutConversation(conversation: .group(group), settings: ConversationSettings())
    engine.execute(creation, by: Caller(user: sender)) { _ in }
    var generator = SplitMix64(seed: 11)
    let start = Date(timeIntervalSince1970: 1_500_000_000)
    let admin = Caller(user: "admin", isAdmin: true)
    for batch in stride(from: existing, to: messages, by: 500) {
        let messages = (batch..<min(batch + 500, messages)).map { number in
            let time = start.addingTimeInterval(Double(number))
            return ImportedMessage(
                sender: sender, sentAt: time,
                submission: Submission(id: MessageID(at: time, using: &generator), content: .text(text(number))))
        }
        engine.importHistory(messages, into: .group(group), by: admin) { result in
            if case .failure(let error) = result { fatalError("\(error)") }
        }
    }
}

struct EnginePage: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure pages of 50 at random positions of a million messages in the engine, next to raw SQLite.")

    @Option var messages = 1_000_000
    @Option var queries = 5000

    func run() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let store = try SQLiteStore(directory: folder.url)
        try fill(store, messages: messages, group: "deep", sender: "alice")
        try store.checkpoint()
        let engine = try Engine(store: store)
        let ours = try Self.pages(engine, messages, queries)
        let raw = RawSQLite(folder.url.appending(path: SQLiteStore.fileName).path)
        var places = SplitMix64(seed: 3)
        let sql = """
            SELECT seq, countedIndex, timetoken, id, sender, type, content FROM message
            WHERE conversation = 1 AND seq < ? ORDER BY seq DESC LIMIT 50
            """
        _ = raw.pages(sql, queries: 200) { statement, _ in
            sqlite3_bind_int64(statement, 1, Seq.random(in: 51...Int64(messages), using: &places))
        }
        let limit = raw.pages(sql, queries: queries) { statement, _ in
            sqlite3_bind_int64(statement, 1, Seq.random(in: 51...Int64(messages), using: &places))
        }
        report(
            "page of 50, engine",
            String(
                format: "%@   raw SQLite %@   ratio %.1f (budget 5)", ours.summary, limit.summary,
                ours.percentile(0.5) / limit.percentile(0.5)))
        // The upper limit of what caching the newest messages in memory could save.
        let memory = MemoryStore(generation: 1)
        try fill(memory, messages: 1000, group: "deep", sender: "alice")
        let newest = try Self.newest(engine, queries)
        let inMemory = try Self.newest(try Engine(store: memory), queries)
        report("newest page of 50, engine", "\(newest.summary)   the same from memory \(inMemory.summary)")
        try store.close()
    }

    /// Reads pages before random positions of the group that ``fill(_:messages:group:sender:)`` created.
    static func pages(_ engine: Engine, _ messages: Int, _ queries: Int) throws -> Sample {
        let caller = Caller(user: "alice")
        var random = SplitMix64(seed: 3)
        var sample = Sample()
        for query in 0..<(queries + 200) {
            let place = Seq.random(in: 51...Int64(messages), using: &random)
            let start = now()
            let page = try engine.history(of: .group("deep"), HistoryQuery(.before(.seq(place)), limit: 50), by: caller)
            precondition(page.messages.count == 50)
            if query >= 200 { sample.add(now() - start) }
        }
        return sample
    }

    private static func newest(_ engine: Engine, _ queries: Int) throws -> Sample {
        let caller = Caller(user: "alice")
        var sample = Sample()
        for _ in 0..<queries {
            let start = now()
            let page = try engine.history(of: .group("deep"), HistoryQuery(.latest, limit: 50), by: caller)
            precondition(page.messages.count == 50)
            sample.add(now() - start)
        }
        return sample
    }
}

struct HTTPPage: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure pages of 50 at random positions over HTTP, with one reader and with eight.")

    @Option var messages = 1_000_000
    @Option var duration = 6.0

    func run() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(directory: folder.url)
        try fill(store, messages: messages, group: "deep", sender: "alice")
        try store.close()
        let server = try ServerProcess(on: folder.url)
        defer {
            server.stop()
            folder.remove()
        }
        try await server.waitUntilIdle(limit: 600)
        let token = try await Tokens(folder.url).token("alice")
        for readers in [1, 8] {
            let pages = await Self.read(server, token, messages, readers: readers, for: duration)
            report(
                "page of 50, HTTP, \(readers) reader\(readers == 1 ? "" : "s")",
                String(
                    format: "%.0f/s  %@  (budget p50 1 ms, p99 3 ms; 8 readers 2,000/s)  server CPU %.2f ms each",
                    pages.median, pages.durations.summary, pages.cpuSecondsPerUnit * 1000))
        }
    }

    /// Reads pages before random positions of the group that ``fill(_:messages:group:sender:)`` created.
    static func read(
        _ server: ServerProcess, _ token: String, _ messages: Int, readers: Int, for duration: Double
    ) async -> Figures {
        let address = server.address
        let cpu = server.cpuSeconds
        let start = now()
        let sample = await runConcurrently(readers) { reader in
            await read(address, token, messages, seed: UInt64(reader), until: start + duration)
        }
        let count = Double(sample.count)
        return Figures(
            rates: [count / (now() - start)], durations: sample, cpuSeconds: server.cpuSeconds - cpu, amount: count)
    }

    private static func read(
        _ address: URL, _ token: String, _ messages: Int, seed: UInt64, until end: Double
    ) async -> Sample {
        var random = SplitMix64(seed: seed)
        var sample = Sample()
        var warm = 50
        while now() < end {
            let place = Seq.random(in: 51...Int64(messages), using: &random)
            var request = HTTPClientRequest(
                url: "\(address.absoluteString)/v1/conversations/group:deep/messages?before=seq:\(place)&limit=50")
            request.headers.add(name: "Authorization", value: "Bearer \(token)")
            let start = now()
            guard let response = try? await HTTPClient.shared.execute(request, timeout: .seconds(10)),
                let body = try? await response.body.collect(upTo: 1 << 20), response.status == .ok
            else { fatalError("Can't read a page.") }
            precondition(body.readableBytes > 10_000)
            if warm > 0 { warm -= 1 } else { sample.add(now() - start) }
        }
        return sample
    }
}
