import ScrollbackModel

/// Finds the next step of an erasure by reading a bounded part of the store.
///
/// Data that a step changed is not found again. An interrupted erasure therefore resumes at the stored progress or
/// slightly before.
struct ErasureWork {
    /// A change that is small enough for one transaction.
    enum Step {
        /// Messages of the user in the conversation after the last completed one.
        case messages([Seq], conversation: Int64, through: Seq)
        case actions([Timetoken], conversation: Int64)
        /// Messages that mention the user.
        case mentions([Seq], conversation: Int64)
        /// Notices about the user.
        case notices([Seq], conversation: Int64)
        /// Keys of removed messages of the user.
        case keys([MessageID], conversation: Int64)
        /// The conversation has no more data of the user except the membership.
        case conversation(Int64)
        case files([MediaID])
        case reports(by: [Int64], about: [Int64])
        case stage(ErasureRow.Stage)
    }

    var row: ErasureRow
    private var place: Place?
    private var lastFile: MediaID?
    /// The last conversation that was searched for mentions.
    private var lastMentioned: Int64 = 0

    /// The progress within one conversation.
    private struct Place {
        var conversation: Int64
        var seq: Seq
        var action: Timetoken? = Timetoken(rawValue: 0)
        var mention: Seq = 0
        var notice: Seq = 0
        /// The last examined key; `nil` if all were examined.
        var key: MessageID? = MessageID(high: 0, low: 0)
    }

    /// The number of positions examined in one snapshot.
    private static let window: Seq = 5_000
    /// The number of other rows examined in one snapshot.
    private static let page = 500
    /// The maximum number of rows changed in one transaction.
    private static let batch = 100

    init(_ row: ErasureRow) {
        self.row = row
        lastMentioned = row.stage == .mentions ? row.through : 0
    }

    /// Returns the next step, or `nil` if the examined part needs no change and the search must continue.
    mutating func next(in store: any StoreReader) throws -> Step? {
        switch row.stage {
        case .conversations: try nextInConversations(store)
        case .mentions: try nextMentioned(store)
        case .files:
            try nextFiles(store)
        case .reports: try nextReports(store)
        case .done: .stage(.done)
        }
    }

    private mutating func nextInConversations(_ store: any StoreReader) throws -> Step? {
        let found = [
            try store.memberships(of: row.user, after: row.through, limit: 1).first?.conversation,
            try store.participations(of: row.user, after: row.through, limit: 1).first,
        ].compactMap(\.self).min()
        guard let number = found, let conversation = try store.conversation(numbered: number) else {
            return .stage(.mentions)
        }
        if place?.conversation != number { place = Place(conversation: number, seq: row.throughSeq) }
        guard row.messages != .keep, !conversation.isDeleted, var place else { return .conversation(number) }
        defer { self.place = place }
        if place.seq < conversation.head {
            let upper = min(place.seq + Self.window, conversation.head)
            let found = try store.messages(
                in: number, place.seq + 1...upper, newestFirst: false, limit: Self.batch,
                filter: .senders([row.user]), reader: row.user)
            place.seq = found.count == Self.batch ? found.last?.seq ?? upper : upper
            return found.isEmpty ? nil : .messages(found.map(\.seq), conversation: number, through: place.seq)
        }
        if let after = place.action {
            let actions = try store.actions(at: nil, in: number, after: after, limit: Self.page)
            let own = actions.filter { $0.sender == row.user }.map(\.timetoken)
            let some = Array(own.prefix(Self.batch))
            place.action =
                own.count > some.count ? some.last : actions.count == Self.page ? actions.last?.timetoken : nil
            return some.isEmpty ? nil : .actions(some, conversation: number)
        }
        if place.mention < conversation.head {
            // Uses the filter for messages with mentions, which also finds imported messages.
            let upper = min(place.mention + Self.window, conversation.head)
            let found = try store.messages(
                in: number, place.mention + 1...upper, newestFirst: false, limit: Self.batch,
                filter: .mentionsMe, reader: row.user)
            place.mention = found.count == Self.batch ? found.last?.seq ?? upper : upper
            let named = found.filter { $0.attributes.mentions?.users.contains(row.user) ?? false }
            return named.isEmpty ? nil : .mentions(named.map(\.seq), conversation: number)
        }
        if place.notice < conversation.head {
            let upper = min(place.notice + Self.window, conversation.head)
            let found = try store.messages(
                in: number, place.notice + 1...upper, newestFirst: false, limit: Self.batch, filter: .types([.notice]),
                reader: row.user)
            place.notice = found.count == Self.batch ? found.last?.seq ?? upper : upper
            let named = found.filter { $0.notice?.user == row.user }
            return named.isEmpty ? nil : .notices(named.map(\.seq), conversation: number)
        }
        if let after = place.key {
            let keys = try store.keys(in: number, after: after, limit: Self.page)
            let own = keys.filter { $0.sender == row.user }.map(\.id)
            let some = Array(own.prefix(Self.batch))
            place.key = own.count > some.count ? some.last : keys.count == Self.page ? keys.last?.id : nil
            return some.isEmpty ? nil : .keys(some, conversation: number)
        }
        return .conversation(number)
    }

    /// Searches conversations without the user's membership for mentions, with one lookup per conversation.
    private mutating func nextMentioned(_ store: any StoreReader) throws -> Step? {
        guard row.messages != .keep else { return .stage(.files) }
        let conversations = try store.conversations(after: lastMentioned, limit: 200)
        guard !conversations.isEmpty else { return .stage(.files) }
        for conversation in conversations {
            let found = try store.places(
                mentioning: row.user, in: conversation.number, above: 0, limit: Self.batch)
            guard found.isEmpty else { return .mentions(found, conversation: conversation.number) }
            lastMentioned = conversation.number
        }
        return nil
    }

    private mutating func nextFiles(_ store: any StoreReader) throws -> Step? {
        let files = try store.media(of: row.user, after: lastFile, limit: Self.batch)
        guard let last = files.last else { return .stage(.reports) }
        lastFile = last.id
        return .files(files.map(\.id))
    }

    private func nextReports(_ store: any StoreReader) throws -> Step? {
        let own = try store.reports(by: row.user, after: 0, limit: Self.batch).map(\.number)
        let others =
            row.messages == .keep
            ? [] : try store.reports(about: row.user, after: 0, limit: Self.batch).map(\.number)
        return own.isEmpty && others.isEmpty ? .stage(.done) : .reports(by: own, about: others)
    }
}
