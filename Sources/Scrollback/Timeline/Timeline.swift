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
    public enum Item: Equatable, Sendable, Identifiable {
        /// A message at its place; a recalled or deleted one has no content.
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
    public struct Pending: Equatable, Sendable, Identifiable {
        /// The id it keeps when it is sent.
        public let id: MessageID
        /// What it says.
        public let content: MessageContent
        /// What accompanies the content.
        public let attributes: MessageAttributes
        /// When it was queued, by this device's clock.
        public let createdAt: Date
        /// How far it has come; never `sent`, nor `gone`.
        public let state: Sending.State
        /// Why it can't be read here, though it will be sent: it was encrypted with a key that this client was not given
        /// again.
        public let decryptionError: ChatError?
    }

    /// What is done about a gap.
    public enum GapState: Hashable, Sendable {
        /// Nobody looks at it, or the server can't be asked for now.
        case waiting
        /// The server was asked for messages in it.
        case loading
    }

    /// A timeline at one moment.
    public struct View: Sendable {
        /// Oldest first.
        public var items: [Item]
        /// Who wrote the messages, as far as this device knows their profiles.
        public var people: [UserID: UserProfile]
        /// The first message the reader has not read, where it is in the window.
        public var firstUnread: MessageID?
        /// Whether the newest message there is, is in the window.
        public var isAtNewest: Bool
        /// Whether older messages, or a gap, lie before the window.
        public var hasOlder: Bool
        /// The newest place of a direct conversation that the other person has read, as far as the reader may know; 0 for
        /// none, and in other kinds.
        public var peerReadSeq: Int64
        /// Whether only moderators, owners and administrators may write now.
        public var isFrozen: Bool
        /// For how long the reader may not write, which ends by itself (``Mute/holds(at:)``); absent where they may.
        public var mute: Mute?
    }

    let conversation: Conversation
    let size: Int
    private let state: Mutex<State>

    private struct State {
        var window: TimelineWindow
        var visible: SeqRange?
        var fill = GapFill()
        var isSeeking = false
        /// The newest place of a room when it was looked at first.
        var entrance: Seq?
        var isFetchingPeople = false
        /// What was shown last.
        var snapshot: TimelineSnapshot?
        /// The places that are shown, or will be when somebody looks again.
        var shown: SeqRange?
    }

    init(conversation: Conversation, at point: HistoryPoint, size: Int) {
        self.conversation = conversation
        self.size = size
        state = Mutex(State(window: TimelineWindow(at: point, count: size)))
    }

    private var core: ClientCore { conversation.core }

    // MARK: What the screen does

    /// Tells which items are on the screen: the gap nearest to them is filled first, and what comes in does not push them
    /// out of the window.
    ///
    /// Items that the window does not hold any more change nothing.
    public func setVisible(from first: Item.ID, to last: Item.ID) {
        state.withLock { state in
            guard let places = state.snapshot?.places(from: first, to: last) else { return }
            state.visible = places
            state.fill.somethingChanged()
        }
        lookAgain()
    }

    /// Shows half a window's size of older messages besides, and returns once there is something to show.
    ///
    /// A window that would hold more than twice its size lets go of its newest messages.
    ///
    /// - Throws: what kept the server from being asked, where the device has nothing older.
    public func loadOlder() async throws(ChatError) {
        try await extend(.older)
    }

    /// Shows half a window's size of newer messages besides; a window that comes to the newest end stays there.
    ///
    /// A window that would hold more than twice its size lets go of its oldest messages.
    ///
    /// - Throws: what kept the server from being asked, where the device has nothing newer.
    public func loadNewer() async throws(ChatError) {
        try await extend(.newer)
    }

    /// Moves the window to another place, with as much on both sides.
    ///
    /// - Throws: `unknown-message` when there is no such message; `unreachable` when only the server knows and it can't be
    ///   asked.
    public func jump(to point: HistoryPoint) async throws(ChatError) {
        let page = try await conversation.history(.around(point, before: 10, after: 10))
        if let shortfall = page.shortfall, page.messages.isEmpty { throw shortfall }
        state.withLock { state in
            state.window = TimelineWindow(at: point, count: size)
            state.visible = nil
            state.fill.somethingChanged()
        }
        lookAgain()
    }

    private func extend(_ direction: GapRequest.Direction) async throws(ChatError) {
        guard let shown = state.withLock({ $0.shown }) else { return }
        let step = max(1, size / 2)
        let anchor: Anchor =
            switch direction {
            case .older: .before(.seq(shown.lowerBound))
            case .newer: .after(.seq(shown.upperBound))
            }
        let page = try await conversation.history(anchor, limit: min(step, Limits.standard.pageSize))
        if let shortfall = page.shortfall, page.messages.isEmpty { throw shortfall }
        let log = try await core.store.read { [id = conversation.id] in try $0.log(of: id) }
        guard let log else { return }
        state.withLock { state in
            state.window = .extending(shown, direction, by: step, most: size * 2, in: log)
            state.shown = state.window.places(in: log, visible: nil, size: size)
            state.visible = nil
            state.fill.somethingChanged()
        }
        lookAgain()
    }

    private func lookAgain() {
        core.changes.changed(only: conversation.id)
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
                for await _ in changes {
                    guard let (view, work) = try? await conversation.core.insisting(read) else { break }
                    continuation.yield(view)
                    switch work {
                    case .fill(let gap): group.addTask { await self.fill(gap) }
                    case .seek(let point): group.addTask { await self.seek(point) }
                    case .fetch(let people): group.addTask { await self.fetch(people) }
                    case nil: break
                    }
                }
                group.cancelAll()
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// What the server must be asked for.
    private enum Work {
        case fill(GapRequest)
        case seek(HistoryPoint)
        case fetch([UserID])
    }

    /// Reads the window from one snapshot, and finds what to ask for next.
    private func read() async throws(ChatError) -> (View, Work?) {
        let (window, visible, seen) = state.withLock { ($0.window, $0.visible, $0.entrance) }
        let (id, user, size) = (conversation.id, core.user, size)
        let now = core.clock()
        let entered = core.entrance(of: id)
        let (snapshot, entrance) = try await core.store.read { reader in
            let entrance = try [entered, seen ?? reader.log(of: id)?.head].compactMap { $0 }.max()
            let snapshot = try TimelineSnapshot(
                window, size: size, visible: visible, entrance: entrance,
                peopleSince: now - ClientCore.profileLifetime, of: id, user, reader)
            return (snapshot, entrance)
        }
        return state.withLock { state in
            state.entrance = entrance
            // Unless the screen has moved it meanwhile.
            if state.window == window { state.window = snapshot.window }
            state.snapshot = snapshot
            state.shown = snapshot.shown
            var work: Work?
            if case .seeking(let point) = state.window, !state.isSeeking {
                state.isSeeking = true
                work = .seek(point)
            } else if case .ask(let request) = state.fill.next(snapshot.wanted, now: now) {
                work = .fill(request)
            } else if !snapshot.people.wanted.isEmpty, !state.isFetchingPeople {
                state.isFetchingPeople = true
                work = .fetch(Array(snapshot.people.wanted.sorted().prefix(ClientRequest.maximumUsers)))
            }
            return (snapshot.view(loading: state.fill.inFlight?.gap, uploaded: core.uploads.fraction), work)
        }
    }

    private func fill(_ request: GapRequest) async {
        do {
            let page = try await conversation.fetch(request.query)
            let outcome = try await core.apply(page, to: conversation.id)
            state.withLock { $0.fill.answered(request, changedGaps: outcome?.changedGaps ?? false) }
        } catch  where Task.isCancelled {
            // Nobody looks any more; whoever does next asks again.
            state.withLock { $0.fill.disconnected() }
        } catch {
            var generator = SystemRandomNumberGenerator()
            let now = core.clock()
            state.withLock { $0.fill.failed(request, error, now: now, using: &generator) }
            try? await Task.sleep(for: .seconds(1))
        }
        lookAgain()
    }

    private func fetch(_ people: [UserID]) async {
        do {
            try await core.fetchPeople(people)
        } catch {
            // Nothing else may change on the screen, so that it is this that asks once more.
            try? await Task.sleep(for: .seconds(5))
        }
        state.withLock { $0.isFetchingPeople = false }
        lookAgain()
    }

    /// Asks the server for a point that the device does not know.
    private func seek(_ point: HistoryPoint) async {
        let side = min(size / 2, Limits.standard.pageSize / 2)
        var found: TimelineWindow?
        do {
            let page = try await conversation.fetch(HistoryQuery(.around(point, before: side, after: side)))
            _ = try await core.apply(page, to: conversation.id)
            let place = try await core.store.read { [id = conversation.id] reader in
                try reader.localLog(of: id).flatMap { try reader.place(point, in: $0) }
            }
            if place == nil {
                // Where the device can't place the point even now, it is where the server's page is.
                let seqs = page.messages.map(\.seq)
                found = .newest(count: size)
                if let lower = seqs.min(), let upper = seqs.max() { found = .places(lower...upper, page.state.epoch) }
            }
        } catch  where error.isTemporary {
            try? await Task.sleep(for: .seconds(1))
        } catch {
            // There is no such point: the newest messages are shown already. Who stopped looking has been told nothing.
            if !Task.isCancelled { found = .newest(count: size) }
        }
        state.withLock { state in
            state.isSeeking = false
            if let found, state.window == .seeking(point) { state.window = found }
        }
        lookAgain()
    }
}

extension Conversation {
    /// A window of this conversation that keeps itself current.
    ///
    /// - Parameters:
    ///   - point: where it begins: the newest end, the first unread message, a message.
    ///   - window: how many messages it holds, 2 or more, else it traps; up to twice as many while somebody scrolls.
    /// - Returns: a timeline, which reads nothing before somebody iterates its views.
    public func timeline(at point: HistoryPoint = .latest, window: Int = 200) -> Timeline {
        precondition(window >= 2, "a timeline's window holds at least 2 messages")
        return Timeline(conversation: self, at: point, size: window)
    }
}
