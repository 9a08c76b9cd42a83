import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

@Suite("Two real devices")
struct TwoDevicesTests {
    @Test("A device that missed a thousand messages in twenty conversations receives them all in order")
    func deviceReceivesThousandMissedMessages() async throws {
        let server = try await RunningServer.start()
        let groups = (0..<20).map { ConversationID.group(Identifier(stringLiteral: "missed\($0)")) }
        for group in groups {
            let answer = try await server.admin()
                .call("PUT", "/v1/conversations/\(group)", #"{"members":["alice","bob"]}"#)
            try #require(answer.status == 201)
        }
        let folder = try TemporaryFolder()
        let phone = try await Device.open(server, "alice")
        let laptop = try await Device.open(server, "alice", store: .directory(folder.url))
        let bob = try await Device.open(server, "bob")
        for group in groups { _ = try await bob.conversation(group).send(.text("hello")).waitUntilSent() }
        try await eventually("both devices have the first messages") { () -> Bool? in
            for device in [phone, laptop] {
                for group in groups where try await device.newest(in: group) != 1 { return nil }
            }
            return true
        }
        await laptop.close()

        let words = (1...50).map { "message \($0)" }
        for group in groups {
            for text in words { try await bob.conversation(group).send(.text(text)) }
        }
        await bob.waitForOutbox()
        let back = try await Device.disconnected(server, "alice", store: .directory(folder.url))
        let events = back.events
        let received = Task {
            var seen: [ConversationID: [Int64]] = [:]
            for await event in events {
                switch event {
                case .message(let message): seen[message.conversation, default: []].append(message.seq)
                case .missed(let count): Issue.record("\(count) events were dropped")
                default: break
                }
            }
            return seen
        }
        back.connect()
        try await eventually("the laptop has all messages") { () -> Bool? in
            for group in groups where try await back.count(in: group) != 51 { return nil }
            return true
        }
        for group in groups {
            let mine = try await back.conversation(group).history(
                .earliest, limit: 100, sort: .oldestFirst, from: .local)
            let other = try await phone.conversation(group).history(.earliest, limit: 100, sort: .oldestFirst)
            #expect(mine.messages.map { $0.text ?? "" } == ["hello"] + words, "All sent messages are there, in order.")
            #expect(mine.messages == other.messages, "Both devices show the same messages.")
            #expect(mine.gap == nil)
            #expect(try await back.conversation(group).recent()?.unread == 51)
        }
        for device in [phone, back] { #expect(try await device.verifyIntegrity() == []) }
        for device in [phone, back, bob] { await device.close() }
        let seen = await received.value
        #expect(Set(seen.keys) == Set(groups))
        for (group, seqs) in seen {
            #expect(seqs == Array(2...51), "\(group): events report each missed message once, in order.")
        }
    }
}

extension ChatClient {
    /// Returns the newest sequence number of a conversation in this device's store, or 0.
    func newest(in id: ConversationID) async throws -> Int64 {
        try await conversation(id).history(.latest, limit: 1, from: .local).messages.first?.seq ?? 0
    }
}

extension ChatClient {
    /// Returns the number of messages that the device's store has, up to the first gap.
    func count(in id: ConversationID) async throws -> Int {
        try await conversation(id).history(.earliest, limit: 100, from: .local).messages.count
    }
}
