import ContractRows
import Foundation
import Scrollback
import ScrollbackTesting
import TestSupport
import Testing

/// Replays event histories on a whole client. Tests of the engine and of the state machines replay them at lower
/// levels.
@Suite("Event histories on a client")
struct DeviceHistoryTests {
    private let group = ConversationID.group("swift")

    @Test(
        "A member who rejoined sees the messages of both spans, and all of them after visibility is widened",
        .history(5),
        .rows(25, 46))
    func rejoinedMemberSeesBothSpans() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice"])
        let alice = try await server.client("alice")
        let phone = try await server.client("bob")
        func sendMessages(_ numbers: ClosedRange<Int>) async throws {
            for number in numbers { try await alice.conversation(group).send(.text("\(number)")) }
            await alice.waitForOutbox()
        }
        try await sendMessages(1...50)
        try await server.setMember("bob", of: group, true)
        try await sendMessages(51...80)
        #expect(try await eventually { try await phone.texts(in: group).count == 30 })
        try await server.setMember("bob", of: group, false)
        try await sendMessages(81...119)
        try await server.setMember("bob", of: group, true)
        try await sendMessages(120...123)

        let laptop = try await server.client("bob")
        let seen = (Array(51...80) + Array(120...123)).map(String.init)
        for device in [phone, laptop] {
            #expect(
                try await eventually {
                    let page = try await device.conversation(group).history(.earliest, limit: 100, sort: .oldestFirst)
                    return page.messages.compactMap(\.text) == seen && page.gap == nil && page.remoteError == nil
                })
            #expect(try await eventually { try await device.conversation(group).recent()?.unread == 4 })
            #expect(try await device.verifyIntegrity() == [])
        }
        server.goOffline("bob")
        try await server.setHistoryVisibility(.everything, of: group)
        server.goOnline("bob")
        for device in [phone, laptop] {
            #expect(
                try await eventually {
                    var texts: [String] = []
                    for try await message in device.conversation(group).messages(from: .earliest) {
                        texts.append(message.text ?? "")
                    }
                    return texts == (1...123).map(String.init)
                })
            #expect(try await device.conversation(group).recent()?.unread == 4)
            #expect(try await device.verifyIntegrity() == [])
        }
        await server.close()
    }

    @Test("A connected client of a removed member counts and receives nothing more there", .history(11))
    func removedMembersClientReceivesNothing() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        try await server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        let channel = ConversationID.community("city", channel: "open")
        for place in [group, channel] {
            for number in 1...3 { try await alice.conversation(place).send(.text("\(number)")) }
        }
        #expect(try await eventually { try await bob.recents.view().totalUnread == 6 })
        try await server.setMember("bob", of: group, false)
        try await server.setMember("bob", of: .community("city"), false)
        for place in [group, channel] { try await alice.conversation(place).send(.text("later")) }
        await alice.waitForOutbox()
        #expect(try await eventually { try await bob.recents.view().totalUnread == 0 })
        let fresh = try await server.client("bob")
        for await state in fresh.connection { if case .online = state { break } }
        #expect(try await eventually { try await fresh.recents.view().conversations.count == 2 })
        for device in [bob, fresh] {
            #expect(try await device.recents.view().totalUnread == 0)
            for place in [group, channel] {
                let texts = try await device.conversation(place).history(.earliest, sort: .oldestFirst).messages
                #expect(texts.compactMap(\.text) == ["1", "2", "3"])
            }
            #expect(try await device.verifyIntegrity() == [])
        }
        await server.close()
    }

    @Test("A user who joins a community of many channels has only later messages unread", .history(16))
    func bigCommunity() async throws {
        let server = try TestServer()
        let channels = (1...20).map { Identifier(stringLiteral: "channel\($0)") }
        try await server.makeCommunity("city", channels: channels, members: ["alice"])
        let alice = try await server.client("alice")
        for channel in channels {
            for number in 1...5 {
                try await alice.conversation(.community("city", channel: channel)).send(.text("\(number)"))
            }
        }
        await alice.waitForOutbox()
        let online = try await server.client("bob")
        let offline = try await server.disconnectedClient("bob")
        let seen = Counts()
        let watching = [online, offline].map { device in
            Task { for await view in device.recents.views() { await seen.add(view.totalUnread) } }
        }
        for await state in online.connection { if case .online = state { break } }
        try await server.setMember("bob", of: .community("city"), true)
        for number in 6...7 {
            try await alice.conversation(.community("city", channel: channels[7])).send(
                .text("\(number)"), mentioning: .everyone())
        }
        await alice.waitForOutbox()
        offline.connect()
        for device in [online, offline] {
            #expect(try await eventually { try await device.recents.view().totalUnread == 2 })
            let recent = try await device.conversation(.community("city", channel: channels[7])).recent()
            #expect(recent?.mentions == 2)
            #expect(try await device.verifyIntegrity() == [])
        }
        await server.close()
        for task in watching { await task.value }
        #expect(await seen.highest == 2)
    }

    private actor Counts {
        private(set) var highest: Int64 = 0

        func add(_ count: Int64) { highest = max(highest, count) }
    }
}
