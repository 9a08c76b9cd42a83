import ScrollbackModel

/// A reference model of a conversation on the server, with one array of rows and one of changes.
///
/// The random scenarios compare the clients with it.
struct ModelLog {
    let conversation: ConversationID
    var epoch: Epoch
    /// The message at `seq` is `rows[seq - 1]`. A deleted message stays here and is listed in `removed`.
    var rows: [Message] = []
    var removed = SeqRangeSet()
    /// The change with revision `rev` is `changes[rev - 1]`.
    var changes: [Change] = []
    /// The server no longer has changes up to this revision.
    var discardedThrough: Int64 = 0
    /// The retention floor: the lowest sequence number that is not expired.
    var floor: Seq = 1
    var visibility = HistoryVisibility.sinceJoin
    /// The number of changes to the visible history.
    var view: Int64 = 1
    /// The sequence numbers during which each user was a member. The last span of a member has no end.
    var spans: [UserID: [Span]] = [:]
    /// The first answer for each message ID, kept even if the message is deleted.
    var answers: [MessageID: SendResult] = [:]

    enum Change {
        case message(Seq)
        case removed(SeqRange)
    }

    struct Span {
        var joined: Seq
        var left: Seq?
    }

    init(_ conversation: ConversationID, epoch: UInt64) {
        self.conversation = conversation
        self.epoch = Epoch(rawValue: epoch)
    }

    var last: Seq { Seq(rows.count) }
    var rev: Int64 { Int64(changes.count) }
}

// MARK: Changes

extension ModelLog {
    func isMember(_ user: UserID) -> Bool { spans[user]?.last.map { $0.left == nil } ?? false }

    mutating func join(_ user: UserID) {
        if !isMember(user) { spans[user, default: []].append(Span(joined: last + 1)) }
    }

    mutating func leave(_ user: UserID) {
        guard var own = spans[user], isMember(user) else { return }
        own[own.count - 1].left = last
        spans[user] = own
    }

    /// Stores a message once, regardless of the number of attempts.
    mutating func append(_ submission: Submission, from sender: UserID) -> Result<SendResult, ChatError> {
        if var first = answers[submission.id] {
            first.outcome = .duplicate
            return .success(first)
        }
        guard isMember(sender) else { return .failure(ChatError(.notMember, "The user is not a member.")) }
        let countedIndex = (rows.last?.countedIndex ?? 0) + (submission.traits.countsUnread ? 1 : 0)
        let message = Message(
            conversation: conversation, seq: last + 1, countedIndex: countedIndex, id: submission.id,
            timetoken: Timetoken(rawValue: UInt64(last + 1)), epoch: epoch, sender: sender,
            type: submission.content.type, content: submission.content)
        rows.append(message)
        let position = SendResult.Position(seq: message.seq, countedIndex: countedIndex, epoch: epoch)
        let result = SendResult(
            outcome: .committed, id: message.id, timetoken: message.timetoken, position: position)
        answers[message.id] = result
        return .success(result)
    }

    /// Edits a message, or recalls it if `text` is `nil`.
    mutating func change(_ seq: Seq, to text: String?) -> Bool {
        guard seq >= floor, !removed.contains(seq), !rows[Int(seq) - 1].isDeleted else { return false }
        changes.append(.message(seq))
        rows[Int(seq) - 1].content = text.map(MessageContent.text)
        rows[Int(seq) - 1].rev = rev
        return true
    }

    mutating func remove(_ range: SeqRange) {
        changes.append(.removed(range))
        removed.insert(range)
    }
}
