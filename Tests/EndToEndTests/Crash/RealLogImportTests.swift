import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

@Suite("Real chat logs")
struct RealLogImportTests {
    @Test(
        "An imported community of real channels is read back byte for byte after repeated kills",
        .needs(.chatLog("gitter-freecodecamp.jsonl")))
    func importedCommunitySurvivesKills() async throws {
        let log = try ChatLog.find("gitter-freecodecamp.jsonl")
        let only = Run.isLong ? nil : "Casual"
        let linesByChannel = try log.lines(of: only)
        if Run.isLong {
            #expect(linesByChannel.count == 493)
            #expect(linesByChannel.values.map(\.count).reduce(0, +) == 65_443)
        }
        let server = try await RunningServer.start()
        try await importKilled(
            log, ["--kind", "community", "--target", "fcc"] + (only.map { ["--channel", $0] } ?? []), linesByChannel,
            kills: Run.isLong ? 12 : 4, on: server)

        let store = try TemporaryFolder()
        let reader: UserID = "QuincyLarson"
        let client = try await Device.open(server, reader, store: .directory(store.url))
        for (channel, lines) in linesByChannel.sorted(by: { $0.key < $1.key }) {
            var read: [Utterance] = []
            var seqs: [Int64] = []
            let chat = client.conversation(.community("fcc", channel: try Identifier(channel)))
            for try await message in chat.messages(from: .earliest) {
                seqs.append(message.seq)
                read.append(
                    Utterance(
                        text: try #require(message.text), sender: message.sender.text, time: message.sentAt.iso8601))
            }
            expectSame(read, lines, channel)
            #expect(seqs == Array(1...Int64(lines.count)))
        }
        #expect(try await client.verifyIntegrity() == [])
        await client.close()
        try await verify(store.url)
        try await server.terminate()
        try await verify(server.data)
    }

    @Test(
        "Imported groups of real channels are read back byte for byte by command after repeated kills",
        .needs(.chatLog("irc-ubuntu.jsonl")))
    func importedGroupsSurviveKills() async throws {
        let log = try ChatLog.find("irc-ubuntu.jsonl")
        let only = Run.isLong ? nil : "rust"
        let linesByChannel = try log.lines(of: only)
        if Run.isLong {
            #expect(linesByChannel.keys.sorted() == ["mediawiki", "rust", "stripe", "ubuntu", "ubuntu-meeting"])
            #expect(linesByChannel.values.map(\.count).reduce(0, +) == 41_412)
        }
        let server = try await RunningServer.start()
        try await importKilled(
            log, ["--kind", "group"] + (only.map { ["--channel", $0] } ?? []), linesByChannel,
            kills: Run.isLong ? 12 : 3,
            on: server)

        for (channel, lines) in linesByChannel.sorted(by: { $0.key < $1.key }) {
            let store = try TemporaryFolder()
            let answer = try await RunningServer.command(
                [
                    "history", "group:\(channel)", "--as", lines[0].sender, "--all", "--source", "merged", "--store",
                    store.url.path, "--data", server.data.path, "--server", server.url.absoluteString, "--json",
                ], within: 600)
            try #require(answer.code == 0, "\(answer.errors)")
            // `JSONSerialization` removes a byte order mark at the start of a text. One of these texts has one.
            let decoder = JSONDecoder()
            let messages = try answer.output.split(separator: "\n").map {
                try decoder.decode(Printed.self, from: Data($0.utf8))
            }
            #expect(messages.map(\.seq) == Array(1...lines.count))
            let read = messages.map { Utterance(text: $0.content.text, sender: $0.sender, time: $0.sentAt) }
            expectSame(read, lines, channel)
            try await verify(store.url)
        }
        try await server.terminate()
        try await verify(server.data)
    }

    /// A message as the command line prints it.
    private struct Printed: Decodable {
        struct Content: Decodable {
            var text: String
        }

        var seq: Int
        var sender: String
        var sentAt: String
        var content: Content
    }

    private func importKilled(
        _ log: ChatLog, _ options: [String], _ linesByChannel: [String: [ChatLog.Line]], kills: Int,
        on server: RunningServer
    ) async throws {
        var generator = SplitMix64(printingSeedFor: "import of \(log.file.lastPathComponent)")
        // One write for each conversation, and one for each batch of 500 messages.
        let writes = linesByChannel.values.reduce(0) { $0 + 1 + ($1.count + 499) / 500 }
        let lines = linesByChannel.values.reduce(0) { $0 + $1.count }
        let report = try await server.importLogWhileKilled(
            log, options, writes: writes, kills: kills, &generator)
        #expect(report.imported > 0 && report.skipped > 0, "No kill interrupted the import in the middle.")
        #expect(report.imported + report.skipped == lines)
        let again = try await server.importLog(log, options)
        #expect(again.imported == 0)
    }

    private func verify(_ directory: URL) async throws {
        let verdict = try await RunningServer.command(["verify", directory.path], within: 600)
        #expect(verdict.code == 0, "\(verdict.output)")
    }
}
