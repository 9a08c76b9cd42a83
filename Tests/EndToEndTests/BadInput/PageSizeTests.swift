import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import Testing

/// The page sizes that HTTP, the WebSocket and the SDK accept.
@Suite(.serverFixture) struct PageSizeTests {
    let fixture: ServerFixture
    let names: [String]

    /// Creates three groups of Alice's with 120 messages each.
    init() async throws {
        fixture = try ServerFixture.shared
        names = (1...3).map { "pages-\($0)-\(UUID().uuidString.lowercased())" }
        let imports = (1...120).map {
            #"{"id":"\#(UUID())","type":"text","content":{"text":"tide \#($0)"},"sender":"alice","#
                + #""sentAt":"2026-01-02T03:04:05.678Z"}"#
        }
        for name in names {
            let path = "/v1/conversations/group:\(name)"
            let made = try await fixture.admin.call("PUT", path, "{}")
            try #require(made.status == 201, "\(made)")
            let imported = try await fixture.admin.call(
                "POST", path + "/import", #"{"messages":[\#(imports.joined(separator: ","))]}"#)
            try #require(imported.status == 200, "\(imported)")
        }
    }

    /// The result of a request: the number of messages, or the parameter that was refused.
    private enum Outcome: Equatable {
        case messages(Int)
        case refused(String?)
        case other(String)
    }

    private func outcome(_ answer: Members, _ count: (Members) -> Int) -> Outcome {
        switch answer.string("code") {
        case nil: .messages(count(answer))
        case "invalid-parameter": .refused(answer.string("parameter"))
        case let code?: .other(code)
        }
    }

    private func outcome(_ body: () async throws -> Int) async -> Outcome {
        do {
            return .messages(try await body())
        } catch let error as ChatError where error.code == .invalidParameter {
            return .refused(error.parameter)
        } catch {
            return .other("\(error)")
        }
    }

    @Test(
        "A request for one conversation returns up to 100 messages, and another limit is refused by name",
        .contract("check 13"), .rows(13, 14, 31, 52, 158, 159, 240), arguments: [0, 1, 100, 101, -1])
    func pageLimitForOneConversation(_ limit: Int) async throws {
        let expected: Outcome = (0...100).contains(limit) ? .messages(limit) : .refused("limit")
        let path = "/v1/conversations/group:\(names[0])/messages"
        let socket = try await TestSocket.signedIn(fixture.server, "alice")
        let client = try await Device.open(fixture.server, "alice")
        let chat = client.conversation(.group(try Identifier(names[0])))
        // The device loads all messages first, so that local reads are complete.
        for try await _ in chat.messages(source: .remote) {}

        for anchor in ["", "&before=latest", "&after=earliest", "&from=earliest&to=latest"] {
            let answer = try await fixture.alice.call("GET", "\(path)?limit=\(limit)\(anchor)")
            #expect(outcome(answer.json) { $0.objects("messages").count } == expected, "\(anchor) \(answer)")
        }
        let frame = try await socket.request(
            #""type":"history","conversation":"group:\#(names[0])","limit":\#(limit)"#)
        #expect(outcome(frame) { $0.objects("messages").count } == expected, "\(frame.all)")
        for source in [HistorySource.local, .remote, .remote(excludingLocal: false), .merged] {
            for anchor in [Anchor.latest, .earliest] {
                let given = await outcome {
                    try await chat.history(anchor, limit: limit, from: source).messages.count
                }
                #expect(given == expected, "\(anchor) \(source)")
            }
            let paged = await outcome { try await chat.pager(limit: limit, source: source).next().count }
            #expect(paged == expected, "\(source)")
        }
        for (before, after, name) in [(limit, 3, "beforeLimit"), (3, limit, "afterLimit")] {
            let around = "around=seq:110&beforeLimit=\(before)&afterLimit=\(after)"
            let answer = try await fixture.alice.call("GET", "\(path)?\(around)")
            let isFine = (0...100).contains(limit)
            let newer = min(after, 10)
            #expect(
                outcome(answer.json) { $0.objects("messages").count }
                    == (isFine ? .messages(before + 1 + newer) : .refused(name)), "\(answer)")
            let page = await outcome {
                try await chat.history(.around(.seq(110), before: before, after: after)).messages.count
            }
            #expect(page == (isFine ? .messages(before + 1 + newer) : .refused(name)))
        }

        let body = #""conversations":["group:\#(names[0])"],"limit":\#(limit)"#
        let fetched = try await fixture.alice.call("POST", "/v1/history/fetch", "{\(body)}")
        #expect(outcome(fetched.json, messages) == expected, "\(fetched)")
        #expect(outcome(try await socket.request(#""type":"fetch",\#(body)"#), messages) == expected)
        let batch = await outcome {
            try await client.fetchHistory(in: [chat.id], limit: limit).messages[chat.id]?.count ?? -1
        }
        #expect(batch == expected)
        await client.close()
    }

    @Test(
        "A request for several conversations returns up to 25 messages each, and another limit is refused by name",
        .contract("check 13"), .rows(240), arguments: [0, 1, 25, 26, 100, -1])
    func pageLimitForSeveralConversations(_ limit: Int) async throws {
        let isFine = (0...25).contains(limit)
        let socket = try await TestSocket.signedIn(fixture.server, "alice")
        let client = try await Device.open(fixture.server, "alice")
        let ids = try names.map { ConversationID.group(try Identifier($0)) }
        let list = names.map { "\"group:\($0)\"" }.joined(separator: ",")
        let body = #""conversations":[\#(list)],"limit":\#(limit)"#
        let expected: Outcome = isFine ? .messages(3 * limit) : .refused("limit")
        let answer = try await fixture.alice.call("POST", "/v1/history/fetch", "{\(body)}")
        #expect(outcome(answer.json, messages) == expected, "\(answer)")
        #expect(outcome(try await socket.request(#""type":"fetch",\#(body)"#), messages) == expected)
        let batch = await outcome {
            let messages = try await client.fetchHistory(in: ids, limit: limit).messages
            #expect(messages.values.allSatisfy { $0.count == limit })
            return messages.values.map(\.count).reduce(0, +)
        }
        #expect(batch == expected)
        // With actions, a request can name only one conversation and has the same maximum.
        let withActions = await outcome {
            try await client.fetchHistory(in: [ids[0]], limit: limit, includingActions: true).messages[ids[0]]?.count
                ?? -1
        }
        #expect(withActions == (isFine ? .messages(limit) : .refused("limit")))
        let around = Anchor.around(.seq(60), before: max(limit, 0), after: 0)
        let page = await outcome {
            try await client.fetchHistory(in: ids, around).messages.values.map(\.count).reduce(0, +)
        }
        let most = max(limit, 0)
        #expect(page == (most <= 25 ? .messages(3 * (most + 1)) : .refused("beforeLimit")))
        await client.close()
    }

    private func messages(_ answer: Members) -> Int {
        answer.objects("pages").map { ($0["messages"] as? [Any])?.count ?? -1_000 }.reduce(0, +)
    }
}
