import Foundation
import Scrollback
import Testing

@Suite("Two real devices")
struct TwoDevicesTests {
    @Test("A device that missed a thousand messages in twenty conversations is whole again, in order")
    func missedAThousand() async throws {
        let server = try await RunningServer.start()
        let groups = (0..<20).map { ConversationID.group(Identifier(stringLiteral: "missed\($0)")) }
        for group in groups {
            let answer = try await server.admin()
                .call("PUT", "/v1/conversations/\(group)", #"{"members":["alice","bob"]}"#)
            try #require(answer.status == 201)
        }
        let folder = RunningServer.makeFolderForStore()
        defer { try? FileManager.default.removeItem(at: folder) }
        let phone = try await Device.open(server, "alice")
        let laptop = try await Device.open(server, "alice", store: .directory(folder))
        let bob = try await Device.open(server, "bob")
        for group in groups { _ = try await bob.conversation(group).send(.text("hello")).delivered() }
        try await eventually("both devices have the first messages") { () -> Bool? in
            for device in [phone, laptop] {
                for group in groups where try await device.newest(in: group) != 1 { return nil }
            }
            return true
        }
        await laptop.close()

        for group in groups {
            for number in 1...50 { try await bob.conversation(group).send(.text("message \(number)")) }
        }
        await bob.flushed()
        let back = try await Device.open(server, "alice", store: .directory(folder))
        let events = Task {
            var seen: [ConversationID: [Int64]] = [:]
            for await case .message(let message) in back.events {
                seen[message.conversation, default: []].append(message.seq)
            }
            return seen
        }
        try await eventually("the laptop has everything") { () -> Bool? in
            for group in groups where try await back.count(in: group) != 51 { return nil }
            return true
        }
        for group in groups {
            let mine = try await back.conversation(group).history(
                .earliest, limit: 100, sort: .oldestFirst, from: .local)
            let other = try await phone.conversation(group).history(.earliest, limit: 100, sort: .oldestFirst)
            #expect(mine.messages.map(\.text) == other.messages.map(\.text))
            #expect(mine.messages.count == 51)
            #expect(mine.gap == nil)
            #expect(try await back.conversation(group).recent()?.unread == 51)
        }
        #expect(try await back.verifyIntegrity() == [])
        for device in [phone, back, bob] { await device.close() }
        for (group, seqs) in await events.value { #expect(seqs == seqs.sorted(), "\(group) was replayed out of order") }
    }

    @Test("A jump to the middle of a long channel scrolls both ways across the gap")
    func jumpToTheMiddle() async throws {
        guard let log = try Run.chatLog("irc-ubuntu.jsonl") else { return }
        let server = try await RunningServer.start()
        let imported = try await RunningServer.command([
            "import", log.path, "--channel", "ubuntu", "--kind", "group", "--data", server.data.path, "--server",
            server.url.absoluteString,
        ])
        try #require(imported.code == 0, "\(imported.errors)")
        let client = try await Device.open(server, "topyli")
        let chat = client.conversation(.group("ubuntu"))
        let newest = try await chat.history(.latest, limit: 50)
        let head = try #require(newest.messages.first?.seq)
        #expect(head == 27_439)

        var older = try await chat.history(.around(.seq(head / 2), before: 10, after: 10))
        #expect(older.messages.count == 21)
        var seen = Set(older.messages.map(\.seq))
        var newer = older
        for _ in 0..<20 {
            older = try await chat.history(try #require(older.older), limit: 50)
            newer = try await chat.history(try #require(newer.newer), limit: 50)
            for page in [older, newer] {
                #expect(page.messages.count == 50)
                #expect(page.shortfall == nil)
                for message in page.messages { #expect(seen.insert(message.seq).inserted, "\(message.seq) came twice") }
            }
        }
        #expect(seen.sorted() == Array((head / 2 - 1010)...(head / 2 + 1010)), "the pages leave nothing out")
        #expect(try await client.verifyIntegrity() == [])
        await client.close()
    }
}

extension ChatClient {
    /// The newest place of a conversation on this device; 0 without one.
    func newest(in id: ConversationID) async throws -> Int64 {
        try await conversation(id).history(.latest, limit: 1, from: .local).messages.first?.seq ?? 0
    }
}

extension ChatClient {
    /// How many messages of a conversation this device has without a gap.
    func count(in id: ConversationID) async throws -> Int {
        try await conversation(id).history(.earliest, limit: 100, from: .local).messages.count
    }
}

extension RunningServer {
    static func makeFolderForStore() -> URL {
        FileManager.default.temporaryDirectory.appending(component: "scrollback-store-\(UUID().uuidString)")
    }
}
