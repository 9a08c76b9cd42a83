import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import Testing

/// Tests for wrong counts, the most frequent complaint of users of other chat systems. One test for each complaint.
///
/// | complaint | fault | property that prevents it |
/// |---|---|---|
/// | tinode/chat#898, GetStream/stream-chat-js#1419 | deleted messages stay in the count | deleted counted indexes are
/// subtracted |
/// | ecency/vision-mobile#3377 (Mattermost) | the mention counter never decreases | a mention counts while its message
/// exists |
/// | ecency/vision-mobile#3377 (Mattermost) | all history is unread for a new member | counting starts at the join
/// position |
/// | WuKongIM/WuKongIM#461, openimsdk/open-im-server#2807 | own messages count | own counted indexes are excluded on
/// every client |
/// | WuKongIM/WuKongIM#381 | cleared messages become unread again | the clear position only increases |
/// | WuKongIM/WuKongIM#360 | read messages become unread after a restart | reads are stored before they are sent |
/// | WuKongIM/WuKongIM#494 | a stale answer makes read messages unread | counts carry the position and revision they
/// are valid for |
/// | mattermost/mattermost#35201 | two columns disagree | one formula answers all requests |
/// | zulip/zulip#10492, #21666 | marking many messages as read takes minutes | a read is one position |
/// | TelegramMessenger/Telegram-iOS#645 | the badge counts invisible messages | the total is the sum of the list |
/// | matrix-org/matrix-rust-sdk#2375 | messages stay unread after a reply | an own message advances the marker if
/// nothing is unread |
/// | matrix-org/matrix-rust-sdk#3151 | the server counts uncountable messages | each row has a counted index |
/// | GetStream/stream-chat-swift#1472 | client and server rules differ | the server decides; the client subtracts
/// indexes |
/// | GetStream/stream-chat-swift, `ReadStateHandler` | a concurrent read is dropped | the highest position wins and is
/// sent |
/// | openimsdk/openim-sdk-core#195 | wrong counts after a reconnect | counts are differences of indexes, with or
/// without gaps |
/// | openimsdk/openim-sdk-core#556, #624 | a count can't be cleared | a read marker needs no message at its position |
/// | openimsdk/open-im-server#3068 | a read by the peer changes a count | read markers belong to one user |
/// | openimsdk/openim-sdk-core, `doUnreadCount` | a partial read reads everything elsewhere | clients sync the position
/// |
/// | Conduit | a retry counts twice | a retry stores no second row |
/// | WuKongIM/WuKongIM#494, Signal | the unread flag is lost or returns | a read names the flag revision it knew |
/// | zulip/zulip#10492, #21666 | marking many conversations takes minutes | one request has 500 positions |
/// | openimsdk/openim-sdk-core#195 | a badge from events differs from the list | each event has the total of its
/// transaction |
/// | openimsdk/openim-sdk-core | a new conversation is added twice | a transaction sends each event once |
/// | TelegramMessenger/Telegram-iOS#645 | muted counts enter the badge at random | totals exist by kind and mute state
/// |
/// | openimsdk/openim-sdk-core#624, WuKongIM/WuKongIM#381 | removed entries stay in the badge | the total covers the
/// list only |
/// | matrix-org/matrix-rust-sdk, `read_receipts` | a read of an unloaded message is inexact | the server counts above
/// the position |
@Suite("Wrong unread counts")
struct UnreadCountIssueTests {
    let group = ConversationID.group("swift")

    // MARK: Deleting

    @Test("Recalled and deleted messages leave the unread count (tinode#898, stream-chat-js#1419)")
    func deletedUnread() async throws {
        let scene = try await scene()
        let sent = try await scene.alice.sendMessages(1...9, in: group)
        try await expect(9, on: scene.devices, scene.server)
        try await see(sent, on: scene.devices)
        for message in [sent[1], sent[4]] { try await scene.alice.conversation(group).recall(message.id) }
        try await expect(7, on: scene.devices, scene.server)
        try await scene.server.deleteRange(from: sent[6], to: sent[8], of: group)
        try await expect(5, on: scene.devices, scene.server)
        // A message that is deleted alone and again in a range is subtracted once.
        try await scene.server.deleteRange(from: sent[3], to: sent[6], of: group)
        try await expect(3, on: scene.devices, scene.server)
        // Deleting a read message does not change the unread count.
        try await scene.phone.conversation(group).markRead(upTo: sent[2].id)
        try await expect(1, on: scene.devices, scene.server)
        try await scene.alice.conversation(group).recall(sent[0].id)
        try await expect(1, on: scene.devices + [scene.server.client("bob")], scene.server)
        await scene.server.close()
    }

    @Test("Messages deleted while a client is offline are not unread after it reconnects (stream-chat-js#1419)")
    func deletionsWhileOffline() async throws {
        let scene = try await scene()
        let sent = try await scene.alice.sendMessages(1...4, in: group)
        try await expect(4, on: scene.devices, scene.server)
        scene.server.goOffline("bob")
        let more = try await scene.alice.sendMessages(5...8, in: group)
        for message in [sent[3], more[0]] { try await scene.alice.conversation(group).recall(message.id) }
        await scene.alice.waitForOutbox()
        scene.server.goOnline("bob")
        try await expect(6, on: scene.devices, scene.server)
        await scene.server.close()
    }

    @Test("A mention that is recalled or edited away leaves the mention count (ecency#3377)")
    func deletedMention() async throws {
        let scene = try await scene()
        let chat = scene.alice.conversation(group)
        let first = try await chat.send(.text("@bob"), mentioning: .users(["bob"])).waitUntilSent()
        let second = try await chat.send(.text("all"), mentioning: .everyone()).waitUntilSent()
        try await expect(2, mentions: 2, on: scene.devices, scene.server)
        try await chat.recall(first.id)
        try await expect(1, mentions: 1, on: scene.devices, scene.server)
        try await chat.edit(second.id, to: .text("nobody"), mentioning: .remove)
        try await expect(1, mentions: 0, on: scene.devices, scene.server)
        await scene.server.close()
    }

    // MARK: Joining

    @Test("Messages from before a user joins are not unread (ecency#3377)")
    func joining() async throws {
        let scene = try await scene(["alice"])
        try await scene.server.makeCommunity("city", channels: ["open"], members: ["alice"])
        let channel = ConversationID.community("city", channel: "open")
        for place in [group, channel] {
            try await scene.alice.sendMessages(1...30, in: place, mentioning: .everyone())
        }
        let highest = Highest()
        let watching = scene.devices.map { device in
            Task { for await view in device.recents.views() { await highest.note(view.totalUnread) } }
        }
        try await scene.server.setMember("bob", of: group, true)
        try await scene.server.setMember("bob", of: .community("city"), true)
        for place in [group, channel] { try await scene.alice.sendMessages(31...32, in: place) }
        for place in [group, channel] { try await expect(2, in: place, on: scene.devices, scene.server) }
        // Widening the history visibility makes nothing unread.
        try await scene.server.setHistoryVisibility(.everything, of: group)
        let fresh = try await scene.server.client("bob")
        try await expect(2, on: scene.devices + [fresh], scene.server)
        await scene.server.close()
        for task in watching { await task.value }
        #expect(await highest.value == 4)
    }

    // MARK: Own messages

    @Test("Own messages count on no client, whether connected, offline or new (WuKongIM#461, open-im-server#2807)")
    func ownMessages() async throws {
        let scene = try await scene()
        scene.server.goOffline("bob")
        let away = try await scene.server.disconnectedClient("bob")
        scene.server.goOnline("bob")
        for number in 1...3 {
            _ = try await scene.phone.conversation(group).send(.text("\(number)")).waitUntilSent()
            _ = try await scene.phone.conversation(.direct("alice")).send(.text("\(number)")).waitUntilSent()
        }
        try await scene.alice.sendMessages(4...5, in: group)
        _ = try await scene.laptop.conversation(group).send(.text("6")).waitUntilSent()
        away.connect()
        let fresh = try await scene.server.client("bob")
        let all = scene.devices + [away, fresh]
        try await expect(2, on: all, scene.server)
        try await expect(0, in: .direct("alice"), on: all, scene.server)
        await scene.server.close()
    }

    @Test("Own imported messages do not count as unread (WuKongIM#461)", arguments: [60, 900])
    func ownImported(_ count: Int) async throws {
        let scene = try await scene()
        try await scene.alice.sendMessages(1...1, in: group)
        try await expect(1, on: scene.devices, scene.server)
        let senders: [UserID] = (0..<count).map { $0.isMultiple(of: 3) ? "bob" : "alice" }
        try await scene.server.put(senders, into: group)
        let others = Int64(senders.count { $0 != "bob" })
        try await expect(1 + others, on: scene.devices + [scene.server.client("bob")], scene.server)
        try await scene.phone.conversation(group).markRead()
        try await scene.server.put(["bob", "bob", "alice", "bob"], into: group)
        try await expect(1, on: scene.devices + [scene.server.client("bob")], scene.server)
        await scene.server.close()
    }

    @Test("A reply leaves no read message unread and marks no unread message as read (matrix-rust-sdk#2375)")
    func ownReply() async throws {
        let scene = try await scene()
        let asked = try await scene.alice.sendMessages(1...3, in: group)
        try await expect(3, on: scene.devices, scene.server)
        try await scene.phone.conversation(group).markRead()
        _ = try await scene.laptop.conversation(group).send(.text("4"), replyingTo: asked[2].id).waitUntilSent()
        try await expect(0, on: scene.devices, scene.server)
        let more = try await scene.alice.sendMessages(5...6, in: group)
        _ = try await scene.laptop.conversation(group).send(.text("7"), replyingTo: more[0].id).waitUntilSent()
        try await expect(2, on: scene.devices, scene.server)
        try await scene.laptop.conversation(group).markRead()
        try await expect(0, on: scene.devices + [scene.server.client("bob")], scene.server)
        await scene.server.close()
    }

    @Test("A message that is retried after a lost answer counts once (Conduit)")
    func countedTwice() async throws {
        let scene = try await scene()
        scene.server.loseNextAcknowledgement(of: "alice")
        let sending = try await scene.alice.conversation(group).send(.text("1"), mentioning: .users(["bob"]))
        #expect(try await sending.waitUntilSent().seq == 1)
        try await expect(1, mentions: 1, on: scene.devices + [scene.server.client("bob")], scene.server)
        await scene.server.close()
    }
}

/// The highest total that a client showed.
private actor Highest {
    private(set) var value: Int64 = 0

    func note(_ total: Int64) { value = max(value, total) }
}
