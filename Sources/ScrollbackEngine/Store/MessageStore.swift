package import Foundation
package import ScrollbackModel

/// The storage of conversations, messages and members.
///
/// The engine implements all rules: permissions, sequence numbers and counts. A store only persists rows. Methods
/// block, so call them on a thread that may block. `StoreConformance` specifies the required behavior with tests.
package protocol MessageStore: AnyObject, Sendable {
    /// A random number that is set when the store is created, and changed when the store went back to an earlier state.
    ///
    /// It changes with a restore from a backup, and with a commit that begins an incarnation with another generation.
    var generation: UInt64 { get }

    /// The number of the last commit that changed a conversation.
    var lastCommit: Int64 { get throws }

    /// A number that is not below any commit that a read before this call saw, nor above the last commit.
    var coveringCommit: Int64 { get throws }

    /// The newest time of any message.
    var newest: Timetoken { get throws }

    /// Runs a closure with read access to one snapshot.
    func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer

    /// Runs a closure with read access to one snapshot, as ``read(_:)`` does.
    ///
    /// - Parameter reads: What the closure will probably read. Only stores on another machine use it.
    func read<Answer>(expecting reads: ExpectedReads, _ body: (any StoreReader) throws -> Answer) throws -> Answer

    /// Runs a closure in one transaction, which is durable when this method returns.
    ///
    /// If `body` throws, the transaction is rolled back. Only one transaction runs at a time, and `commit` is one above
    /// the number of the last transaction.
    ///
    /// - Throws: ``UnconfirmedCommit`` if the transaction may have been committed.
    func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer

    /// Runs a closure in one transaction, as ``write(_:)`` does.
    ///
    /// - Parameter reads: Returns what the closure will probably read. Only stores on another machine call it.
    func write<Answer>(
        expecting reads: () -> ExpectedReads, _ body: (any StoreWriter, _ commit: Int64) throws -> Answer
    ) throws -> Answer

    /// Returns some free space of the store to the file system.
    ///
    /// - Returns: Whether more free space remains.
    func vacuum() throws -> Bool
}

extension MessageStore {
    package var coveringCommit: Int64 { get throws { try lastCommit } }

    package func read<Answer>(
        expecting reads: ExpectedReads, _ body: (any StoreReader) throws -> Answer
    ) throws -> Answer {
        try read(body)
    }

    package func write<Answer>(
        expecting reads: () -> ExpectedReads, _ body: (any StoreWriter, _ commit: Int64) throws -> Answer
    ) throws -> Answer {
        try write(body)
    }
}

/// The error of a transaction whose commit was not confirmed, because the connection to the database was lost.
package struct UnconfirmedCommit: Error {
    package let cause: any Error
    /// Asks the store whether the transaction was committed.
    ///
    /// It blocks, and throws if the store can't answer yet. If it returns, the answer is final.
    package let wasCommitted: @Sendable () throws -> Bool

    package init(cause: any Error, wasCommitted: @escaping @Sendable () throws -> Bool) {
        self.cause = cause
        self.wasCommitted = wasCommitted
    }
}

/// The read operations of a snapshot.
package protocol StoreReader: MembershipReader, ModerationReader, PeopleReader, ThreadReader, DraftReader,
    ScheduledReader, DeliveryReader, IncomingWebhookReader, AdminReader, PushReader
{
    /// Reads together what later queries will probably ask for.
    ///
    /// It affects only the speed, never a result. Stores in the same process do nothing.
    func readAhead(_ reads: ExpectedReads) throws

    func conversation(numbered number: Int64) throws -> ConversationRow?
    /// Returns the channels of a community ordered by name, including deleted ones.
    func channels(of community: Identifier, after: Identifier?, limit: Int) throws -> [ConversationRow]

    /// Returns current members, ordered by user ID.
    func members(of conversation: Int64, after: UserID?, limit: Int) throws -> [MemberRow]
    /// Returns all membership rows of a user.
    func memberships(of user: UserID) throws -> [MemberRow]
    /// Returns summaries of a user's memberships, ordered by conversation number.
    ///
    /// The result contains memberships whose conversation changed after commit `lastCommit`, memberships whose change
    /// counter is above `rev`, and all communities.
    func membershipSummaries(of user: UserID, committedAfter lastCommit: Int64, changedAbove rev: Int64) throws
        -> [MembershipSummary]
    /// Returns the conversations that may be in a user's list of recents, in any order.
    ///
    /// The result has each conversation of the user that `RecentsListFilter.mayMatch` accepts, and may have others. It
    /// has no channels: a community represents them.
    func recentsCandidates(of user: UserID, _ filter: RecentsListFilter) throws -> [RecentsCandidate]
    /// Returns the corrections to unread counts that are not just the difference of two counted indexes.
    ///
    /// The result has what is above the ``UnreadBase`` of each conversation that lists the user, and may have more. It
    /// is keyed by conversation number, and need not have channels.
    func unreadAdjustments(of user: UserID) throws -> [Int64: UnreadAdjustment]
    /// Returns summaries of a community's channels for a user, ordered by name, including deleted channels.
    ///
    /// - Parameter community: The number of the community itself.
    func channelSummaries(of user: UserID, in community: Int64) throws -> [MembershipSummary]
    /// Returns the blocks of a bit set, lowest first; empty blocks may be left out.
    func bits(_ set: BitSet, of conversation: Int64, blocks: ClosedRange<Int64>) throws -> [BitBlock]
    /// Returns the ranges deleted for one user, or for everyone if `user` is `nil`, lowest first.
    func deletedRanges(of user: UserID?, in conversation: Int64) throws -> [DeletedRangeRow]
    /// Returns sequence numbers above `seq` of messages by others that mention the user or everyone, lowest first.
    func mentions(of user: UserID, in conversation: Int64, above seq: Seq) throws -> [Seq]

    func message(at seq: Seq, in conversation: Int64) throws -> MessageRow?
    func message(_ id: MessageID, in conversation: Int64) throws -> MessageRow?
    /// Returns the position of the message with the highest sequence number at or below `seq`.
    func position(atOrBelow seq: Seq, in conversation: Int64) throws -> PositionRow?
    /// Returns the newest sequence number at or before a time, or `firstSeq - 1` if there is none.
    func lastPosition(in conversation: ConversationRow, atOrBefore time: Timetoken) throws -> Seq
    /// Returns the message with the highest sequence number at or below `seq`.
    func message(atOrBelow seq: Seq, in conversation: Int64) throws -> MessageRow?
    /// Returns messages of a range that match a filter, from its newest or oldest end, as far as `budget` allows.
    func messages(
        in conversation: Int64, _ range: SeqRange, newestFirst: Bool, budget: inout ResponseBudget,
        filter: MessageFilter,
        reader: UserID
    ) throws -> [MessageRow]

    /// Returns conversations that have a message with an ID, lowest number first.
    func conversations(withMessage id: MessageID, limit: Int) throws -> [Int64]

    /// Counts the replies of a thread up to a time, without tombstones; `nil` if there are none.
    func replies(in thread: MessageID, of conversation: Int64, until time: Timetoken) throws -> ReplySummary?

    /// Returns the key of a removed message.
    func key(_ id: MessageID, in conversation: Int64) throws -> KeyRow?

    /// Returns changes above revision `rev`, in order.
    func changes(in conversation: Int64, after rev: Int64, limit: Int) throws -> [ChangeRow]
    /// Returns the change with an operation ID.
    func change(_ operation: MessageID, in conversation: Int64) throws -> ChangeRow?

    /// Returns actions on one message, or on any if `seq` is `nil`, with times above `after`, oldest first.
    func actions(at seq: Seq?, in conversation: Int64, after: Timetoken?, limit: Int) throws -> [ActionRow]
    /// Returns a user's actions on one message, in any order.
    func actions(at seq: Seq, by sender: UserID, in conversation: Int64) throws -> [ActionRow]
    func action(at timetoken: Timetoken, in conversation: Int64) throws -> ActionRow?
    /// Returns the sequence numbers of pinned messages, those of newer messages first.
    ///
    /// - Parameter seq: The sequence number below which to return them; `nil` for all.
    func pins(in conversation: Int64, below seq: Seq?, limit: Int) throws -> [Seq]
    /// Returns the newest time of any action in a conversation.
    func lastAction(in conversation: Int64) throws -> Timetoken?

    func user(_ id: UserID) throws -> UserRow?

    /// Returns conversations ordered by number, including deleted ones.
    func conversations(after number: Int64, limit: Int) throws -> [ConversationRow]
    /// Returns the numbers of conversations that changed after commit `lastCommit`, lowest first.
    func conversationNumbers(after number: Int64, committedAfter lastCommit: Int64, limit: Int) throws -> [Int64]
    /// Returns all incarnations, oldest first.
    func incarnations() throws -> [IncarnationRow]
    /// Returns the server settings as the engine wrote them.
    func settings() throws -> RawJSON?

    func media(_ id: MediaID) throws -> MediaRow?
    /// Returns files without references since before a time, longest unused first.
    func media(unusedBefore time: Date, limit: Int) throws -> [MediaRow]
    /// Returns files created before a time, oldest first.
    func media(createdBefore time: Date, limit: Int) throws -> [MediaRow]
    /// Returns whether a file or a thumbnail has this blob.
    func isUsed(_ blob: BlobID) throws -> Bool
    /// Returns the lowest number above `number` of a conversation with a message that refers to a file.
    func conversation(using media: MediaID, after number: Int64) throws -> Int64?
    /// Returns the first message in a range that refers to a file.
    func firstUse(of media: MediaID, at places: SeqRange, in conversation: Int64) throws -> Seq?
    /// Returns the files that messages in a range refer to, ordered by sequence number.
    func uses(at places: SeqRange, in conversation: Int64, limit: Int) throws -> [MediaUseRow]

    func upload(_ id: UploadID) throws -> UploadRow?
    /// Returns the number of a user's open uploads.
    func openUploads(of user: UserID) throws -> Int
    /// Returns the bytes of a user's open uploads: their lengths, or what was received if a length is unknown.
    func openUploadBytes(of user: UserID) throws -> Int64
    /// Returns what a user has added on the last day for which it was stored.
    func usage(of user: UserID) throws -> UsageRow?
    /// Returns uploads, including finished ones, that received no data since before a time, oldest first.
    func uploads(touchedBefore time: Date, limit: Int) throws -> [UploadRow]
}

extension StoreReader {
    package func readAhead(_ reads: ExpectedReads) {}

    /// Returns at most `limit` messages of a range, regardless of their size.
    package func messages(
        in conversation: Int64, _ range: SeqRange, newestFirst: Bool, limit: Int, filter: MessageFilter, reader: UserID
    ) throws -> [MessageRow] {
        var budget = ResponseBudget(messages: limit, bytes: .max)
        return try messages(
            in: conversation, range, newestFirst: newestFirst, budget: &budget, filter: filter, reader: reader)
    }
}

/// A write transaction.
///
/// Reads within the transaction see its changes.
package protocol StoreWriter: StoreReader, ModerationWriter, PeopleWriter, ThreadWriter, DraftWriter, ScheduledWriter,
    DeliveryWriter, IncomingWebhookWriter, AdminWriter, PushWriter
{
    /// Stores a conversation, and assigns a number to a new one.
    func put(_ conversation: inout ConversationRow) throws
    func put(_ member: MemberRow) throws
    func put(_ user: UserRow) throws
    func insert(_ message: MessageRow, in conversation: Int64) throws
    /// Adds a membership span, or replaces the span with the same start.
    func put(_ span: SpanRow, of user: UserID, in conversation: Int64) throws
    /// Stores a block of a bit set, and replaces the existing block.
    func put(_ block: BitBlock, of set: BitSet, in conversation: Int64) throws
    /// Deletes the blocks of a bit set below a block.
    func dropBits(_ set: BitSet, of conversation: Int64, below block: Int64) throws
    /// Adds a deleted range, or replaces the range with the same start.
    func put(_ deletedRange: DeletedRangeRow, of user: UserID?, in conversation: Int64) throws
    /// Removes the deleted range that starts at a sequence number.
    func dropDeletedRange(from seq: Seq, of user: UserID?, in conversation: Int64) throws
    /// Stores a mention of a user, or of everyone except the sender if `user` is `nil`.
    func insertMention(of user: UserID?, by sender: UserID, at seq: Seq, in conversation: Int64) throws
    func dropMention(of user: UserID?, at seq: Seq, in conversation: Int64) throws

    /// Replaces the message with the same sequence number.
    func update(_ message: MessageRow, in conversation: Int64) throws
    /// Removes messages and the actions on them.
    func removeMessages(_ places: SeqRange, in conversation: Int64) throws
    func insert(_ key: KeyRow, in conversation: Int64) throws
    /// Deletes at most `limit` keys of messages sent before a time, in any conversation.
    ///
    /// - Returns: The number of deleted keys.
    func dropKeys(before time: Timetoken, limit: Int) throws -> Int

    func insert(_ change: ChangeRow, in conversation: Int64) throws
    /// Deletes changes at or below a revision.
    func dropChanges(in conversation: Int64, through rev: Int64) throws

    func insert(_ action: ActionRow, in conversation: Int64) throws
    func removeAction(at timetoken: Timetoken, in conversation: Int64) throws
    func removeActions(at seq: Seq, in conversation: Int64) throws

    /// Stores an incarnation, whose generation becomes that of the store after the commit.
    func begin(_ incarnation: IncarnationRow) throws
    func put(settings: RawJSON) throws

    func put(_ media: MediaRow) throws
    /// Deletes a file; the references of messages to it stay.
    func remove(_ media: MediaID) throws
    /// Stores a reference to a file; an existing reference stays unchanged.
    func insert(_ use: MediaUseRow) throws
    func remove(_ use: MediaUseRow) throws
    func put(_ upload: UploadRow) throws
    func put(_ usage: UsageRow, of user: UserID) throws
    /// Deletes the amounts of earlier days.
    func dropUsage(before day: Int64) throws
    func remove(_ upload: UploadID) throws

    /// Deletes a conversation's messages and all dependent data.
    ///
    /// The conversation's row stays. Members become former members without a read position, and reader rows are
    /// deleted.
    func erase(_ conversation: Int64) throws
}
