package import Foundation
package import ScrollbackModel

/// A store that several servers, its nodes, use at the same time.
///
/// Transactions of all nodes run one after the other. Each stores a note, which contains its changes for the other
/// nodes (decision 56).
package protocol SharedStore: MessageStore {
    /// Whether no other node used the store when this one opened it.
    var isFirst: Bool { get }

    /// Runs a closure in one transaction, as ``MessageStore/write(_:)`` does, and stores a note of it.
    ///
    /// - Parameters:
    ///   - known: The newest commit that this node knows. The turn has the notes since then.
    ///   - id: The ID of the commit.
    ///   - reads: Returns what the closure will probably read.
    ///   - body: Returns the body of the note.
    /// - Throws: ``UnconfirmedCommit`` if the transaction may have been committed.
    func write(
        after known: Int64, as id: CommitID, expecting reads: () -> ExpectedReads,
        _ body: (any StoreWriter, Turn) throws -> [UInt8]
    ) throws

    /// Returns the notes of commits from a number on, oldest first, as far as they fit into about 4 MiB.
    ///
    /// The first one may have no body.
    func notes(from number: Int64) throws -> NotePage

    /// Records the generation that began with a commit of another node, of which this node has the note.
    func adopt(_ generation: UInt64, of commit: Int64)

    /// Deletes notes that are older than a number of seconds, except for the newest one.
    func dropNotes(olderThan seconds: TimeInterval) throws
}

extension SharedStore {
    package func write(
        after known: Int64, as id: CommitID, _ body: (any StoreWriter, Turn) throws -> [UInt8]
    ) throws {
        try write(after: known, as: id, expecting: { ExpectedReads() }, body)
    }
}

/// The record of one transaction for the other nodes.
package struct CommitNote: Hashable, Sendable {
    package var number: Int64
    package var id: CommitID
    /// The JSON of ``CommitEffects``; empty for a transaction without effects on what nodes keep in memory.
    package var body: [UInt8]

    package init(number: Int64, id: CommitID, body: [UInt8]) {
        self.number = number
        self.id = id
        self.body = body
    }
}

/// A random number that identifies a commit.
///
/// After a failover to a standby that was not synchronous, another commit can have the same number.
package struct CommitID: Hashable, Sendable {
    package var bits: UInt64

    package init(bits: UInt64) {
        self.bits = bits
    }

    package static func random() -> CommitID { CommitID(bits: .random(in: .min ... .max)) }
}

/// Notes of consecutive commits.
package struct NotePage: Sendable {
    package var notes: [CommitNote]
    /// Whether there are more notes after these.
    package var hasMore: Bool

    package init(notes: [CommitNote], hasMore: Bool) {
        self.notes = notes
        self.hasMore = hasMore
    }
}

/// The turn of a node to write.
package struct Turn: Sendable {
    /// The number of the transaction.
    package var commit: Int64
    /// The newest time of any message.
    package var newest: Timetoken
    /// The store's time, which is the same for all nodes.
    package var time: Date
    /// The notes from the newest commit on that the node knows.
    package var earlier: NotePage

    package init(commit: Int64, newest: Timetoken, time: Date, earlier: NotePage) {
        self.commit = commit
        self.newest = newest
        self.time = time
        self.earlier = earlier
    }
}
