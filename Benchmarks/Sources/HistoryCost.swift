import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ScrollbackWire

/// Creates a group with a million messages.
///
/// Every thousandth is an image, and every thousandth has another sender.
private func fillMixed(_ store: any MessageStore, messages: Int) throws {
    let engine = try Engine(store: store, execution: .inline)
    let group = PutConversation(conversation: .group("deep"), settings: ConversationSettings())
    engine.execute(group, by: Caller(user: "alice")) { _ in }
    var generator = SplitMix64(seed: 11)
    let start = Date(timeIntervalSince1970: 1_500_000_000)
    let text = MessageContent.text(String(repeating: "x", count: 289))
    let image = MessageContent(known: .image, json: text.json)
    for batch in stride(from: 0, to: messages, by: 500) {
        let messages = (batch..<min(batch + 500, messages)).map { number in
            let time = start.addingTimeInterval(Double(number))
            return ImportedMessage(
                sender: number % 1000 == 700 ? "rare" : "alice", sentAt: time,
                submission: Submission(
                    id: MessageID(at: time, using: &generator), content: number % 1000 == 300 ? image : text))
        }
        engine.importHistory(messages, into: .group("deep"), by: Caller(user: "admin", isAdmin: true)) { result in
            if case .failure(let error) = result { fatalError("\(error)") }
        }
    }
}

struct HistoryCost: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history-cost",
        abstract: "Measure pages at three depths of a million messages with and without filters, and message counts.")

    @Option var messages = 1_000_000
    @Option var queries = 500

    func run() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let store = try SQLiteStore(directory: folder.url)
        try fillMixed(store, messages: messages)
        try store.checkpoint()
        let engine = try Engine(store: store)
        let depths: [(String, ClosedRange<Int>)] = [
            ("newest", (messages - 1000)...messages), ("middle", (messages / 2 - 500)...(messages / 2 + 500)),
            ("oldest", 51...1051),
        ]
        for (name, places) in depths {
            let sample = try time(engine, places, .all)
            report("page of 50, \(name) end", sample.summary)
        }
        // A filtered page of 50 spans 50,000 messages. At the oldest end there are fewer older ones, so read newer ones
        // there.
        for (what, filter) in [
            ("image, by an index", MessageFilter.types([.image])), ("sender, by scanning", .senders(["rare"])),
        ] {
            for (name, places) in depths {
                let sample = try time(engine, places, filter)
                report("1 in 1,000, \(what), \(name)", sample.summary)
            }
        }
        try store.close()
        try counts()
    }

    /// Reads complete pages of 50 with as many requests as necessary.
    private func time(_ engine: Engine, _ places: ClosedRange<Int>, _ filter: MessageFilter) throws -> Sample {
        let caller = Caller(user: "alice")
        var random = SplitMix64(seed: 3)
        var sample = Sample()
        for query in 0..<(queries + 20) {
            let place = Seq(Int.random(in: places, using: &random))
            let start = now()
            var found = 0
            var anchor: Anchor? = place < 60_000 && filter != .all ? .after(.seq(place)) : .before(.seq(place))
            let readsForward = anchor == .after(.seq(place))
            while found < 50, let next = anchor {
                let page = try engine.history(
                    of: .group("deep"), HistoryQuery(next, limit: 50 - found, filter: filter), by: caller)
                found += page.messages.count
                anchor = (readsForward ? page.newer : page.older).map { .cursor($0) }
            }
            precondition(found == 50)
            if query >= 20 { sample.add(now() - start) }
        }
        return sample
    }

    private func counts() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let store = try SQLiteStore(directory: folder.url)
        let inline = try Engine(store: store, execution: .inline)
        var generator = SplitMix64(seed: 5)
        let start = Date(timeIntervalSince1970: 1_790_000_000)
        let content = MessageContent.text(String(repeating: "x", count: 289))
        for number in 0..<500 {
            let id = ConversationID.group(Identifier(known: "g\(number)"))
            let creation = PutConversation(conversation: id, settings: ConversationSettings())
            inline.execute(creation, by: Caller(user: "alice")) { _ in }
            let messages = (0..<1000).map { second in
                let time = start.addingTimeInterval(Double(second))
                return ImportedMessage(
                    sender: "alice", sentAt: time,
                    submission: Submission(id: MessageID(at: time, using: &generator), content: content))
            }
            inline.importHistory(messages, into: id, by: Caller(user: "admin", isAdmin: true)) { _ in }
        }
        inline.putSettings(by: Caller(user: "admin", isAdmin: true), completion: { _ in }) { $0.countWindowDays = nil }
        var sample = Sample()
        for _ in 0..<queries {
            let since = (0..<500).map { number in
                (
                    conversation: ConversationID.group(Identifier(known: "g\(number)")),
                    time: Timetoken(start.addingTimeInterval(Double.random(in: 0...1000, using: &generator)))
                )
            }
            let begin = now()
            let answers = try inline.counts(since: since, by: Caller(user: "alice"))
            sample.add(now() - begin)
            precondition(answers.count == 500)
        }
        report("counts over 500 conversations", sample.summary)
        try store.close()
    }
}

struct Retention: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure sends with and without a concurrent removal of expired messages.")

    @Option var messages = 500_000
    @Option var senders = 50
    @Option(help: "The duration of the run without removal, in seconds.") var duration = 10.0

    func run() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(directory: folder.url)
        try fill(store, messages: messages, group: "old", sender: "alice")
        let size = store.sizes().database
        try store.close()
        let server = try ServerProcess(on: folder.url)
        defer {
            server.stop()
            folder.remove()
        }
        let tokens = try await Tokens(folder.url)
        var clients: [LoadClient] = []
        for number in 0..<senders {
            clients.append(try await LoadClient(server.address, token: tokens.token(user(number)), device: "sender"))
        }
        let start = now()
        let without = await Self.load(clients) { now() - start < duration }
        report("sends, without removal", rate(without, now() - start))

        let admin = try await tokens.admin()
        let removal = now()
        try await Preparation(server: server, admin: admin).call("PUT", "/v1/settings", #"{"retentionDays":30}"#)
        let removed = RemovalMonitor(server: server, admin: admin, wanted: messages)
        let watch = Task { await removed.watch() }
        let with = await Self.load(clients) { !removed.isDone }
        let elapsed = now() - removal
        await watch.value
        report("sends, while \(messages) expire", rate(with, elapsed) + String(format: "   removed in %.1f s", elapsed))
        try await Task.sleep(for: .seconds(8))
        let path = folder.url.appending(path: SQLiteStore.fileName).path
        let after = (try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber)?.int64Value ?? 0
        report("the file", String(format: "%.0f MB before, %.0f MB after", Double(size) / 1e6, Double(after) / 1e6))
    }

    private func rate(_ sample: Sample, _ elapsed: Double) -> String {
        String(format: "%.0f/s  %@", Double(sample.count) / elapsed, sample.summary)
    }

    private static func load(
        _ clients: [LoadClient], while shouldContinue: @escaping @Sendable () -> Bool
    ) async -> Sample {
        await runConcurrently(clients.count) { number in
            await clients[number].sendTexts(to: .direct(user(number + 1000))) { _ in shouldContinue() }
        }
    }
}

/// Waits until the server has removed a number of messages.
private final class RemovalMonitor: Sendable {
    private let request: HTTPClientRequest
    private let wanted: Int
    private let done = EventCounter()

    init(server: ServerProcess, admin: String, wanted: Int) {
        var request = HTTPClientRequest(url: server.address.absoluteString + "/metrics")
        request.headers.add(name: "Authorization", value: "Bearer \(admin)")
        self.request = request
        self.wanted = wanted
    }

    var isDone: Bool { done.count > 0 }

    func watch() async {
        while !isDone {
            try? await Task.sleep(for: .milliseconds(200))
            guard
                let response = try? await HTTPClient.shared.execute(request, timeout: .seconds(5)),
                let body = try? await response.body.collect(upTo: 1 << 20),
                let line = String(buffer: body).split(separator: "\n")
                    .first(where: { $0.hasPrefix("scrollback_messages_removed_total ") }),
                let count = line.split(separator: " ").last.flatMap({ Int($0) })
            else { continue }
            if count >= wanted { done.add() }
        }
    }
}
