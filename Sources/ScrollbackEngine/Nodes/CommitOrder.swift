/// The order in which a node delivers the commits of all nodes: by number, without gaps, each once.
///
/// Notes can arrive late, several times, in any order, or not at all. The node reads missing notes from the store.
package struct CommitOrder: Sendable {
    /// A reason why the node can't continue.
    package enum Failure: Error, Hashable, CustomStringConvertible {
        /// The store lost a commit that this node has delivered.
        case wentBack(Int64)
        /// The notes of the next commits are deleted, because this node was inactive for too long.
        case tooLate(Int64)
        /// The note of a commit can't be decoded.
        case unreadable(Int64)

        package var description: String {
            switch self {
            case .wentBack(let number):
                "The database lost commit \(number), for example with a failover to a standby that was not "
                    + "synchronous. Its generation was renewed, so that all clients synchronize again. Start the "
                    + "server again."
            case .tooLate(let number):
                "This server was inactive for too long: the oldest note of a commit in the database is of commit "
                    + "\(number). Start the server again."
            case .unreadable(let number):
                "This server can't read the note of commit \(number). The note is damaged, or another version of the "
                    + "server wrote it. Start the server again, with the same version as the others."
            }
        }
    }

    /// The last delivered commit.
    package private(set) var last: (number: Int64, id: CommitID)
    /// Notes that arrived before their predecessors, up to ``maximumEarly``.
    private var early: [Int64: (note: CommitNote, previous: CommitID?)] = [:]

    /// The maximum number of notes that wait for their predecessors; the store has the others.
    package static let maximumEarly = 1_000

    package init(after number: Int64, id: CommitID) {
        last = (number, id)
    }

    /// Whether a note waits for its predecessors, which the node should read from the store.
    ///
    /// It also waits if its predecessor is not the last delivered commit, because the store lost that one.
    package var hasGap: Bool { !early.isEmpty }

    /// Handles a note from another node.
    ///
    /// - Parameter previous: The ID of the commit before it; `nil` if the note is part of a page from the store.
    /// - Returns: The notes to deliver now, in order.
    package mutating func receive(_ note: CommitNote, after previous: CommitID? = nil) -> [CommitNote] {
        guard note.number > last.number else { return [] }
        if note.number == last.number + 1 || early.count < Self.maximumEarly { early[note.number] = (note, previous) }
        return takeNext()
    }

    /// Handles notes that were read from the store.
    ///
    /// - Parameter number: The last delivered commit when they were read, which is the first of them.
    /// - Returns: The notes to deliver now, in order.
    package mutating func receive(_ page: NotePage, from number: Int64) throws(Failure) -> [CommitNote] {
        guard let first = page.notes.first else {
            if number == last.number { throw .wentBack(number) }
            return []
        }
        // Another thread may have delivered some of them in the meantime.
        guard let known = page.notes.first(where: { $0.number >= last.number }) else { return [] }
        guard known.number == last.number else { throw .tooLate(first.number) }
        guard known.id == last.id else { throw .wentBack(last.number) }
        // A server that did not share the store stored no notes.
        for (note, next) in zip(page.notes, page.notes.dropFirst()) where next.number != note.number + 1 {
            throw .tooLate(next.number)
        }
        return page.notes.flatMap { receive($0) }
    }

    /// Handles a commit of this node, which has delivered all earlier commits.
    ///
    /// - Returns: Whether to deliver the commit; `false` if its note was delivered already. Then the notes to deliver
    ///   after it.
    package mutating func committed(_ number: Int64, id: CommitID) -> (isNew: Bool, next: [CommitNote]) {
        guard number > last.number else { return (false, []) }
        last = (number, id)
        early[number] = nil
        return (true, takeNext())
    }

    private mutating func takeNext() -> [CommitNote] {
        var next: [CommitNote] = []
        while let (note, previous) = early[last.number + 1], previous == nil || previous == last.id {
            early[note.number] = nil
            last = (note.number, note.id)
            next.append(note)
        }
        return next
    }
}
