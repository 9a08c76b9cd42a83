package import ScrollbackModel

/// Where conversations, messages and members are kept.
///
/// The rules (who may, which place, what counts) are written once, in the engine, over these few questions; a store only
/// keeps rows. Calls block: whoever must not wait calls from a thread that may. What every store must do is written down
/// as `StoreConformance`.
package protocol MessageStore: AnyObject, Sendable {
    /// Random, given when the store was made and changed when it is restored from a backup.
    var generation: UInt64 { get }

    /// The number of the last commit that touched a conversation.
    var moved: Int64 { get throws }

    /// The newest time of any message.
    var newest: Timetoken { get throws }

    /// Answers questions from one snapshot.
    func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer

    /// Carries out changes in one transaction, durable when it returns. When `body` throws nothing has changed.
    /// There is one writer at a time, and `commit` is one above the last transaction's number.
    func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer
}

/// The questions the engine asks a snapshot.
package protocol StoreReader {
    func conversation(_ id: ConversationID) throws -> ConversationRow?
    func conversation(numbered number: Int64) throws -> ConversationRow?
    /// The channels of a community by name, deleted ones too.
    func channels(of community: Identifier, after: Identifier?, limit: Int) throws -> [ConversationRow]

    func member(_ user: UserID, of conversation: Int64) throws -> MemberRow?
    /// Who is a member now, by name.
    func members(of conversation: Int64, after: UserID?, limit: Int) throws -> [MemberRow]
    /// Every conversation a user has to do with.
    func memberships(of user: UserID) throws -> [MemberRow]
    /// When they were a member, oldest first.
    func spans(of user: UserID, in conversation: Int64) throws -> [SpanRow]
    /// The lowest run they don't count.
    func firstHidden(of user: UserID, in conversation: Int64) throws -> HiddenRow?
    /// The highest run that begins at or below a running number.
    func hidden(of user: UserID, in conversation: Int64, atOrBelowN n: Int64) throws -> HiddenRow?
    /// Places above `seq` where they, or everyone, were mentioned, lowest first; their own messages are not among them.
    func mentions(of user: UserID, in conversation: Int64, above seq: Seq) throws -> [Seq]

    func message(at seq: Seq, in conversation: Int64) throws -> MessageRow?
    func message(_ id: MessageID, in conversation: Int64) throws -> MessageRow?
    /// The message at the highest place at or below `seq`.
    func message(atOrBelow seq: Seq, in conversation: Int64) throws -> MessageRow?
    /// Messages of a run of places that pass the filter, from its newest or its oldest end, as far as there is room.
    func messages(
        in conversation: Int64, _ range: SeqRange, newestFirst: Bool, room: inout PageRoom, filter: MessageFilter,
        reader: UserID
    ) throws -> [MessageRow]

    func user(_ id: UserID) throws -> UserRow?
}

extension StoreReader {
    /// The highest run they don't count.
    package func lastHidden(of user: UserID, in conversation: Int64) throws -> HiddenRow? {
        try hidden(of: user, in: conversation, atOrBelowN: .max)
    }

    /// At most `limit` messages of a run of places, however large they are.
    package func messages(
        in conversation: Int64, _ range: SeqRange, newestFirst: Bool, limit: Int, filter: MessageFilter, reader: UserID
    ) throws -> [MessageRow] {
        var room = PageRoom(messages: limit, bytes: .max)
        return try messages(
            in: conversation, range, newestFirst: newestFirst, room: &room, filter: filter, reader: reader)
    }
}

/// A transaction under way.
///
/// A change is seen by the questions asked after it.
package protocol StoreWriter: StoreReader {
    /// Stores a conversation; one without a number gets one.
    func put(_ conversation: inout ConversationRow) throws
    func put(_ member: MemberRow) throws
    func put(_ user: UserRow) throws
    func insert(_ message: MessageRow, in conversation: Int64) throws
    /// Adds a time of membership, or ends the one that began at the same point.
    func put(_ span: SpanRow, of user: UserID, in conversation: Int64) throws
    /// Adds a run above all others, or makes the one that began at the same running number longer.
    func put(_ hidden: HiddenRow, of user: UserID, in conversation: Int64) throws
    /// Forgets runs that end at or below a running number.
    func dropHidden(of user: UserID, in conversation: Int64, throughN n: Int64) throws
    /// Remembers a mention of a user, or of everyone but the sender.
    func insertMention(of user: UserID?, by sender: UserID, at seq: Seq, in conversation: Int64) throws
    /// Erases a conversation's messages, mentions, spans and runs. Its row stays, and whoever was a member stays as one
    /// who left, with no position; who only read is forgotten.
    func erase(_ conversation: Int64) throws
}
