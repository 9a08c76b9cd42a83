import ContractRows
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import Testing

@Suite("Clients that keep their read state local")
struct OwnReadStateTests {
    private let group = ConversationID.group("swift")

    @Test(
        "With `syncsReadState` off, reads and unread flags stay on one client, and mute and pin still sync",
        .rows(216))
    func off() async throws {
        let world = try ChatWorld()
        try await world.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await world.client("alice")
        let phone = try await world.client("bob") { $0.syncsReadState = false }
        let laptop = try await world.client("bob") { $0.syncsReadState = false }
        for device in [phone, laptop] { try await device.ready() }
        for number in 1...5 { _ = try await alice.conversation(group).send(.text("\(number)")).delivered() }
        let messages = try world.messages(in: group)
        for device in [phone, laptop] { #expect(try await eventually { try await device.recents[group]?.unread == 5 }) }
        try await phone.conversation(group).markRead(upTo: messages[2].id)
        try await phone.conversation(group).setPinned(true)
        #expect(try await eventually { try await laptop.recents[group]?.isPinned == true })
        #expect(try await phone.recents[group]?.unread == 2)
        #expect(try await laptop.recents[group]?.unread == 5)
        #expect(try world.engine.head(of: group, by: Caller(user: "bob")).unread == 5)
        try await phone.conversation(group).markRead()
        try await phone.conversation(group).markUnread()
        _ = try await alice.conversation(group).send(.text("6")).delivered()
        try await alice.conversation(group).recall(messages[4].id)
        let hasHeard = try await eventually {
            let entry = try await laptop.recents[group]
            return entry?.unread == 5 && entry?.lastMessage?.text == "6"
        }
        #expect(hasHeard)
        #expect(try await eventually { try await phone.recents[group]?.unread == 1 })
        #expect(try await phone.recents[group]?.isMarkedUnread == true)
        #expect(try await laptop.recents[group]?.isMarkedUnread == false)
        world.goOffline("bob")
        _ = try await alice.conversation(group).send(.text("7")).delivered()
        world.goOnline("bob")
        #expect(try await eventually { try await phone.recents[group]?.unread == 2 })
        #expect(try await eventually { try await laptop.recents[group]?.unread == 6 })
        #expect(try await phone.verifyIntegrity() == [])
        // A third client syncs its read state.
        let third = try await world.client("bob")
        #expect(try await eventually { try await third.recents[group]?.unread == 6 })
        try await third.conversation(group).markRead()
        for device in [phone, laptop] { #expect(try await eventually { try await device.recents[group]?.unread == 0 }) }
        await world.close()
    }
}
