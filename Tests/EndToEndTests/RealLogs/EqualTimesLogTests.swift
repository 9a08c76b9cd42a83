import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

@Suite("A real log with equal times")
struct EqualTimesLogTests {
    @Test(
        "Pages of an odd size return every message of a log with equal times once, in order",
        .contract("check 1"), .rows(171), .needs(.chatLog("irc-ubuntu.jsonl")))
    func pagesReturnEveryMessageOnce() async throws {
        let log = try ChatLog.find("irc-ubuntu.jsonl")
        let only = Run.isLong ? nil : "ubuntu-meeting"
        let linesByChannel = try log.lines(of: only)
        let groups = linesByChannel.values.map { lines in
            Dictionary(grouping: lines, by: \.time).values.count { $0.count > 1 }
        }.reduce(0, +)
        #expect(groups == (Run.isLong ? 5_500 : 571))
        let server = try await RunningServer.start()
        try await server.importLog(log, ["--kind", "group"] + (only.map { ["--channel", $0] } ?? []))

        for (channel, lines) in linesByChannel.sorted(by: { $0.key < $1.key }) {
            let reader = try UserID(lines[0].sender)
            let client = try await Device.open(server, reader)
            let chat = client.conversation(.group(try Identifier(channel)))
            let everything = Array(1...Int64(lines.count))
            for source in [HistorySource.remote, .merged] {
                let pager = chat.pager(limit: 13, source: source)
                var pages: [[Message]] = []
                while pager.hasNext { pages.append(try await pager.next()) }
                #expect(pages.allSatisfy { $0.count <= 13 })
                let messages = Array(pages.reversed().joined())
                #expect(messages.map(\.seq) == everything, "\(channel) \(source)")
                expectSame(try messages.map(Utterance.init(whole:)), lines, "\(channel) \(source)")
                // No two messages have the same timetoken.
                #expect(zip(messages, messages.dropFirst()).allSatisfy { $0.timetoken < $1.timetoken })
            }
            let newer = chat.pager(from: .earliest, limit: 13, source: .local)
            var seqs: [Int64] = []
            while newer.hasNext { seqs += try await newer.next().map(\.seq) }
            #expect(seqs == everything, "\(channel)")
            #expect(try await client.verifyIntegrity() == [])
            await client.close()
            #expect(try await byHTTP(channel, server.api(reader)) == everything, "\(channel)")
        }
        try await server.terminate()
    }

    /// Returns the sequence numbers of all messages, oldest first, by paging over HTTP.
    private func byHTTP(_ channel: String, _ api: API) async throws -> [Int64] {
        var pages: [[Int64]] = []
        var query = "limit=13"
        while true {
            let page = try await api.call("GET", "/v1/conversations/group:\(channel)/messages?\(query)").json
            pages.append(page.objects("messages").compactMap { $0["seq"] as? Int64 })
            guard let cursor = page.string("older") else { return pages.joined().reversed() }
            query = "limit=13&cursor=\(cursor)"
        }
    }
}

extension Utterance {
    /// Creates an utterance from a message that must have a text.
    init(whole message: Message) throws {
        self.init(
            text: try #require(message.text), sender: message.sender.text, time: message.sentAt.iso8601)
    }
}
