public import Foundation
public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import Synchronization

/// A live view of one conversation for a user interface.
///
/// A timeline holds a window of the log around a position, including the gaps in it, and queued messages at the newest
/// end. It never shows the messages on both sides of a gap without showing the gap.
public final class Timeline: Sendable {
    /// An item of a timeline.
    public enum Item: Equatable, Sendable, Identifiable {
        /// A stored message.
        ///
        /// A recalled or deleted message has no content.
        case message(Message)
        /// A queued message of this device that the server has not stored yet.
        case pending(Pending)
        /// A range of messages that exist on the server but are not stored on this device.
        case gap(ClosedRange<Int64>, GapState)

        /// The item's ID, which doesn't change when a queued message is sent.
        public var id: String {
            switch self {
            case .message(let message): message.id.description
            case .pending(let pending): pending.id.description
            case .gap(let range, _): "gap \(range.upperBound)"
            }
        }
    }

    /// A queued message that the server has not stored yet.
    public struct Pending: Equatable, Sendable, Identifiable {
        /// The message's ID, which it keeps after it is sent.
        public let id: MessageID
        /// The content.
        public let content: MessageContent
        /// The attributes.
        public let attributes: MessageAttributes
        /// The time at which the message was queued, by this device's clock.
        public let createdAt: Date
        /// The progress; never `sent` or `gone`.
        public let state: SendHandle.State
        /// The error if the message can't be decrypted here because its key is missing; the message is sent
        /// nevertheless.
        public let decryptionError: ChatError?
    }

    /// The state of a gap.
    public enum GapState: Hashable, Sendable {
        /// The gap is not being loaded, because it is not visible or the server can't be reached.
        case waiting
        /// Messages of the gap are being loaded.
        case loading
    }

    /// A snapshot of a timeline.
    public struct View: Sendable {
        /// The items, oldest first.
        public var items: [Item]
        /// The known profiles of the messages' senders.
        public var profiles: [UserID: UserProfile]
        /// The first unread message, if it is in the window.
        public var firstUnread: MessageID?
        /// Whether the window contains the newest message.
        public var isAtNewest: Bool
        /// Whether older messages or a gap precede the window.
        public var hasOlder: Bool
        /// The sequence number up to which the peer of a direct conversation has read, as far as the user may know.
        ///
        /// It is 0 if it is unknown, and for other kinds.
        public var peerReadSeq: Int64
        /// The sequence number through which the devices of the peer of a direct conversation have received the
        /// messages.
        ///
        /// It is at least ``peerReadSeq``. It is 0 if it is unknown, and for other kinds.
        public var peerDeliveredSeq: Int64
        /// Whether only moderators, owners and administrators may currently write.
        public var isFrozen: Bool
        /// The user's mute, which expires automatically (``Mute/isActive(at:)``); `nil` if the user may write.
        public var mute: Mute?
    }

    let conversation: Conversation
    let size: Int
    private let state: Mutex<State>
    private let profileFetch: ProfileFetch

    private struct State {
        var window: TimelineWindow
        var visible: SeqRange?
        var fill = GapFill()
        var isSeeking = false
        /// The newest sequence number of a room when the timeline was first read.
        var headAtEntry: Seq?
        /// The last snapshot.
        var snapshot: TimelineSnapshot?
        /// The sequence numbers that are shown, or will be shown after the next read.
        var shown: SeqRange?
    }

    init(conversation: Conversation, at point: HistoryPoint, size: Int) {
        self.conversation = conversation
        self.size = size
        state = Mutex(State(window: TimelineWindow(at: point, count: size)))
        profileFetch = ProfileFetch(conversation.core)
    }

    private var core: ClientCore { conversation.core }

    // MARK: Actions of the user interface

    /// Sets the items that are visible on the screen.
    ///
    /// The gap nearest to them is loaded first, and new messages don't push them out of the window. Items that are no
    /// longer in the window are ignored.
    public func setVisible(from first: Item.ID, to last: Item.ID) {
        state.withLock { state in
            guard let places = state.snapshot?.places(from: first, to: last) else { return }
            state.visible = places
            state.fill.allowRequests()
        }
        refreshViews()
    }

    /// Extends the window by half its size toward older messages, and returns once they can be shown.
    ///
    /// A window that would exceed twice its size drops its newest messages.
    ///
    /// - Throws: The error that prevented loading from the server, if the device has no older messages.
    public func loadOlder() async throws(ChatError) {
        try await extend(.older)
    }

    /// Extends the window by half its size toward newer messages.
    ///
    /// A window that reaches the newest message follows new ones.
    ///
    /// A window that would exceed twice its size drops its oldest messages.
    ///
    /// - Throws: The error that prevented loading from the server, if the device has no newer messages.
    public func loadNewer() async throws(ChatError) {
        try await extend(.newer)
    }

    /// Moves the window to another point, with the same number of messages on both sides.
    ///
    /// - Throws: `unknown-message` if the message does not exist. `unreachable` if only the server knows the point's
    ///   position and can't be reached.
    public func jump(to point: HistoryPoint) async throws(ChatError) {
        let page = try await conversation.history(.around(point, before: 10, after: 10))
        if let remoteError = page.remoteError, page.messages.isEmpty { throw remoteError }
        state.withLock { state in
            state.window = TimelineWindow(at: point, count: size)
            state.visible = nil
            state.fill.allowRequests()
        }
        refreshViews()
    }

    private func extend(_ direction: GapRequest.Direction) async throws(ChatError) {
        let (window, before) = state.withLock { ($0.window, $0.shown) }
        guard let shown = before else { return }
        let step = max(1, size / 2)
        let anchor: Anchor =
            switch direction {
            case .older: .before(.seq(shown.lowerBound))
            case .newer: .after(.seq(shown.upperBound))
            }
        let page = try await conversation.history(anchor, limit: min(step, Limits.standard.pageSize))
        if let remoteError = page.remoteError, page.messages.isEmpty { throw remoteError }
        let log = try await core.store.read { [id = conversation.id] in try $0.log(of: id) }
        guard let log else { return }
        state.withLock { state in
            // A window that has moved in the meantime stays.
            guard state.window == window else { return }
            state.window = window.extended(shown, direction, by: step, maximum: size * 2, in: log)
            state.shown = state.window.places(in: log, visible: nil, size: size)
            state.visible = nil
            state.fill.allowRequests()
        }
        refreshViews()
    }

    private func refreshViews() {
        core.changes.changed(only: conversation.id)
    }

    // MARK: Views

    /// A stream with the current window, and a new snapshot after each change.
    ///
    /// Gaps in the window are loaded while the stream is iterated.
    public var views: AsyncStream<View> {
        let (stream, continuation) = AsyncStream.makeStream(of: View.self, bufferingPolicy: .bufferingNewest(1))
        let changes = core.changes.changes(of: .conversation(conversation.id))
        let task = Task { [self] in
            await withDiscardingTaskGroup { group in
                for await _ in changes {
                    guard let (view, work) = try? await conversation.core.retryingReads(read) else { break }
                    continuation.yield(view)
                    switch work {
                    case .fill(let gap): group.addTask { await self.fill(gap) }
                    case .seek(let point): group.addTask { await self.seek(point) }
                    case .fetch(let people): group.addTask { await self.profileFetch.run(people) }
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

    /// A request that the timeline must send to the server.
    private enum Work {
        case fill(GapRequest)
        case seek(HistoryPoint)
        case fetch(Set<UserID>)
    }

    /// Reads the window from one snapshot of the store, and determines the next request.
    private func read() async throws(ChatError) -> (View, Work?) {
        let (window, visible, seen) = state.withLock { ($0.window, $0.visible, $0.headAtEntry) }
        let (id, user, size) = (conversation.id, core.user, size)
        let now = core.clock()
        let entered = core.headAtEntry(of: id)
        let (snapshot, headAtEntry) = try await core.store.read { reader in
            let headAtEntry = try [entered, seen ?? reader.log(of: id)?.head].compactMap { $0 }.max()
            let snapshot = try TimelineSnapshot(
                window, size: size, visible: visible, headAtEntry: headAtEntry,
                peopleSince: now - ClientCore.profileLifetime, of: id, user, reader)
            return (snapshot, headAtEntry)
        }
        return state.withLock { state in
            state.headAtEntry = headAtEntry
            // Keep the window if the app has moved it in the meantime.
            if state.window == window { state.window = snapshot.window }
            state.snapshot = snapshot
            state.shown = snapshot.shown
            var work: Work?
            if case .seeking(let point) = state.window, !state.isSeeking {
                state.isSeeking = true
                work = .seek(point)
            } else if case .ask(let request) = state.fill.next(snapshot.wanted, now: now) {
                work = .fill(request)
            } else if profileFetch.begin(snapshot.people.outdated) {
                work = .fetch(snapshot.people.outdated)
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
            // The views are no longer iterated; the next iteration requests the gap again.
            state.withLock { $0.fill.disconnected() }
        } catch {
            var generator = SystemRandomNumberGenerator()
            let now = core.clock()
            state.withLock { $0.fill.failed(request, error, now: now, using: &generator) }
            try? await Task.sleep(for: .seconds(1))
        }
        refreshViews()
    }

    /// Fetches the messages around a point whose position this device doesn't know.
    private func seek(_ point: HistoryPoint) async {
        let side = min(size / 2, Limits.standard.pageSize / 2)
        var found: TimelineWindow?
        do {
            let start = try await core.store.read { [id = conversation.id] in try $0.requestPoint(for: point, in: id) }
            let page = try await conversation.fetch(HistoryQuery(.around(start, before: side, after: side)))
            let outcome = try await core.apply(page, to: conversation.id)
            let place = try await core.store.read { [id = conversation.id] reader in
                try reader.localLog(of: id).flatMap { try reader.place(point, in: $0) }
            }
            if place == nil, outcome?.changedGaps != true {
                // If the device still can't locate the point, show the server's page.
                let seqs = page.messages.map(\.seq)
                found = .newest(count: size)
                if let lower = seqs.min(), let upper = seqs.max() { found = .places(lower...upper, page.state.epoch) }
            }
        } catch  where error.isTemporary {
            try? await Task.sleep(for: .seconds(1))
        } catch {
            // The point does not exist, and the newest messages are already shown. A cancelled request says nothing
            // about the point.
            if !Task.isCancelled { found = .newest(count: size) }
        }
        state.withLock { state in
            state.isSeeking = false
            if let found, state.window == .seeking(point) { state.window = found }
        }
        refreshViews()
    }
}

extension Conversation {
    /// Returns a timeline of this conversation.
    ///
    /// - Parameters:
    ///   - point: The initial position: the newest end, the first unread message, or a message.
    ///   - window: The number of messages it holds, at least 2; up to twice as many while scrolling. A smaller value is
    ///     a programming error.
    /// - Returns: A timeline, which reads nothing until its views are iterated.
    public func timeline(at point: HistoryPoint = .latest, window: Int = 200) -> Timeline {
        precondition(window >= 2, "A timeline's window must hold at least 2 messages.")
        return Timeline(conversation: self, at: point, size: window)
    }
}
