import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import Testing

@Suite("The pace of sending")
struct PaceTests {
    @Test("Messages that are sent at once leave in order at five a second", .rows(79), .timeLimit(.minutes(5)))
    func device() async throws {
        let count = Run.isLong ? 200 : 40
        let server = try await RunningServer.start([])
        let alice = try await Device.open(server, "alice", pace: .standard)
        let chat = alice.conversation(.direct("bob"))
        let start = ContinuousClock.now
        var last: Sending?
        for number in 1...count { last = try await chat.send(.text("\(number)")) }
        _ = try await last?.delivered()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let messages = try await Device.everything(in: ConversationID("direct:alice/bob"), of: server)
        #expect(messages.compactMap(\.text) == (1...count).map(String.init))
        // Five at once, the others a fifth of a second apart; the server, at 20 a second, refused none.
        let expected = Double(count - 5) / 5
        #expect(seconds >= expected - 0.1)
        // None too many in any second, by the server's times.
        let times = messages.map(\.sentAt.timeIntervalSince1970)
        for (index, time) in times.enumerated() where index + 11 < times.count {
            #expect(times[index + 11] - time > 0.9, "more than eleven in a second, from message \(index + 1)")
        }
        print("\(count) messages in \(seconds) s at a pace of 5 a second")
        await alice.close()
    }

    @Test(
        "History 18: a client that ignores the pace is refused with 429 and a time to wait, in order, and loses nothing",
        .rows(79), .timeLimit(.minutes(5)))
    func impatient() async throws {
        let count = Run.isLong ? 200 : 100
        let server = try await RunningServer.start([])
        let alice = try await Device.open(server, "alice", pace: nil)
        let chat = alice.conversation(.direct("bob"))
        var last: Sending?
        for number in 1...count { last = try await chat.send(.text("\(number)")) }

        // Over HTTP the refusal is seen: the time is in the header, too.
        let api = try await server.api("bob")
        let answers = try await withThrowingTaskGroup(of: Answer.self) { tasks in
            for _ in 0..<200 { tasks.addTask { try await api.send("hello", to: "direct:alice") } }
            return try await tasks.reduce(into: [Answer]()) { $0.append($1) }
        }
        #expect(answers.allSatisfy { $0.status == 201 || $0.status == 429 })
        let refused = try #require(answers.first { $0.status == 429 })
        #expect(Int(try #require(refused.headers["retry-after"])) ?? 0 >= 1)
        #expect(refused.text.contains(#""code":"rate-limited""#))

        _ = try await last?.delivered()
        let messages = try await Device.everything(in: ConversationID("direct:alice/bob"), of: server)
        #expect(messages.filter { $0.sender == "alice" }.compactMap(\.text) == (1...count).map(String.init))
        await alice.close()
    }
}
