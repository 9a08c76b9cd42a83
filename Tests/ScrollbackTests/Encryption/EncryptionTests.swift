import ContractRows
import Foundation
import PictureFixtures
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@Suite("End-to-end encryption by the app")
struct EncryptionTests {
    private let group = ConversationID.group("swift")
    private static let november = MessageCipher.Key(id: "2026-11", key: Data(0..<32))
    private static let may = MessageCipher.Key(id: "2026-05", key: Data(repeating: 7, count: 32))

    private func client(
        _ server: TestServer, _ user: UserID, _ keys: [MessageCipher.Key] = [november],
        store: ChatClient.Configuration.Store = .inMemory, uploader: (any MediaUploader)? = nil
    ) async throws -> ChatClient {
        let cipher = keys.isEmpty ? nil : try MessageCipher(keys: keys)
        return try await server.client(user, store: store) { configuration in
            configuration.cipher = cipher
            configuration.media.uploader = uploader
        }
    }

    private func makeServer(_ members: [UserID] = ["alice", "bob"]) async throws -> TestServer {
        let server = try TestServer(users: members)
        try await server.makeGroup("swift", members: members)
        return server
    }

    private func withFolder(_ body: (ChatClient.Configuration.Store) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        try await body(.directory(folder.url))
    }

    /// All messages of the group as the server stores them.
    private func storedText(_ server: TestServer) throws -> String {
        try server.messages(in: group).map { message in
            var writer = JSONWriter()
            message.write(to: &writer)
            return writer.text
        }.joined(separator: "\n")
    }

    private func receive(_ client: ChatClient, _ count: Int) async throws -> [Message] {
        let chat = client.conversation(group)
        #expect(
            try await eventually {
                try await chat.history(.latest, limit: 100).messages.count == count
            })
        return try await chat.history(.earliest, limit: 100, sort: .oldestFirst, from: .local).messages
    }

    // MARK: Two users

    @Test(
        "Members with the key read every part of a message, and the server reads none but still counts it",
        .rows(230))
    func membersWithTheKeyReadMessages() async throws {
        let server = try await makeServer()
        let (alice, bob) = (try await client(server, "alice"), try await client(server, "bob"))
        let chat = alice.conversation(group)
        let hello = try await chat.send(
            .text("secret tide"), mentioning: .users(["bob"]), metadata: RawJSON(#"{"m": "secret"}"#),
            extra: RawJSON(#""secret""#), customType: "tide", push: PushOptions(text: "There is news")
        ).waitUntilSent()
        #expect(hello.text == "secret tide" && hello.isEncrypted)
        try await chat.send(.reference("secret too", to: hello), replyingTo: hello.id)
        try await chat.send(.location(Location(latitude: 1, longitude: 2, name: "secret place")))
        try await chat.send(MessageContent(type: .notice, json: RawJSON(#"{"text":"secret notice"}"#)))
        try await chat.send(MessageContent(type: "app:poll", json: RawJSON(#"{"q":"secret?"}"#)))
        try await chat.send(.text("uncounted secret"), traits: .init(countsUnread: false))
        await alice.waitForOutbox()

        let messages = try await receive(bob, 6)
        #expect(messages.map(\.type) == [.text, .reference, .location, .notice, "app:poll", .text])
        #expect(messages.allSatisfy { $0.isEncrypted && $0.decryptionError == nil })
        #expect(messages[0].attributes.metadata?.text == #"{"m": "secret"}"#)
        #expect(messages[0].attributes.extra?.text == #""secret""#)
        #expect(messages[1].content?.quote?.content.text == "secret tide" && messages[1].thread == hello.id)
        #expect(messages[2].content?.location?.name == "secret place")
        #expect(messages[4].content?.json.text == #"{"q":"secret?"}"#)
        let recent = try #require(try await bob.conversation(group).recent())
        #expect(recent.unread == 4 && recent.mentions == 1 && recent.lastMessage?.text == "uncounted secret")
        for source in [HistorySource.local, .remote, .merged] {
            let places = try await bob.conversation(group).history(
                .latest, matching: .types([.location]), from: source)
            #expect(places.messages.map { $0.content?.location?.name } == ["secret place"])
        }

        let seen = try storedText(server)
        #expect(!seen.contains("secret") && seen.contains("There is news") && seen.contains("2026-11"), "\(seen)")
        let rows = try server.messages(in: group)
        #expect(rows.allSatisfy { $0.content?.encrypted?.key == "2026-11" && $0.text == nil })
        await server.close()
    }

    @Test("Events carry decrypted messages, both stored and transient", .rows(230, 255))
    func events() async throws {
        let server = try await makeServer(["alice", "bob", "carol"])
        let (alice, bob) = (try await client(server, "alice"), try await client(server, "bob"))
        let carol = try await client(server, "carol", [])
        for client in [bob, carol] { try await client.ready() }
        let (received, keyless) = (bob.events, carol.events)
        let recents = bob.recents.events
        let sent = try await alice.conversation(group).send(.text("hello")).waitUntilSent()
        try await alice.conversation(group).send(.command("knock", data: RawJSON("[1]"))).waitForCompletion()
        _ = try await alice.conversation(group).edit(sent.id, to: .text("goodbye")).waitUntilSent()
        let knock = Command("knock", data: try RawJSON("[1]"))
        var eventTexts: [String] = []
        for await event in received {
            switch event {
            case .message(let message): eventTexts.append(message.text ?? "-")
            case .transient(let message):
                #expect(message.isEncrypted && message.content.command == knock)
            case .changed(let message): eventTexts.append(message.text ?? "-")
            default: break
            }
            if eventTexts.count == 2 { break }
        }
        #expect(eventTexts == ["hello", "goodbye"])
        var errors: [ChatError.Code?] = []
        for await event in keyless {
            switch event {
            case .message(let message), .changed(let message): errors.append(message.decryptionError?.code)
            case .transient(let message): errors.append(message.decryptionError?.code)
            default: break
            }
            if errors.count == 3 { break }
        }
        #expect(errors == [.decryptionFailed, .decryptionFailed, .decryptionFailed])
        for await event in recents {
            guard case .added(let entry, _) = event else { continue }
            #expect(entry.lastMessage?.text == "hello")
            break
        }
        await server.close()
    }

    // MARK: Key changes

    @Test(
        "A message without a key is listed and counted with an error, and is readable once the key is added",
        .rows(230, 255))
    func addedKeyMakesMessagesReadable() async throws {
        try await withFolder { store in
            let server = try await makeServer()
            let alice = try await client(server, "alice", [Self.may])
            try await alice.conversation(group).send(.text("old tide"), metadata: RawJSON(#"{"a":1}"#))
            await alice.waitForOutbox()
            await alice.close()
            let newer = try await client(server, "alice", [Self.november, Self.may])
            try await newer.conversation(group).send(.text("new tide"))
            try await newer.conversation(group).react("👍", to: try await receive(newer, 2)[0].id)
            await newer.waitForOutbox()

            func expectReadable(_ keys: [MessageCipher.Key], reads: [String?], finds: [String]) async throws {
                // Offline, so a search uses the local index alone.
                server.goOffline("bob")
                let bob = try await client(server, "bob", keys, store: store)
                let chat = bob.conversation(group)
                let found = try await chat.search("tide", from: .local).hits.map(\.text)
                #expect(found == finds, "\(keys)")
                server.goOnline("bob")
                let messages = try await receive(bob, 2)
                #expect(messages.map(\.text) == reads, "\(keys)")
                for message in messages {
                    #expect((message.decryptionError == nil) == (message.text != nil))
                    #expect(message.isEncrypted && message.content != nil)
                    guard let error = message.decryptionError, let key = message.content?.encrypted?.key else {
                        continue
                    }
                    #expect(error.code == .decryptionFailed && error.message.contains(key))
                }
                #expect(try await eventually { try await chat.message(messages[0].id).actions.count == 1 })
                #expect(try await chat.recent()?.unread == 2)
                #expect(try await chat.recent()?.lastMessage?.text == reads[1])
                #expect(try await chat.search("tide", from: .local).hits.map(\.text) == finds, "\(keys)")
                #expect(try await chat.history(.latest, from: .remote).messages.map(\.text) == reads.reversed())
                let batch = try await bob.fetchHistory(in: [group])
                #expect(batch.messages[group]?.map(\.text) == reads)
                let references = messages.map { MessageReference($0.id, in: group) }
                #expect(try await bob.refresh(references).matched.map(\.text) == reads)
                for await view in chat.timeline().views {
                    let shown = view.items.compactMap { item -> String?? in
                        if case .message(let message) = item { message.text } else { nil }
                    }
                    #expect(shown == reads)
                    break
                }
                #expect(try await bob.verifyIntegrity() == [])
                // This search completes the index. What the next client finds then depends on its own keys.
                _ = try await chat.search("tide", from: .local)
                await bob.close()
            }
            let (old, new) = ("old tide", "new tide")
            try await expectReadable([], reads: [nil, nil], finds: [])
            try await expectReadable([Self.november], reads: [nil, new], finds: [new])
            try await expectReadable([Self.may, Self.november], reads: [old, new], finds: [new, old])
            try await expectReadable([Self.may], reads: [old, nil], finds: [old])
            try await expectReadable([], reads: [nil, nil], finds: [])
            try await expectReadable([Self.november, Self.may], reads: [old, new], finds: [new, old])
            await server.close()
        }
    }

    @Test("Text that can no longer be decrypted is removed from the search index")
    func undecryptableTextLeavesTheSearchIndex() async throws {
        try await withFolder { store in
            guard case .directory(let folder) = store else { return }
            let server = try await makeServer()
            let alice = try await client(server, "alice")
            try await alice.conversation(group).send(.text("unmistakable"))
            await alice.waitForOutbox()
            func indexHolds() -> Bool {
                ["search.sqlite", "search.sqlite-wal"].contains { name in
                    let data = try? Data(contentsOf: folder.appending(path: name))
                    return data?.firstRange(of: Data("unmistak".utf8)) != nil
                }
            }
            let bob = try await client(server, "bob", store: store)
            _ = try await receive(bob, 1)
            #expect(try await bob.search("unmistakable", from: .local).hits.count == 1)
            await bob.close()
            let words = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(indexHolds(), "\(words)")
            let client = try Data(contentsOf: folder.appending(path: "client.sqlite"))
            #expect(client.firstRange(of: Data("unmistak".utf8)) == nil, "The store has the message as it was sent.")
            let keyless = try await self.client(server, "bob", [], store: store)
            #expect(try await keyless.search("unmistakable", from: .local).hits.isEmpty)
            #expect(try await keyless.core.store.read { try $0.unindexedCount() } == 0)
            await keyless.close()
            await server.close()
        }
    }

    // MARK: Search

    @Test("A search finds encrypted messages on the client, plain ones on the server, and both when merged")
    func search() async throws {
        let server = try await makeServer()
        let plain = try await client(server, "alice", [])
        try await plain.conversation(group).send(.text("plain tide"))
        await plain.waitForOutbox()
        let (alice, bob) = (try await client(server, "alice"), try await client(server, "bob"))
        try await alice.conversation(group).send(.text("secret tide"))
        try await alice.conversation(group).send(.file(.data(Data("x".utf8), name: "secret-tide.txt")))
        await alice.waitForOutbox()
        let messages = try await receive(bob, 3)
        #expect(messages.map(\.isEncrypted) == [false, true, true])
        let chat = bob.conversation(group)
        let all = ["secret-tide.txt", "secret tide", "plain tide"]
        #expect(try await chat.search("tide", from: .local).hits.map(\.text) == all)
        #expect(try await chat.search("tide", from: .remote).hits.map(\.text) == ["plain tide"])
        #expect(try await chat.search("tide").hits.map(\.text) == all)
        let first = try await bob.search("tide", limit: 2)
        #expect(first.hits.count == 2 && first.remoteError == nil)
        let rest = try await bob.search("tide", limit: 2, after: first.next)
        #expect(rest.hits.map(\.text) == ["plain tide"] && rest.remoteError == nil)
        // The server finds the plain messages that a new client lacks.
        let new = try await client(server, "bob")
        #expect(try await new.search("plain").hits.map(\.text) == ["plain tide"])
        server.goOffline("bob")
        #expect(try await chat.search("tide").remoteError != nil)
        await server.close()
    }

    // MARK: Changes

    @Test("Edits are encrypted, keep unchanged metadata, and show before they are sent")
    func edits() async throws {
        let server = try await makeServer()
        let (alice, bob) = (try await client(server, "alice"), try await client(server, "bob"))
        let chat = alice.conversation(group)
        let sent = try await chat.send(.text("secret one"), metadata: RawJSON(#"{"n":"secret"}"#)).waitUntilSent()
        server.goOffline("alice")
        let waiting = try await chat.send(.text("secret two"), metadata: RawJSON(#"{"n":"secret"}"#))
        _ = try await chat.edit(waiting.id, to: .text("secret dos"), metadata: .set(RawJSON(#"{"n":"new secret"}"#)))
        #expect(try await waiting.content()?.text == "secret dos")
        let edit = try await chat.edit(sent.id, to: .text("secret uno"))
        for await view in chat.timeline().views {
            let shown = view.items.compactMap { item -> String? in
                switch item {
                case .message(let message):
                    #expect(message.isEncrypted && message.attributes.metadata?.text == #"{"n":"secret"}"#)
                    return message.text
                case .pending(let pending):
                    #expect(pending.decryptionError == nil)
                    return pending.content.text
                case .gap: return nil
                }
            }
            #expect(shown == ["secret uno", "secret dos"])
            break
        }
        server.goOnline("alice")
        #expect(try await edit.waitUntilSent().text == "secret uno")
        #expect(try await waiting.waitUntilSent().text == "secret dos")
        #expect(try await eventually { try await bob.texts(in: group) == ["secret uno", "secret dos"] })
        let messages = try await receive(bob, 2)
        #expect(messages.map(\.attributes.metadata?.text) == [#"{"n":"secret"}"#, #"{"n":"new secret"}"#])
        #expect(messages.allSatisfy(\.isEncrypted) && messages[0].editedAt != nil)
        #expect(try !storedText(server).contains("secret"))

        try await chat.recall(sent.id).waitForCompletion()
        #expect(try await eventually { try await bob.texts(in: group) == ["secret dos"] })
        let tombstone = try #require(try await receive(bob, 2).first)
        #expect(tombstone.isDeleted && !tombstone.isEncrypted && tombstone.decryptionError == nil)
        await server.close()
    }

    // MARK: The outbox

    @Test("A retry after a lost answer and a restart sends the same bytes, so one message is stored")
    func retries() async throws {
        try await withFolder { store in
            let server = try await makeServer()
            server.goOffline("alice")
            var alice = try await client(server, "alice", store: store)
            let sending = try await alice.conversation(group).send(
                .text("once"), metadata: RawJSON(#"{"a":1}"#), extra: RawJSON("2"))
            func queued(_ client: ChatClient) async throws -> Submission? {
                try await client.core.store.read { reader in
                    if case .send(let request)? = try reader.request(sending.id) { request.submission } else { nil }
                }
            }
            let first = try #require(try await queued(alice))
            #expect(first.content.encrypted != nil && first.attributes.extra?.text != "2")
            server.loseNextAcknowledgement(of: "alice")
            server.goOnline("alice")
            #expect(try await eventually { try server.messages(in: group).count == 1 })
            await alice.close()
            // The client now encrypts with another key. The queued message does not change.
            alice = try await client(server, "alice", [Self.may, Self.november], store: store)
            let done = try await alice.conversation(group).sendHandle(for: sending.id).waitUntilSent()
            #expect(done.text == "once" && done.attributes.extra?.text == "2")
            let rows = try server.messages(in: group)
            #expect(rows.count == 1)
            #expect(rows.first?.content == first.content && rows.first?.attributes == first.attributes)
            await server.close()
        }
    }

    @Test("A message that was queued with a removed key is still sent, followed by its edit")
    func messageQueuedWithRemovedKeyIsSent() async throws {
        try await withFolder { store in
            let server = try await makeServer()
            server.goOffline("alice")
            var alice = try await client(server, "alice", [Self.may], store: store)
            let id = try await alice.conversation(group).send(.text("queued")).id
            await alice.close()
            alice = try await client(server, "alice", store: store)
            for await view in alice.conversation(group).timeline().views {
                guard case .pending(let pending)? = view.items.first else { continue }
                #expect(pending.decryptionError?.code == .decryptionFailed)
                #expect(pending.content.encrypted?.key == "2026-05")
                break
            }
            let edit = try await alice.conversation(group).edit(id, to: .text("edited"))
            #expect(edit.id != id)
            server.goOnline("alice")
            #expect(try await edit.waitUntilSent().text == "edited")
            let bob = try await client(server, "bob")
            #expect(try await receive(bob, 1).map(\.text) == ["edited"])
            let other = try await client(server, "alice", [Self.may])
            try await other.ready()
            server.goOffline("alice")
            try await other.conversation(group).send(.text("unsent"))
            #expect(try await other.signOut(erasing: false).unsent.map(\.content.text) == ["unsent"])
            await server.close()
        }
    }

    @Test("An undecryptable message can't be forwarded or quoted, and others are encrypted again when forwarded")
    func undecryptableMessageCannotBeForwarded() async throws {
        let server = try await makeServer(["alice", "bob", "carol"])
        let (alice, bob) = (try await client(server, "alice"), try await client(server, "bob"))
        let keyless = try await client(server, "carol", [])
        try await alice.conversation(group).send(.text("secret"))
        let unread = try #require(try await receive(keyless, 1).first)
        let content = try #require(unread.content)
        let error = await #expect(throws: ChatError.self) { try await keyless.conversation(group).send(content) }
        #expect(error?.parameter == "content")
        #expect(throws: ChatError.self) { try MessageContent.reference("see", to: unread) }
        let read = try #require(try await receive(bob, 1).first?.content)
        let carol = try await client(server, "carol")
        _ = try await bob.conversation(.direct("carol")).send(read).waitUntilSent()
        #expect(
            try await eventually {
                try await carol.conversation(.direct("bob")).history(from: .local).messages.first?.text == "secret"
            })
        await server.close()
    }

    // MARK: Files

    @Test("Files of encrypted messages follow message visibility, and their names need the key")
    func files() async throws {
        let server = try await makeServer()
        let (alice, bob) = (try await client(server, "alice"), try await client(server, "bob"))
        let photo = try PictureFixture.named("photo-1600x1200.jpg")
        let chat = alice.conversation(group)
        let sent = try await chat.send(.image(.data(photo, name: "secret.jpg"))).waitUntilSent()
        try await chat.send(.reference("secret photo", to: sent))
        await alice.waitForOutbox()
        let messages = try await receive(bob, 2)
        let media = try #require(messages[0].content?.media)
        #expect(media.name == "secret.jpg" && media.pixels != nil && media == sent.content?.media)
        #expect(try !storedText(server).contains("secret"))
        let file = try Data(contentsOf: await bob.media.file(for: media))
        #expect(Int64(file.count) == media.size)
        _ = try #require(try await bob.media.thumbnail(for: media))

        let carol = try await client(server, "carol")
        await #expect(
            performing: { try await carol.media.file(for: media) },
            throws: { ($0 as? ChatError)?.code == .unknownMedia })
        _ = try await bob.conversation(.direct("carol")).send(try #require(messages[0].content)).waitUntilSent()
        #expect(try Data(contentsOf: await carol.media.file(for: media)) == file)
        // The key alone gives no access to the file.
        let mallory = try await client(server, "mallory")
        let theft = try await mallory.conversation(.direct("carol")).send(try #require(messages[0].content))
        await #expect(
            performing: { try await theft.waitUntilSent() }, throws: { ($0 as? ChatError)?.code == .unknownMedia })
        // After all messages with the file are recalled, no user can read it.
        try await chat.recall(messages[1].id).waitForCompletion()
        try await chat.recall(sent.id).waitForCompletion()
        #expect(try await eventually { try await bob.texts(in: group).isEmpty })
        await server.close()
    }

    private struct ExternalUploader: MediaUploader {
        func upload(_ file: OutgoingFile, progress: @escaping @Sendable (Double) -> Void) async throws -> URL {
            try #require(URL(string: "https://files.example.com/\(file.name ?? "x")"))
        }
    }

    @Test("The URL from the app's own uploader is encrypted")
    func uploaderURLIsEncrypted() async throws {
        let server = try await makeServer()
        let alice = try await client(server, "alice", uploader: ExternalUploader())
        let bob = try await client(server, "bob")
        _ = try await alice.conversation(group).send(.file(.data(Data("x".utf8), name: "tide.txt"))).waitUntilSent()
        let media = try #require(try await receive(bob, 1).first?.content?.media)
        #expect(media.source == .remote(try #require(URL(string: "https://files.example.com/tide.txt"))))
        #expect(try !storedText(server).contains("files.example"))
        await server.close()
    }

    // MARK: The server

    @Test(
        "Word filters check the push text and not the encrypted content, and erasure keeps encrypted messages"
    )
    func filtersAndErasureOfEncryptedMessages() async throws {
        let server = try await makeServer()
        try await server.set { $0.moderation.bannedWords = .init(words: ["spam", "text", "data"], action: .reject) }
        let (alice, bob) = (try await client(server, "alice"), try await client(server, "bob"))
        _ = try await alice.conversation(group).send(.text("spam text data")).waitUntilSent()
        let sending = try await alice.conversation(group).send(.text("fine"), push: PushOptions(text: "spam"))
        await #expect(
            performing: { try await sending.waitUntilSent() },
            throws: { ($0 as? ChatError)?.code == .contentRejected })
        #expect(try await receive(bob, 1).map(\.text) == ["spam text data"])

        let admin = Caller(user: "admin", isAdmin: true)
        let row = try await server.engine.erase("alice", messages: .anonymize, by: admin)
        try await server.engine.runErasure(row)
        #expect(try server.messages(in: group).first?.sender.isErasedUser == true)
        #expect(
            try await eventually {
                let message = try await bob.conversation(group).history(from: .remote).messages.first
                return message?.text == "spam text data" && message?.sender != "alice"
            })
        await server.close()
    }
}
