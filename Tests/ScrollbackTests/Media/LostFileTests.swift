import Foundation
import PictureFixtures
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

/// Files of messages that the server lost because its store went back to an earlier state.
@Suite("Files that the server lost", .timeLimit(.minutes(10)))
struct LostFileTests {
    private let group = ConversationID.group("swift")
    private let store = MemoryStore(generation: 1)

    private func start() async throws -> TestServer {
        let server = try TestServer(users: ["alice", "bob", "carol"], store: store)
        try await server.makeGroup("swift", members: ["alice", "bob"])
        return server
    }

    private static func bytes(_ count: Int) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
    }

    /// Waits until the server has messages with these IDs, in any order, while the clients reconnect.
    private func expect(
        _ server: TestServer, has ids: Set<MessageID>, in conversation: ConversationID, _ clients: ChatClient...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let hasAll = try await eventually {
            for client in clients { client.retryConnection() }
            return (try? server.messages(in: conversation)).map { Set($0.map(\.id)) } == ids
        }
        #expect(hasAll, sourceLocation: sourceLocation)
    }

    private func failure(of id: MessageID, on client: ChatClient) async throws -> ChatError? {
        guard case .failed(let failure)? = try await client.core.store.read({ try $0.pending(id) })?.state else {
            return nil
        }
        return failure.error
    }

    @Test("A lost message is sent again with its file and its thumbnail")
    func messageIsSentAgainWithItsFile() async throws {
        let server = try await start()
        let alice = try await server.client("alice")
        try await alice.ready()
        let copy = store.copy()
        let photo = try PictureFixture.named("photo-1600x1200.jpg")
        let sent = try await alice.conversation(group).send(.image(.data(photo, name: "a.jpg"))).waitUntilSent()
        let media = try #require(sent.content?.media)
        let file = try Data(contentsOf: await alice.media.file(for: media))
        try server.restart(with: copy)
        try await expect(server, has: [sent.id], in: group, alice)

        let bob = try await server.client("bob")
        let shown = try #require(try await bob.conversation(group).history(.latest).messages.first?.content?.media)
        #expect(shown == media)
        #expect(try Data(contentsOf: await bob.media.file(for: shown)) == file)
        #expect(try await bob.media.thumbnail(for: shown) != nil)
        #expect(try await eventually { try await alice.pendingCount() == 0 })
        await server.close()
    }

    @Test("A lost message stays encrypted when its file is sent again")
    func encryptedMessage() async throws {
        let server = try await start()
        let cipher = try MessageCipher(keys: [MessageCipher.Key(id: "2026-11", key: Data(0..<32))])
        let alice = try await server.client("alice") { $0.cipher = cipher }
        try await alice.ready()
        let copy = store.copy()
        let data = Self.bytes(1_000)
        let sent = try await alice.conversation(group).send(.file(.data(data, name: "secret.txt"))).waitUntilSent()
        try server.restart(with: copy)
        try await expect(server, has: [sent.id], in: group, alice)
        let stored = try #require(try server.messages(in: group).first?.content)
        #expect(stored.encrypted != nil)
        let id = try #require(stored.fileReferences.first?.id)
        #expect(try await server.engine.bytes(of: id, by: Caller(user: "alice")) == Array(data))
        #expect(try server.engine.file(id, by: Caller(user: "alice")).name == nil)
        await server.close()
    }

    /// Why a device does not have a sent file any more.
    enum Absence: CaseIterable {
        case cacheCleared, fileDeleted
    }

    @Test("A lost message whose file is not on the device fails and says what to do", arguments: Absence.allCases)
    func fileIsGone(_ absence: Absence) async throws {
        let server = try await start()
        let alice = try await server.client("alice")
        try await alice.ready()
        let copy = store.copy()
        let sent = try await alice.conversation(group).send(.file(.data(Self.bytes(1_000)))).waitUntilSent()
        let text = try await alice.conversation(group).send(.text("after it")).waitUntilSent()
        switch absence {
        case .cacheCleared: try await alice.media.removeAll()
        case .fileDeleted:
            let files = alice.core.store.files
            try FileManager.default.removeItem(at: files.url(of: LocalFiles.hash(of: Self.bytes(1_000))))
        }
        try server.restart(with: copy)
        try await expect(server, has: [text.id], in: group, alice)
        #expect(try await eventually { try await failure(of: sent.id, on: alice) != nil })
        let error = try #require(try await failure(of: sent.id, on: alice))
        #expect(error.code == .unknownMedia)
        #expect(error.message.contains("Delete the message and send the file again."), "\(error.message)")
        // The user still sees the message.
        let isShown = try await eventually {
            for await view in alice.conversation(group).timeline().views {
                return view.items.contains { $0.id == sent.id.description }
            }
            return false
        }
        #expect(isShown)
        await server.close()
    }

    @Test("A lost message that is older than a day keeps its file until the user retries it")
    func oldMessageKeepsItsFile() async throws {
        let server = try await start()
        let alice = try await server.client("alice") { $0.media.cacheSize = 1_000 }
        try await alice.ready()
        let copy = store.copy()
        let data = Self.bytes(1_000)
        let sent = try await alice.conversation(group).send(.file(.data(data))).waitUntilSent()
        server.advance(by: 25 * 60 * 60)
        try server.restart(with: copy)
        let hasFailed = try await eventually {
            alice.retryConnection()
            return try await failure(of: sent.id, on: alice)?.code == .expired
        }
        #expect(hasFailed)
        // The cache has room for one file, and keeps the one that the message needs.
        _ = try await alice.conversation(.direct("bob")).send(.file(.data(Self.bytes(999)))).waitUntilSent()
        try await alice.conversation(group).sendHandle(for: sent.id).retry()
        try await expect(server, has: [sent.id], in: group, alice)
        let id = try #require(sent.content?.media?.id)
        #expect(try await server.engine.bytes(of: id, by: Caller(user: "alice")) == Array(data))
        await server.close()
    }

    @Test("Two lost messages with the same file are both sent again")
    func fileOfTwoMessages() async throws {
        let server = try await start()
        let alice = try await server.client("alice")
        try await alice.ready()
        let copy = store.copy()
        let sent = try await alice.conversation(group).send(.file(.data(Self.bytes(1_000)))).waitUntilSent()
        let content = try #require(sent.content)
        let forwarded = try await alice.conversation(.direct("carol")).send(content).waitUntilSent()
        try server.restart(with: copy)
        try await expect(server, has: [sent.id], in: group, alice)
        try await expect(server, has: [forwarded.id], in: .direct(between: "alice", and: "carol"), alice)
        for (user, id) in [("bob", group), ("carol", ConversationID.direct("alice"))] as [(UserID, ConversationID)] {
            let client = try await server.client(user)
            let media = try #require(try await client.conversation(id).history(.latest).messages.first?.content?.media)
            #expect(try Data(contentsOf: await client.media.file(for: media)) == Self.bytes(1_000))
        }
        await server.close()
    }

    @Test("A lost file is sent again by its owner after another user sent it first")
    func anotherUserWasFirst() async throws {
        let server = try await start()
        let alice = try await server.client("alice")
        let bob = try await server.client("bob")
        for client in [alice, bob] { try await client.ready() }
        let copy = store.copy()
        let sent = try await alice.conversation(group).send(.file(.data(Self.bytes(1_000)))).waitUntilSent()
        let content = try #require(sent.content)
        let media = try #require(content.media)
        _ = try await bob.media.file(for: media)
        let forwarded = try await bob.conversation(.direct("carol")).send(content).waitUntilSent()
        server.goOffline("alice")
        try server.restart(with: copy)
        let direct = ConversationID.direct(between: "bob", and: "carol")
        try await expect(server, has: [forwarded.id], in: direct, bob)
        server.goOnline("alice")
        try await expect(server, has: [sent.id], in: group, alice)

        let own = try #require(try server.messages(in: group).first?.content?.media?.id)
        #expect(own != media.id)
        #expect(try server.engine.file(own, by: Caller(user: "alice")).owner == "alice")
        #expect(try await server.engine.bytes(of: own, by: Caller(user: "bob")) == Array(Self.bytes(1_000)))
        await server.close()
    }

    @Test("A device without the file drops its failed copy of a message that another device sends again")
    func anotherDeviceHasTheFile() async throws {
        let server = try await start()
        let folder = try TemporaryFolder()
        var phone = try await server.client("alice", store: .directory(folder.url))
        let laptop = try await server.client("alice")
        for client in [phone, laptop] { try await client.ready() }
        let copy = store.copy()
        let sent = try await phone.conversation(group).send(.file(.data(Self.bytes(1_000)))).waitUntilSent()
        let isReceived = try await eventually {
            try await laptop.conversation(group).history(.latest, limit: 1, from: .local).messages.first?.id == sent.id
        }
        #expect(isReceived)
        await phone.close()
        try server.restart(with: copy)
        let hasFailed = try await eventually {
            laptop.retryConnection()
            return try await failure(of: sent.id, on: laptop)?.code == .unknownMedia
        }
        #expect(hasFailed)
        phone = try await server.client("alice", store: .directory(folder.url))
        try await expect(server, has: [sent.id], in: group, phone)
        let isDropped = try await eventually {
            laptop.retryConnection()
            return try await laptop.core.store.read { try $0.pending(sent.id) } == nil
        }
        #expect(isDropped)
        #expect(try await laptop.conversation(group).history(.latest, from: .local).messages.map(\.id) == [sent.id])
        await server.close()
    }

    @Test("An upload under way whose server part was lost starts again")
    func uploadUnderWay() async throws {
        let server = try await start()
        let alice = try await server.client("alice") { $0.uploadChunkSize = 1_000 }
        try await alice.ready()
        let copy = store.copy()
        let data = Self.bytes(500_000)
        let sending = try await alice.conversation(group).send(.file(.data(data)))
        for await state in sending.states {
            if case .uploading(let fraction) = state, fraction > 0 { break }
        }
        let upload = try #require(try await alice.core.store.read { try $0.uploads(of: sending.id) }.first)
        #expect(upload.resource != nil && !upload.isDone)
        try server.restart(with: copy)
        try await expect(server, has: [sending.id], in: group, alice)
        #expect(try await server.engine.bytes(of: upload.media, by: Caller(user: "alice")) == Array(data))
        await server.close()
    }
}
