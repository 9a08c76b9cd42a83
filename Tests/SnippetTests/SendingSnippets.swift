import Foundation
import Scrollback
import ScrollbackTesting
import Testing

struct Recipe: CustomContent {
    static let type: MessageType = "com.example.recipe"
    var text: String  // Shown by apps that don't support recipes.
    var ingredients: [String]
}

/// The examples of the articles on sending and changing messages.
@Suite("Examples: sending and changing", .timeLimit(.minutes(10)))
struct SendingSnippets {
    func follow(chat: Conversation, show: Show<String>) async throws {
        let sending = try await chat.send(.text("hello @bob"), mentioning: .users(["bob"]))
        for await state in sending.states {
            switch state {
            case .stored: show("waiting")
            case .uploading(let fraction): show("uploading, \(Int(fraction * 100)) %")
            case .sending: show("sending")
            case .waiting(let date): show("retrying at \(date)")
            case .sent(let message): show("sent with sequence number \(message.seq)")
            case .failed(let error): show("refused: \(error.message)")
            case .gone: show("cancelled")
            }
        }
    }

    func wait(chat: Conversation, show: Show<String>) async throws {
        do {
            let message = try await chat.send(.text("hello")).waitUntilSent()
            show("sent at \(message.sentAt)")
        } catch {
            show("\(error.code): \(error.message)")
        }
    }

    func again(chat: Conversation, id: MessageID) async throws {
        let sending = chat.sendHandle(for: id)
        try await sending.retry()
    }

    func stop(sending: SendHandle, in chat: Conversation) async throws {
        do {
            try await sending.cancel()
        } catch let error where error.code == .conflict {
            try await chat.recall(sending.id)
        }
    }

    func later(chat: Conversation, newYear: Date) async throws {
        try await chat.schedule(.text("Happy new year"), at: newYear)
    }

    func scheduled(client: ChatClient, cancelling id: MessageID, show: Show<String>) async throws {
        for message in try await client.scheduledMessages().messages {
            let text = message.submission.content.text ?? ""
            show("\(text), \(message.failure.map { "refused: \($0)" } ?? "at \(message.sendAt)")")
        }
        try await client.cancelScheduledMessage(id)
    }

    func contents(chat: Conversation, message: Message) async throws {
        try await chat.send(.text("high water at 07:10"))
        try await chat.send(.reference("is that summer time?", to: message))
        try await chat.send(.location(.init(latitude: 54.33, longitude: 10.15, name: "Kiel")))
        try await chat.send(.command("typing", data: RawJSON(#"{"on": true}"#)))  // Not stored.
    }

    /// Not run, because it requests a page of another server.
    func preview(client: ChatClient, chat: Conversation) async throws {
        let text = "Shall we? https://example.org/tours"
        let preview = try? await client.linkPreview(forLinkIn: text)
        try await chat.send(.text(text, preview: preview))
    }

    func readPreview(message: Message, show: Show<String>) {
        if let preview = message.content?.linkPreview {
            show("\(preview.title) (\(preview.url?.host() ?? ""))")
        }
    }

    func custom(chat: Conversation) async throws {
        try await chat.send(.custom(Recipe(text: "Mint tea", ingredients: ["mint", "water"])))
    }

    func read(message: Message, show: Show<String>) throws {
        if let recipe = try message.content?.custom(Recipe.self) {
            show("\(recipe.text): \(recipe.ingredients.joined(separator: ", "))")
        } else if let quote = message.content?.quote {
            show("\(quote.sender) said: \(quote.content.text ?? "")")
        } else if let place = message.content?.location {
            show("\(place.latitude), \(place.longitude)")
        } else {
            show(message.text ?? "a message of type \(message.type)")
        }
    }

    func accompany(chat: Conversation) async throws -> Message {
        let sending = try await chat.send(
            .text("high water at 07:10"), metadata: RawJSON(#"{"station": 7}"#), customType: "tide",
            push: PushOptions(title: "Tides", text: "New tide times"))
        return try await sending.waitUntilSent()
    }

    func keep(chat: Conversation, id: MessageID) async throws -> RawJSON? {
        try await chat.setLocalExtension(RawJSON(#"{"isStarred": true}"#), of: id)
        return try await chat.localExtension(of: id)
    }

    func mentions(chat: Conversation, show: Show<String>) async throws {
        for try await message in try await chat.unreadMentions() {
            show("\(message.sender): \(message.text ?? "")")
        }
    }

    func pace(configuration: inout ChatClient.Configuration) {
        configuration.pace = SendPace(perSecond: 1, burst: 10, excess: .fails)
    }

    func draft(chat: Conversation, replyTo: MessageID, show: Show<String>) async throws {
        try await chat.setDraft(Draft("see you at", replyTo: replyTo))
        if let draft = try await chat.draft() { show(draft.text) }
    }

    func sendDraft(chat: Conversation) async throws {
        if let draft = try await chat.draft() {
            try await chat.send(.text(draft.text), mentioning: draft.mentions, replyingTo: draft.replyTo)
        }
    }

    func quiet(chat: Conversation) async throws {
        try await chat.send(.text("build 7 is done"), traits: .init(countsUnread: false))
    }

    func observe(client: ChatClient, show: Show<String>) async {
        for await event in client.events {
            switch event {
            case .message(let message): show("new: \(message.text ?? "")")
            case .changed(let message): show(message.isDeleted ? "deleted" : "edited: \(message.text ?? "")")
            case .transient(let message): show("transient: \(message.content.json)")
            case .missed(let count): show("\(count) events were dropped")
            default: break
            }
        }
    }

    func change(chat: Conversation, mine: MessageID, others: MessageID) async throws {
        try await chat.edit(mine, to: .text("hello, everyone"))
        try await chat.recall(mine)
        try await chat.delete(others, for: .me)
        try await chat.clear()
    }

    func edit(chat: Conversation, id: MessageID, show: Show<String>) async throws {
        do {
            let message = try await chat.edit(id, to: .text("hello, everyone"), mentioning: .remove).waitUntilSent()
            show("edited at \(message.editedAt ?? message.sentAt)")
        } catch {
            show("not edited: \(error.message)")
        }
    }

    func react(chat: Conversation, id: MessageID) async throws {
        try await chat.react("👍", to: id)
        try await chat.unreact("👍", from: id)
        try await chat.addAction(type: "com.example.drink", value: "tea", to: id)
    }

    func votes(chat: Conversation, message: Message, show: Show<String>) async throws {
        for action in message.actions { show("\(action.value) \(action.count)") }
        let (actions, next) = try await chat.actions(on: message.id, limit: 100)
        for action in actions { show("\(action.sender) \(action.value)") }
        if let next { show("more after \(next)") }
    }

    func thread(chat: Conversation, root: MessageID, show: Show<Message>) async throws {
        try await chat.send(.text("me too"), replyingTo: root)
        for try await reply in chat.messages(from: .earliest, matching: .thread(root)) { show(reply) }
    }

    @Test("A send reports its states until the server stores the message")
    func follows() async throws {
        let stage = try await Stage()
        var received: [String] = []
        try await follow(chat: stage.chat) { received.append($0) }
        #expect(received.last == "sent with sequence number 1")
        try await wait(chat: stage.chat) { received.append($0) }
        #expect(received.last?.hasPrefix("sent at ") == true)
        try await stage.server.setMember("alice", of: Stage.group, false)
        try await wait(chat: stage.chat) { received.append($0) }
        #expect(received.last?.hasPrefix("not-member: ") == true)
        await stage.server.close()
    }

    @Test("A queued message can be retried or cancelled")
    func retries() async throws {
        let stage = try await Stage()
        stage.server.goOffline("alice")
        let first = try await stage.chat.send(.text("first"))
        let second = try await stage.chat.send(.text("second"))
        try await stop(sending: second, in: stage.chat)
        try await again(chat: stage.chat, id: first.id)
        stage.server.goOnline("alice")
        #expect(try await first.waitUntilSent().text == "first")
        #expect(try await stage.messages().compactMap(\.text) == ["first"])
        await stage.server.close()
    }

    @Test("A message can be scheduled, listed and cancelled")
    func schedules() async throws {
        let stage = try await Stage()
        let date = stage.server.now.addingTimeInterval(60)
        try await later(chat: stage.chat, newYear: date)
        await stage.alice.waitForOutbox()
        let id = try #require(try await stage.alice.scheduledMessages().messages.first).submission.id
        var shown: [String] = []
        try await scheduled(client: stage.alice, cancelling: id) { shown.append($0) }
        #expect(shown.count == 1 && shown[0].hasPrefix("Happy new year, at "))
        #expect(try await stage.alice.scheduledMessages().messages.isEmpty)
        await stage.server.close()
    }

    @Test("Custom content, uncounted messages and transient messages are delivered")
    func kinds() async throws {
        let stage = try await Stage()
        let (events, shown) = AsyncStream.makeStream(of: String.self)
        let listening = Task { await observe(client: stage.bob) { shown.yield($0) } }
        // After this response, Bob's client receives new messages automatically.
        _ = try await stage.bobsChat.history(limit: 1, from: .remote)
        try await quiet(chat: stage.chat)
        await stage.alice.waitForOutbox()
        try await contents(chat: stage.chat, message: try #require(try await stage.messages().first))
        try await custom(chat: stage.chat)
        for await event in events where event == #"transient: {"name":"typing","data":{"on": true}}"# { break }
        await stage.alice.waitForOutbox()
        var received: [String] = []
        for message in try await stage.messages() { try read(message: message) { received.append($0) } }
        #expect(
            received == [
                "build 7 is done", "high water at 07:10", "alice said: build 7 is done", "54.33, 10.15",
                "Mint tea: mint, water",
            ])
        #expect(try await eventually { try await stage.bobsChat.recent()?.unread == 4 })
        await stage.server.close()
        await listening.value
    }

    @Test("Attributes are sent with a message, and local data stays on the device")
    func accompanies() async throws {
        let stage = try await Stage(saying: 1)
        let message = try await accompany(chat: stage.chat)
        #expect(message.attributes.customType == "tide")
        #expect(try await keep(chat: stage.chat, id: message.id)?.text == #"{"isStarred": true}"#)
        _ = try await stage.bobsChat.send(.text("@alice"), mentioning: .users(["alice"])).waitUntilSent()
        _ = try await stage.messages()
        var received: [String] = []
        #expect(try await eventually { try await stage.chat.recent()?.mentions == 1 })
        try await mentions(chat: stage.chat) { received.append($0) }
        #expect(received == ["bob: @alice"])
        try await draft(chat: stage.chat, replyTo: message.id) { received.append($0) }
        try await sendDraft(chat: stage.chat)
        await stage.alice.waitForOutbox()
        let last = try #require(try await stage.messages().last)
        #expect(last.text == received.last && last.attributes.replyTo == message.id)
        #expect(try await stage.chat.draft() == nil)
        await stage.server.close()
    }

    @Test("A user can edit and recall their own messages and hide the messages of others")
    func changes() async throws {
        let stage = try await Stage(saying: 1)
        let others = try await stage.messages()[0].id
        let mine = try await stage.chat.send(.text("hello")).waitUntilSent().id
        var received: [String] = []
        try await edit(chat: stage.chat, id: mine) { received.append($0) }
        try await edit(chat: stage.chat, id: others) { received.append($0) }
        #expect(received[0].hasPrefix("edited at "))
        #expect(received[1].hasPrefix("not edited: "))
        try await change(chat: stage.chat, mine: mine, others: others)
        #expect(try await eventually { try await stage.messages().isEmpty })
        await stage.server.close()
    }

    @Test("Reactions, custom actions and replies are added to a message")
    func actions() async throws {
        let stage = try await Stage(saying: 1)
        let id = try await stage.messages()[0].id
        try await react(chat: stage.chat, id: id)
        await stage.alice.waitForOutbox()
        let message = try #require(try await stage.messages().first)
        var received: [String] = []
        try await votes(chat: stage.chat, message: message) { received.append($0) }
        #expect(received == ["tea 1", "alice tea"])
        var replies: [Message] = []
        try await thread(chat: stage.chat, root: id) { replies.append($0) }
        await stage.alice.waitForOutbox()
        try await thread(chat: stage.chat, root: id) { replies.append($0) }
        #expect(replies.contains { $0.text == "me too" })
        await stage.server.close()
    }
}
