import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import TestSupport
import Testing

@MainActor
@Suite("ComposerModel")
struct ComposerModelTests {
    private let group = ConversationID.group("swift")

    private func server() async throws -> (server: TestServer, alice: ChatClient, bob: ChatClient) {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        return (server, try await server.client("alice"), try await server.client("bob"))
    }

    private func composer(_ timeline: TimelineModel) -> ComposerModel {
        ComposerModel(timeline, pause: .milliseconds(1))
    }

    @Test("The composer sends messages and replies, and other members see that the user types")
    func sends() async throws {
        let (server, alice, bob) = try await server()
        let timeline = TimelineModel(alice.conversation(group))
        let other = TimelineModel(bob.conversation(group))
        let composer = composer(timeline)
        composer.text = "  "
        #expect(!composer.canSend)
        composer.text = " Who?\n"
        await composer.send()
        #expect(composer.text.isEmpty && composer.error == nil)
        try await shows { other.texts == ["Who?"] && timeline.messages.first?.delivery == .sent }
        composer.reply(to: timeline.messages[0])
        #expect(composer.subject?.content?.text == "Who?" && composer.hasSubject)
        // The server forwards the start of typing once a second.
        server.advance(by: 2)
        let typing = repeating { composer.text += "." }
        try await shows { other.typing == ["alice"] }
        typing.cancel()
        composer.text = "Me"
        await composer.send()
        #expect(!composer.hasSubject)
        try await shows { other.messages.last?.reference?.content?.text == "Who?" }
        await server.close()
    }

    @Test("An edit begins with the message's text and returns to the draft when it is sent or cancelled")
    func edits() async throws {
        let (server, alice, bob) = try await server()
        let timeline = TimelineModel(alice.conversation(group))
        let other = TimelineModel(bob.conversation(group))
        let composer = composer(timeline)
        try await timeline.send(.text("tow"))
        try await shows { other.texts == ["tow"] && timeline.messages.first?.delivery == .sent }
        composer.text = "three"
        composer.edit(timeline.messages[0])
        #expect(composer.text == "tow" && composer.editing == timeline.messages[0].message)
        composer.cancel()
        #expect(composer.text == "three" && composer.editing == nil)
        composer.edit(timeline.messages[0])
        composer.text = "two"
        await composer.send()
        #expect(composer.text == "three" && !composer.hasSubject)
        try await shows { other.texts == ["two"] && other.messages[0].isEdited }
        // The text of an edit is not a draft.
        try await stores("three", in: alice.conversation(group))
        // A view does not offer to edit the message of another user, and the server refuses it.
        let his = self.composer(other)
        his.edit(other.messages[0])
        his.text = "none"
        await his.send()
        try await shows { other.error?.code == .forbidden }
        try await shows { other.texts == ["two"] && his.text.isEmpty }
        await server.close()
    }

    @Test("A message that can't be stored returns to the field with its reply")
    func fails() async throws {
        let (server, alice, bob) = try await server()
        let timeline = TimelineModel(alice.conversation(group))
        let composer = composer(timeline)
        try await bob.conversation(group).send(.text("1"))
        try await shows { timeline.texts == ["1"] }
        composer.reply(to: timeline.messages[0])
        let text = String(repeating: "a", count: 1 << 18)
        composer.text = text
        await composer.send()
        #expect(composer.error?.code == .tooLarge)
        #expect(composer.text == text && composer.replyTo == timeline.messages[0].message)
        composer.cancel()
        composer.text = ""
        composer.error = nil
        await composer.sendPicture(Data("no image".utf8))
        #expect(composer.error?.code == .invalidMedia)
        await server.close()
    }

    @Test("Members whose names begin with the word after @ are suggested, and the chosen one is mentioned")
    func mentions() async throws {
        let (server, alice, bob) = try await server()
        let timeline = TimelineModel(alice.conversation(group))
        let composer = composer(timeline)
        try await shows { timeline.isLoaded }
        composer.text = "mail@b"
        #expect(composer.suggestions.isEmpty, "An @ within a word begins no mention.")
        composer.text = "Ask @b"
        try await shows { composer.suggestions.map(\.id) == ["bob"] }
        composer.text = "Ask @a"
        #expect(composer.suggestions.isEmpty, "The user is not suggested.")
        composer.text = "Ask @BO"
        composer.mention(composer.suggestions[0])
        #expect(composer.text == "Ask @Bob " && composer.suggestions.isEmpty)
        await composer.send()
        composer.text = "Ask @Bob"
        await composer.send()
        await alice.waitForOutbox()
        let messages = try await bob.conversation(group).history(limit: 2, sort: .oldestFirst, from: .remote).messages
        #expect(messages.map(\.attributes.mentions) == [.users(["bob"]), nil], "Only chosen names are mentions.")
        await server.close()
    }

    @Test("The draft is stored while the user types, returns with its reply and mentions, and ends with the message")
    func drafts() async throws {
        let (server, alice, bob) = try await server()
        let chat = alice.conversation(group)
        let timeline = TimelineModel(chat)
        let question = try await bob.conversation(group).send(.text("Who?")).waitUntilSent()
        try await shows { timeline.texts == ["Who?"] }
        let first = composer(timeline)
        first.reply(to: timeline.messages[0])
        first.text = "@"
        try await shows { !first.suggestions.isEmpty }
        first.mention(first.suggestions[0])
        let draft = Draft("@Bob ", mentions: .users(["bob"]), replyTo: question.id)
        try await stores(draft, in: chat)
        let second = composer(timeline)
        try await shows { second.text == "@Bob " && second.replyTo == question.id }
        second.text = "@Bob or me"
        try await stores(Draft("@Bob or me", mentions: .users(["bob"]), replyTo: question.id), in: chat)
        await second.send()
        try await stores(nil, in: chat)
        await server.close()
    }

    @Test("A draft of another device keeps its mentions, also without a connection")
    func draftOfAnotherDevice() async throws {
        let (server, alice, _) = try await server()
        let draft = Draft("@Bob ", mentions: .users(["bob"]))
        try await alice.conversation(group).setDraft(draft)
        let tablet = try await server.client("alice")
        let chat = tablet.conversation(group)
        try await stores(draft, in: chat)
        server.goOffline("alice")
        for await state in tablet.connection where state != .online { break }
        let composer = composer(TimelineModel(chat))
        try await shows { composer.text == "@Bob " }
        composer.text = "@Bob or me"
        try await stores(Draft("@Bob or me", mentions: .users(["bob"])), in: chat)
        composer.text = "Me"
        try await stores("Me", in: chat)
        await server.close()
    }

    @Test("An edit that mentions another member keeps the mentions of the message")
    func editsMentions() async throws {
        let server = try TestServer(users: ["alice", "bob", "carol"])
        try await server.makeGroup("swift", members: ["alice", "bob", "carol"])
        let alice = try await server.client("alice")
        let chat = alice.conversation(group)
        let timeline = TimelineModel(chat)
        let composer = composer(timeline)
        _ = try await chat.send(.text("@Bob"), mentioning: .users(["bob"])).waitUntilSent()
        try await shows { timeline.messages.first?.delivery == .sent }
        composer.edit(timeline.messages[0])
        composer.text = "@Bob and @c"
        try await shows { composer.suggestions.map(\.id) == ["carol"] }
        composer.mention(composer.suggestions[0])
        await composer.send()
        await alice.waitForOutbox()
        let message = try await chat.history(limit: 1, from: .remote).messages[0]
        #expect(message.text == "@Bob and @Carol" && message.attributes.mentions == .users(["bob", "carol"]))
        await server.close()
    }

    @Test("A member who joins is suggested in the next mention")
    func suggestsNewMembers() async throws {
        let (server, alice, _) = try await server()
        let composer = composer(TimelineModel(alice.conversation(group)))
        composer.text = "@b"
        try await shows { composer.suggestions.map(\.id) == ["bob"] }
        try await server.setMember("ben", of: group, true)
        composer.text = ""
        composer.text = "@b"
        try await shows { composer.suggestions.map(\.id) == ["ben", "bob"] }
        try await server.setMember("bob", of: group, false)
        composer.text = ""
        composer.text = "@b"
        try await shows { composer.suggestions.map(\.id) == ["ben"] }
        await server.close()
    }

    @Test("A reply that begins while a picture is being prepared stays")
    func repliesDuringPicture() async throws {
        let (server, alice, bob) = try await server()
        let timeline = TimelineModel(alice.conversation(group))
        let composer = composer(timeline)
        for text in ["1", "2"] { _ = try await bob.conversation(group).send(.text(text)).waitUntilSent() }
        try await shows { timeline.texts == ["1", "2"] }
        composer.reply(to: timeline.messages[0])
        // Both tasks are enqueued on the main actor together, so the second one runs while the first one waits.
        let sending = Task { await composer.sendPicture(picture) }
        let replying = Task { composer.reply(to: timeline.messages[1]) }
        await sending.value
        await replying.value
        #expect(composer.replyTo == timeline.messages[1].message && composer.error == nil)
        try await shows { timeline.messages.last?.reference?.content?.text == "1" }
        await composer.sendPicture(picture)
        #expect(!composer.hasSubject)
        await server.close()
    }

    private func stores(_ draft: Draft?, in chat: Conversation) async throws {
        #expect(try await eventually(within: 120) { try await chat.draft() == draft })
    }
}
