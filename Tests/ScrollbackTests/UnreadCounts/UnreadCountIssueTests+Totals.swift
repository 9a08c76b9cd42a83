import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

extension UnreadCountIssueTests {
    // MARK: Consistent counts

    @Test("All requests return the same unread count (mattermost#35201)")
    func everyRequestReturnsTheSameCount() async throws {
        let scene = try await scene()
        try await scene.server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        let places: [ConversationID] = [group, .direct("alice"), .community("city", channel: "open")]
        for (place, count) in zip(places, [3, 5, 7]) {
            let there = place.kind == .direct ? ConversationID.direct("bob") : place
            let sent = try await scene.alice.sendMessages(1...count, in: there, mentioning: .users(["bob"]))
            try await scene.alice.conversation(there).recall(sent[1].id)
            let left = Int64(count - 1)
            try await expect(left, mentions: left, in: place, on: scene.devices, scene.server)
        }
        let bob = Caller(user: "bob")
        let window = try scene.server.engine.syncWindow(cursor: nil, limit: 100, by: bob).heads
        let list = try scene.server.engine.recents(limit: 100, cursor: nil, by: bob).heads
        for (place, count) in zip(places, [2, 4, 6] as [Int64]) {
            for heads in [window, list] {
                let head = try #require(heads.first { $0.conversation == place })
                #expect(head.unread == count)
                #expect(head.mentions == count)
            }
            #expect(try scene.server.engine.head(of: place, by: bob).unread == count)
            let chat = scene.phone.conversation(place)
            let first = try await chat.history(.around(.firstUnread, before: 0, after: 0), from: .remote)
            #expect(first.messages.map(\.seq) == [1])
            #expect(try await chat.recent()?.unread == count)
        }
        #expect(try await scene.phone.recents.view().totalUnread == 12)
        #expect(try await scene.laptop.recents.view(limit: 1).totalUnread == 12)
        await scene.server.close()
    }

    @Test(
        "Client and server count by the same rules (matrix-rust-sdk#3151, stream-chat-swift#1472)")
    func clientAndServerCountAlike() async throws {
        let scene = try await scene()
        let chat = scene.alice.conversation(group)
        let notice = try MessageContent(type: .notice, json: RawJSON(#"{"text":"renamed"}"#))
        let text = try await chat.send(.text("counts")).waitUntilSent()
        _ = try await chat.send(notice).waitUntilSent()
        _ = try await chat.send(.text("quiet"), traits: .init(countsUnread: false)).waitUntilSent()
        _ = try await chat.send(.text("@bob"), mentioning: .users(["bob"]), traits: .init(countsUnread: false))
            .waitUntilSent()
        _ = try await scene.laptop.conversation(group).send(.text("own")).waitUntilSent()
        _ = try await scene.laptop.conversation(group).send(notice).waitUntilSent()
        try await chat.edit(text.id, to: .text("counts once"))
        try await chat.react("👍", to: text.id)
        await scene.alice.waitForOutbox()
        try await expect(1, mentions: 1, on: scene.devices + [scene.server.client("bob")], scene.server)
        // Without the only message that counts, the mention remains.
        try await chat.recall(text.id)
        try await expect(0, mentions: 1, on: scene.devices + [scene.server.client("bob")], scene.server)
        await scene.server.close()
    }

    @Test("Counts are exact after missing more messages than the server replays (openim-sdk-core#195)")
    func afterReconnecting() async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...3, in: group)
        try await expect(3, on: scene.devices, scene.server)
        scene.server.goOffline("bob")
        let queued = try await scene.phone.conversation(group).send(.text("mine"))
        try await scene.server.put(Array(repeating: "alice", count: 700), into: group)
        scene.server.goOnline("bob")
        _ = try await queued.waitUntilSent()
        try await expect(703, on: scene.devices + [scene.server.client("bob")], scene.server)
        await scene.server.close()
    }

    @Test("Unread messages of a left or deleted conversation leave the total (Telegram-iOS#645)")
    func leftConversationsLeaveTheTotal() async throws {
        let scene = try await scene()
        try await scene.server.makeGroup("left", members: ["alice", "bob"])
        try await scene.server.makeGroup("deleted", members: ["alice", "bob"])
        for (place, count) in [(group, 2), (.group("left"), 3), (.group("deleted"), 4)] {
            try await scene.alice.sendMessages(1...count, in: place)
            try await expect(Int64(count), in: place, on: scene.devices, scene.server)
        }
        for device in scene.devices { #expect(try await device.recents.view().totalUnread == 9) }
        try await scene.server.setMember("bob", of: .group("left"), false)
        try await scene.server.delete(.group("deleted"))
        let fresh = try await scene.server.client("bob")
        for device in scene.devices + [fresh] {
            #expect(try await eventually { try await device.recents.view().totalUnread == 2 })
            let shown = try await device.recents.view().conversations
            let phantoms = shown.filter { $0.id != group && ($0.unread > 0 || $0.mentions > 0) }
            #expect(phantoms.map { "\($0.id) \($0.unread)" } == [])
        }
        try await expect(2, on: scene.devices + [fresh], scene.server)
        // A recreated conversation is a new one with its own counts.
        try await scene.server.makeGroup("deleted", members: ["alice", "bob"])
        try await scene.alice.sendMessages(5...5, in: .group("deleted"))
        try await expect(1, in: .group("deleted"), on: scene.devices + [fresh], scene.server)
        await scene.server.close()
    }
}
