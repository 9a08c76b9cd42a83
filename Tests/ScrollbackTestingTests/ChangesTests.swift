import ContractRows
import Foundation
import Scrollback
import ScrollbackTesting
import Testing

/// Tests edits, recalls, deletions, reactions and threads across several clients.
@Suite("Message changes in the client")
struct ChangesTests {
    private let group = ConversationID.group("swift")

    private func world(_ members: [UserID] = ["alice", "bob"]) async throws -> ChatWorld {
        let world = try ChatWorld()
        try await world.makeGroup("swift", members: members)
        return world
    }

    @Test("An edit shows locally at once and on every client after the server stores it")
    func edit() async throws {
        let world = try await world()
        let alice = try await world.client("alice")
        let bob = try await world.client("bob")
        let message = try await alice.conversation(group).send(.text("helo")).delivered()
        #expect(try await eventually { try await bob.texts(in: group) == ["helo"] })

        world.goOffline("alice")
        let edit = try await alice.conversation(group).edit(
            message.id, to: .text("hello @bob"), mentioning: .set(.users(["bob"])))
        let timeline = alice.conversation(group).timeline(at: .latest, window: 10)
        #expect(await shows(timeline, ["hello @bob"]))
        #expect(try await bob.texts(in: group) == ["helo"])
        world.goOnline("alice")
        let edited = try await edit.delivered()
        #expect(edited.text == "hello @bob")
        #expect(edited.editedAt != nil)
        #expect(edited.rev == 1)
        for device in [alice, bob] {
            #expect(try await eventually { try await device.texts(in: group) == ["hello @bob"] })
            #expect(try await device.verifyIntegrity() == [])
        }
        #expect(try await eventually { try await bob.conversation(group).recent()?.mentions == 1 })
        #expect(try await bob.conversation(group).recent()?.unread == 1)
        await world.close()
    }

    @Test(
        "A mention that an edit adds below the user's own message is read, and one above it is unread"
    )
    func lateMention() async throws {
        let world = try await world()
        let alice = try await world.client("alice")
        let bob = try await world.client("bob")
        let laptop = try await world.client("bob")
        let notice = try MessageContent(type: .notice, json: RawJSON(#"{"text":"anchored"}"#))
        let first = try await alice.conversation(group).send(notice).delivered()
        _ = try await bob.conversation(group).send(.text("aye")).delivered()
        let third = try await alice.conversation(group).send(notice).delivered()
        for device in [bob, laptop] {
            #expect(try await eventually { try await device.texts(in: group).count == 3 })
        }
        for (message, mentions) in [(first, 0), (third, 1)] {
            let edit = try await alice.conversation(group).edit(
                message.id, to: notice, mentioning: .set(.users(["bob"])))
            let rev = try await edit.delivered().rev
            for device in [bob, laptop] {
                #expect(
                    try await eventually {
                        let (chat, wanted) = (device.conversation(group), Int64(mentions))
                        guard try await chat.message(message.id).rev == rev else { return false }
                        return try await chat.recent()?.mentions == wanted
                    })
            }
        }
        await world.close()
    }

    @Test("An edit of a message with an unknown send result yields one message with the edit", .history(20))
    func editOfAnUnknownSend() async throws {
        let world = try await world()
        let alice = try await world.client("alice")
        let bob = try await world.client("bob")
        world.loseNextAcknowledgement(of: "alice")
        let sending = try await alice.conversation(group).send(.text("first"))
        let edit = try await alice.conversation(group).edit(sending.id, to: .text("second"))
        #expect(try await edit.delivered().text == "second")
        #expect(try await sending.delivered().text == "second")
        for device in [alice, bob] {
            #expect(try await eventually { try await device.texts(in: group) == ["second"] })
        }
        #expect(try world.messages(in: group).map(\.text) == ["second"])
        await world.close()
    }

    @Test("Unsent messages are edited and recalled in the outbox without a request to the server")
    func unsent() async throws {
        let world = try await world()
        let alice = try await world.client("alice")
        world.goOffline("alice")
        let first = try await alice.conversation(group).send(.text("one"))
        let second = try await alice.conversation(group).send(.text("two"))
        _ = try await alice.conversation(group).edit(first.id, to: .text("uno"))
        _ = try await alice.conversation(group).recall(second.id)
        let wrong = await #expect(throws: ChatError.self) {
            try await alice.conversation(group).edit(first.id, to: MessageContent(type: .notice, json: RawJSON("{}")))
        }
        #expect(wrong?.parameter == "content")
        world.goOnline("alice")
        #expect(try await first.delivered().text == "uno")
        let messages = try world.messages(in: group)
        #expect(messages.map(\.text) == ["uno"])
        #expect(messages.map(\.rev) == [0])
        await world.close()
    }

    @Test("A recalled message is a tombstone on every client and leaves all unread counts")
    func recall() async throws {
        let world = try await world(["alice", "bob", "carol"])
        let alice = try await world.client("alice")
        let bob = try await world.client("bob")
        var ids: [MessageID] = []
        for text in ["one", "two @bob", "three"] {
            let mentions: Mentions? = text.contains("@") ? .users(["bob"]) : nil
            ids.append(try await alice.conversation(group).send(.text(text), mentioning: mentions).delivered().id)
        }
        #expect(try await eventually { try await bob.counts(in: group) == [3, 1] })
        let stub = try await alice.conversation(group).recall(ids[1]).delivered()
        #expect(stub.isDeleted)
        #expect(stub.type == .text)
        #expect(try await eventually { try await bob.counts(in: group) == [2, 0] })
        #expect(try await eventually { try await bob.texts(in: group) == ["one", "three"] })

        // The client is offline during the next recall. Its first counts after reconnecting are already correct.
        world.goOffline("bob")
        _ = try await alice.conversation(group).recall(ids[0]).delivered()
        world.goOnline("bob")
        #expect(try await eventually { try await bob.counts(in: group) == [1, 0] })
        #expect(try await eventually { try await bob.texts(in: group) == ["three"] })
        let late = try await world.client("carol")
        #expect(try await eventually { try await late.counts(in: group) == [1, 0] })
        for device in [alice, bob, late] { #expect(try await device.verifyIntegrity() == []) }
        await world.close()
    }

    @Test("A member can't delete or edit another member's message, and a refusal changes nothing")
    func refused() async throws {
        let world = try await world()
        let alice = try await world.client("alice")
        let bob = try await world.client("bob")
        let id = try await alice.conversation(group).send(.text("mine")).delivered().id
        #expect(try await eventually { try await bob.texts(in: group) == ["mine"] })
        for change in [
            try await bob.conversation(group).delete(id, for: .everyone),
            try await bob.conversation(group).edit(id, to: .text("yours")),
        ] {
            let error = await #expect(throws: ChatError.self) { try await change.delivered() }
            #expect(error?.code == .forbidden)
            try await change.cancel()
        }
        #expect(try await bob.texts(in: group) == ["mine"])
        #expect(try await alice.texts(in: group) == ["mine"])
        await world.close()
    }

    @Test(
        "A message deleted for oneself disappears from all of the user's clients and counts, and only theirs", .rows(24)
    )
    func deleteForMe() async throws {
        let world = try await world()
        let alice = try await world.client("alice")
        let phone = try await world.client("bob")
        let laptop = try await world.client("bob")
        var ids: [MessageID] = []
        for number in 1...4 {
            ids.append(try await alice.conversation(group).send(.text("\(number)")).delivered().id)
        }
        for device in [phone, laptop] {
            #expect(try await eventually { try await device.counts(in: group) == [4, 0] })
        }
        let hiding = try await phone.conversation(group).delete([ids[1], ids[2]], for: .me)
        #expect(
            try await phone.texts(in: group) == ["1", "4"],
            "The message disappears before the server receives the request.")
        try await hiding.finished()
        for device in [phone, laptop] {
            #expect(try await eventually { try await device.texts(in: group) == ["1", "4"] })
            #expect(try await eventually { try await device.counts(in: group) == [2, 0] })
            #expect(try await device.verifyIntegrity() == [])
        }
        #expect(try await alice.texts(in: group) == ["1", "2", "3", "4"])

        // One client was offline, and one client is new.
        world.goOffline("bob")
        world.goOnline("bob")
        let tablet = try await world.client("bob")
        #expect(
            try await eventually {
                let page = try await tablet.conversation(group).history(.earliest, limit: 10, sort: .oldestFirst)
                return page.messages.map(\.text) == ["1", "4"] && page.gap == nil
            })
        await world.close()
    }

    @Test("An unread message deleted for oneself and then recalled lowers the count once", .history(15))
    func hiddenAndRecalled() async throws {
        let world = try await world()
        let alice = try await world.client("alice")
        let bob = try await world.client("bob")
        var ids: [MessageID] = []
        for number in 1...3 {
            ids.append(try await alice.conversation(group).send(.text("\(number)")).delivered().id)
        }
        #expect(try await eventually { try await bob.counts(in: group) == [3, 0] })
        try await bob.conversation(group).delete(ids[1], for: .me).finished()
        #expect(try await eventually { try await bob.counts(in: group) == [2, 0] })
        _ = try await alice.conversation(group).recall(ids[1]).delivered()
        _ = try await alice.conversation(group).send(.text("4")).delivered()
        #expect(try await eventually { try await bob.counts(in: group) == [3, 0] })
        #expect(try await bob.texts(in: group) == ["1", "3", "4"])
        await world.close()
    }

    @Test("A cleared conversation is empty on all of the user's clients and receives new messages")
    func clear() async throws {
        let world = try await world()
        let alice = try await world.client("alice")
        let phone = try await world.client("bob")
        let laptop = try await world.client("bob")
        for number in 1...5 { _ = try await alice.conversation(group).send(.text("\(number)")).delivered() }
        for device in [phone, laptop] {
            #expect(try await eventually { try await device.counts(in: group) == [5, 0] })
        }
        _ = try await phone.conversation(group).clear()
        for device in [phone, laptop] {
            #expect(try await eventually { try await device.texts(in: group) == [] })
            #expect(try await eventually { try await device.counts(in: group) == [0, 0] })
        }
        _ = try await alice.conversation(group).send(.text("6")).delivered()
        for device in [phone, laptop] {
            #expect(try await eventually { try await device.texts(in: group) == ["6"] })
            #expect(try await device.verifyIntegrity() == [])
        }
        #expect(try await alice.texts(in: group).count == 6)
        await world.close()
    }

    @Test("A reaction counts once per user, shows at once and can be removed")
    func reactions() async throws {
        let world = try await world(["alice", "bob", "carol"])
        let alice = try await world.client("alice")
        let bob = try await world.client("bob")
        let id = try await alice.conversation(group).send(.text("cake?")).delivered().id
        #expect(try await eventually { try await bob.texts(in: group) == ["cake?"] })
        let first = try await bob.conversation(group).react("👍🏽", to: id)
        #expect(try await first.delivered().id == id)
        _ = try await alice.conversation(group).react("👍🏽", to: id).delivered()
        for device in [alice, bob] {
            #expect(
                try await eventually {
                    try await device.message(id, in: group)?.actions
                        == [ActionSummary(type: "reaction", value: "👍🏽", count: 2, senders: ["bob", "alice"])]
                })
        }
        let again = try await bob.conversation(group).react("👍🏽", to: id)
        #expect(await #expect(throws: ChatError.self) { try await again.delivered() }?.code == .conflict)
        try await again.cancel()
        _ = try await bob.conversation(group).unreact("👍🏽", from: id).delivered()
        #expect(try await eventually { try await alice.message(id, in: group)?.actions.first?.senders == ["alice"] })
        #expect(try await bob.counts(in: group) == [1, 0], "A reaction is not a message.")
        await world.close()
    }

    @Test("Replies form a thread, and the root message has the reply count")
    func threads() async throws {
        let world = try await world()
        let alice = try await world.client("alice")
        let bob = try await world.client("bob")
        let root = try await alice.conversation(group).send(.text("where?")).delivered().id
        let reply = try await bob.conversation(group).send(.text("here"), replyingTo: root).delivered()
        #expect(reply.thread == root)
        let deeper = try await alice.conversation(group).send(.text("there"), replyingTo: reply.id).delivered()
        #expect(deeper.thread == root)
        for device in [alice, bob] {
            #expect(try await eventually { try await device.message(root, in: group)?.replies?.count == 2 })
            for source in [HistorySource.local, .remote, .merged] {
                let page = try await device.conversation(group)
                    .history(.latest, limit: 10, sort: .oldestFirst, matching: .thread(root), from: source)
                #expect(page.messages.map(\.text) == ["here", "there"], "\(source)")
            }
        }
        _ = try await bob.conversation(group).recall(reply.id).delivered()
        #expect(try await eventually { try await alice.message(root, in: group)?.replies?.count == 1 })
        await world.close()
    }

    @Test("An old message that was edited while a client was offline is current when the client reconnects")
    func editedWhileAway() async throws {
        let world = try await world()
        let alice = try await world.client("alice")
        let bob = try await world.client("bob")
        var ids: [MessageID] = []
        for number in 1...30 {
            ids.append(try await alice.conversation(group).send(.text("\(number)")).delivered().id)
        }
        #expect(try await eventually { try await bob.texts(in: group).count == 30 })
        world.goOffline("bob")
        _ = try await alice.conversation(group).edit(ids[0], to: .text("one")).delivered()
        _ = try await alice.conversation(group).recall(ids[1]).delivered()
        for number in 31...40 { _ = try await alice.conversation(group).send(.text("\(number)")).delivered() }
        _ = try await alice.conversation(group).react("👍", to: ids[0]).delivered()
        world.goOnline("bob")
        #expect(
            try await eventually {
                try await bob.texts(in: group) == ["one"] + (3...40).map(String.init)
            })
        #expect(try await bob.message(ids[0], in: group)?.actions.count == 1)
        #expect(try await bob.verifyIntegrity() == [])
        await world.close()
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
