import ContractRows
import Foundation
import Scrollback
import ScrollbackTesting
import Testing

/// Tests which history requests a conversation accepts and which it refuses.
@Suite("History requests of a conversation")
struct HistoryRequestTests {
    private let group = ConversationID.group("swift")

    private func server(messages count: Int) async throws -> (server: TestServer, alice: ChatClient, chat: Conversation)
    {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let bob = try await server.client("bob")
        for number in 1...count { try await bob.conversation(group).send(.text("\(number)")) }
        await bob.waitForOutbox()
        let alice = try await server.client("alice")
        return (server, alice, alice.conversation(group))
    }

    private func numbers(_ messages: MessageSequence) async throws -> [Int] {
        var numbers: [Int] = []
        for try await message in messages { numbers.append(message.text.flatMap { Int($0) } ?? 0) }
        return numbers
    }

    @Test(
        "A message sequence returns every message once, from every anchor and source",
        .rows(1, 7, 29, 45, 50, 51, 53, 55, 56, 173))
    func sequences() async throws {
        let (server, _, chat) = try await server(messages: 250)
        for source in [HistorySource.remote, .merged, .local] {
            #expect(try await numbers(chat.messages(source: source)) == Array((1...250).reversed()))
            #expect(try await numbers(chat.messages(from: .earliest, source: source)) == Array(1...250))
            #expect(try await numbers(chat.messages(from: .before(.seq(3)), source: source)) == [2, 1])
            #expect(try await numbers(chat.messages(from: .after(.seq(248)), source: source)) == [249, 250])
            #expect(
                try await numbers(chat.messages(from: .between(.seq(7), .seq(220)), source: source))
                    == Array(7..<220))
            #expect(
                try await numbers(chat.messages(from: .backward(from: .seq(220), downTo: .seq(7)), source: source))
                    == (7..<220).reversed())
            #expect(
                try await numbers(chat.messages(from: .around(.seq(100), before: 5, after: 5), source: source))
                    == Array(95...250))
        }
        await server.close()
    }

    @Test(
        "A local sequence skips missing messages, and a local page reports its gap", .rows(23, 26, 44)
    )
    func localGaps() async throws {
        let (server, alice, chat) = try await server(messages: 250)
        _ = try await chat.history(.latest, limit: 5, from: .remote)
        _ = try await chat.history(.around(.seq(100), before: 2, after: 2), from: .remote)
        server.goOffline("alice")
        let known = Array(98...102) + Array(246...250)
        #expect(try await numbers(chat.messages(from: .earliest, source: .local)) == known)
        #expect(try await numbers(chat.messages(source: .local)) == known.reversed())
        #expect(
            try await numbers(chat.messages(from: .between(.seq(50), .seq(248)), source: .local))
                == Array(98...102) + [246, 247])
        #expect(
            try await numbers(chat.messages(from: .backward(from: .seq(248), downTo: .seq(50)), source: .local))
                == [247, 246] + Array(98...102).reversed())
        let page = try await chat.history(.before(.seq(248)), limit: 20, from: .local)
        #expect(page.messages.map(\.seq) == [247, 246])
        #expect(page.gap == 103...245)
        await #expect(throws: ChatError.self) {
            for try await _ in chat.messages(source: .merged) {}
        }
        #expect(try await alice.verifyIntegrity() == [])
        await server.close()
    }

    @Test(
        "A page around a date is the same from the client and the server when messages share a millisecond",
        .rows(33, 34, 171))
    func pageAroundASharedMillisecond() async throws {
        let (server, _, chat) = try await server(messages: 60)
        let all = try await chat.history(.earliest, limit: 100, sort: .oldestFirst, from: .remote).messages
        #expect(all.count == 60)
        for date in Set(all.map(\.sentAt)) {
            let around = Anchor.around(.date(date), before: 3, after: 3)
            let seqs = try await chat.history(around, from: .remote).messages.map(\.seq)
            for source in [HistorySource.local, .merged] {
                #expect(try await chat.history(around, from: source).messages.map(\.seq) == seqs, "\(source)")
            }
        }
        await server.close()
    }

    @Test("A message sequence loads pages on demand and stops loading when the loop ends")
    func sequenceLoadsPagesOnDemand() async throws {
        let (server, _, chat) = try await server(messages: 250)
        for try await message in chat.messages(source: .remote) where message.seq < 240 { break }
        #expect(try await numbers(chat.messages(source: .local)).count <= 150)
        await server.close()
    }

    @Test("A request that can't be answered throws an error that names the parameter", .rows(31, 32, 66))
    func refusals() async throws {
        let (server, _, chat) = try await server(messages: 3)
        func refusal(_ body: () async throws -> Void) async -> String? {
            do {
                try await body()
                return nil
            } catch let error as ChatError {
                return "\(error.code) \(error.parameter ?? "-")"
            } catch {
                return "\(error)"
            }
        }
        let page = try await chat.history(.latest, limit: 1, from: .remote)
        let cursor = try #require(page.older)
        #expect(await refusal { _ = try await chat.history(cursor, from: .local) } == "invalid-parameter anchor")
        #expect(await refusal { for try await _ in chat.messages(from: cursor) {} } == "invalid-parameter anchor")
        #expect(
            await refusal { _ = try await chat.history(.before(.id(MessageID(UUID()))), from: .local) }
                == "unknown-message anchor")
        let unknown = await refusal { _ = try await chat.history(.before(.id(MessageID(UUID())))) }
        #expect(unknown == "unknown-message anchor")
        #expect(await refusal { _ = try await chat.history(limit: 101) } == "invalid-parameter limit")
        #expect(await refusal { _ = try await chat.history(limit: -1, from: .local) } == "invalid-parameter limit")
        for source in [HistorySource.local, .remote, .merged] {
            let tooFar = Anchor.before(.date(Date(timeIntervalSince1970: 1e18)))
            #expect(await refusal { _ = try await chat.history(tooFar, from: source) } == "invalid-parameter anchor")
        }
        for date in [Date.distantFuture, .distantPast] {
            for source in [HistorySource.local, .remote, .merged] {
                let refused = await refusal { _ = try await chat.history(.before(.date(date)), from: source) }
                #expect(refused == nil, "\(date) \(source)")
            }
        }

        let deep = try RawJSON(String(repeating: "[", count: 31) + String(repeating: "]", count: 31))
        let fine = try RawJSON("{\"a\":\(deep)}")
        #expect(await refusal { try await chat.send(MessageContent(type: MessageType("app:deep"), json: fine)) } == nil)
        #expect(await refusal { _ = try RawJSON("{\"a\":[\(deep)]}") } == "invalid-parameter json")
        #expect(
            await refusal { try await chat.send(.text(String(repeating: "x", count: 200_000))) }
                == "too-large content")
        #expect(
            await refusal {
                try await chat.send(
                    .text("x"), metadata: RawJSON("{\"a\":\"\(String(repeating: "x", count: 33_000))\"}"))
            } == "too-large metadata")
        #expect(
            await refusal { try await chat.send(.text("x"), metadata: RawJSON("[]")) } == "invalid-parameter metadata")
        #expect(
            await refusal { try await chat.send(.text("x"), customType: String(repeating: "x", count: 129)) }
                == "invalid-parameter customType")
        #expect(
            await refusal {
                try await chat.send(MessageContent(type: MessageType(rawValue: "a b"), json: RawJSON("{}")))
            } == "invalid-parameter type")
        #expect(
            await refusal { try await chat.send(.text("x"), mentioning: .users([])) } == "invalid-parameter mentions")
        #expect(try await chat.send(.text("still goes")).waitUntilSent().text == "still goes")
        await server.close()
    }

    @Test("Opening a client with an invalid server address fails")
    func badServer() async throws {
        for text in [
            "localhost:8080", "chat.example.com", "ftp://example.com", "https://", "/v1", "https://example.com/?a=1",
            "https://example.com/#a",
        ] {
            let url = try #require(URL(string: text))
            let error = await #expect(throws: ChatError.self) {
                _ = try await ChatClient.open(.init(server: url, user: "alice", store: .inMemory, token: { "" }))
            }
            #expect(error?.parameter == "server", "\(text)")
        }
    }

    @Test("Closing a client completes every pending call with an error", .rows(279))
    func closing() async throws {
        let (server, alice, chat) = try await server(messages: 1)
        server.goOffline("alice")
        let sending = try await chat.send(.text("queued"))
        let delivered = Task { try await sending.waitUntilSent() }
        await alice.close()
        await #expect(throws: ChatError.self) { try await sending.cancel() }
        await #expect(throws: ChatError.self) { try await sending.retry() }
        await #expect(throws: ChatError.self) { _ = try await delivered.value }
        await #expect(throws: ChatError.self) { _ = try await chat.history(from: .remote) }
        await server.close()
    }

    @Test("A queued message can be retried and cancelled, and a sent message can't")
    func retryAndCancel() async throws {
        let (server, _, chat) = try await server(messages: 1)
        let sent = try await chat.send(.text("sent"))
        _ = try await sent.waitUntilSent()
        await #expect(throws: ChatError.self) { try await sent.retry() }
        await #expect(throws: ChatError.self) { try await sent.cancel() }
        server.goOffline("alice")
        let queued = try await chat.send(.text("queued"))
        try await queued.retry()
        try await queued.cancel()
        await #expect(throws: ChatError.self) { _ = try await queued.waitUntilSent() }
        await server.close()
    }
}
