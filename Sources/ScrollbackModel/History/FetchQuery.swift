/// A query for pages of several conversations.
package struct FetchQuery: Hashable, Sendable {
    /// The conversations, each with the cursor to continue from; `nil` starts at the anchor.
    package var conversations: [(id: ConversationID, cursor: HistoryCursor?)]
    package var anchor: Anchor
    /// The maximum number of messages per conversation; `nil` for the highest allowed number.
    package var limit: Int?
    package var sort: Sort
    package var filter: MessageFilter
    /// Whether to return each message's individual actions, which requires a single conversation.
    package var includesActions: Bool

    package init(
        _ conversations: [(id: ConversationID, cursor: HistoryCursor?)], anchor: Anchor = .latest, limit: Int? = nil,
        sort: Sort = .oldestFirst, filter: MessageFilter = .all, includesActions: Bool = false
    ) {
        self.conversations = conversations
        self.anchor = anchor
        self.limit = limit
        self.sort = sort
        self.filter = filter
        self.includesActions = includesActions
    }

    package static func == (a: FetchQuery, b: FetchQuery) -> Bool {
        a.conversations.elementsEqual(b.conversations, by: ==) && a.anchor == b.anchor && a.limit == b.limit
            && a.sort == b.sort && a.filter == b.filter && a.includesActions == b.includesActions
    }

    package func hash(into hasher: inout Hasher) {
        for (id, cursor) in conversations {
            hasher.combine(id)
            hasher.combine(cursor)
        }
    }

    /// The maximum number of messages per conversation.
    ///
    /// The limit is lower for several conversations or with actions.
    package static let maximum = (one: 100, several: HistoryQuery.maximumWithActions)

    /// Whether pages continue to older messages.
    package var readsBackward: Bool {
        switch anchor {
        case .before, .backward, .around: true
        case .after, .between, .cursor: false
        }
    }

    /// Validates the ranges; values are never clamped.
    ///
    /// - Throws: `invalid-parameter` if a value is out of range.
    package func check() throws(ChatError) {
        guard (1...Self.maximumConversations).contains(conversations.count) else {
            throw .invalidParameter(
                "conversations", "must contain 1...\(Self.maximumConversations) conversations",
                limit: Self.maximumConversations)
        }
        guard !includesActions || conversations.count == 1 else {
            throw .invalidParameter("conversations", "must contain a single conversation if actions are included")
        }
        // The counts of `around` are limits too.
        try HistoryQuery(anchor, limit: limit ?? maximumMessages, filter: filter).check(pageSize: maximumMessages)
    }

    /// The maximum number of conversations in a query.
    package static let maximumConversations = 500

    package var maximumMessages: Int {
        conversations.count > 1 || includesActions ? Self.maximum.several : Self.maximum.one
    }
}

/// The result for one conversation.
package struct FetchedPage: Sendable {
    package var conversation: ConversationID
    package var result: Result<LogPage, ChatError>

    package init(conversation: ConversationID, result: Result<LogPage, ChatError>) {
        self.conversation = conversation
        self.result = result
    }
}
