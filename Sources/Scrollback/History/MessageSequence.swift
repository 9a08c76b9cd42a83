public import ScrollbackModel

/// An asynchronous sequence of a conversation's messages.
///
/// Pages are loaded when the iteration needs them, never ahead of it. If a page is incomplete, the sequence throws its
/// remote error after the page's messages.
public struct MessageSequence: AsyncSequence, Sendable {
    /// The type of the elements.
    public typealias Element = Message
    /// The error that prevented loading a complete page.
    public typealias Failure = ChatError

    let conversation: Conversation
    let anchor: Anchor
    let filter: MessageFilter
    let source: HistorySource
    /// The sender whose messages are omitted.
    var excludedSender: UserID?
    /// Whether to return only messages that count as unread.
    var countsUnread = false

    private func isWanted(_ message: Message) -> Bool {
        message.sender != excludedSender && (!countsUnread || message.countsUnread && !message.isDeleted)
    }

    /// Creates an independent iterator, which starts at the anchor.
    public func makeAsyncIterator() -> Iterator {
        Iterator(sequence: self, anchor: anchor)
    }

    /// The position of one iteration.
    public struct Iterator: AsyncIteratorProtocol {
        private let sequence: MessageSequence
        private let readsForward: Bool
        private var anchor: Anchor?
        /// The loaded messages that were not returned yet, in reverse order.
        private var messages: [Message] = []
        private var remoteError: ChatError?

        init(sequence: MessageSequence, anchor: Anchor) {
            self.sequence = sequence
            self.anchor = anchor
            readsForward =
                switch anchor {
                case .before, .backward: false
                case .after, .around, .between, .cursor: true
                }
        }

        /// Returns the next message, or `nil` at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ChatError) -> Message? {
            while true {
                if let message = messages.popLast() { return message }
                if let remoteError { throw remoteError }
                guard let anchor else { return nil }
                if Task.isCancelled {
                    throw ChatError(.cancelled, "The task that iterates over the messages was cancelled.")
                }
                try await readPage(anchor)
            }
        }

        /// Returns the next message, or `nil` at the end.
        public mutating func next() async throws(ChatError) -> Message? {
            try await next(isolation: nil)
        }

        private mutating func readPage(_ anchor: Anchor) async throws(ChatError) {
            if case .cursor = anchor, anchor == sequence.anchor {
                throw .invalidParameter("anchor", "is a cursor, which has no direction: use another anchor")
            }
            let page = try await sequence.conversation.history(
                anchor, limit: 100, sort: readsForward ? .oldestFirst : .newestFirst, matching: sequence.filter,
                from: sequence.source)
            messages = page.messages.reversed().filter { sequence.isWanted($0) }
            remoteError = page.remoteError
            self.anchor = readsForward ? page.newer : page.older
            if sequence.source == .local, let gap = page.gap { self.anchor = beyond(gap, anchor) }
        }

        private func beyond(_ gap: ClosedRange<Int64>, _ anchor: Anchor) -> Anchor {
            switch anchor {
            case .backward(_, let end): .backward(from: .seq(gap.lowerBound), downTo: end)
            case .between(_, let end): .between(.seq(gap.upperBound + 1), end)
            default: readsForward ? .after(.seq(gap.upperBound)) : .before(.seq(gap.lowerBound))
            }
        }
    }
}
