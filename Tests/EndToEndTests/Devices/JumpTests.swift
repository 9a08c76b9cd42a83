import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

@Suite("Jumps into a long channel")
struct JumpTests {
    @Test(
        "After a jump into the middle of a long channel, pages and a timeline reach both ends across the gap",
        .rows(7, 23, 55), .needs(.chatLog("irc-ubuntu.jsonl")))
    func pagesAndTimelineReachBothEndsAfterJump() async throws {
        let log = try ChatLog.find("irc-ubuntu.jsonl")
        let lines = try #require(try log.lines(of: "ubuntu")["ubuntu"])
        let head = Int64(lines.count)
        #expect(head == 27_439)
        let server = try await RunningServer.start()
        try await server.importLog(log, ["--channel", "ubuntu", "--kind", "group"])
        // In CI the jump goes near the newest end, so that newer pages soon cross the gap to the messages loaded first.
        let middle = Run.isLong ? head / 2 : head - 600
        let lowest = Run.isLong ? 1 : middle - 500
        try await scrollByPages(to: middle, down: lowest, lines, server)
        try await scrollTimeline(to: middle, down: lowest, lines, server)
        try await server.terminate()
    }

    private func scrollByPages(
        to middle: Int64, down lowest: Int64, _ lines: [ChatLog.Line], _ server: RunningServer
    ) async throws {
        let head = Int64(lines.count)
        let client = try await Device.open(server, "topyli")
        let chat = client.conversation(.group("ubuntu"))
        let newest = try await chat.history(.latest, limit: 50)
        #expect(newest.messages.map(\.seq) == (head - 49...head).reversed())

        let around = try await chat.history(.around(.seq(middle), before: 10, after: 10))
        var seen: [Message] = around.messages.reversed()
        var older = around.older
        while let anchor = older, seen[0].seq > lowest {
            let page = try await chat.history(anchor, limit: 50)
            #expect(page.remoteError == nil)
            seen = page.messages.reversed() + seen
            older = page.older
        }
        var newer = around.newer
        while let anchor = newer {
            let page = try await chat.history(anchor, limit: 50)
            #expect(page.remoteError == nil)
            seen += page.messages.reversed()
            newer = page.newer
        }
        // The messages are complete, in order, without duplicates, and equal the chat log.
        let first = try #require(seen.first?.seq)
        #expect(first <= lowest)
        #expect(seen.map(\.seq) == Array(first...head))
        #expect(seen.map(Utterance.init) == lines[Int(first - 1)...].map(Utterance.init))
        #expect(try await client.verifyIntegrity() == [])
        await client.close()
    }

    private func scrollTimeline(
        to middle: Int64, down lowest: Int64, _ lines: [ChatLog.Line], _ server: RunningServer
    ) async throws {
        let head = Int64(lines.count)
        let client = try await Device.open(server, "topyli")
        let timeline = client.conversation(.group("ubuntu")).timeline(window: 50)
        let observer = TimelineObserver(timeline, lines)
        try await observer.shows("the newest messages") { $0.isAtNewest && $0.seqs == Array(head - 49...head) }

        try await timeline.jump(to: .seq(middle))
        try await observer.shows("the middle") { $0.isWhole && $0.seqs.contains(middle) && !$0.isAtNewest }
        while observer.lowest > lowest {
            let before = observer.lowest
            observer.scroll(to: .older)
            try await timeline.loadOlder()
            try await observer.shows("older than \(before)") {
                $0.isWhole && $0.seqs.first.map { $0 < before } ?? false
            }
        }
        // Scroll back up across known messages, the gap above them, and the newest messages, which were loaded first.
        while !observer.isAtNewest {
            let before = observer.highest
            observer.scroll(to: .newer)
            try await timeline.loadNewer()
            try await observer.shows("newer than \(before)") { $0.isWhole && $0.seqs.last.map { $0 > before } ?? false }
        }
        #expect(observer.seen == Set(observer.lowestSeen...head), "The timeline shows every message.")
        #expect(observer.lowestSeen <= lowest)
        #expect(observer.highest == head)
        #expect(try await client.verifyIntegrity() == [])
        observer.close()
        await client.close()
    }
}

extension Utterance {
    fileprivate init(_ message: Message) {
        self.init(text: message.text ?? "", sender: message.sender.text, time: message.sentAt.iso8601)
    }
}
