/// A question for pages of several conversations.
package struct FetchQuery: Hashable, Sendable {
    /// Each with where it goes on; an absent cursor begins at the anchor.
    package var conversations: [(id: ConversationID, cursor: HistoryCursor?)]
    package var anchor: Anchor
    /// How many messages of each: absent for as many as there may be.
    package var limit: Int?
    package var sort: Sort
    package var filter: MessageFilter
    /// Whether each message's actions are wanted one by one, which one conversation can be asked for.
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

    /// The most messages of one conversation: fewer where several are asked about, or actions come with them.
    package static let most = (one: 100, several: HistoryQuery.mostWithActions)

    /// Whether pages go on to older messages.
    package var goesOlder: Bool {
        switch anchor {
        case .before, .backward, .around: true
        case .after, .between, .cursor: false
        }
    }

    /// Refuses what is out of range; nothing is clamped.
    package func check() throws(ChatError) {
        guard (1...Self.maximumConversations).contains(conversations.count) else {
            throw .invalidParameter(
                "conversations", "must be 1...\(Self.maximumConversations) conversations",
                limit: Self.maximumConversations)
        }
        guard !includesActions || conversations.count == 1 else {
            throw .invalidParameter("conversations", "must be one where actions are included")
        }
        // The counts of `around` are limits as well.
        try HistoryQuery(anchor, limit: limit ?? mostMessages, filter: filter).check(pageSize: mostMessages)
    }

    /// The most conversations one question is about.
    package static let maximumConversations = 500

    package var mostMessages: Int { conversations.count > 1 || includesActions ? Self.most.several : Self.most.one }
}

/// What came of one of them.
package struct FetchedPage: Sendable {
    package var conversation: ConversationID
    package var result: Result<LogPage, ChatError>

    package init(conversation: ConversationID, result: Result<LogPage, ChatError>) {
        self.conversation = conversation
        self.result = result
    }
}
