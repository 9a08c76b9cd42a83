package import ScrollbackModel

/// Read operations for threads.
package protocol ThreadReader {
    /// Returns the first messages of threads that have replies, those with the newest reply first.
    ///
    /// - Parameter time: The time of the newest reply below which to return them; `nil` for all.
    func threads(in conversation: Int64, before time: Timetoken?, limit: Int) throws -> [MessageRow]
    /// Returns the sequence numbers above `seq` of replies by others that mention the user or everyone, by thread.
    ///
    /// - Parameter limit: How many of the newest mentions of the user, and how many of the newest mentions of everyone,
    ///   are examined. Those in messages without a thread count too.
    func mentionedReplies(
        of user: UserID, in conversation: Int64, above seq: Seq, limit: Int
    ) throws -> [MessageID: [Seq]]
    func threadState(of user: UserID, in thread: MessageID, of conversation: Int64) throws -> ThreadStateRow?
    /// Returns the states of a user in the threads of a conversation, ordered by thread.
    func threadStates(
        of user: UserID, in conversation: Int64, after thread: MessageID?, limit: Int
    ) throws -> [ThreadStateRow]
}

/// Write operations for threads.
package protocol ThreadWriter {
    func put(_ state: ThreadStateRow, of user: UserID, in conversation: Int64) throws
    /// Deletes the states of all users in a thread, and the set of its replies.
    func dropThread(_ thread: MessageID, in conversation: Int64) throws
}

/// A user's own state in a thread.
package struct ThreadStateRow: Hashable, Sendable {
    package enum Following: Int64, Sendable {
        /// The user neither took part in the thread nor decided.
        case undecided = 0
        case followed = 1
        /// The user stopped following the thread.
        case unfollowed = 2
    }

    /// The first message of the thread.
    package var thread: MessageID
    package var following = Following.undecided
    /// How far the user read the thread.
    package var readSeq: Seq = 0
    package var readCountedIndex: Int64 = 0
    /// The user's change counter when they last changed this state.
    package var userRev: Int64 = 0

    package init(
        thread: MessageID, following: Following = .undecided, readSeq: Seq = 0, readCountedIndex: Int64 = 0,
        userRev: Int64 = 0
    ) {
        self.thread = thread
        self.following = following
        self.readSeq = readSeq
        self.readCountedIndex = readCountedIndex
        self.userRev = userRev
    }
}
