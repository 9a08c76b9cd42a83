import ArgumentParser
import Foundation
import GRDBSQLite
import Scrollback
import ScrollbackModel
import ScrollbackSQLite
import ScrollbackWire

struct Community: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Measure the cost of sends, @everyone and opening the app in small and large communities."
    )

    @Option(help: "The number of members of the large community. The small one has 1,000.") var members = 100_000
    @Option var channels = 500
    @Option(help: "The number of existing messages in the channel with a long history.") var messages = 100_000
    @Option(help: "The number of connected members, at least 10. A tenth of them subscribe to the channel.")
    var online = 500
    @Option(help: "The number of measured sends, one after the other.") var sends = 200
    @Option var rounds = 20

    func run() async throws {
        guard online >= 10, members >= online, channels >= 1, sends >= 1, rounds >= 1 else {
            throw ValidationError(
                "--online must be in 10...--members. --channels, --sends and --rounds must be at least 1.")
        }
        try await measure("small", members: min(members, 1000), messages: 0)
        try await measure("large", members: members, messages: 0)
        try await measure("long", members: min(members, 1000), messages: messages)
    }

    private static let channel = ConversationID.community("city", channel: "channel0")

    private func measure(_ name: String, members: Int, messages: Int) async throws {
        let server = try ServerProcess()
        defer { server.stop() }
        let tokens = try await Tokens(server.directory)
        let admin = try await tokens.admin()
        try await Preparation(server: server, admin: admin)
            .make(.community("city"), members: members, channels: channels)
        if messages > 0 { try fill(server, messages) }
        try await server.waitUntilIdle()
        let meter = Meter(server, admin: admin)
        report(name, "\(members) members, \(channels) channels, \(messages) messages in the measured channel")

        let delivered = EventCounter()
        let online = try await connect(min(self.online, members), server, tokens, delivered)
        let sender = online[0]
        let rows = RowCount(server.directory)
        for mentions in [nil, Mentions.everyone()] {
            _ = await send(20, mentions, by: sender)
            try await Task.sleep(for: .seconds(1))
            let before = (
                rows: rows.counts(), bytes: try await meter.outboundBytes(), disk: server.writtenBytes,
                cpu: server.cpuSeconds, frames: delivered.count
            )
            let sample = await send(sends, mentions, by: sender)
            // The server announces changed channels a few times per second.
            try await Task.sleep(for: .seconds(1))
            let cost = String(
                format: "%@  %@ fanned out each, %.1f frames  %.1f KiB written to disk each  server CPU %.2f ms each",
                sample.summary, kibibytes((try await meter.outboundBytes() - before.bytes) / sends),
                Double(delivered.count - before.frames) / Double(sends),
                Double(server.writtenBytes - before.disk) / 1024 / Double(sends),
                (server.cpuSeconds - before.cpu) / Double(sends) * 1000)
            report("\(name): \(mentions == nil ? "send" : "@everyone")", cost)
            report("\(name): rows added each", rows.added(since: before.rows, by: sends))
        }
        for client in online { client.close() }
        try await measureOpening(name, server, tokens, meter, members)
    }

    // MARK: Preparation

    private func fill(_ server: ServerProcess, _ messages: Int) throws {
        var text = ""
        let start = Date()
        let body = String(repeating: "x", count: 289)
        for number in 0..<messages {
            // The messages must be newer than the members, who could not see them otherwise.
            let time = start.addingTimeInterval(Double(number) / 1_000_000)
            text += """
                {"id":"\(number)","channel":"channel0","sender":"\(user(number % 1000))","time":"\(time.iso8601)",\
                "text":"\(body)"}

                """
        }
        let file = server.directory.appending(path: "long.jsonl")
        try Data(text.utf8).write(to: file)
        Thread.sleep(forTimeInterval: 1)
        try server.command([
            "import", file.path, "--kind", "community", "--target", "city", "--counts-unread",
        ])
    }

    private func connect(
        _ count: Int, _ server: ServerProcess, _ tokens: Tokens, _ delivered: EventCounter
    ) async throws -> [LoadClient] {
        var clients: [LoadClient] = []
        for number in 0..<count {
            let client = try await LoadClient(server.address, token: tokens.token(user(number)), device: "member") {
                [delivered] _ in delivered.add()
            }
            if number.isMultiple(of: 10) { _ = await client.request(Subscribe([Self.channel])) }
            clients.append(client)
        }
        return clients
    }

    private func send(_ count: Int, _ mentions: Mentions?, by client: LoadClient) async -> Sample {
        await client.sendTexts(to: Self.channel, mentions: mentions) { $0 < count }
    }

    // MARK: Opening the app

    /// Measures a member with a new device: on the wire until all windows arrived, and in the SDK until the list is
    /// complete.
    private func measureOpening(
        _ name: String, _ server: ServerProcess, _ tokens: Tokens, _ meter: Meter, _ members: Int
    ) async throws {
        var wire = Sample()
        var shown = Sample()
        let expected = Int64(2 * (sends + 20))
        let before = (bytes: try await meter.outboundBytes(), cpu: server.cpuSeconds)
        for round in 0..<rounds {
            let member = user(members - 1 - round % min(members, 500))
            let start = now()
            let client = try await LoadClient(server.address, token: tokens.token(member), device: "new\(round)")
            var cursor: String?
            while true {
                var reader = try JSONReader(await client.request(SyncConversations.window(cursor: cursor, limit: 100)))
                let window = try HeadWindow(from: &reader)
                cursor = window.cursor
                if window.isDone { break }
            }
            wire.add(now() - start)
            client.close()
        }
        let bytes = try await meter.outboundBytes() - before.bytes
        report(
            "\(name): opening, on the wire",
            String(
                format: "%@  %@ each  server CPU %.1f ms each", wire.summary, kibibytes(bytes / rounds),
                (server.cpuSeconds - before.cpu) / Double(rounds) * 1000))
        for round in 0..<max(1, rounds / 4) {
            let member = user(members - 1 - round % min(members, 500))
            let token = try await tokens.token(member)
            let client = try await ChatClient.open(
                .init(server: server.address, user: member, store: .inMemory, token: { token }))
            let views = client.recents.views(limit: 100)
            let start = now()
            client.connect()
            for await view in views where view.totalUnread >= expected { break }
            shown.add(now() - start)
            await client.close()
        }
        report("\(name): opening, until the SDK shows", shown.summary)
    }
}

/// Counts the rows of each table of a running server's database.
private struct RowCount {
    private let database: RawSQLite

    init(_ directory: URL) {
        database = RawSQLite(reading: directory.appending(path: SQLiteStore.fileName).path)
    }

    func counts() -> [String: Int] {
        var counts: [String: Int] = [:]
        for table in database.texts("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'") {
            counts[table] = database.integer("SELECT count(*) FROM \"\(table)\"")
        }
        return counts
    }

    /// Returns the rows added per send, by table.
    func added(since before: [String: Int], by sends: Int) -> String {
        let added = counts().map { (table: $0.key, rows: $0.value - before[$0.key, default: 0]) }
            .filter { $0.rows != 0 }.sorted { $0.table < $1.table }
        return added.map { String(format: "%@ %.2f", $0.table, Double($0.rows) / Double(sends)) }
            .joined(separator: ", ")
    }
}
