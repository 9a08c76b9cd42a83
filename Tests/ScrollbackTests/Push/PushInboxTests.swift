import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackSync
import TestSupport
import Testing

@Suite("The push inbox")
struct PushInboxTests {
    private let parent: TemporaryFolder
    private let folder: URL
    private let inbox: PushInbox

    init() throws {
        parent = try TemporaryFolder()
        folder = parent.url.appending(path: "inbox")
        inbox = PushInbox(directory: folder)
    }

    private func push(
        _ seq: Seq, in conversation: ConversationID = .group("swift"), for user: UserID = "alice",
        kind: PushMessage.Kind = .message
    ) -> PushMessage {
        PushMessage(
            target: PushTarget(
                conversation: conversation, seq: seq, epoch: Epoch(rawValue: 7),
                message: MessageID(high: 1, low: UInt64(seq)), sender: "bob", type: .text, receiver: user), kind: kind)
    }

    private func client(_ user: UserID = "alice", store: ChatClient.Configuration.Store = .inMemory) async throws
        -> ChatClient
    {
        var configuration = ChatClient.Configuration(
            server: try #require(URL(string: "http://x.invalid")), user: user, store: store
        ) { "" }
        configuration.pushInbox = inbox
        return try await ChatClient.open(configuration)
    }

    private func pushed(_ client: ChatClient) async throws -> [ConversationID] {
        try await client.core.store.read { try $0.pushedConversations() }
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test("The client removes pushes from the inbox and stores them without their data")
    func readPushesAreRemoved() async throws {
        let client = try await client()
        #expect(try await client.push.readInbox().messages == [])
        var first = push(1)
        first.data = "secret"
        first.badge = 3
        try inbox.put(first)
        try inbox.put(push(2, kind: .recall))
        let text = try String(contentsOf: folder.appending(component: names()[0]), encoding: .utf8)
        #expect(!text.contains("secret"))
        let contents = try await client.push.readInbox()
        #expect(contents.messages == [push(1), push(2, kind: .recall)] && contents.unreadableFiles == [])
        #expect(try await pushed(client) == [.group("swift")])
        #expect(try names() == [])
        #expect(try await client.push.readInbox().messages == [])
        await client.close()
    }

    @Test("The client reads the inbox when it opens and when the app becomes active")
    func inboxIsReadOnOpenAndActivation() async throws {
        try inbox.put(push(1, in: .group("one")))
        let client = try await client()
        #expect(try await pushed(client) == [.group("one")])
        try inbox.put(push(1, in: .direct("bob")))
        await client.setActive(true)
        #expect(try await eventually { try await pushed(client) == [.direct("bob"), .group("one")] })
        await client.close()
    }

    @Test("Pushes for another user of the device wait for that user's client")
    func pushesOfOtherUsersWait() async throws {
        try inbox.put(push(1))
        try inbox.put(push(1, for: "carol"))
        let alice = try await client()
        #expect(try await pushed(alice) == [.group("swift")])
        #expect(try names().count == 1)
        let carol = try await client("carol")
        #expect(try await pushed(carol) == [.group("swift")])
        #expect(try names() == [])
        for client in [alice, carol] { await client.close() }
    }

    @Test("Signing out with erasure removes the user's pushes and keeps those of other users")
    func signsOut() async throws {
        let client = try await client()
        for user in ["alice", "carol"] as [UserID] { try inbox.put(push(1, for: user)) }
        try await client.signOut(erasing: false)
        #expect(try names().count == 2)
        let again = try await self.client()
        try inbox.put(push(2))
        try await again.signOut(erasing: true)
        let carol = try await self.client("carol")
        #expect(try await pushed(carol) == [.group("swift")])
        #expect(try names() == [])
        await carol.close()
    }

    @Test("A half-written file is ignored and later deleted")
    func crash() async throws {
        try inbox.put(push(1))
        let half = folder.appending(component: "000000000000001-A.new")
        let old = folder.appending(component: "000000000000000-B.new")
        for url in [half, old] { try Data(#"{"conversation":"gro"#.utf8).write(to: url) }
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -7200)], ofItemAtPath: old.path)
        let client = try await client()
        #expect(try names() == [half.lastPathComponent])
        #expect(try await pushed(client) == [.group("swift")])
        await client.close()
    }

    @Test("Unreadable files are renamed once and do not block other pushes")
    func unreadableFilesAreRenamed() async throws {
        let client = try await client()
        try inbox.put(push(1))
        let bad: [(String, Data)] = [
            ("1", Data()), ("2", Data("{".utf8)), ("3", Data([0xFF, 0x00])), ("4", Data(#"{"conversation":"x"}"#.utf8)),
            ("5", Data(repeating: 0x20, count: 1_000_000)), ("6", Data("[]".utf8)),
        ]
        for (name, data) in bad { try data.write(to: folder.appending(component: "00000000000000\(name).push")) }
        try Data("notes".utf8).write(to: folder.appending(component: "readme.txt"))
        try FileManager.default.createDirectory(
            at: folder.appending(component: "000000000000007.push"), withIntermediateDirectories: true)
        let contents = try await client.push.readInbox()
        #expect(contents.messages == [push(1)])
        #expect(contents.unreadableFiles.map(\.lastPathComponent) == (1...7).map { "00000000000000\($0).unreadable" })
        #expect(try names() == (1...7).map { "00000000000000\($0).unreadable" } + ["readme.txt"])
        let again = try await client.push.readInbox()
        #expect(again.messages == [] && again.unreadableFiles == [])
        await client.close()
    }

    @Test("An unreadable inbox directory fails the call and does not prevent opening a client")
    func unreadableDirectoryFailsTheCall() async throws {
        try Data().write(to: folder)
        let client = try await client()
        let error = await #expect(throws: ChatError.self) { try await client.push.readInbox() }
        #expect(error?.code == .localStorage)
        let put = #expect(throws: ChatError.self) { try inbox.put(push(1)) }
        #expect(put?.code == .localStorage)
        await client.close()
    }

    @Test("Two writers and two readers at once deliver each push completely and once")
    func concurrentAccessDeliversEachPushOnce() async throws {
        let clients = [try await client("alice"), try await client("carol")]
        let count: Seq = 200
        try await withThrowingTaskGroup(of: [PushMessage].self) { group in
            for user in ["alice", "carol"] as [UserID] {
                group.addTask { [inbox, self] in
                    for seq in 1...count { try inbox.put(push(seq, for: user)) }
                    return []
                }
            }
            for client in clients {
                group.addTask {
                    var messages: [PushMessage] = []
                    while messages.count < count {
                        let contents = try await client.push.readInbox()
                        #expect(contents.unreadableFiles == [])
                        messages += contents.messages
                        await Task.yield()
                    }
                    return messages
                }
            }
            for try await messages in group where !messages.isEmpty {
                #expect(messages.compactMap(\.target.seq).sorted() == Array(1...count))
                #expect(Set(messages.map(\.target.receiver)).count == 1)
            }
        }
        #expect(try names() == [])
        for client in clients { await client.close() }
    }

    @Test("The inbox keeps the newest thousand pushes")
    func bounded() async throws {
        let client = try await client()
        for seq in 1...1_020 as ClosedRange<Seq> { try inbox.put(push(seq)) }
        #expect(try names().count == 1_000)
        #expect(try await client.push.readInbox().messages.map(\.target.seq) == Array(21...1_020))
        #expect(try names() == [])
        #expect(try await pushed(client) == [.group("swift")])
        await client.close()
    }

    @Test("A push that is larger than any service delivers is refused")
    func tooLarge() throws {
        var large = push(1)
        large.target.type = MessageType(rawValue: String(repeating: "x", count: 20_000))
        let error = #expect(throws: ChatError.self) { try inbox.put(large) }
        #expect(error?.parameter == "message")
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test("Known messages, rooms and transient messages do not cause a request")
    func knownMessagesCauseNoRequest() async throws {
        let store = try LocalStore(directory: nil, user: "alice")
        func note(_ message: PushMessage) async throws -> Set<ConversationID> {
            try await store.write { try $0.recordPushed([message]) }
        }
        let state = LogHead(epoch: Epoch(rawValue: 7), view: 0, head: 5, firstSeq: 1, countedIndex: 5, rev: 0)
        _ = try await store.write { writer in
            try writer.apply([.head(ConversationHead(conversation: .group("swift"), state: state))])
        }
        #expect(try await note(push(5)) == [])
        #expect(try await note(push(6)) == [.group("swift")])
        // The message is not in the local store, so the client can't know whether it is gone.
        #expect(try await note(push(5, kind: .recall)) == [.group("swift")])
        #expect(try await note(push(1, in: .room("lobby"))) == [])
        #expect(try await note(push(1, in: .group("unknown"))) == [.group("unknown")])
        var other = push(5)
        other.target.epoch = Epoch(rawValue: 8)
        #expect(try await note(other) == [.group("swift")])
        var transient = push(9)
        transient.target.seq = nil
        #expect(try await note(transient) == [])
        // The push itself changes neither the list nor the counts nor the log.
        #expect(try await store.read { try $0.log(of: .group("swift"))?.head } == 5)
        #expect(try await store.read { try $0.recents(limit: 10) }.map(\.id) == [])
        #expect(try await store.read { try $0.violations() } == [])
    }
}
