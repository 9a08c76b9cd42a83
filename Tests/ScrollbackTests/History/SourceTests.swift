import ContractRows
import Foundation
import Scrollback
import ScrollbackTesting
import TestSupport
import Testing

/// Makes the same requests of all three sources while the client has only a part of the log.
@Suite("History sources")
struct SourceTests {
    private let group = ConversationID.group("swift")

    /// Creates a group with ten messages, of which Alice's client has 1 to 5 and 9 to 10.
    private func server() async throws -> (server: TestServer, alice: ChatClient, chat: Conversation) {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let bob = try await server.client("bob")
        for number in 1...10 { try await bob.conversation(group).send(.text("\(number)")) }
        await bob.waitForOutbox()
        let alice = try await server.client("alice")
        let chat = alice.conversation(group)
        _ = try await chat.history(.earliest, limit: 5, from: .remote)
        _ = try await chat.history(.latest, limit: 2, from: .remote)
        return (server, alice, chat)
    }

    private func all(_ chat: Conversation, _ source: HistorySource) async throws -> [Int64] {
        var seqs: [Int64] = []
        for try await message in chat.messages(source: source) { seqs.append(message.seq) }
        return seqs
    }

    @Test(
        "The local source returns seven messages, the remote one ten, and the merged one fills the gap",
        .contract("check 5"),
        .rows(1, 7, 23, 26, 45, 50))
    func threeSources() async throws {
        let (server, alice, chat) = try await server()
        #expect(try await all(chat, .local) == [10, 9, 5, 4, 3, 2, 1])
        #expect(try await chat.history(limit: 20, from: .local).messages.map(\.seq) == [10, 9])
        #expect(try await chat.history(limit: 20, from: .local).gap == 6...8)
        #expect(try await chat.history(limit: 20, from: .merged).messages.map(\.seq) == (1...10).reversed())
        server.goOffline("alice")
        #expect(try await all(chat, .local) == (1...10).reversed())
        let offline = try await chat.history(limit: 20, from: .merged)
        #expect(offline.messages.map(\.seq) == (1...10).reversed() && offline.gap == nil)
        #expect(try await alice.verifyIntegrity() == [])
        await server.close()
    }

    @Test(
        "The remote source without local messages returns three, and empty pages still have a cursor",
        .contract("check 5"),
        .rows(48, 54, 57))
    func excludingLocal() async throws {
        let (server, _, chat) = try await server()
        var pages: [[Int64]] = []
        var anchor: Anchor? = .latest
        var anchors: Set<Anchor> = []
        while let next = anchor {
            #expect(anchors.insert(next).inserted, "The same page is never requested twice.")
            let page = try await chat.history(next, limit: 2, from: .remote(excludingLocal: true))
            pages.append(page.messages.map(\.seq))
            anchor = page.older
        }
        #expect(pages == [[], [8, 7], [6], [], []])
        // A plain remote request includes messages that the client already has.
        #expect(try await chat.history(limit: 3, from: .remote).messages.map(\.seq) == [10, 9, 8])
        await server.close()
    }

    @Test(
        "An offline merged page returns local messages with their gap and a shortfall", .contract("check 5"),
        .rows(9, 22))
    func remoteError() async throws {
        let (server, _, chat) = try await server()
        server.goOffline("alice")
        let page = try await chat.history(limit: 20, from: .merged)
        #expect(page.messages.map(\.seq) == [10, 9])
        #expect(page.gap == 6...8)
        #expect(page.remoteError?.isTemporary == true)
        // The other five messages are below the gap, and nothing is missing there.
        let rest = try await chat.history(.before(.seq(6)), limit: 20, from: .merged)
        #expect(rest.messages.map(\.seq) == [5, 4, 3, 2, 1] && rest.gap == nil && rest.remoteError == nil)
        #expect(rest.older == nil)
        await #expect(throws: ChatError.self) { _ = try await chat.history(limit: 20, from: .remote) }
        server.goOnline("alice")
        #expect(
            try await eventually {
                let whole = try await chat.history(limit: 20, from: .merged)
                return whole.messages.count == 10 && whole.remoteError == nil
            })
        await server.close()
    }
}
