import Foundation
import Scrollback
import ScrollbackModel
import Synchronization
import TestSupport
import Testing

/// Observes a timeline and checks that none of its views leaves out a message without showing a gap.
final class TimelineObserver: Sendable {
    /// The content of a view.
    struct Snapshot: Sendable {
        var seqs: [Int64] = []
        /// Whether the view has no gap.
        var isWhole = true
        var isAtNewest = false
        var items: [Timeline.Item.ID] = []
    }

    enum End { case older, newer }

    private let timeline: Timeline
    private let lines: [ChatLog.Line]
    private let state: SharedState
    private let watching: Task<Void, Never>

    private final class SharedState: Sendable {
        let value = Mutex(State())
    }

    private struct State {
        var snapshot = Snapshot()
        var seen: Set<Int64> = []
    }

    /// Starts to observe a timeline.
    ///
    /// - Parameter lines: The lines of the conversation, from its first message on.
    init(_ timeline: Timeline, _ lines: [ChatLog.Line]) {
        self.timeline = timeline
        self.lines = lines
        let state = SharedState()
        self.state = state
        watching = Task {
            for await view in timeline.views {
                let snapshot = Self.check(view, lines)
                state.value.withLock { state in
                    state.snapshot = snapshot
                    state.seen.formUnion(snapshot.seqs)
                }
            }
        }
    }

    deinit { watching.cancel() }

    func close() { watching.cancel() }

    /// Checks that sequence numbers are consecutive except at gaps and that messages equal the chat log.
    private static func check(_ view: Timeline.View, _ lines: [ChatLog.Line]) -> Snapshot {
        var snapshot = Snapshot(isAtNewest: view.isAtNewest, items: view.items.map(\.id))
        var next: Int64?
        for item in view.items {
            switch item {
            case .message(let message):
                if let next, message.seq != next { Issue.record("\(message.seq) is shown where \(next) belongs") }
                let line = lines[Int(message.seq) - 1]
                let isSame =
                    Array((message.text ?? "").utf8) == Array(line.text.utf8) && message.sender.text == line.sender
                if !isSame { Issue.record("\(message.seq) contains \(message.text ?? "nothing"), not \(line.text)") }
                snapshot.seqs.append(message.seq)
                next = message.seq + 1
            case .gap(let places, _):
                if let next, places.lowerBound != next {
                    Issue.record("the gap \(places) is shown where \(next) belongs")
                }
                snapshot.isWhole = false
                next = places.upperBound + 1
            case .pending: break
            }
        }
        return snapshot
    }

    /// Waits for a view that fulfills the condition.
    func shows(_ what: String, _ condition: (Snapshot) -> Bool) async throws {
        try await eventually("the screen shows \(what)") { condition(self.snapshot) ? true : nil }
    }

    /// Scrolls to one end of the view by making its last ten items visible.
    func scroll(to end: End) {
        let items = snapshot.items
        let visible = end == .older ? items.prefix(10) : items.suffix(10)
        if let first = visible.first, let last = visible.last { timeline.setVisible(from: first, to: last) }
    }

    private var snapshot: Snapshot { state.value.withLock { $0.snapshot } }
    var lowest: Int64 { snapshot.seqs.first ?? 0 }
    var highest: Int64 { snapshot.seqs.last ?? 0 }
    var isAtNewest: Bool { snapshot.isAtNewest && snapshot.isWhole }
    /// All sequence numbers that any view has shown.
    var seen: Set<Int64> { state.value.withLock { $0.seen } }
    var lowestSeen: Int64 { seen.min() ?? 0 }
}
