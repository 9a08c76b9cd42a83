import ArgumentParser
import Foundation
import GRDBSQLite
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ScrollbackSync
import ScrollbackWire

struct CatchUp: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure the time from connecting until 1,000 missed messages arrive, on the wire and in the SDK.")

    @Option var rounds = 10
    @Option var missed = 1000

    func run() async throws {
        let server = try ServerProcess()
        defer { server.stop() }
        let tokens = try await Tokens(server.directory)
        let messages = try await MissedMessages(missed, on: server, tokens)
        let token = try await tokens.token("alice")
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var configuration = ChatClient.Configuration(
            server: server.address, user: "alice", store: .directory(folder.url), token: { token })
        configuration.pace = nil

        var wire = Sample()
        var shown = Sample()
        try await prepare(configuration)
        for _ in 0..<rounds {
            let positions = try await messages.positions(server.address, token)
            await messages.send()
            wire.add(try await messages.read(since: positions, from: server.address, token))

            let client = try await ChatClient.open(configuration)
            let events = client.events
            let opened = now()
            client.connect()
            var received = 0
            for await event in events {
                if case .message = event { received += 1 }
                if received == missed { break }
            }
            shown.add(now() - opened)
            await client.close()
        }
        report("\(missed) missed, on the wire", "\(wire.summary)  (budget 30 ms)")
        report("\(missed) missed, until the SDK shows", "\(shown.summary)  (budget 100 ms)")
    }

    /// Synchronizes the client's store, so that no messages are missing.
    private func prepare(_ configuration: ChatClient.Configuration) async throws {
        let client = try await ChatClient.open(configuration)
        client.connect()
        while try await client.recents.view().conversations.count < 0 || !client.core.isCurrent(.group("g0")) {
            try await Task.sleep(for: .milliseconds(20))
        }
        await client.close()
    }
}

/// Creates messages of one log in the form that a server sends.
func makeMessages(_ range: ClosedRange<Int64>, in id: ConversationID) -> [Message] {
    var generator = SplitMix64(seed: UInt64(range.lowerBound))
    let content = MessageContent.text(String(repeating: "x", count: 289))
    return range.map { seq in
        Message(
            conversation: id, seq: seq, countedIndex: seq,
            id: MessageID(at: Date(timeIntervalSince1970: 1_700_000_000), using: &generator),
            timetoken: Timetoken(rawValue: 17_000_000_000_000_000 + UInt64(seq)), epoch: Epoch(rawValue: 1),
            sender: "bob", type: .text, content: content)
    }
}

/// Creates the head of a log that is visible from its beginning.
private func head(_ id: ConversationID, at seq: Seq) -> ConversationHead {
    ConversationHead(
        conversation: id,
        state: LogHead(epoch: Epoch(rawValue: 1), view: 0, head: seq, firstSeq: 1, countedIndex: seq, rev: 0))
}

/// Opens a client with a store in a directory.
///
/// It never connects.
private func offlineClient(_ directory: URL) async throws -> ChatClient {
    guard let nowhere = URL(string: "http://127.0.0.1:9") else { throw BenchError("no address") }
    return try await ChatClient.open(
        .init(server: nowhere, user: "alice", store: .directory(directory), token: { "none" }))
}

struct ClientPage: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Measure reading pages of 50 from a million local rows next to raw SQLite, and opening a conversation.")

    @Option var messages = 1_000_000
    @Option var queries = 3000

    func run() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let (client, chat) = try await Self.open(folder.url, messages: messages)
        var random = SplitMix64(seed: 3)
        var ours = Sample()
        for query in 0..<(queries + 100) {
            let start = now()
            try await Self.readPage(of: chat, messages, &random)
            if query >= 100 { ours.add(now() - start) }
        }
        let raw = RawSQLite(folder.url.appending(path: "client.sqlite").path)
        let sql = """
            SELECT seq, countedIndex, timetoken, id, sender, type, content, rev, flags, mentions, metadata, extra,
            customType, push, replyTo, editedAt FROM message
            WHERE conversation = 1 AND seq < ? ORDER BY seq DESC LIMIT 50
            """
        let limit = raw.pages(sql, queries: queries) { statement, _ in
            sqlite3_bind_int64(statement, 1, Seq.random(in: 51...Int64(messages), using: &random))
        }
        report(
            "SDK page of 50",
            String(
                format: "%@   raw SQLite with decoding %@   ratio %.2f (budget 1.5)", ours.summary, limit.summary,
                ours.percentile(0.5) / limit.percentile(0.5)))
        var opening = Sample()
        for _ in 0..<200 {
            let start = now()
            for await view in chat.timeline(at: .latest, window: 200).views {
                precondition(view.items.count == 200)
                break
            }
            opening.add(now() - start)
        }
        report("SDK opening a conversation", "\(opening.summary)  (budget 16 ms)")
        await client.close()
    }

    /// Opens a client whose store has a group with many messages, all of them indexed.
    static func open(_ directory: URL, messages: Int) async throws -> (ChatClient, Conversation) {
        let id = ConversationID.group("deep")
        let client = try await offlineClient(directory)
        let store = client.core.store
        _ = try await store.write { try $0.apply([.head(head(id, at: 0))]) }
        for start in stride(from: 1, through: Int64(messages), by: 500) {
            let batch = makeMessages(start...min(start + 499, Int64(messages)), in: id)
            _ = try await store.write { try $0.apply(batch.map { .live(.message($0)) }) }
        }
        // Otherwise, the search index would be updated while pages are read.
        _ = try await client.core.search.upToDateIndex()
        return (client, client.conversation(id))
    }

    /// Reads a page of 50 at a random position.
    static func readPage(of chat: Conversation, _ messages: Int, _ random: inout SplitMix64) async throws {
        let place = Seq.random(in: 51...Int64(messages), using: &random)
        let page = try await chat.history(.before(.seq(place)), limit: 50, from: .local)
        precondition(page.messages.count == 50)
    }
}

struct ClientIngest: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure the SDK's rate of storing live messages in transactions of 500, with two observers.")

    @Option var messages = 200_000

    func run() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let id = ConversationID.group("busy")
        let client = try await offlineClient(folder.url)
        _ = try await client.core.store.write { try $0.apply([.head(head(id, at: 0))]) }
        let timeline = Task {
            var views = 0
            for await _ in client.conversation(id).timeline(at: .latest, window: 100).views { views += 1 }
            return views
        }
        let recents = Task {
            var views = 0
            for await _ in client.recents.views() { views += 1 }
            return views
        }
        let batches = stride(from: 1, through: Int64(messages), by: 500).map { start in
            makeMessages(start...min(start + 499, Int64(messages)), in: id)
        }
        let start = now()
        for batch in batches { try await client.core.apply(batch.map { .live(.message($0)) }) }
        let elapsed = now() - start
        await client.close()
        report(
            "SDK ingest",
            String(
                format: "%.0f messages/s (budget 10,000), two observers got %d and %d views",
                Double(messages) / elapsed,
                await timeline.value, await recents.value))
    }
}
