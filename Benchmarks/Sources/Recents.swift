import ArgumentParser
import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire

struct RecentsList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recents",
        abstract:
            "Measure the recents list of a user with very many conversations."
    )

    @Option(help: "The number of conversations, half direct and half groups. Even, at least 200.") var conversations =
        10_000
    @Option(help: "The number of messages in each, from two alternating senders. Even, at least 2.") var messages = 4
    @Option var rounds = 30

    func run() async throws {
        let server = try ServerProcess()
        defer { server.stop() }
        try prepare(server)
        try await server.waitUntilIdle()
        let tokens = try await Tokens(server.directory)
        let token = try await tokens.token("alice")
        let meter = Meter(server, admin: try await tokens.admin())

        try await measureHTTP(server, token)
        try await measureWindows(server, token)
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await measureNewDevices(server, token, meter)
        let client = try await open(server, token, .directory(folder.url))
        client.connect()
        try await waitUntilSynchronized(client)
        try await measureLocal(client)
        try await measureLeastRecent(server, tokens, client, meter)
        try await measureReadAll(server, token, client, meter)
        await client.close()
    }

    // MARK: Preparation

    /// The number of unread messages: those of other users, which is half of all.
    private var unread: Int64 { Int64(conversations) * Int64(messages / 2) }

    /// The other user of a conversation.
    ///
    /// Conversations are numbered by the age of their newest message, the oldest first.
    private func peer(_ number: Int) -> UserID { user(number) }

    private func prepare(_ server: ServerProcess) throws {
        guard messages >= 2, messages.isMultiple(of: 2), conversations >= 200, conversations.isMultiple(of: 2) else {
            throw ValidationError(
                "--messages must be even and at least 2. --conversations must be even and at least 200.")
        }
        let start = Date().addingTimeInterval(-86_400)
        for kind in ["direct", "group"] {
            var text = ""
            for number in 0..<conversations where number.isMultiple(of: 2) == (kind == "direct") {
                for place in 0..<messages {
                    let sender: UserID = place.isMultiple(of: 2) ? "alice" : peer(number)
                    let time = start.addingTimeInterval(Double(number) + Double(place) / 1000)
                    let body = String(repeating: "x", count: 60)
                    text += """
                        {"id":"\(number)-\(place)","channel":"c\(number)","sender":"\(sender)","time":"\(time.iso8601)",\
                        "text":"\(body)"}

                        """
                }
            }
            let file = server.directory.appending(path: "\(kind).jsonl")
            try Data(text.utf8).write(to: file)
            try server.command(["import", file.path, "--kind", kind, "--counts-unread"])
        }
    }

    private func open(
        _ server: ServerProcess, _ token: String, _ store: ChatClient.Configuration.Store
    ) async throws -> ChatClient {
        try await ChatClient.open(.init(server: server.address, user: "alice", store: store, token: { token }))
    }

    private func waitUntilSynchronized(_ client: ChatClient) async throws {
        while try await client.recents.view(limit: 1).totalUnread != unread {
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    // MARK: A new device

    private func measureHTTP(_ server: ServerProcess, _ token: String) async throws {
        let connection = try PlainHTTP(server.address)
        var sample = Sample()
        var bytes = 0
        _ = try connection.request("GET", "/v1/conversations?limit=100", ["Authorization: Bearer \(token)"])
        let cpu = server.cpuSeconds
        for _ in 0..<rounds {
            let start = now()
            let authorization = "Authorization: Bearer \(token)"
            bytes = try connection.request("GET", "/v1/conversations?limit=100", [authorization]).size
            sample.add(now() - start)
        }
        report(
            "first 100 of \(conversations), HTTP",
            String(
                format: "%@  (budget 10 ms)  %.1f KiB  server CPU %.2f ms each", sample.summary, Double(bytes) / 1024,
                (server.cpuSeconds - cpu) / Double(rounds) * 1000))
    }

    /// Measures the first sync of a device over WebSocket: the first window, and all windows.
    private func measureWindows(_ server: ServerProcess, _ token: String) async throws {
        var first = Sample()
        var all = Sample()
        var firstBytes = 0
        var bytes = 0
        let passes = max(1, rounds / 10)
        let cpu = server.cpuSeconds
        for pass in 0..<passes {
            let start = now()
            let client = try await LoadClient(server.address, token: token, device: "windows\(pass)")
            var cursor: String?
            var count = 0
            bytes = 0
            while true {
                let frame = await client.request(SyncConversations.window(cursor: cursor, limit: 100))
                bytes += frame.count
                if cursor == nil {
                    first.add(now() - start)
                    firstBytes = frame.count
                }
                var reader = try JSONReader(frame)
                let window = try HeadWindow(from: &reader)
                count += window.heads.count
                cursor = window.cursor
                if window.isDone { break }
            }
            all.add(now() - start)
            client.close()
            guard count >= conversations else { throw BenchError("\(count) of \(conversations) heads arrived.") }
        }
        report(
            "first window, including connecting", "\(first.summary)  \(kibibytes(firstBytes))")
        report(
            "all windows of \(conversations)",
            String(
                format: "%@  %@  server CPU %.0f ms per pass", all.summary, kibibytes(bytes),
                (server.cpuSeconds - cpu) / Double(passes) * 1000))
    }

    /// Measures the SDK with an empty store: until its list has 100 entries, and until the total is correct.
    private func measureNewDevices(_ server: ServerProcess, _ token: String, _ meter: Meter) async throws {
        var shown = Sample()
        var whole = Sample()
        var bytes = 0
        let passes = max(1, rounds / 10)
        for _ in 0..<passes {
            let client = try await open(server, token, .inMemory)
            let before = try await meter.outboundBytes()
            let views = client.recents.views(limit: 100)
            let start = now()
            client.connect()
            var hasList = false
            for await view in views {
                if !hasList, view.conversations.count == 100 {
                    hasList = true
                    shown.add(now() - start)
                }
                if hasList, view.totalUnread == unread { break }
            }
            whole.add(now() - start)
            bytes = try await meter.outboundBytes() - before
            await client.close()
        }
        report("SDK, new: 100 shown", shown.summary)
        report("SDK, new: total unread correct", "\(whole.summary)  \(kibibytes(bytes)) until then")
    }

    // MARK: A synchronized device

    private func measureLocal(_ client: ChatClient) async throws {
        var list = Sample()
        var total = Sample()
        for _ in 0..<500 {
            let start = now()
            let view = try await client.recents.view(limit: 100)
            list.add(now() - start)
            precondition(view.conversations.count == 100 && view.totalUnread == unread)
            let asked = now()
            _ = try await client.recents.view(limit: 1).totalUnread
            total.add(now() - asked)
        }
        report("SDK: first 100 of \(conversations)", "\(list.summary)  (budget 5 ms)")
        report("SDK: total unread", total.summary)
    }

    /// Measures the time from a send in the oldest conversation until the observed list starts with it.
    private func measureLeastRecent(
        _ server: ServerProcess, _ tokens: Tokens, _ client: ChatClient, _ meter: Meter
    ) async throws {
        var senders: [LoadClient] = []
        for round in 0..<rounds {
            senders.append(
                try await LoadClient(server.address, token: tokens.token(peer(round * 2)), device: "peer"))
        }
        var views = client.recents.views(limit: 100).makeAsyncIterator()
        _ = await views.next()
        var sample = Sample()
        var generator = SystemRandomNumberGenerator()
        let before = try await meter.outboundBytes()
        let cpu = server.cpuSeconds
        for (round, sender) in senders.enumerated() {
            let submission = Submission(
                id: MessageID(at: Date(), using: &generator), content: .text(String(repeating: "x", count: 289)))
            let start = now()
            sender.request(SendMessage(conversation: .direct("alice"), submission: submission)) { _ in }
            while let view = await views.next(), view.conversations.first?.id != .direct(peer(round * 2)) {}
            sample.add(now() - start)
        }
        let bytes = try await meter.outboundBytes() - before
        report(
            "send in the oldest, until shown",
            String(
                format: "%@  %@ each, including the sender's response  server CPU %.2f ms each", sample.summary,
                kibibytes(bytes / rounds), (server.cpuSeconds - cpu) / Double(rounds) * 1000))
        for sender in senders { sender.close() }
    }

    private func measureReadAll(
        _ server: ServerProcess, _ token: String, _ client: ChatClient, _ meter: Meter
    ) async throws {
        let before = try await meter.outboundBytes()
        let cpu = server.cpuSeconds
        let start = now()
        try await client.recents.markAllRead()
        let local = now() - start
        while try await !client.core.store.read({ try $0.pendingReads() }).isEmpty {
            try await Task.sleep(for: .milliseconds(5))
        }
        let elapsed = now() - start
        let left = try await client.recents.view(limit: 1).totalUnread
        guard left == 0 else { throw BenchError("\(left) messages are still unread.") }
        report(
            "all \(conversations) marked read",
            String(
                format: "on the device %.2f s, on the server %.2f s  %@  server CPU %.2f s", local, elapsed,
                kibibytes(try await meter.outboundBytes() - before), server.cpuSeconds - cpu))
    }
}

func kibibytes(_ bytes: Int) -> String { String(format: "%.1f KiB", Double(bytes) / 1024) }

/// Reads a server's metrics.
struct Meter {
    private let server: ServerProcess
    private let admin: String

    init(_ server: ServerProcess, admin: String) {
        self.server = server
        self.admin = admin
    }

    /// The total number of bytes of frames sent to sockets.
    func outboundBytes() async throws -> Int { try await value("scrollback_outbound_bytes_total") }

    /// Returns the value of a metric of `/metrics`.
    func value(_ name: String) async throws -> Int {
        let text = try await Preparation(server: server, admin: admin).get("/metrics")
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        guard let number = line.flatMap({ Double($0.dropFirst(name.count + 1)) }) else {
            throw BenchError("The server has no metric \(name).")
        }
        return Int(number)
    }
}
