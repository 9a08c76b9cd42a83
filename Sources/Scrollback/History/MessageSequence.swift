public import ScrollbackModel

/// Messages of a conversation, one after the other.
///
/// Pages are read as a loop asks for them, never ahead of it. It fails with what kept a page from being whole.
public struct MessageSequence: AsyncSequence, Sendable {
    /// A message.
    public typealias Element = Message
    /// What kept a page from being whole, or can't be answered.
    public typealias Failure = ChatError

    let conversation: Conversation
    let anchor: Anchor
    let filter: MessageFilter
    let source: HistorySource
    /// Whose messages are left out.
    var excluded: UserID?
    /// Whether only messages come that count as unread.
    var countsUnread = false

    private func isWanted(_ message: Message) -> Bool {
        message.sender != excluded && (!countsUnread || message.countsUnread && !message.isDeleted)
    }

    /// A loop of its own, from the anchor on.
    public func makeAsyncIterator() -> Iterator {
        Iterator(sequence: self, anchor: anchor)
    }

    /// Where one loop is.
    public struct Iterator: AsyncIteratorProtocol {
        private let sequence: MessageSequence
        private let goesNewer: Bool
        private var anchor: Anchor?
        /// What the loop has not taken yet, in reverse.
        private var messages: [Message] = []
        private var shortfall: ChatError?

        init(sequence: MessageSequence, anchor: Anchor) {
            self.sequence = sequence
            self.anchor = anchor
            goesNewer =
                switch anchor {
                case .before, .backward: false
                case .after, .around, .between, .cursor: true
                }
        }

        /// The next message; nothing at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ChatError) -> Message? {
            while true {
                if let message = messages.popLast() { return message }
                if let shortfall { throw shortfall }
                guard let anchor else { return nil }
                if Task.isCancelled { throw ChatError(.cancelled, "the loop over the messages was cancelled") }
                try await readPage(anchor)
            }
        }

        /// The next message; nothing at the end.
        public mutating func next() async throws(ChatError) -> Message? {
            try await next(isolation: nil)
        }

        private mutating func readPage(_ anchor: Anchor) async throws(ChatError) {
            if case .cursor = anchor, anchor == sequence.anchor {
                throw .invalidParameter("anchor", "is a cursor, which does not say which way it goes: begin at a point")
            }
            let page = try await sequence.conversation.history(
                anchor, limit: 100, sort: goesNewer ? .oldestFirst : .newestFirst, matching: sequence.filter,
                from: sequence.source)
            messages = page.messages.reversed().filter { sequence.isWanted($0) }
            shortfall = page.shortfall
            self.anchor = goesNewer ? page.newer : page.older
            if sequence.source == .local, let gap = page.gap { self.anchor = beyond(gap, anchor) }
        }

        private func beyond(_ gap: ClosedRange<Int64>, _ anchor: Anchor) -> Anchor {
            switch anchor {
            case .backward(_, let end): .backward(from: .seq(gap.lowerBound), downTo: end)
            case .between(_, let end): .between(.seq(gap.upperBound + 1), end)
            default: goesNewer ? .after(.seq(gap.upperBound)) : .before(.seq(gap.lowerBound))
            }
        }
    }
}
