import Testing

@testable import ScrollbackServer

/// The steps of a node that stops, at times that the tests choose.
@Suite("The steps of a node that stops")
struct DrainSequenceTests {
    private func sequence(delay: Double = 3, window: Double = 5) -> DrainSequence {
        DrainSequence(delay: .seconds(delay), window: .seconds(window))
    }

    @Test("Clients are asked to move once, after the delay for the load balancer")
    func order() {
        var sequence = sequence()
        #expect(sequence.next(after: .zero, connections: 2) == .wait)
        #expect(sequence.next(after: .seconds(2.9), connections: 0) == .wait)
        #expect(sequence.next(after: .seconds(3), connections: 2) == .askToMove(within: .seconds(5)))
        #expect(sequence.next(after: .seconds(3), connections: 2) == .wait)
        #expect(sequence.next(after: .seconds(8.9), connections: 1) == .wait)
    }

    @Test("The node stops as soon as all clients have moved")
    func allMoved() {
        var sequence = sequence()
        _ = sequence.next(after: .seconds(3), connections: 2)
        #expect(sequence.next(after: .seconds(3.5), connections: 0) == .stop)
    }

    @Test("Clients that do not move are closed a second after the window")
    func oldClients() {
        var sequence = sequence()
        _ = sequence.next(after: .seconds(3), connections: 2)
        #expect(sequence.next(after: .seconds(9), connections: 1) == .stop)
        #expect(sequence.maximum == .seconds(9))
    }

    @Test("Without a delay, clients are asked at once")
    func noDelay() {
        var sequence = sequence(delay: 0, window: 0)
        #expect(sequence.next(after: .zero, connections: 1) == .askToMove(within: .zero))
        #expect(sequence.next(after: .seconds(1), connections: 1) == .stop)
    }

    @Test("The steps are carried out until all clients have moved")
    func steps() async {
        var sequence = sequence(delay: 0, window: 60)
        var left = 2
        var windows: [Duration] = []
        let count = await sequence.run {
            defer { if !windows.isEmpty { left -= 1 } }
            return left
        } askToMove: {
            windows.append($0)
        }
        #expect(count == 0 && windows == [.seconds(60)])
    }

    @Test("A node whose service failed neither asks its clients to move nor waits for them")
    func cancelled() async {
        let task = Task {
            try? await Task.sleep(for: .seconds(600))
            var sequence = sequence(delay: 0, window: 0)
            return await sequence.run(connections: { 2 }, askToMove: { _ in Issue.record("The clients are asked.") })
        }
        task.cancel()
        #expect(await task.value == 2)
    }
}
