import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

@Suite("Sending messages")
struct SendingTests {
    private let group = ConversationID.group("swift")

    private func withGroup(_ body: (TestServer, ChatClient, ChatClient) async throws -> Void) async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        try await body(server, alice, bob)
        await server.close()
    }

    // MARK: Content

    @Test(
        "Every content type arrives unchanged, is readable through its accessor, and can be filtered by type",
        .rows(73, 74, 75, 77, 78, 82, 83))
    func types() async throws {
        try await withGroup { _, alice, bob in
            let chat = alice.conversation(group)
            let hello = try await chat.send(.text("hello")).waitUntilSent()
            let place = Location(latitude: 48.8584, longitude: 2.2945, name: "برج إيفل 🗼")
            let remote = try #require(URL(string: "https://example.com/a.jpg"))
            try await chat.send(.reference("about that", to: hello))
            try await chat.send(.location(place))
            try await chat.send(.image(.remote(remote, size: 1)))
            try await chat.send(.gif(.remote(remote)))
            try await chat.send(.file(.remote(remote)))
            try await chat.send(.voice(.remote(remote), duration: 1.5))
            try await chat.send(.video(.remote(remote), pixels: Media.Size(width: 16, height: 9)))
            await alice.waitForOutbox()

            #expect(try await eventually { try await bob.conversation(group).history(.latest).messages.count == 8 })
            let messages = try await bob.conversation(group).history(.earliest, sort: .oldestFirst).messages
            let contents = messages.compactMap(\.content)
            #expect(
                contents.map(\.type) == [.text, .reference, .location, .image, .gif, .file, .voice, .video])
            #expect(contents[1].quote == Quote("about that", id: hello.id, sender: "alice", content: .text("hello")))
            #expect(contents[2].location == place)
            #expect(contents[3].media == Media(.remote(remote), size: 1))
            #expect(contents[6].media?.duration == 1.5)
            #expect(contents[7].media?.pixels == Media.Size(width: 16, height: 9))
            #expect(try await bob.conversation(group).recent()?.unread == 8)
            let pictures = try await bob.conversation(group).history(.latest, matching: .types([.image, .gif])).messages
            #expect(pictures.map(\.type) == [.gif, .image])
        }
    }

    @Test("A direct conversation can be named by its peer and by both users")
    func names() async throws {
        try await withGroup { _, alice, bob in
            let name = ConversationID.direct(between: "alice", and: "bob")
            try #require(alice.conversation(name).id == .direct("bob"))
            let message = try await alice.conversation(name).send(.text("hello")).waitUntilSent()
            #expect(message.conversation == .direct("bob"))
            #expect(try await eventually { try await bob.recents[name]?.unread == 1 })
            #expect(try await bob.recents.markRead([name]).isEmpty)
            #expect(try await bob.recents[.direct("alice")]?.unread == 0)
            #expect(try await bob.fetchHistory(in: [name]).messages[.direct("alice")]?.map(\.text) == ["hello"])
            try await bob.recents.setLocalExtension(RawJSON(#"{"color": "red"}"#), of: name)
            #expect(try await bob.recents[.direct("alice")]?.localExtension != nil)
            #expect(try await bob.recents.remove(name))
            #expect(try await bob.recents[.direct("alice")] == nil)
        }
    }

    @Test("A command reaches connected clients, is not stored and does not count as unread", .rows(78))
    func command() async throws {
        try await withGroup { server, alice, bob in
            let events = bob.events
            _ = try await alice.conversation(group).send(.text("before")).waitUntilSent()
            try await alice.conversation(group).send(.command("knock", data: RawJSON("[1]"))).waitForCompletion()
            for await event in events {
                guard case .transient(let message) = event else { continue }
                #expect(message.content.command == Command("knock", data: try RawJSON("[1]")))
                break
            }
            #expect(try await bob.conversation(group).history(.latest).messages.count == 1)
            #expect(try await bob.conversation(group).recent()?.unread == 1)
            await #expect(
                performing: { try await alice.conversation(group).send(.command("")) }, throws: Self.isInvalid)
        }
    }

    @Test("A text that is not stored reaches connected clients only, without a trace in history or counts", .rows(256))
    func textThatIsNotStored() async throws {
        try await withGroup { server, alice, bob in
            let chat = alice.conversation(group)
            let before = try await chat.send(.text("before")).waitUntilSent()
            let laptop = try await server.client("bob")
            server.goOffline("alice")
            let sending = try await chat.send(.text("not stored"), traits: MessageTraits(isStored: false))
            let streams = [bob.events, laptop.events]
            server.goOnline("alice")
            try await sending.waitForCompletion()
            for events in streams {
                for await event in events {
                    if case .message(let message) = event, message.id == sending.id {
                        Issue.record("The server has stored the message.")
                        break
                    }
                    guard case .transient(let message) = event else { continue }
                    #expect(message.content.text == "not stored" && message.sender == "alice")
                    #expect(message.id == sending.id && message.conversation == group)
                    break
                }
            }
            try #require(try server.messages(in: group).map(\.id) == [before.id])
            // A message after it takes the next position.
            let next = try await chat.send(.text("after")).waitUntilSent()
            #expect(next.seq == before.seq + 1)
            let new = try await server.client("bob")
            for device in [alice, bob, laptop, new] {
                #expect(
                    try await eventually {
                        try await device.conversation(group).history().messages.map(\.text) == ["after", "before"]
                    })
                #expect(try await device.conversation(group).search("stored", from: .remote).hits.isEmpty)
            }
            #expect(try await new.conversation(group).recent()?.unread == 2)
            #expect(
                try await alice.messageCounts(since: [group: Timetoken(rawValue: 0)]) == [group: 2])
        }
    }

    @Test("A refused command reaches others once after a retry, and so does a new one with its content", .rows(95))
    func refusedCommandIsSentAgain() async throws {
        try await withGroup { server, alice, bob in
            let chat = alice.conversation(group)
            let events = bob.events
            try await server.mute("alice", .forever, in: group)
            let knock = try await chat.send(.command("knock"))
            let refusal = await #expect(throws: ChatError.self) { try await knock.waitForCompletion() }
            #expect(refusal?.code == .muted)
            let content = try #require(try await knock.content(), "A refused command is kept.")
            try await server.mute("alice", nil, in: group)
            try await knock.retry()
            try await knock.waitForCompletion()
            let again = try await chat.send(content)
            try await again.waitForCompletion()
            #expect(try await knock.content() == nil)
            try await chat.send(.command("end")).waitForCompletion()
            var received: [MessageID] = []
            for await event in events {
                guard case .transient(let message) = event else { continue }
                if message.content.command?.name == "end" { break }
                received.append(message.id)
            }
            #expect(received == [knock.id, again.id])
            #expect(try await bob.conversation(group).history(.latest).messages.isEmpty)
        }
    }

    @Test("The same stream delivers messages of groups, direct conversations and community channels", .rows(72))
    func oneStream() async throws {
        try await withGroup { server, alice, bob in
            try await server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
            let channel = ConversationID.community("city", channel: "open")
            let subscription = bob.conversation(channel).subscribe()
            for await state in subscription.states where state == .live { break }
            let events = bob.events
            var sent: Set<MessageID> = []
            for place in [channel, group, .direct("bob")] {
                sent.insert(try await alice.conversation(place).send(.text("hello")).waitUntilSent().id)
            }
            var received: [ConversationID: MessageID] = [:]
            for await event in events {
                guard case .message(let message) = event else { continue }
                received[message.conversation] = message.id
                if message.conversation.kind == .direct { break }
            }
            #expect(Set(received.keys) == [channel, group, .direct("alice")])
            #expect(Set(received.values) == sent)
        }
    }

    @Test("The attributes of a message arrive byte for byte, and local extensions stay on the client", .rows(92, 93))
    func attributes() async throws {
        try await withGroup { _, alice, bob in
            var push = PushOptions(title: "عنوان", text: "👋", data: "deep/link")
            push.ios = PushOptions.IOS()
            push.ios?.threadID = "swift"
            let extra = try RawJSON(#"[1.50, {"b":1,"a":2}]"#)
            let sent = try await alice.conversation(group).send(
                .text("hello"), metadata: RawJSON(#"{"z": 1}"#), extra: extra, customType: "greeting", push: push
            ).waitUntilSent()
            try await alice.conversation(group).setLocalExtension(RawJSON(#"{"starred":true}"#), of: sent.id)
            #expect(try await eventually { try await bob.texts(in: group) == ["hello"] })
            let received = try #require(try await bob.conversation(group).history(.latest).messages.first)
            #expect(received.attributes.extra?.text == extra.text)
            #expect(received.attributes.metadata?.text == #"{"z": 1}"#)
            #expect(received.attributes.pushOptions == push)
            #expect(try await alice.conversation(group).localExtension(of: sent.id)?.text == #"{"starred":true}"#)
            #expect(try await bob.conversation(group).localExtension(of: sent.id) == nil)
            let large = RawJSON(known: "\"\(String(repeating: "x", count: 1023))\"")
            await #expect(
                performing: { try await alice.conversation(group).setLocalExtension(large, of: sent.id) },
                throws: { ($0 as? ChatError)?.limit == 1024 })
            try await alice.conversation(group).setLocalExtension(nil, of: sent.id)
            #expect(try await alice.conversation(group).localExtension(of: sent.id) == nil)
        }
    }

    @Test("Content above 128 KiB is refused before it is queued, and content of exactly 128 KiB is sent", .rows(87))
    func size() async throws {
        try await withGroup { _, alice, _ in
            let room = Limits.standard.contentBytes - #"{"text":""}"#.utf8.count
            _ = try await alice.conversation(group).send(.text(String(repeating: "x", count: room))).waitUntilSent()
            await #expect(
                performing: {
                    try await alice.conversation(group).send(.text(String(repeating: "x", count: room + 1)))
                }, throws: { ($0 as? ChatError)?.code == .tooLarge && ($0 as? ChatError)?.limit == 131_072 })
            #expect(try await alice.pendingCount() == 0)
        }
    }

    // MARK: Two versions of an app

    private struct Poll: CustomContent, Equatable {
        static let type: MessageType = "app:poll"
        var question: String
        var choices: [String]
        /// Only the newer app version knows this field.
        var closesAt: Date?
    }

    @Test(
        "An app that does not know a custom type preserves the content when it forwards or shows the message",
        .rows(76))
    func unknownCustomTypeIsPreserved() async throws {
        try await withGroup { _, newer, older in
            let poll = Poll(question: "أين؟ 🤔", choices: ["here", "there"], closesAt: Date(timeIntervalSince1970: 2e9))
            let sent = try await newer.conversation(group).send(.custom(poll)).waitUntilSent()
            #expect(try await eventually { try await older.conversation(group).history(.latest).messages.count == 1 })

            // The older app knows only the name of the type, and forwards the content unchanged.
            let found = try #require(try await older.conversation(group).history(.latest).messages.first)
            let content = try #require(found.content)
            #expect(content.type.isCustom && content.text == nil)
            #expect(content.json.text == sent.content?.json.text)
            let forwarded = try await older.conversation(.direct("alice")).send(content).waitUntilSent()
            #expect(forwarded.content?.json.text == content.json.text)

            var closed = poll
            closed.choices = ["here"]
            _ = try await newer.conversation(group).edit(sent.id, to: .custom(closed)).waitUntilSent()
            try await older.conversation(group).react("👍", to: sent.id).waitForCompletion()
            #expect(
                try await eventually {
                    let message = try await newer.conversation(group).history(
                        .latest, from: .remote(excludingLocal: false)
                    )
                    .messages.first
                    return try message?.content?.custom(Poll.self) == closed && message?.actions.isEmpty == false
                })
            let back = try await newer.conversation(.direct("bob")).history(.latest).messages.first?.content
            #expect(try back?.custom(Poll.self) == poll)
            await #expect(
                performing: { try await newer.conversation(group).send(.custom(Misnamed())) }, throws: Self.isInvalid)
        }
    }

    private struct Misnamed: CustomContent {
        static let type: MessageType = "text"
    }

    private static func isInvalid(_ error: any Error) -> Bool { (error as? ChatError)?.code == .invalidParameter }

    @Test(
        "A message that does not update recents counts as unread and does not change the entry or its position",
        .rows(81))
    func updatesRecents() async throws {
        try await withGroup { server, alice, bob in
            try await server.makeGroup("other", members: ["alice", "bob"])
            let other = ConversationID.group("other")
            let quiet = MessageTraits(updatesRecents: false)
            _ = try await alice.conversation(group).send(.text("said")).waitUntilSent()
            _ = try await alice.conversation(other).send(.text("later")).waitUntilSent()
            for number in 1...3 {
                _ = try await alice.conversation(group).send(.text("bot \(number)"), traits: quiet).waitUntilSent()
            }
            #expect(try await eventually { try await bob.conversation(group).recent()?.unread == 4 })
            for client in [alice, bob, try await server.client("bob")] {
                #expect(
                    try await eventually {
                        try await client.recents.view(limit: 10).conversations.map(\.id) == [other, group]
                    })
                #expect(try await client.conversation(group).recent()?.lastMessage?.text == "said")
            }
            // The number of these messages does not matter.
            for number in 1...100 { try await alice.conversation(group).send(.text("more \(number)"), traits: quiet) }
            await alice.waitForOutbox()
            #expect(try await eventually { try await bob.conversation(group).recent()?.unread == 104 })
            for client in [bob, try await server.client("bob")] {
                #expect(
                    try await eventually { try await client.conversation(group).recent()?.lastMessage?.text == "said" })
                #expect(try await client.recents.view().conversations.map(\.id) == [other, group])
            }
            // Without any other message, the list shows the newest one.
            try await server.makeGroup("bots", members: ["alice", "bob"])
            _ = try await alice.conversation(.group("bots")).send(.text("beep"), traits: quiet).waitUntilSent()
            #expect(
                try await eventually {
                    try await bob.conversation(.group("bots")).recent()?.lastMessage?.text == "beep"
                })
        }
    }

    // MARK: Mentions

    @Test(
        "A mention by name or of everyone counts for any content type, and unread mentions can be iterated",
        .rows(114, 115, 116, 117, 119, 120))
    func mentions() async throws {
        try await withGroup { _, alice, bob in
            let chat = alice.conversation(group)
            let place = try MessageContent.location(Location(latitude: 0, longitude: 0))
            let first = try await chat.send(place, mentioning: .users(["bob"], pushText: "where?")).waitUntilSent()
            for number in 1...120 { try await chat.send(.text("\(number)")) }
            let second = try await chat.send(.text("all"), mentioning: .everyone(also: ["bob"])).waitUntilSent()
            _ = try await bob.conversation(group).send(.text("mine"), mentioning: .everyone()).waitUntilSent()
            #expect(try await eventually { try await bob.conversation(group).recent()?.mentions == 2 })

            var found: [Message] = []
            for try await message in try await bob.conversation(group).unreadMentions() { found.append(message) }
            #expect(found.map(\.id) == [first.id, second.id])
            #expect(found[0].attributes.mentions == .users(["bob"], pushText: "where?"))
            #expect(found[1].attributes.mentions?.includes("bob") == true)
            #expect(found[1].attributes.mentions?.users == ["bob"])
            try await bob.conversation(group).markRead(upTo: first.id)
            found = []
            for try await message in try await bob.conversation(group).unreadMentions() { found.append(message) }
            #expect(found.map(\.id) == [second.id])
            for wrong in [Mentions.users([]), .users(Array(repeating: "bob", count: 101))] {
                await #expect(
                    performing: { try await chat.send(.text(""), mentioning: wrong) }, throws: Self.isInvalid)
            }
        }
    }

    // MARK: The outbox

    @Test(
        "The sixth of six sends at a pace of five fails immediately, stays queued, and can be retried",
        .contract("check 8"),
        .rows(79, 86, 94))
    func sixthSendFailsImmediately() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice") { $0.pace = SendPace(perSecond: 0.01, excess: .fails) }
        var sendings: [SendHandle] = []
        for number in 1...6 { sendings.append(try await alice.conversation(group).send(.text("\(number)"))) }
        for sending in sendings.prefix(5) { _ = try await sending.waitUntilSent() }
        let sixth = sendings[5]
        await #expect(
            performing: { try await sixth.waitUntilSent() },
            throws: { ($0 as? ChatError)?.code == .rateLimited && ($0 as? ChatError)?.retryAfter != nil })
        let timeline = alice.conversation(group).timeline(at: .latest)
        for await view in timeline.views {
            guard case .pending(let pending)? = view.items.last, case .failed(let error) = pending.state else {
                continue
            }
            #expect(pending.id == sixth.id && error.code == .rateLimited)
            break
        }
        server.advance(by: 101)
        try await sixth.retry()
        #expect(try await sixth.waitUntilSent().seq == 6)
        #expect(try await alice.conversation(group).history(.latest).messages.count == 6)
        await server.close()
    }

    @Test("Sends above the pace wait, across all conversations and in order within each", .rows(79))
    func sendsAboveThePaceWait() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice") { $0.pace = .standard }
        var last: SendHandle?
        let start = ContinuousClock.now
        for number in 1...12 {
            let id: ConversationID = number.isMultiple(of: 2) ? group : .direct("bob")
            last = try await alice.conversation(id).send(.text("\(number)"))
        }
        _ = try await last?.waitUntilSent()
        // Five sends go at once, and the other seven follow at intervals of 0.2 seconds.
        #expect(ContinuousClock.now - start >= .seconds(1.3))
        #expect(try await alice.texts(in: group) == ["2", "4", "6", "8", "10", "12"])
        #expect(try await alice.texts(in: .direct("bob")) == ["1", "3", "5", "7", "9", "11"])
        await server.close()
    }

    @Test("A message is stored before it is sent, and its states are reported in order", .rows(84, 85))
    func steps() async throws {
        try await withGroup { server, alice, _ in
            server.goOffline("alice")
            let sending = try await alice.conversation(group).send(.text("hello"))
            var states: [SendHandle.State] = []
            for await state in sending.states {
                states.append(state)
                if states == [.stored] { server.goOnline("alice") }
            }
            #expect(states.first == .stored)
            guard case .sent(let message) = states.last else {
                Issue.record("\(states)")
                return
            }
            #expect(message.id == sending.id && message.seq == 1)
        }
    }

    @Test(
        "A failed message keeps its ID and position, and sending the same text again creates another message",
        .rows(91, 94, 96))
    func resend() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["bob"])
        let alice = try await server.client("alice")
        let refused = try await alice.conversation(group).send(.text("hello"))
        await #expect(performing: { try await refused.waitUntilSent() }, throws: { $0 is ChatError })
        let second = try await alice.conversation(group).send(.text("hello"))
        await #expect(performing: { try await second.waitUntilSent() }, throws: { $0 is ChatError })
        try await server.setMember("alice", of: group, true)
        try await refused.retry()
        let sent = try await refused.waitUntilSent()
        #expect(sent.id == refused.id)
        #expect(try await alice.pendingCount() == 0)
        try await second.retry()
        #expect(try await second.waitUntilSent().seq == 2)
        #expect(try await alice.texts(in: group) == ["hello", "hello"])
        await server.close()
    }

    @Test("A retried message no longer reports its earlier failure")
    func retried() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["bob"])
        let alice = try await server.client("alice", store: .directory(folder.url))
        for number in 1...20 {
            if number > 1 { try await server.setMember("alice", of: group, false) }
            let sending = try await alice.conversation(group).send(.text("\(number)"))
            await #expect(performing: { try await sending.waitUntilSent() }, throws: { $0 is ChatError })
            try await server.setMember("alice", of: group, true)
            try await sending.retry()
            #expect(try await sending.waitUntilSent().text == "\(number)")
        }
        await server.close()
    }

    @Test(
        "A non-member's message fails, shows only to its sender, and reveals no conversation",
        .rows(89))
    func notMember() async throws {
        let server = try TestServer(users: ["alice"])
        try await server.makeGroup("secret", members: ["alice"])
        let mallory = try await server.client("mallory")
        let secret = mallory.conversation(.group("secret"))
        let sending = try await secret.send(.text("let me in"))
        await #expect(
            performing: { try await sending.waitUntilSent() },
            throws: { [.unknownConversation, .notMember].contains(($0 as? ChatError)?.code) })
        #expect(try await secret.history(.latest, from: .local).messages.isEmpty)
        #expect(try await mallory.recents.view(limit: 10).conversations.isEmpty)
        #expect(try server.messages(in: .group("secret")).isEmpty)
        try await sending.cancel()
        await server.close()
    }

    // MARK: Drafts

    @Test("A draft is stored per conversation and survives restarts until it is removed")
    func drafts() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer()
        let draft = Draft("مسودة 📝 @bob", mentions: .users(["bob"]), replyTo: MessageID(UUID()))
        let alice = try await server.client("alice", store: .directory(folder.url))
        try await alice.conversation(group).setDraft(draft)
        try await alice.conversation(.direct("bob")).setDraft("other")
        await alice.close()
        let again = try await server.client("alice", store: .directory(folder.url))
        #expect(try await again.conversation(group).draft() == draft)
        try await again.conversation(group).setDraft("shorter")
        #expect(try await again.conversation(group).draft() == Draft("shorter"))
        try await again.conversation(group).setDraft("")
        #expect(try await again.conversation(group).draft() == nil)
        #expect(try await again.conversation(.direct("bob")).draft() == "other")
        await server.close()
    }

    @Test("A draft with an invalid mention list keeps its text")
    func draftMentions() async throws {
        let server = try TestServer()
        let chat = try await server.client("alice").conversation(group)
        try await chat.setDraft(Draft("hello @", mentions: .users([])))
        #expect(try await chat.draft() == Draft("hello @"))
        let tooManyUsers = try (0...Mentions.maximumUsers).map { try UserID("u\($0)") }
        await #expect(
            performing: { try await chat.setDraft(Draft("hello all", mentions: .users(tooManyUsers))) },
            throws: { ($0 as? ChatError)?.parameter == "mentions" })
        // An earlier version could store such a draft. It is of another conversation, because the server can send the
        // first draft to this device at any time.
        let alice = try await server.client("alice")
        try await alice.core.store.write { writer in
            try writer.save(Draft("hello all", mentions: .users(tooManyUsers)), in: .direct("bob"), now: Date())
        }
        #expect(try await alice.conversation(.direct("bob")).draft() == "hello all")
        await server.close()
    }

    @Test("A local extension is deleted with its message, and stays for a message that is still queued", .rows(93))
    func localExtensions() async throws {
        try await withGroup { server, alice, _ in
            let chat = alice.conversation(group)
            let note = RawJSON(known: #"{"starred":true}"#)
            var ids: [MessageID] = []
            for text in ["hidden", "kept"] {
                ids.append(try await chat.send(.text(text)).waitUntilSent().id)
                try await chat.setLocalExtension(note, of: ids[ids.count - 1])
            }
            try await chat.delete(ids[0], for: .me).waitForCompletion()
            #expect(try await chat.localExtension(of: ids[0]) == nil)
            #expect(try await chat.localExtension(of: ids[1]) == note)
            try await chat.setLocalExtension(nil, of: ids[0])

            server.goOffline("alice")
            let unsent = try await chat.send(.text("unsent"))
            try await chat.setLocalExtension(note, of: unsent.id)
            try await unsent.cancel()
            #expect(try await chat.localExtension(of: unsent.id) == nil)
            let waiting = try await chat.send(.text("waits"))
            try await chat.setLocalExtension(note, of: waiting.id)
            try await alice.core.store.write { [group] in try $0.deleteConversation(group) }
            #expect(try await chat.localExtension(of: ids[1]) == nil)
            #expect(try await chat.localExtension(of: waiting.id) == note)
        }
    }
}
