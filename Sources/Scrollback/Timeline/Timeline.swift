public import Foundation
public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import Synchronization

/// What a screen of one conversation shows, kept current.
///
/// A timeline holds a window of the log around a place, with the gaps in it, and what is still to be sent at its newest
/// end. It never shows messages on both sides of a gap without the gap between them.
public final class Timeline: Sendable {
    /// One row of a timeline.
    public enum Item: Sendable, Identifiable {
        case message(Message)
        /// A message of this device that is not on the server yet.
        case pending(Pending)
        /// Messages that are there and are not on this device.
        case gap(ClosedRange<Int64>, GapState)

        /// Stays the same from pending to sent.
        public var id: String {
            switch self {
            case .message(let message): message.id.description
            case .pending(let pending): pending.id.description
            case .gap(let range, _): "gap \(range.upperBound)"
            }
        }
    }

    /// A message that is not on the server yet.
    public struct Pending: Sendable, Identifiable {
        public let id: MessageID
        public let content: MessageContent
        public let attributes: MessageAttributes
        public let createdAt: Date
        public let state: Sending.State
    }

    public enum GapState: Hashable, Sendable {
        /// Nobody looks at it.
        case waiting
        case loading
    }

    /// A timeline at one moment.
    public struct View: Sendable {
        /// Oldest first.
        public var items: [Item]
        /// The first message the reader has not read, where it is in the window.
        public var firstUnread: MessageID?
        /// Whether the newest message there is, is in the window.
        public var isAtNewest: Bool
        /// Whether older messages, or a gap, lie before the window.
        public var hasOlder: Bool
    }

    let conversation: Conversation
    let window: Int
    private let state: Mutex<State>
    private let wake: AsyncStream<Void>.Continuation
    private let wakes: AsyncStream<Void>

    private struct State {
        /// The place the window is around; nothing while it follows the newest end.
        var center: HistoryPoint
        var fill = GapFill()
        var visible: ClosedRange<Seq>?
        var older: Int
        var newer: Int
    }

    init(conversation: Conversation, at point: HistoryPoint, window: Int) {
        self.conversation = conversation
        self.window = window
        let half = window / 2
        state = Mutex(State(center: point, older: point == .latest ? window : half, newer: half))
        (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    private var core: ClientCore { conversation.core }

    // MARK: What the screen does

    /// Tells which messages are on the screen: the gap nearest to them is filled first.
    public func setVisible(_ ids: ClosedRange<Int64>) {
        state.withLock { state in
            state.visible = ids
            state.fill.somethingChanged()
        }
        wake.yield()
    }

    /// Makes the window reach further back.
    public func loadOlder() async throws(ChatError) {
        state.withLock { $0.older += window / 2 }
        wake.yield()
    }

    /// Makes the window reach further to the newest end.
    public func loadNewer() async throws(ChatError) {
        state.withLock { $0.newer += window / 2 }
        wake.yield()
    }

    /// Moves the window.
    ///
    /// - Throws: `unknown-message` when there is no such message; `unreachable` when only the server knows and it can't be
    ///   asked.
    public func jump(to point: HistoryPoint) async throws(ChatError) {
        let page = try await conversation.history(.around(point, before: 10, after: 10))
        if let shortfall = page.shortfall, page.messages.isEmpty { throw shortfall }
        state.withLock { state in
            state.center = point
            state.older = point == .latest ? window : window / 2
            state.newer = window / 2
            state.visible = nil
            state.fill.somethingChanged()
        }
        wake.yield()
    }

    // MARK: Views

    /// The window now, and again whenever it changed.
    ///
    /// Gaps in it are filled while somebody iterates.
    public var views: AsyncStream<View> {
        let (stream, continuation) = AsyncStream.makeStream(of: View.self, bufferingPolicy: .bufferingNewest(1))
        let changes = core.changes.changes(of: .conversation(conversation.id))
        let task = Task { [self] in
            await withDiscardingTaskGroup { group in
                let signals = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
                group.addTask {
                    for await _ in changes { signals.continuation.yield() }
                    signals.continuation.finish()
                }
                group.addTask { for await _ in self.wakes { signals.continuation.yield() } }
                for await _ in signals.stream {
                    guard let (view, gap) = try? await read() else { break }
                    continuation.yield(view)
                    if let gap { group.addTask { await self.fill(gap, signals.continuation) } }
                }
                group.cancelAll()
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Reads the window from one snapshot, and finds the gap to fill next.
    private func read() async throws(ChatError) -> (View, GapRequest?) {
        let (center, older, newer, visible) = state.withLock { ($0.center, $0.older, $0.newer, $0.visible) }
        let id = conversation.id
        let user = core.user
        let snapshot = try await core.store.read { reader in
            try TimelineSnapshot(of: id, around: center, older: older, newer: newer, visible: visible, user, reader)
        }
        let now = core.clock()
        let step = state.withLock { $0.fill.next(snapshot.wanted, now: now) }
        var request: GapRequest?
        if case .ask(let asked) = step { request = asked }
        let loading = state.withLock { $0.fill.inFlight?.gap }
        return (snapshot.view(loading: loading), request)
    }

    private func fill(_ request: GapRequest, _ signal: AsyncStream<Void>.Continuation) async {
        do {
            let body = try await core.request(.history(conversation.id, request.query))
            var reader = try JSONReader(body)
            let page = try LogPage(from: &reader)
            let outcome = try await core.apply(page, to: conversation.id)
            state.withLock { $0.fill.answered(request, changedGaps: outcome?.changedGaps ?? false) }
        } catch {
            var generator = SystemRandomNumberGenerator()
            let now = core.clock()
            state.withLock { $0.fill.failed(request, error, now: now, using: &generator) }
            try? await Task.sleep(for: .seconds(1))
        }
        signal.yield()
    }
}

extension Conversation {
    /// A window of this conversation that keeps itself current.
    ///
    /// - Parameters:
    ///   - point: where it begins: the newest end, the first unread message, a message.
    ///   - window: how many messages it holds to begin with, 2 or more.
    public func timeline(at point: HistoryPoint = .latest, window: Int = 200) -> Timeline {
        precondition(window >= 2, "a timeline's window holds at least 2 messages")
        return Timeline(conversation: self, at: point, window: window)
    }
}
