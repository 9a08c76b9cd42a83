import ContractRows
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

@Suite("Clients that keep their read state local")
struct OwnReadStateTests {
    private let group = ConversationID.group("swift")

    @Test(
        "With `syncsReadState` off, reads and unread flags stay on one client, and mute and pin still sync",
        .rows(216))
    func off() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        let phone = try await server.client("bob") { $0.syncsReadState = false }
        let laptop = try await server.client("bob") { $0.syncsReadState = false }
        for device in [phone, laptop] { try await device.ready() }
        for number in 1...5 { _ = try await alice.conversation(group).send(.text("\(number)")).waitUntilSent() }
        let messages = try server.messages(in: group)
        for device in [phone, laptop] { #expect(try await eventually { try await device.recents[group]?.unread == 5 }) }
        try await phone.conversation(group).markRead(upTo: messages[2].id)
        try await phone.conversation(group).setPinned(true)
        #expect(try await eventually { try await laptop.recents[group]?.isPinned == true })
        #expect(try await phone.recents[group]?.unread == 2)
        #expect(try await laptop.recents[group]?.unread == 5)
        #expect(try server.engine.head(of: group, by: Caller(user: "bob")).unread == 5)
        try await phone.conversation(group).markRead()
        try await phone.conversation(group).markUnread()
        _ = try await alice.conversation(group).send(.text("6")).waitUntilSent()
        try await alice.conversation(group).recall(messages[4].id)
        let hasReceived = try await eventually {
            let entry = try await laptop.recents[group]
            return entry?.unread == 5 && entry?.lastMessage?.text == "6"
        }
        #expect(hasReceived)
        #expect(try await eventually { try await phone.recents[group]?.unread == 1 })
        #expect(try await phone.recents[group]?.isMarkedUnread == true)
        #expect(try await laptop.recents[group]?.isMarkedUnread == false)
        server.goOffline("bob")
        _ = try await alice.conversation(group).send(.text("7")).waitUntilSent()
        server.goOnline("bob")
        #expect(try await eventually { try await phone.recents[group]?.unread == 2 })
        #expect(try await eventually { try await laptop.recents[group]?.unread == 6 })
        #expect(try await phone.verifyIntegrity() == [])
        // A third client syncs its read state.
        let third = try await server.client("bob")
        #expect(try await eventually { try await third.recents[group]?.unread == 6 })
        try await third.conversation(group).markRead()
        for device in [phone, laptop] { #expect(try await eventually { try await device.recents[group]?.unread == 0 }) }
        await server.close()
    }
}
