package import Foundation
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

    /// Gives room that nothing lies in any more back to the system, a little of it.
    ///
    /// - Returns: whether there is more.
    func giveBackRoom() throws -> Bool
}

/// The questions the engine asks a snapshot.
package protocol StoreReader: MannersReader, PeopleReader, OperatorReader, PushReader {
    func conversation(_ id: ConversationID) throws -> ConversationRow?
    func conversation(numbered number: Int64) throws -> ConversationRow?
    /// The channels of a community by name, deleted ones too.
    func channels(of community: Identifier, after: Identifier?, limit: Int) throws -> [ConversationRow]

    func member(_ user: UserID, of conversation: Int64) throws -> MemberRow?
    /// Who is a member now, by name.
    func members(of conversation: Int64, after: UserID?, limit: Int) throws -> [MemberRow]
    /// Every conversation a user has to do with.
    func memberships(of user: UserID) throws -> [MemberRow]
    /// The same, with what a list of them all is made from, by number: those that a commit moved above one number, or in
    /// which the user's own counter of changes stands above another, and communities whenever they moved.
    func involvements(of user: UserID, movedAbove moved: Int64, changedAbove rev: Int64) throws -> [InvolvementRow]
    /// The conversations that may have a place in a user's list, as far as a glance at each tells, in any order; a
    /// community stands for its channels.
    func listed(of user: UserID, _ filter: ListFilter) throws -> [ListedRow]
    /// The conversations listing a user in which what is unread is more than a difference of two running numbers, by
    /// number. Channels are not among them, and others may be.
    func unevenCounts(of user: UserID) throws -> [Int64: UnevenCount]
    /// The channels of a community, deleted ones too, with what the user has to do with them; by name.
    func channelInvolvements(of user: UserID, in community: Identifier) throws -> [InvolvementRow]
    /// When they were a member, oldest first.
    func spans(of user: UserID, in conversation: Int64) throws -> [SpanRow]
    /// The blocks of a set, lowest first; those that are empty may be left out.
    func bits(_ set: BitSet, of conversation: Int64, blocks: ClosedRange<Int64>) throws -> [BitBlock]
    /// What is gone for one person alone, or (nil) for everyone, lowest first.
    func voids(of user: UserID?, in conversation: Int64) throws -> [VoidRow]
    /// Places above `seq` where they, or everyone, were mentioned, lowest first; their own messages are not among them.
    func mentions(of user: UserID, in conversation: Int64, above seq: Seq) throws -> [Seq]

    func message(at seq: Seq, in conversation: Int64) throws -> MessageRow?
    func message(_ id: MessageID, in conversation: Int64) throws -> MessageRow?
    /// Where the message at the highest place at or below `seq` stands.
    func place(atOrBelow seq: Seq, in conversation: Int64) throws -> PlaceRow?
    /// The message at the highest place at or below `seq`.
    func message(atOrBelow seq: Seq, in conversation: Int64) throws -> MessageRow?
    /// Messages of a run of places that pass the filter, from its newest or its oldest end, as far as there is room.
    func messages(
        in conversation: Int64, _ range: SeqRange, newestFirst: Bool, room: inout PageRoom, filter: MessageFilter,
        reader: UserID
    ) throws -> [MessageRow]

    /// What is remembered of a message whose row is gone.
    func key(_ id: MessageID, in conversation: Int64) throws -> KeyRow?

    /// Changes above `rev`, in order.
    func changes(in conversation: Int64, after rev: Int64, limit: Int) throws -> [ChangeRow]
    /// The change that was asked for under an id.
    func change(_ operation: MessageID, in conversation: Int64) throws -> ChangeRow?

    /// Actions on one message, or (nil) on any, whose time lies above `after`, oldest first.
    func actions(at seq: Seq?, in conversation: Int64, after: Timetoken?, limit: Int) throws -> [ActionRow]
    func action(at seq: Seq, _ sender: UserID, type: String, value: String, in conversation: Int64) throws -> ActionRow?
    func action(at timetoken: Timetoken, in conversation: Int64) throws -> ActionRow?
    /// The newest time of any action of a conversation.
    func lastAction(in conversation: Int64) throws -> Timetoken?

    func user(_ id: UserID) throws -> UserRow?

    /// Conversations by number, deleted ones too.
    func conversations(after number: Int64, limit: Int) throws -> [ConversationRow]
    /// What an operator has set, as the engine wrote it.
    func settings() throws -> RawJSON?

    func media(_ id: MediaID) throws -> MediaRow?
    /// Files that no message has referred to since before a time, longest unused first.
    func media(unusedBefore time: Date, limit: Int) throws -> [MediaRow]
    /// Files that were stored before a time, oldest first.
    func media(createdBefore time: Date, limit: Int) throws -> [MediaRow]
    /// Whether a file or a thumbnail has these bytes.
    func isUsed(_ blob: BlobID) throws -> Bool
    /// The lowest number above one of a conversation in which a message refers to a file.
    func conversation(using media: MediaID, after number: Int64) throws -> Int64?
    /// Whether a message at these places refers to a file.
    func uses(_ media: MediaID, at places: SeqRange, in conversation: Int64) throws -> Bool
    /// What messages at these places refer to, by place.
    func uses(at places: SeqRange, in conversation: Int64, limit: Int) throws -> [MediaUseRow]

    func upload(_ id: UploadID) throws -> UploadRow?
    /// How many of a user's uploads are under way.
    func openUploads(of user: UserID) throws -> Int
    /// Uploads, finished ones too, that nothing has come for since before a time, oldest first.
    func uploads(touchedBefore time: Date, limit: Int) throws -> [UploadRow]
}

extension StoreReader {
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
package protocol StoreWriter: StoreReader, MannersWriter, PeopleWriter, OperatorWriter, PushWriter {
    /// Stores a conversation; one without a number gets one.
    func put(_ conversation: inout ConversationRow) throws
    func put(_ member: MemberRow) throws
    func put(_ user: UserRow) throws
    func insert(_ message: MessageRow, in conversation: Int64) throws
    /// Adds a time of membership, or ends the one that began at the same point.
    func put(_ span: SpanRow, of user: UserID, in conversation: Int64) throws
    /// Stores a block of a set in place of the one that was there.
    func put(_ block: BitBlock, of set: BitSet, in conversation: Int64) throws
    /// Forgets the blocks of a set below one.
    func dropBits(_ set: BitSet, of conversation: Int64, below block: Int64) throws
    /// Adds a range that is gone, or replaces the one that begins at the same place.
    func put(_ void: VoidRow, of user: UserID?, in conversation: Int64) throws
    /// Forgets the range that begins at a place.
    func dropVoid(from seq: Seq, of user: UserID?, in conversation: Int64) throws
    /// Remembers a mention of a user, or of everyone but the sender.
    func insertMention(of user: UserID?, by sender: UserID, at seq: Seq, in conversation: Int64) throws
    func dropMention(of user: UserID?, at seq: Seq, in conversation: Int64) throws

    /// Replaces the message at its place.
    func update(_ message: MessageRow, in conversation: Int64) throws
    /// Removes messages and the actions on them.
    func removeMessages(_ places: SeqRange, in conversation: Int64) throws
    func insert(_ key: KeyRow, in conversation: Int64) throws
    /// Forgets at most `limit` keys of messages sent before a time, of any conversation.
    ///
    /// - Returns: how many it were.
    func dropKeys(before time: Timetoken, limit: Int) throws -> Int

    func insert(_ change: ChangeRow, in conversation: Int64) throws
    /// Forgets changes at or below a number.
    func dropChanges(in conversation: Int64, through rev: Int64) throws

    func insert(_ action: ActionRow, in conversation: Int64) throws
    func removeAction(at timetoken: Timetoken, in conversation: Int64) throws
    func removeActions(at seq: Seq, in conversation: Int64) throws

    func put(settings: RawJSON) throws

    func put(_ media: MediaRow) throws
    /// Forgets a file; which messages refer to it is known still, as long as there are any.
    func remove(_ media: MediaID) throws
    /// Remembers a reference; one that is there already stays.
    func insert(_ use: MediaUseRow) throws
    func remove(_ use: MediaUseRow) throws
    func put(_ upload: UploadRow) throws
    func remove(_ upload: UploadID) throws

    /// Erases a conversation's messages and all that belongs to them, changes, spans and sets. Its row stays, and whoever
    /// was a member stays as one who left, with no position; who only read is forgotten.
    func erase(_ conversation: Int64) throws
}
