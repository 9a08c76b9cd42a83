import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@testable import Scrollback

@Suite("Drafts on all devices", .timeLimit(.minutes(10)))
struct DraftSyncTests {
    private let id = ConversationID.group("swift")

    private func draft(_ client: ChatClient) async throws -> Draft? { try await client.conversation(id).draft() }

    @Test("A draft arrives on the user's other devices, and sending its text deletes it on all of them")
    func devices() async throws {
        let scene = try await scene()
        let draft = Draft("see @alice", mentions: .users(["alice"]), replyTo: MessageID(UUID()))
        try await scene.phone.conversation(id).setDraft(draft)
        #expect(try await eventually { try await self.draft(scene.laptop) == draft })
        #expect(try await self.draft(scene.alice) == nil)
        // A new device gets it as well, and another message does not delete it.
        let tablet = try await scene.server.client("bob")
        #expect(try await eventually { try await self.draft(tablet) == draft })
        try await scene.phone.conversation(id).send(.text("👍")).waitForCompletion()
        #expect(try await self.draft(scene.phone) == draft)
        try await scene.laptop.conversation(id).send(.text("see @alice")).waitForCompletion()
        #expect(try await self.draft(scene.laptop) == nil)
        for device in [scene.phone, tablet] { #expect(try await eventually { try await self.draft(device) == nil }) }
        await scene.server.close()
    }

    @Test("Drafts of offline devices are sent later, and the one that the server receives last wins everywhere")
    func offline() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let phone = try await server.client("bob", store: .directory(folder.url))
        try await phone.ready()
        server.goOffline("bob")
        try await phone.conversation(id).setDraft("first")
        try await phone.conversation(id).setDraft("second")
        await phone.close()
        let laptop = try await server.client("bob")
        try await laptop.conversation(id).setDraft("laptop")
        let again = try await server.client("bob", store: .directory(folder.url))
        #expect(try await draft(again) == "second")
        server.goOnline("bob")
        #expect(
            try await eventually {
                let drafts = (try await self.draft(again)?.text, try await self.draft(laptop)?.text)
                let isSettled = try await again.core.store.read { try $0.nextPendingDraft() } == nil
                return isSettled && drafts.0 == drafts.1 && ["second", "laptop"].contains(drafts.0)
            })
        // The other device deletes it while this one is offline.
        await again.close()
        try await laptop.conversation(id).setDraft(nil)
        #expect(try await eventually { try await laptop.core.store.read { try $0.nextPendingDraft() } == nil })
        let last = try await server.client("bob", store: .directory(folder.url))
        #expect(try await eventually { try await self.draft(last) == nil })
        await server.close()
    }

    @Test("A draft of another device does not replace one that is not sent yet")
    func unsent() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let phone = try await server.client("bob")
        try await phone.ready()
        server.goOffline("bob")
        try await phone.conversation(id).setDraft("mine")
        let theirs = SyncedDraft(conversation: id, draft: RawJSON(known: #"{"text":"theirs"}"#), rev: 99)
        let now = server.now
        let isStored = try await phone.core.store.write { try $0.apply(theirs, now: now) }
        #expect(!isStored)
        #expect(try await draft(phone) == "mine")
        await server.close()
    }

    @Test("A device does not list drafts because of its own changes")
    func ownChanges() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let phone = try await server.client("bob")
        func store(_ text: String) async throws -> String? {
            try await phone.conversation(id).setDraft(Draft(text))
            #expect(try await eventually { try await phone.core.store.read { try $0.nextPendingDraft() } == nil })
            // The answer to a list would come before this one.
            _ = try await phone.conversation(id).send(.text("sent")).waitUntilSent()
            return try await phone.core.store.read { try $0.draftCursor().text }
        }
        let cursor = try await store("first")
        #expect(cursor != nil)
        #expect(try await store("second") == cursor)
        #expect(try await store("third") == cursor)
        await server.close()
    }

    @Test("A draft that another device deleted is not sent again by the device that wrote it")
    func deletedElsewhere() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let phone = try await server.client("bob", store: .directory(folder.url))
        try await phone.ready()
        try await phone.conversation(id).setDraft("written here")
        #expect(try await eventually { try await phone.core.store.read { try $0.nextPendingDraft() } == nil })
        await phone.close()
        let laptop = try await server.client("bob")
        #expect(try await eventually { try await self.draft(laptop) == "written here" })
        try await laptop.conversation(id).setDraft(nil)
        #expect(try await eventually { try await laptop.core.store.read { try $0.nextPendingDraft() } == nil })
        let again = try await server.client("bob", store: .directory(folder.url))
        #expect(try await eventually { try await self.draft(again) == nil })
        #expect(try await laptop.core.perform(ListDrafts()).drafts.isEmpty)
        await server.close()
    }

    @Test("A draft from before the first list that another device deletes does not come back")
    func deletedBeforeTheFirstList() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let phone = try await server.client("bob")
        let laptop = try await server.client("bob", store: .directory(folder.url))
        for device in [phone, laptop] { try await device.ready() }
        try await phone.conversation(id).setDraft("deleted later")
        #expect(try await eventually { try await self.draft(laptop) == "deleted later" })
        await laptop.close()
        try await phone.conversation(id).setDraft(nil)
        #expect(try await eventually { try await phone.core.store.read { try $0.nextPendingDraft() } == nil })

        let again = try await server.client("bob", store: .directory(folder.url))
        let other = ConversationID.direct("alice")
        try await again.conversation(other).setDraft("another")
        #expect(try await eventually { try await again.core.store.read { try $0.nextPendingDraft() } == nil })
        #expect(try await eventually { try await self.draft(again) == nil })
        let stored = try server.engine.drafts(since: nil, by: Caller(user: "bob")).drafts
        #expect(stored.map(\.conversation) == [other])
        await server.close()
    }

    @Test("A device lists drafts before it sends its first one")
    func listBeforeTheFirstDraft() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        server.goOffline("bob")
        let phone = try await server.client("bob")
        let store = phone.core.store
        #expect(try await store.read { try $0.draftCursorIfBehind() == nil })
        try await phone.conversation(id).setDraft("written offline")
        let start = try #require(try await store.read { try $0.draftCursorIfBehind() })
        #expect(start.text == nil)
        try await store.write { try $0.saveDraftCursor("1-1", after: start, hasMore: false) }
        #expect(try await store.read { try $0.draftCursorIfBehind() == nil })
        #expect(try await store.read { try $0.nextPendingDraft() != nil })
        await server.close()
    }

    @Test("A draft that is reported while drafts are listed is listed afterwards")
    func reportedDuringAList() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let phone = try await server.client("bob")
        try await phone.ready()
        server.goOffline("bob")
        try await phone.core.store.write { writer in
            try writer.markDraftsBehind()
            let start = try #require(try writer.reader.draftCursorIfBehind())
            try writer.markDraftsBehind()
            try writer.saveDraftCursor("1-5", after: start, hasMore: false)
            let next = try #require(try writer.reader.draftCursorIfBehind())
            #expect(next.text == "1-5")
            try writer.saveDraftCursor("1-6", after: next, hasMore: false)
            #expect(try writer.reader.draftCursorIfBehind()?.text == nil)
        }
        await server.close()
    }

    @Test("A draft that overtakes a list with a reset is listed again")
    func reportedBeforeAReset() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        let phone = try await server.client("bob")
        try await phone.ready()
        server.goOffline("bob")
        let (id, now) = (id, server.now)
        func draft(_ text: String, rev: Int64) -> SyncedDraft {
            SyncedDraft(conversation: id, draft: RawJSON(known: #"{"text":"\#(text)"}"#), rev: rev)
        }
        let (lost, new, old) = (draft("lost", rev: 9), draft("new", rev: 5), draft("old", rev: 4))
        // An issue that is recorded on the store's thread belongs to no test, so the results leave the closure.
        let steps = try await phone.core.store.write { writer in
            try writer.saveDraftCursor("a", after: try writer.reader.draftCursor(), hasMore: false)
            let appliesLost = try writer.apply(lost, now: now)
            // The server's store went back, so that revisions begin at a lower number.
            try writer.markDraftsBehind()
            let list = try writer.reader.draftCursorIfBehind()
            let receivesNew = try writer.receive(new, isOwn: false, now: now)
            try writer.forgetDraftRevisions()
            let appliesOld = try writer.apply(old, now: now)
            if let list { try writer.saveDraftCursor("b", after: list, hasMore: false) }
            let next = try writer.reader.draftCursorIfBehind()
            return (appliesLost, isBehind: list != nil, receivesNew, appliesOld, next: next?.text)
        }
        #expect(steps == (true, isBehind: true, false, true, next: "b"))
        await server.close()
    }

    @Test("A draft that the server lost is sent again")
    func lostDraft() async throws {
        let store = MemoryStore(generation: 1)
        let server = try TestServer(users: ["alice", "bob"], store: store)
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let phone = try await server.client("bob")
        try await phone.ready()
        let copy = store.copy()
        try await phone.conversation(id).setDraft("written before")
        #expect(try await eventually { try await phone.core.store.read { try $0.nextPendingDraft() } == nil })
        try server.restart(with: copy)
        let isSent = try await eventually {
            phone.retryConnection()
            return try server.engine.drafts(since: nil, by: Caller(user: "bob")).drafts.map(\.conversation) == [id]
        }
        #expect(isSent)
        #expect(try await draft(phone) == "written before")
        await server.close()
    }

    @Test("With a cipher, the server stores no readable draft, and devices with the key read it")
    func encrypted() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let cipher = try MessageCipher(keys: [.init(id: "a", key: Data(repeating: 7, count: 32))])
        let phone = try await server.client("bob") { $0.cipher = cipher }
        let laptop = try await server.client("bob") { $0.cipher = cipher }
        let without = try await server.client("bob")
        try await phone.conversation(id).setDraft("a secret")
        #expect(try await eventually { try await self.draft(laptop) == "a secret" })
        let stored = try await phone.core.perform(ListDrafts()).drafts
        #expect(stored.count == 1 && stored[0].draft?.encrypted != nil)
        #expect(stored[0].draft?.text.contains("secret") == false)
        #expect(try await draft(without) == nil)
        // A client that encrypts does not take an unencrypted draft, which the server could have written.
        try await without.conversation(id).setDraft("forged")
        #expect(try await eventually { try await without.core.store.read { try $0.nextPendingDraft() } == nil })
        try await phone.conversation(.direct("alice")).setDraft("later")
        #expect(try await eventually { try await laptop.conversation(.direct("alice")).draft() == "later" })
        #expect(try await draft(laptop) == "a secret")
        await server.close()
    }

    @Test("With `syncsDrafts` off, drafts stay on the device")
    func off() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let phone = try await server.client("bob") { $0.syncsDrafts = false }
        let laptop = try await server.client("bob")
        try await phone.conversation(id).setDraft("mine")
        try await laptop.conversation(id).setDraft("yours")
        #expect(try await eventually { try await laptop.core.store.read { try $0.nextPendingDraft() } == nil })
        #expect(try await phone.core.perform(ListDrafts()).drafts.count == 1)
        #expect(try await draft(phone) == "mine")
        #expect(try await draft(laptop) == "yours")
        await server.close()
    }
}
