public import Observation
public import Scrollback

/// An observable model of one conversation: its messages, and the user's actions on them.
///
/// The model updates until it is deallocated or the client is closed. It combines changes that arrive together into one
/// update, and sets a property only if its value changed. An item keeps its ID when it changes from pending to sent.
@MainActor
@Observable
public final class TimelineModel {
    /// The conversation that the model shows.
    public nonisolated let conversation: Conversation
    /// Whether the model has loaded its first data from the device; all other properties are empty until then.
    public private(set) var isLoaded = false
    /// The messages, gaps and pending messages, oldest first; a pending message contains its send state.
    public private(set) var items: [Timeline.Item] = []
    /// The profiles of the senders, as far as this device has them.
    public private(set) var profiles: [UserID: UserProfile] = [:]
    /// The first unread message; `nil` if the window doesn't contain it.
    public private(set) var firstUnread: MessageID?
    /// The message that was the first unread one when the model had loaded; `nil` if all messages were read.
    ///
    /// It stays when the messages are read. It is the oldest one that was loaded if scrolling loads older unread
    /// messages.
    public private(set) var unreadLine: MessageID?
    /// Whether the items include the newest message of the conversation.
    public private(set) var isAtNewest = true
    /// Whether older messages or a gap precede the items.
    public private(set) var hasOlder = false
    /// The sequence number up to which the peer of a direct conversation has read; 0 if it is unknown, and for other
    /// kinds.
    public private(set) var peerReadSeq: Int64 = 0
    /// The sequence number through which the devices of the peer of a direct conversation have received the messages; 0
    /// if it is unknown, and for other kinds.
    ///
    /// It is at least ``peerReadSeq``.
    public private(set) var peerDeliveredSeq: Int64 = 0
    /// The users who are typing, in the order they started; never this user.
    public private(set) var typing: [UserID] = []
    /// Whether ``loadOlder()`` is in progress.
    public private(set) var isLoadingOlder = false
    /// Whether ``loadNewer()`` is in progress.
    public private(set) var isLoadingNewer = false
    /// The error of the last failed call, automatic read or rejected change; set it to `nil` after you show it.
    public var error: ChatError?

    /// Whether the model marks the newest message as read when ``setVisible(from:to:)`` reports it as visible.
    ///
    /// The property has no effect in rooms, which have no read state.
    public var marksRead: Bool {
        didSet { markReadIfSeen() }
    }

    @ObservationIgnored private let timeline: Timeline
    @ObservationIgnored private var visibleEnd: Timeline.Item.ID?
    @ObservationIgnored private var markedRead: MessageID?
    @ObservationIgnored private var unreadSeq: Seq?
    @ObservationIgnored private var following: [ModelTask] = []
    /// Called after each update of the items.
    @ObservationIgnored var onChange: () -> Void = {}
    package var running: [Task<Void, Never>] { following.map(\.task) }

    /// Creates a model and starts its updates.
    ///
    /// - Parameters:
    ///   - conversation: The conversation to show.
    ///   - point: The start of the window: the newest message, the first unread message, or a given message.
    ///   - window: The number of messages in the window; at least 2, otherwise the initializer traps. Scrolling can
    ///     increase the number to twice this value.
    ///   - marksRead: Whether the model marks the newest message as read when it is visible. Otherwise the app calls
    ///     ``markRead(upTo:)``.
    public init(
        _ conversation: Conversation, at point: HistoryPoint = .latest, window: Int = 200, marksRead: Bool = false
    ) {
        self.conversation = conversation
        self.marksRead = marksRead
        timeline = conversation.timeline(at: point, window: window)
        following = [
            ModelTask(of: self, following: timeline.views) { $0.show($1) },
            ModelTask(of: self, following: conversation.typing) { model, users in
                if model.typing != users { model.typing = users }
            },
        ]
    }

    private func show(_ view: Timeline.View) {
        moveUnreadLine(view)
        if !isLoaded { isLoaded = true }
        if items != view.items { items = view.items }
        if profiles != view.profiles { profiles = view.profiles }
        if firstUnread != view.firstUnread { firstUnread = view.firstUnread }
        if isAtNewest != view.isAtNewest { isAtNewest = view.isAtNewest }
        if hasOlder != view.hasOlder { hasOlder = view.hasOlder }
        if peerReadSeq != view.peerReadSeq { peerReadSeq = view.peerReadSeq }
        if peerDeliveredSeq != view.peerDeliveredSeq { peerDeliveredSeq = view.peerDeliveredSeq }
        markReadIfSeen()
        onChange()
    }

    private func moveUnreadLine(_ view: Timeline.View) {
        guard let first = view.firstUnread, !isLoaded || lacksNewest || unreadSeq != nil else { return }
        for case .message(let message) in view.items where message.id == first {
            guard message.seq < unreadSeq ?? .max else { return }
            (unreadLine, unreadSeq) = (first, message.seq)
        }
    }

    /// Whether the items end with a gap, because this device does not have the newest messages yet.
    var lacksNewest: Bool {
        let last = items.last { if case .pending = $0 { false } else { true } }
        return if case .gap = last { true } else { false }
    }

    // MARK: Scrolling

    /// Sets the range of visible items.
    ///
    /// The timeline fills the gap nearest to this range first, and new messages don't move the range out of the window.
    /// The call has no effect if the model no longer contains the items.
    public func setVisible(from first: Timeline.Item.ID, to last: Timeline.Item.ID) {
        timeline.setVisible(from: first, to: last)
        visibleEnd = last
        markReadIfSeen()
    }

    /// Sets the visible rows of ``rows``, in any order, and loads more messages near either end of the items.
    ///
    /// The model does not report errors of these loads, because it repeats them when the visible rows change.
    public func setVisible(_ rows: [TimelineRow.ID]) {
        let rows = Set(rows)
        let visible = items.indices.filter { rows.contains(items[$0].id) }
        guard let first = visible.first, let last = visible.last else { return }
        setVisible(from: items[first].id, to: items[last].id)
        let margin = max(1, items.count / 4)
        if hasOlder, first < margin { Task { try? await extendOlder() } }
        if !isAtNewest, last >= items.count - margin { Task { try? await extendNewer() } }
    }

    /// Loads older messages, half as many as the window size; has no effect while another call is in progress.
    ///
    /// - Throws: The error of the server request, if the device has no older messages.
    public func loadOlder() async throws(ChatError) {
        try await reportingErrors { () async throws(ChatError) in try await extendOlder() }
    }

    /// Loads newer messages, half as many as the window size; has no effect while another call is in progress.
    ///
    /// - Throws: The error of the server request, if the device has no newer messages.
    public func loadNewer() async throws(ChatError) {
        try await reportingErrors { () async throws(ChatError) in try await extendNewer() }
    }

    private func extendOlder() async throws(ChatError) {
        guard !isLoadingOlder else { return }
        isLoadingOlder = true
        defer { isLoadingOlder = false }
        try await timeline.loadOlder()
    }

    private func extendNewer() async throws(ChatError) {
        guard !isLoadingNewer else { return }
        isLoadingNewer = true
        defer { isLoadingNewer = false }
        try await timeline.loadNewer()
    }

    /// Moves the window to another point, with messages on both sides of it.
    ///
    /// - Throws: `unknown-message` if the message doesn't exist. `unreachable` if the device doesn't have the message
    ///   and the server is unreachable.
    public func jump(to point: HistoryPoint) async throws(ChatError) {
        visibleEnd = nil
        try await reportingErrors { () async throws(ChatError) in try await timeline.jump(to: point) }
    }

    // MARK: Sending

    /// Sends a message and adds it to the items immediately.
    ///
    /// To send files, custom content or attributes, use ``Conversation``. The model also shows messages sent that way.
    ///
    /// - Parameters:
    ///   - content: The content of the message.
    ///   - mentions: The users that the message mentions.
    ///   - replyTo: The message that this message replies to.
    /// - Returns: A handle that reports the send state, which is also in the message's item.
    /// - Throws: `invalid-parameter` or `too-large` if the message is invalid; `local-storage`.
    @discardableResult
    public func send(
        _ content: MessageContent, mentioning mentions: Mentions? = nil, replyingTo replyTo: MessageID? = nil
    ) async throws(ChatError) -> SendHandle {
        try await reportingErrors { () async throws(ChatError) in
            try await conversation.send(content, mentioning: mentions, replyingTo: replyTo)
        }
    }

    /// Retries a message that the server rejected.
    ///
    /// - Throws: `unknown-message` if the message is not in the outbox.
    public func retry(_ id: MessageID) async throws(ChatError) {
        try await reportingErrors { () async throws(ChatError) in try await conversation.sendHandle(for: id).retry() }
    }

    /// Cancels an unsent message and removes its item.
    ///
    /// - Throws: `conflict` while the message is in transit; `unknown-message` if it is not in the outbox.
    public func cancel(_ id: MessageID) async throws(ChatError) {
        try await reportingErrors { () async throws(ChatError) in try await conversation.sendHandle(for: id).cancel() }
    }

    /// Signals to other members that the user is typing, or has stopped; call it for each keystroke.
    public func setTyping(_ isTyping: Bool) {
        conversation.setTyping(isTyping)
    }

    // MARK: Reading

    /// Marks the conversation as read on all devices of the user.
    ///
    /// - Parameter id: The newest message that the user has seen; by default the newest message of the conversation.
    /// - Throws: `unknown-message` if the message is not on this device; `invalid-parameter` for a room;
    ///   `local-storage`.
    public func markRead(upTo id: MessageID? = nil) async throws(ChatError) {
        try await reportingErrors { () async throws(ChatError) in try await conversation.markRead(upTo: id) }
    }

    /// Marks the newest message as read, once, if it is visible and ``marksRead`` is set.
    private func markReadIfSeen() {
        guard marksRead, conversation.id.kind.traits.hasRecents, isAtNewest, let visibleEnd,
            let seen = items.lastIndex(where: { $0.id == visibleEnd }),
            let newest = items.lastIndex(where: { if case .message = $0 { true } else { false } }), seen >= newest,
            case .message(let message) = items[newest], message.id != markedRead
        else { return }
        markedRead = message.id
        Task { [weak self, conversation] in
            do throws(ChatError) {
                try await conversation.markRead(upTo: message.id)
            } catch {
                self?.markedRead = nil
                self?.error = error
            }
        }
    }

    func reportingErrors<Answer>(
        _ body: () async throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        do {
            return try await body()
        } catch {
            // A cancelled call is not an error that the user needs to see.
            if error.code != .cancelled { self.error = error }
            throw error
        }
    }
}
