public import Observation
public import Scrollback

/// A conversation for a screen: its messages, kept current, and what a reader does with them.
///
/// It follows the conversation from when it is made until nobody has it any more, or the client is closed. Many changes
/// that come at once are one update, and a property is set only where it changed. Items keep their ids, from pending to
/// sent.
@MainActor
@Observable
public final class TimelineModel {
    /// Whose messages these are.
    public nonisolated let conversation: Conversation
    /// Whether anything was read from the device yet; until then everything else is empty.
    public private(set) var isLoaded = false
    /// Messages, gaps and what is still to be sent, oldest first; a pending one says how far it has come.
    public private(set) var items: [Timeline.Item] = []
    /// Who wrote the messages, as far as this device knows their profiles.
    public private(set) var people: [UserID: UserProfile] = [:]
    /// The first message the reader has not read, where it is in the window.
    public private(set) var firstUnread: MessageID?
    /// Whether the newest message there is, is among the items.
    public private(set) var isAtNewest = true
    /// Whether older messages, or a gap, lie before the items.
    public private(set) var hasOlder = false
    /// Who is writing something, first who began first; never the user.
    public private(set) var typing: [UserID] = []
    /// Whether ``loadOlder()`` is under way.
    public private(set) var isLoadingOlder = false
    /// Whether ``loadNewer()`` is under way.
    public private(set) var isLoadingNewer = false
    /// Why a call failed last, or marking as read by itself did; set it to nil once it was shown.
    public var error: ChatError?

    /// Whether a message is marked as read by itself when it is the newest and ``setVisible(from:to:)`` said that it is on
    /// the screen; in a room, which has no read state, nothing is.
    public var marksRead: Bool {
        didSet { markReadIfSeen() }
    }

    @ObservationIgnored private let timeline: Timeline
    @ObservationIgnored private var visibleEnd: Timeline.Item.ID?
    @ObservationIgnored private var markedRead: MessageID?
    @ObservationIgnored private var following: [ModelTask] = []
    package var running: [Task<Void, Never>] { following.map(\.task) }

    /// A model of a conversation, which begins to follow it.
    ///
    /// - Parameters:
    ///   - conversation: whose messages.
    ///   - point: where it begins: the newest end, the first unread message, a message.
    ///   - window: how many messages it holds, 2 or more, else it traps; up to twice as many while somebody scrolls.
    ///   - marksRead: whether the newest message is marked as read by itself when it is on the screen; else the app calls
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
        if !isLoaded { isLoaded = true }
        if items != view.items { items = view.items }
        if people != view.people { people = view.people }
        if firstUnread != view.firstUnread { firstUnread = view.firstUnread }
        if isAtNewest != view.isAtNewest { isAtNewest = view.isAtNewest }
        if hasOlder != view.hasOlder { hasOlder = view.hasOlder }
        markReadIfSeen()
    }

    // MARK: Scrolling

    /// Tells which items are on the screen: the gap nearest to them is filled first, and what comes in does not push them
    /// out of the window.
    ///
    /// Items that the model does not have any more change nothing.
    public func setVisible(from first: Timeline.Item.ID, to last: Timeline.Item.ID) {
        timeline.setVisible(from: first, to: last)
        visibleEnd = last
        markReadIfSeen()
    }

    /// Shows half a window's size of older messages besides; while it does so, a second call does nothing.
    ///
    /// - Throws: what kept the server from being asked, where the device has nothing older.
    public func loadOlder() async throws(ChatError) {
        guard !isLoadingOlder else { return }
        isLoadingOlder = true
        defer { isLoadingOlder = false }
        try await showingErrors { () async throws(ChatError) in try await timeline.loadOlder() }
    }

    /// Shows half a window's size of newer messages besides; while it does so, a second call does nothing.
    ///
    /// - Throws: what kept the server from being asked, where the device has nothing newer.
    public func loadNewer() async throws(ChatError) {
        guard !isLoadingNewer else { return }
        isLoadingNewer = true
        defer { isLoadingNewer = false }
        try await showingErrors { () async throws(ChatError) in try await timeline.loadNewer() }
    }

    /// Moves to another place, with as much on both sides.
    ///
    /// - Throws: `unknown-message` when there is no such message; `unreachable` when only the server knows and it can't be
    ///   asked.
    public func jump(to point: HistoryPoint) async throws(ChatError) {
        visibleEnd = nil
        try await showingErrors { () async throws(ChatError) in try await timeline.jump(to: point) }
    }

    // MARK: Writing

    /// Sends a message, which is among the items at once.
    ///
    /// ``Conversation`` has more: files, an application's own content, and what accompanies a message. Whatever is sent
    /// there is shown here as well.
    ///
    /// - Parameters:
    ///   - content: what it says.
    ///   - mentions: whom it calls by name.
    ///   - replyTo: the message it answers.
    /// - Returns: what tells how far it has come; its item says so too.
    /// - Throws: `invalid-parameter` or `too-large` when it can't be sent as it is; `local-storage`.
    @discardableResult
    public func send(
        _ content: MessageContent, mentioning mentions: Mentions? = nil, replyingTo replyTo: MessageID? = nil
    ) async throws(ChatError) -> Sending {
        try await showingErrors { () async throws(ChatError) in
            try await conversation.send(content, mentioning: mentions, replyingTo: replyTo)
        }
    }

    /// Sends a message again that the server refused.
    ///
    /// - Throws: `unknown-message` when it is not waiting to be sent.
    public func retry(_ id: MessageID) async throws(ChatError) {
        try await showingErrors { () async throws(ChatError) in try await conversation.sending(id).retry() }
    }

    /// Takes a message back that was not sent, and its item goes.
    ///
    /// - Throws: `conflict` while it is being sent; `unknown-message` when it is not waiting to be sent.
    public func cancel(_ id: MessageID) async throws(ChatError) {
        try await showingErrors { () async throws(ChatError) in try await conversation.sending(id).cancel() }
    }

    /// Tells the others that the user is writing something; call it with every key.
    public func setTyping(_ isTyping: Bool) {
        conversation.setTyping(isTyping)
    }

    // MARK: Reading

    /// Marks the conversation as read, on every device of the user.
    ///
    /// - Parameter id: the newest message that was shown; by default the newest there is.
    /// - Throws: `unknown-message` when the message is not on this device; `invalid-parameter` for a room; `local-storage`.
    public func markRead(upTo id: MessageID? = nil) async throws(ChatError) {
        try await showingErrors { () async throws(ChatError) in try await conversation.markRead(upTo: id) }
    }

    /// Marks the newest message as read, once, when it is on the screen and the app asked for it.
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

    private func showingErrors<Answer>(
        _ body: () async throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        do {
            return try await body()
        } catch {
            // Who cancelled wants no alert about it.
            if error.code != .cancelled { self.error = error }
            throw error
        }
    }
}
