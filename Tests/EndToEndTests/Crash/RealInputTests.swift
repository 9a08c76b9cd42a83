import Foundation
import Scrollback
import ScrollbackModel
import Testing

@Suite("Real chat logs")
struct RealInputTests {
    private struct Line: Decodable {
        var channel: String
        var sender: String
        var time: String
        var text: String
    }

    @Test("An import that is killed, with its server, and run again leaves nothing out and nothing twice")
    func killedImport() async throws {
        guard let log = try Run.chatLog("irc-ubuntu.jsonl") else { return }
        let server = try await RunningServer.start()
        let command = [
            "import", log.path, "--kind", "group", "--channel", "rust", "--data", server.data.path, "--server",
            server.url.absoluteString,
        ]
        for attempt in 0..<4 {
            async let importing = RunningServer.command(command)
            try await Task.sleep(for: .milliseconds(Int64.random(in: 100...900)))
            server.kill()
            let ended = try await importing
            // It was through already, or says that the server is gone.
            #expect([0, 1, 69].contains(ended.code), "attempt \(attempt): \(ended.errors)")
            try await server.start()
        }
        let last = try await RunningServer.command(command)
        #expect(last.code == 0, "\(last.errors)")
        try await compare(["rust"], of: log, kind: { .group($0) }, on: server)
    }

    @Test("A community of real channels reads back to the byte, from the device and the server")
    func community() async throws {
        guard let log = try Run.chatLog("gitter-freecodecamp.jsonl") else { return }
        let server = try await RunningServer.start()
        let lines = try read(log)
        let counts = Dictionary(grouping: lines, by: \.channel).mapValues(\.count)
        // In CI one channel of some hundred messages; else all of them.
        let channels =
            Run.isLong ? counts.keys.sorted() : [counts.sorted { ($0.value, $0.key) > ($1.value, $1.key) }[0].key]
        let start = Date()
        var command = ["import", log.path, "--kind", "community", "--target", "fcc", "--data", server.data.path]
        command += ["--server", server.url.absoluteString]
        if !Run.isLong { command += ["--channel", channels[0]] }
        let imported = try await RunningServer.command(command)
        try #require(imported.code == 0, "\(imported.errors)")
        print("imported in \(Date().timeIntervalSince(start)) s: \(imported.output)")
        try await compare(channels, of: log, kind: { .community("fcc", channel: $0) }, on: server)
    }

    private func read(_ log: URL) throws -> [Line] {
        let decoder = JSONDecoder()
        return try Data(contentsOf: log).split(separator: UInt8(ascii: "\n")).map {
            try decoder.decode(Line.self, from: $0)
        }
    }

    /// A fresh client reads every channel: text, sender and order must equal the file's, and its store be whole.
    private func compare(
        _ channels: [String], of log: URL, kind: (Identifier) -> ConversationID, on server: RunningServer
    ) async throws {
        let all = try read(log)
        let wanted = Set(channels)
        let lines = Dictionary(grouping: all.filter { wanted.contains($0.channel) }, by: \.channel)
        let folder = RunningServer.makeFolderForStore()
        defer { try? FileManager.default.removeItem(at: folder) }
        let reader = try #require(lines[channels[0]]?.first?.sender)
        let client = try await Device.open(server, UserID(reader), store: .directory(folder))
        for channel in channels {
            let said = try #require(lines[channel])
            var index = 0
            for try await message in client.conversation(kind(try Identifier(channel))).messages(from: .earliest) {
                guard index < said.count else { break }
                let same =
                    message.text == said[index].text && message.sender.text == said[index].sender
                    && message.sentAt.iso8601 == said[index].time
                #expect(same, "\(channel) \(message.seq)")
                index += 1
            }
            #expect(index == said.count, "\(channel)")
        }
        await client.close()
        let verified = try await RunningServer.command(["verify", folder.path])
        #expect(verified.code == 0, "\(verified.output)")
        try await server.terminate()
        let verifiedServer = try await RunningServer.command(["verify", server.data.path])
        #expect(verifiedServer.code == 0, "\(verifiedServer.output)")
    }
}
