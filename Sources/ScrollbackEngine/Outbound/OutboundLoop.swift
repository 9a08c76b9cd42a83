import Foundation
import Synchronization

/// Delivers pending rows of the store, in the steps that an ``OutboundSchedule`` selects.
package final class OutboundLoop: Sendable {
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    /// The steps that ended since the last turn.
    private let finished = Mutex<[(OutboundSchedule.Lane, OutboundSchedule.Outcome)]>([])

    init() {
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Requests a turn, because rows or settings changed.
    package func wakeUp() { wake.yield() }

    /// Records the end of a step.
    func finish(_ lane: OutboundSchedule.Lane, _ outcome: OutboundSchedule.Outcome) {
        finished.withLock { $0.append((lane, outcome)) }
        wakeUp()
    }

    /// Starts steps until the task is cancelled.
    ///
    /// - Parameters:
    ///   - turn: Selects the steps to start at a time. If it throws, it is called again after a second.
    ///   - step: Delivers rows of a lane, and calls ``finish(_:_:)``, after which the lane's next step may start.
    func run(
        _ schedule: OutboundSchedule, clock: @escaping @Sendable () -> Date,
        turn: (inout OutboundSchedule, Date) throws -> OutboundSchedule.Turn,
        step: @escaping @Sendable (OutboundSchedule.Lane) async -> Void
    ) async {
        var schedule = schedule
        var generator = SystemRandomNumberGenerator()
        await withDiscardingTaskGroup { group in
            var wakes = wakes.makeAsyncIterator()
            while !Task.isCancelled {
                let now = clock()
                let ended = finished.withLock { finished in
                    defer { finished = [] }
                    return finished
                }
                for (lane, outcome) in ended { schedule.finish(lane, outcome, now: now, using: &generator) }
                let (lanes, next) = (try? turn(&schedule, now)) ?? ([], now + 1)
                for lane in lanes { group.addTask { await step(lane) } }
                let alarm = next.map { date in
                    Task {
                        try? await Task.sleep(for: .seconds(max(0.01, date.timeIntervalSince(clock()))))
                        if !Task.isCancelled { self.wakeUp() }
                    }
                }
                let isOver = await wakes.next() == nil
                alarm?.cancel()
                if isOver { return }
            }
        }
    }
}
