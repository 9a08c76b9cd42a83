import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import Testing

/// What users of other chat systems complain of most: counts that are wrong. One test for each complaint that was found, by
/// the name it goes by in its project, and the property that keeps it away here.
///
/// | complaint | what went wrong there | what excludes it |
/// |---|---|---|
/// | tinode/chat#898, GetStream/stream-chat-js#1419 | deleted messages stay in the count | numbers that were removed are subtracted |
/// | ecency/vision-mobile#3377 (Mattermost) | the mention counter is never lowered | a mention counts while its message is there |
/// | ecency/vision-mobile#3377 (Mattermost) | who joins has all the history unread, millions | joining is a place, and counts begin there |
/// | WuKongIM/WuKongIM#461, openimsdk/open-im-server#2807 | one's own messages are counted | own numbers are not counted, on any device |
/// | WuKongIM/WuKongIM#381 | what was cleared is unread again | what was cleared is a place, and places only go up |
/// | WuKongIM/WuKongIM#360 | what was read is unread again after the app starts | reads are kept before they are sent |
/// | WuKongIM/WuKongIM#494 | what was read is unread again: an older answer came | counts name the place and change they were made at |
/// | mattermost/mattermost#35201 | which of two columns is right? | one formula, the same answer through every door |
/// | zulip/zulip#10492, #21666 | marking much as read takes minutes | a read is one place, whatever lies below it |
/// | TelegramMessenger/Telegram-iOS#645 | a badge for messages nobody can find | the total is the sum of what the list shows |
/// | matrix-org/matrix-rust-sdk#2375 | unread stays after one's own reply | an own message moves the position where nothing is unread |
/// | matrix-org/matrix-rust-sdk#3151 | the server's count has what does not count | what counts is in the running number of each row |
/// | GetStream/stream-chat-swift#1472 | the device's rules are not the server's | the server decides what counts, the device adds numbers |
/// | GetStream/stream-chat-swift, `ReadStateHandler` | a read while another is under way is dropped | the higher place wins, and is sent |
/// | openimsdk/openim-sdk-core#195 | wrong after connecting again | the difference in running numbers, gaps or not |
/// | openimsdk/openim-sdk-core#556, #624 | a count that can't be cleared | reading is up to a place, be its messages there or not |
/// | openimsdk/open-im-server#3068 | a count changes when the other one reads | positions are each person's own |
/// | openimsdk/openim-sdk-core, `doUnreadCount` | a part read on one device is all read on the others | what travels is the place |
/// | Conduit's servers | a counter goes up twice for one message | the number belongs to the row, and a retry makes no row |
/// | WuKongIM/WuKongIM#494, Signal | marked as unread by hand is lost, or comes back | a mark is no count; a read names the marks it knew of |
/// | zulip/zulip#10492, #21666 | marking many conversations as read takes minutes | places, five hundred a request, each up to what was shown |
/// | openimsdk/openim-sdk-core#195 | a badge added up from events differs from the list | each event has the total of its transaction |
/// | openimsdk/openim-sdk-core | a new conversation is told of twice | events are what a transaction did, once |
/// | TelegramMessenger/Telegram-iOS#645 | muted ones are in the badge, or not, as it comes | kinds, muted or not, add up to the total |
/// | openimsdk/openim-sdk-core#624, WuKongIM/WuKongIM#381 | what left the list stays in the badge | the total is of the list alone |
/// | matrix-org/matrix-rust-sdk, `read_receipts` | a read of a message that is not held is near, no more | a read is a place, and the server says what is above |
@Suite("Complaints of wrong counts")
struct CountComplaintsTests {
    let group = ConversationID.group("swift")

    // MARK: Deleting

    @Test("tinode#898, stream-chat-js#1419: messages that were recalled or deleted are unread no more")
    func deletedUnread() async throws {
        let scene = try await scene()
        let sent = try await scene.alice.say(1...9, in: group)
        try await expect(9, on: scene.devices, scene.world)
        try await see(sent, on: scene.devices)
        for message in [sent[1], sent[4]] { try await scene.alice.conversation(group).recall(message.id) }
        try await expect(7, on: scene.devices, scene.world)
        try await scene.world.deleteRange(from: sent[6], to: sent[8], of: group)
        try await expect(5, on: scene.devices, scene.world)
        // One by one and in a range, the same message goes once.
        try await scene.world.deleteRange(from: sent[3], to: sent[6], of: group)
        try await expect(3, on: scene.devices, scene.world)
        // What was read already is not taken off what was not.
        try await scene.phone.conversation(group).markRead(upTo: sent[2].id)
        try await expect(1, on: scene.devices, scene.world)
        try await scene.alice.conversation(group).recall(sent[0].id)
        try await expect(1, on: scene.devices + [scene.world.client("bob")], scene.world)
        await scene.world.close()
    }

    @Test("stream-chat-js#1419: what is deleted while a device is away is not unread when it comes back")
    func deletedWhileAway() async throws {
        let scene = try await scene()
        let sent = try await scene.alice.say(1...4, in: group)
        try await expect(4, on: scene.devices, scene.world)
        scene.world.goOffline("bob")
        let more = try await scene.alice.say(5...8, in: group)
        for message in [sent[3], more[0]] { try await scene.alice.conversation(group).recall(message.id) }
        await scene.alice.flushed()
        scene.world.goOnline("bob")
        try await expect(6, on: scene.devices, scene.world)
        await scene.world.close()
    }

    @Test("ecency#3377: a mention that was recalled, or edited away, is none any more")
    func deletedMention() async throws {
        let scene = try await scene()
        let chat = scene.alice.conversation(group)
        let first = try await chat.send(.text("@bob"), mentioning: .users(["bob"])).delivered()
        let second = try await chat.send(.text("all"), mentioning: .everyone()).delivered()
        try await expect(2, mentions: 2, on: scene.devices, scene.world)
        try await chat.recall(first.id)
        try await expect(1, mentions: 1, on: scene.devices, scene.world)
        try await chat.edit(second.id, to: .text("nobody"), mentioning: .remove)
        try await expect(1, mentions: 0, on: scene.devices, scene.world)
        await scene.world.close()
    }

    // MARK: Joining

    @Test("ecency#3377: who joins a group or a community finds nothing unread that was said before")
    func joining() async throws {
        let scene = try await scene(["alice"])
        try await scene.world.makeCommunity("city", channels: ["open"], members: ["alice"])
        let channel = ConversationID.community("city", channel: "open")
        for place in [group, channel] {
            try await scene.alice.say(1...30, in: place, mentioning: .everyone())
        }
        let highest = Highest()
        let watching = scene.devices.map { device in
            Task { for await view in device.recents.views() { await highest.note(view.totalUnread) } }
        }
        try await scene.world.setMember("bob", of: group, true)
        try await scene.world.setMember("bob", of: .community("city"), true)
        for place in [group, channel] { try await scene.alice.say(31...32, in: place) }
        for place in [group, channel] { try await expect(2, in: place, on: scene.devices, scene.world) }
        // Nor when the past is opened to them.
        try await scene.world.setHistoryVisibility(.everything, of: group)
        let fresh = try await scene.world.client("bob")
        try await expect(2, on: scene.devices + [fresh], scene.world)
        await scene.world.close()
        for task in watching { await task.value }
        #expect(await highest.value == 4)
    }

    // MARK: One's own messages

    @Test("WuKongIM#461, open-im-server#2807: one's own messages count on no device, connected, away or new")
    func ownMessages() async throws {
        let scene = try await scene()
        scene.world.goOffline("bob")
        let away = try await scene.world.disconnectedClient("bob")
        scene.world.goOnline("bob")
        for number in 1...3 {
            _ = try await scene.phone.conversation(group).send(.text("\(number)")).delivered()
            _ = try await scene.phone.conversation(.direct("alice")).send(.text("\(number)")).delivered()
        }
        try await scene.alice.say(4...5, in: group)
        _ = try await scene.laptop.conversation(group).send(.text("6")).delivered()
        away.connect()
        let fresh = try await scene.world.client("bob")
        let all = scene.devices + [away, fresh]
        try await expect(2, on: all, scene.world)
        try await expect(0, in: .direct("alice"), on: all, scene.world)
        await scene.world.close()
    }

    @Test("WuKongIM#461: nor do those that came by an import", arguments: [60, 900])
    func ownImported(_ count: Int) async throws {
        let scene = try await scene()
        try await scene.alice.say(1...1, in: group)
        try await expect(1, on: scene.devices, scene.world)
        let senders: [UserID] = (0..<count).map { $0.isMultiple(of: 3) ? "bob" : "alice" }
        try await scene.world.put(senders, into: group)
        let others = Int64(senders.count { $0 != "bob" })
        try await expect(1 + others, on: scene.devices + [scene.world.client("bob")], scene.world)
        try await scene.phone.conversation(group).markRead()
        try await scene.world.put(["bob", "bob", "alice", "bob"], into: group)
        try await expect(1, on: scene.devices + [scene.world.client("bob")], scene.world)
        await scene.world.close()
    }

    @Test("matrix-rust-sdk#2375: answering leaves nothing unread behind, and hides nothing that was not read")
    func ownReply() async throws {
        let scene = try await scene()
        let asked = try await scene.alice.say(1...3, in: group)
        try await expect(3, on: scene.devices, scene.world)
        try await scene.phone.conversation(group).markRead()
        _ = try await scene.laptop.conversation(group).send(.text("4"), replyingTo: asked[2].id).delivered()
        try await expect(0, on: scene.devices, scene.world)
        let more = try await scene.alice.say(5...6, in: group)
        _ = try await scene.laptop.conversation(group).send(.text("7"), replyingTo: more[0].id).delivered()
        try await expect(2, on: scene.devices, scene.world)
        try await scene.laptop.conversation(group).markRead()
        try await expect(0, on: scene.devices + [scene.world.client("bob")], scene.world)
        await scene.world.close()
    }

    @Test("Conduit: a message whose answer was lost, and which came again, is counted once")
    func countedTwice() async throws {
        let scene = try await scene()
        scene.world.loseNextAcknowledgement(of: "alice")
        let sending = try await scene.alice.conversation(group).send(.text("1"), mentioning: .users(["bob"]))
        #expect(try await sending.delivered().seq == 1)
        try await expect(1, mentions: 1, on: scene.devices + [scene.world.client("bob")], scene.world)
        await scene.world.close()
    }
}

/// The highest total that was ever shown.
private actor Highest {
    private(set) var value: Int64 = 0

    func note(_ total: Int64) { value = max(value, total) }
}
