import ContractRows
import Foundation
import Scrollback
import ScrollbackTesting
import TestSupport
import Testing

/// Tests edits, recalls, deletions, reactions and threads across several clients.
@Suite("Message changes in the client")
struct ChangesTests {
    private let group = ConversationID.group("swift")

    private func server(_ members: [UserID] = ["alice", "bob"]) async throws -> TestServer {
        let server = try TestServer()
        try await server.makeGroup("swift", members: members)
        return server
    }

    @Test("An edit shows locally at once and on every client after the server stores it")
    func edit() async throws {
        let server = try await server()
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        let message = try await alice.conversation(group).send(.text("helo")).waitUntilSent()
        #expect(try await eventually { try await bob.texts(in: group) == ["helo"] })

        server.goOffline("alice")
        let edit = try await alice.conversation(group).edit(
            message.id, to: .text("hello @bob"), mentioning: .set(.users(["bob"])))
        let timeline = alice.conversation(group).timeline(at: .latest, window: 10)
        #expect(await shows(timeline, ["hello @bob"]))
        #expect(try await bob.texts(in: group) == ["helo"])
        server.goOnline("alice")
        let edited = try await edit.waitUntilSent()
        #expect(edited.text == "hello @bob")
        #expect(edited.editedAt != nil)
        #expect(edited.rev == 1)
        for device in [alice, bob] {
            #expect(try await eventually { try await device.texts(in: group) == ["hello @bob"] })
            #expect(try await device.verifyIntegrity() == [])
        }
        #expect(try await eventually { try await bob.conversation(group).recent()?.mentions == 1 })
        #expect(try await bob.conversation(group).recent()?.unread == 1)
        await server.close()
    }

    @Test("A refused change is deleted when it is too old to be sent again")
    func oldRefusedChange() async throws {
        let folder = try TemporaryFolder()
        let server = try await server()
        var alice = try await server.client("alice", store: .directory(folder.url))
        let chat = alice.conversation(group)
        let message = try await chat.send(.text("hello")).waitUntilSent()
        try await chat.react("👍", to: message.id).waitForCompletion()
        let repeated = try await chat.react("👍", to: message.id)
        await #expect(throws: ChatError.self) { try await repeated.waitForCompletion() }
        for (days, count) in [(179, 1), (2, 0)] {
            await alice.close()
            server.advance(by: Double(days) * 86_400)
            alice = try await server.disconnectedClient("alice", store: .directory(folder.url))
            #expect(try await alice.core.store.read { try $0.outbox() }.count == count)
        }
        await server.close()
    }

    @Test(
        "A mention that an edit adds below the user's own message is read, and one above it is unread"
    )
    func lateMention() async throws {
        let server = try await server()
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        let laptop = try await server.client("bob")
        let notice = try MessageContent(type: .notice, json: RawJSON(#"{"text":"anchored"}"#))
        let first = try await alice.conversation(group).send(notice).waitUntilSent()
        _ = try await bob.conversation(group).send(.text("aye")).waitUntilSent()
        let third = try await alice.conversation(group).send(notice).waitUntilSent()
        for device in [bob, laptop] {
            #expect(try await eventually { try await device.texts(in: group).count == 3 })
        }
        for (message, mentions) in [(first, 0), (third, 1)] {
            let edit = try await alice.conversation(group).edit(
                message.id, to: notice, mentioning: .set(.users(["bob"])))
            let rev = try await edit.waitUntilSent().rev
            for device in [bob, laptop] {
                #expect(
                    try await eventually {
                        let (chat, wanted) = (device.conversation(group), Int64(mentions))
                        guard try await chat.message(message.id).rev == rev else { return false }
                        return try await chat.recent()?.mentions == wanted
                    })
            }
        }
        await server.close()
    }

    @Test("An edit of a message with an unknown send result yields one message with the edit", .history(20))
    func editOfUnacknowledgedSend() async throws {
        let server = try await server()
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        server.loseNextAcknowledgement(of: "alice")
        let sending = try await alice.conversation(group).send(.text("first"))
        let edit = try await alice.conversation(group).edit(sending.id, to: .text("second"))
        #expect(try await edit.waitUntilSent().text == "second")
        #expect(try await sending.waitUntilSent().text == "second")
        for device in [alice, bob] {
            #expect(try await eventually { try await device.texts(in: group) == ["second"] })
        }
        #expect(try server.messages(in: group).map(\.text) == ["second"])
        await server.close()
    }

    @Test("Unsent messages are edited and recalled in the outbox without a request to the server")
    func unsent() async throws {
        let server = try await server()
        let alice = try await server.client("alice")
        server.goOffline("alice")
        let first = try await alice.conversation(group).send(.text("one"))
        let second = try await alice.conversation(group).send(.text("two"))
        _ = try await alice.conversation(group).edit(first.id, to: .text("uno"))
        _ = try await alice.conversation(group).recall(second.id)
        let wrong = await #expect(throws: ChatError.self) {
            try await alice.conversation(group).edit(first.id, to: MessageContent(type: .notice, json: RawJSON("{}")))
        }
        #expect(wrong?.parameter == "content")
        server.goOnline("alice")
        #expect(try await first.waitUntilSent().text == "uno")
        let messages = try server.messages(in: group)
        #expect(messages.map(\.text) == ["uno"])
        #expect(messages.map(\.rev) == [0])
        await server.close()
    }

    @Test("A recalled message is a tombstone on every client and leaves all unread counts")
    func recall() async throws {
        let server = try await server(["alice", "bob", "carol"])
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        var ids: [MessageID] = []
        for text in ["one", "two @bob", "three"] {
            let mentions: Mentions? = text.contains("@") ? .users(["bob"]) : nil
            ids.append(try await alice.conversation(group).send(.text(text), mentioning: mentions).waitUntilSent().id)
        }
        #expect(try await eventually { try await bob.counts(in: group) == [3, 1] })
        let tombstone = try await alice.conversation(group).recall(ids[1]).waitUntilSent()
        #expect(tombstone.isDeleted)
        #expect(tombstone.type == .text)
        #expect(try await eventually { try await bob.counts(in: group) == [2, 0] })
        #expect(try await eventually { try await bob.texts(in: group) == ["one", "three"] })

        // The client is offline during the next recall. Its first counts after reconnecting are already correct.
        server.goOffline("bob")
        _ = try await alice.conversation(group).recall(ids[0]).waitUntilSent()
        server.goOnline("bob")
        #expect(try await eventually { try await bob.counts(in: group) == [1, 0] })
        #expect(try await eventually { try await bob.texts(in: group) == ["three"] })
        let late = try await server.client("carol")
        #expect(try await eventually { try await late.counts(in: group) == [1, 0] })
        for device in [alice, bob, late] { #expect(try await device.verifyIntegrity() == []) }
        await server.close()
    }

    @Test("A member can't delete or edit another member's message, and a refusal changes nothing")
    func refused() async throws {
        let server = try await server()
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        let id = try await alice.conversation(group).send(.text("mine")).waitUntilSent().id
        #expect(try await eventually { try await bob.texts(in: group) == ["mine"] })
        for change in [
            try await bob.conversation(group).delete(id, for: .everyone),
            try await bob.conversation(group).edit(id, to: .text("yours")),
        ] {
            let error = await #expect(throws: ChatError.self) { try await change.waitUntilSent() }
            #expect(error?.code == .forbidden)
            try await change.cancel()
        }
        #expect(try await bob.texts(in: group) == ["mine"])
        #expect(try await alice.texts(in: group) == ["mine"])
        await server.close()
    }

    @Test(
        "A message deleted for oneself disappears from all of the user's clients and counts, and only theirs", .rows(24)
    )
    func deleteForMe() async throws {
        let server = try await server()
        let alice = try await server.client("alice")
        let phone = try await server.client("bob")
        let laptop = try await server.client("bob")
        var ids: [MessageID] = []
        for number in 1...4 {
            ids.append(try await alice.conversation(group).send(.text("\(number)")).waitUntilSent().id)
        }
        for device in [phone, laptop] {
            #expect(try await eventually { try await device.counts(in: group) == [4, 0] })
        }
        let hiding = try await phone.conversation(group).delete([ids[1], ids[2]], for: .me)
        #expect(
            try await phone.texts(in: group) == ["1", "4"],
            "The message disappears before the server receives the request.")
        try await hiding.waitForCompletion()
        for device in [phone, laptop] {
            #expect(try await eventually { try await device.texts(in: group) == ["1", "4"] })
            #expect(try await eventually { try await device.counts(in: group) == [2, 0] })
            #expect(try await device.verifyIntegrity() == [])
        }
        #expect(try await alice.texts(in: group) == ["1", "2", "3", "4"])

        // One client was offline, and one client is new.
        server.goOffline("bob")
        server.goOnline("bob")
        let tablet = try await server.client("bob")
        #expect(
            try await eventually {
                let page = try await tablet.conversation(group).history(.earliest, limit: 10, sort: .oldestFirst)
                return page.messages.map(\.text) == ["1", "4"] && page.gap == nil
            })
        await server.close()
    }

    @Test("An unread message deleted for oneself and then recalled lowers the count once", .history(15))
    func hideAndRecallLowerCountOnce() async throws {
        let server = try await server()
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        var ids: [MessageID] = []
        for number in 1...3 {
            ids.append(try await alice.conversation(group).send(.text("\(number)")).waitUntilSent().id)
        }
        #expect(try await eventually { try await bob.counts(in: group) == [3, 0] })
        try await bob.conversation(group).delete(ids[1], for: .me).waitForCompletion()
        #expect(try await eventually { try await bob.counts(in: group) == [2, 0] })
        _ = try await alice.conversation(group).recall(ids[1]).waitUntilSent()
        _ = try await alice.conversation(group).send(.text("4")).waitUntilSent()
        #expect(try await eventually { try await bob.counts(in: group) == [3, 0] })
        #expect(try await bob.texts(in: group) == ["1", "3", "4"])
        await server.close()
    }

    @Test("A cleared conversation is empty on all of the user's clients and receives new messages")
    func clear() async throws {
        let server = try await server()
        let alice = try await server.client("alice")
        let phone = try await server.client("bob")
        let laptop = try await server.client("bob")
        for number in 1...5 { _ = try await alice.conversation(group).send(.text("\(number)")).waitUntilSent() }
        for device in [phone, laptop] {
            #expect(try await eventually { try await device.counts(in: group) == [5, 0] })
        }
        _ = try await phone.conversation(group).clear()
        for device in [phone, laptop] {
            #expect(try await eventually { try await device.texts(in: group) == [] })
            #expect(try await eventually { try await device.counts(in: group) == [0, 0] })
        }
        _ = try await alice.conversation(group).send(.text("6")).waitUntilSent()
        for device in [phone, laptop] {
            #expect(try await eventually { try await device.texts(in: group) == ["6"] })
            #expect(try await device.verifyIntegrity() == [])
        }
        #expect(try await alice.texts(in: group).count == 6)
        await server.close()
    }

    @Test("A reaction counts once per user, shows at once and can be removed")
    func reactions() async throws {
        let server = try await server(["alice", "bob", "carol"])
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        let id = try await alice.conversation(group).send(.text("cake?")).waitUntilSent().id
        #expect(try await eventually { try await bob.texts(in: group) == ["cake?"] })
        let first = try await bob.conversation(group).react("👍🏽", to: id)
        #expect(try await first.waitUntilSent().id == id)
        _ = try await alice.conversation(group).react("👍🏽", to: id).waitUntilSent()
        for device in [alice, bob] {
            #expect(
                try await eventually {
                    try await device.message(id, in: group)?.actions
                        == [ActionSummary(type: "reaction", value: "👍🏽", count: 2, senders: ["bob", "alice"])]
                })
        }
        let again = try await bob.conversation(group).react("👍🏽", to: id)
        #expect(await #expect(throws: ChatError.self) { try await again.waitUntilSent() }?.code == .conflict)
        try await again.cancel()
        _ = try await bob.conversation(group).unreact("👍🏽", from: id).waitUntilSent()
        #expect(try await eventually { try await alice.message(id, in: group)?.actions.first?.senders == ["alice"] })
        #expect(try await bob.counts(in: group) == [1, 0], "A reaction is not a message.")
        await server.close()
    }

    @Test("Replies form a thread, and the root message has the reply count")
    func threads() async throws {
        let server = try await server()
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        let root = try await alice.conversation(group).send(.text("where?")).waitUntilSent().id
        let reply = try await bob.conversation(group).send(.text("here"), replyingTo: root).waitUntilSent()
        #expect(reply.thread == root)
        let deeper = try await alice.conversation(group).send(.text("there"), replyingTo: reply.id).waitUntilSent()
        #expect(deeper.thread == root)
        for device in [alice, bob] {
            #expect(try await eventually { try await device.message(root, in: group)?.replies?.count == 2 })
            for source in [HistorySource.local, .remote, .merged] {
                let page = try await device.conversation(group)
                    .history(.latest, limit: 10, sort: .oldestFirst, matching: .thread(root), from: source)
                #expect(page.messages.map(\.text) == ["here", "there"], "\(source)")
            }
        }
        _ = try await bob.conversation(group).recall(reply.id).waitUntilSent()
        #expect(try await eventually { try await alice.message(root, in: group)?.replies?.count == 1 })
        await server.close()
    }

    @Test("An old message that was edited while a client was offline is current when the client reconnects")
    func editWhileOffline() async throws {
        let server = try await server()
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        var ids: [MessageID] = []
        for number in 1...30 {
            ids.append(try await alice.conversation(group).send(.text("\(number)")).waitUntilSent().id)
        }
        #expect(try await eventually { try await bob.texts(in: group).count == 30 })
        server.goOffline("bob")
        _ = try await alice.conversation(group).edit(ids[0], to: .text("one")).waitUntilSent()
        _ = try await alice.conversation(group).recall(ids[1]).waitUntilSent()
        for number in 31...40 { _ = try await alice.conversation(group).send(.text("\(number)")).waitUntilSent() }
        _ = try await alice.conversation(group).react("👍", to: ids[0]).waitUntilSent()
        server.goOnline("bob")
        #expect(
            try await eventually {
                try await bob.texts(in: group) == ["one"] + (3...40).map(String.init)
            })
        #expect(try await bob.message(ids[0], in: group)?.actions.count == 1)
        #expect(try await bob.verifyIntegrity() == [])
        await server.close()
    }
}

/// Waits until a timeline shows these texts. Returns `false` if the timeline ends first.
private func shows(_ timeline: Timeline, _ texts: [String]) async -> Bool {
    for await view in timeline.views {
        let shown = view.items.compactMap { item -> String? in
            if case .message(let message) = item { message.text } else { nil }
        }
        if shown == texts { return true }
    }
    return false
}

extension ChatClient {
    /// The unread count and the mention count.
    fileprivate func counts(in id: ConversationID) async throws -> [Int64] {
        let recent = try await conversation(id).recent()
        return [recent?.unread ?? 0, recent?.mentions ?? 0].map { Int64($0) }
    }

    fileprivate func message(_ id: MessageID, in conversation: ConversationID) async throws -> Message? {
        try await self.conversation(conversation).history(.around(.id(id), before: 0, after: 0), from: .local)
            .messages.first
    }
}
