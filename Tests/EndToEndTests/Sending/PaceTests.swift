import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import Testing

@Suite("Send pacing")
struct PaceTests {
    @Test("Messages that are queued at once are sent in order at five per second", .rows(79), .timeLimit(.minutes(5)))
    func queuedMessagesArePaced() async throws {
        let count = Run.isLong ? 200 : 40
        let server = try await RunningServer.start([])
        let alice = try await Device.open(server, "alice", pace: .standard)
        let chat = alice.conversation(.direct("bob"))
        let start = ContinuousClock.now
        var last: SendHandle?
        for number in 1...count { last = try await chat.send(.text("\(number)")) }
        _ = try await last?.waitUntilSent()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let messages = try await Device.everything(in: ConversationID("direct:alice/bob"), of: server)
        #expect(messages.compactMap(\.text) == (1...count).map(String.init))
        // Five messages are sent at once, the others 200 ms apart. The server accepts 20 per second and refuses none.
        let expected = Double(count - 5) / 5
        #expect(seconds >= expected - 0.1)
        // No second has too many messages, by the server's times.
        let times = messages.map(\.sentAt.timeIntervalSince1970)
        for (index, time) in times.enumerated() where index + 11 < times.count {
            #expect(times[index + 11] - time > 0.9, "More than eleven messages in a second, from message \(index + 1).")
        }
        print("\(count) messages in \(seconds) s at a pace of 5 per second")
        await alice.close()
    }

    @Test(
        "A client without pacing is refused with 429 and a delay, stays in order and loses no message",
        .history(18), .rows(79), .timeLimit(.minutes(5)))
    func unpacedClientIsThrottledInOrder() async throws {
        let count = Run.isLong ? 200 : 100
        // A busy machine needs several seconds for the 200 requests below, in which the server accepts more messages.
        let server = try await RunningServer.start(["--send-rate", "10", "--send-burst", "20"])
        let alice = try await Device.open(server, "alice", pace: nil)
        let chat = alice.conversation(.direct("bob"))
        var last: SendHandle?
        for number in 1...count { last = try await chat.send(.text("\(number)")) }

        // Over HTTP the refusal is visible, and its delay is also in a header.
        let api = try await server.api("bob")
        let answers = try await withThrowingTaskGroup(of: Answer.self) { tasks in
            for _ in 0..<200 { tasks.addTask { try await api.send("hello", to: "direct:alice") } }
            return try await tasks.reduce(into: [Answer]()) { $0.append($1) }
        }
        #expect(answers.allSatisfy { $0.status == 201 || $0.status == 429 })
        let refused = try #require(answers.first { $0.status == 429 })
        #expect(Int(try #require(refused.headers["retry-after"])) ?? 0 >= 1)
        #expect(refused.text.contains(#""code":"rate-limited""#))

        _ = try await last?.waitUntilSent()
        let messages = try await Device.everything(in: ConversationID("direct:alice/bob"), of: server)
        #expect(messages.filter { $0.sender == "alice" }.compactMap(\.text) == (1...count).map(String.init))
        await alice.close()
    }
}
