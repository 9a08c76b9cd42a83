package import Foundation
package import ScrollbackModel

/// One incarnation of a store: the commits between two openings for serving.
///
/// An incarnation ends where the next one begins. Two copies of a store that both run have different incarnations after
/// the copy. A commit of one copy is therefore never taken for a commit of the other (decision 33).
package struct IncarnationRow: Hashable, Sendable {
    /// A UUID (version 7), which orders incarnations by the time at which they began.
    package var id: MessageID
    /// The generation of the store in this incarnation.
    package var generation: UInt64
    /// The first commit; the earlier ones belong to earlier incarnations.
    package var firstCommit: Int64
    /// The newest time of any message when the incarnation began.
    package var newest: Timetoken
    /// If this incarnation began a new generation, the time after which messages of the old generation may be lost.
    package var lostAfter: Timetoken?

    package init(
        id: MessageID, generation: UInt64, firstCommit: Int64, newest: Timetoken, lostAfter: Timetoken? = nil
    ) {
        self.id = id
        self.generation = generation
        self.firstCommit = firstCommit
        self.newest = newest
        self.lostAfter = lostAfter
    }
}

extension MessageStore {
    /// Begins an incarnation in a transaction of its own.
    ///
    /// If the generation changed while the store was closed, the store was restored from a backup. Messages that are
    /// newer than its newest one may then be lost.
    package func beginIncarnation(at date: Date) throws {
        let (generation, newest) = (generation, try newest)
        try write { writer, commit in
            try writer.begin(.next(in: writer, at: date, generation: generation, commit: commit, newest: newest))
        }
    }

    /// Begins an incarnation with a new generation, because the store went back to an earlier state while it was
    /// closed.
    ///
    /// Messages since the start of the last incarnation may be lost.
    package func renewGeneration(at date: Date) throws {
        let newest = try newest
        try write { writer, commit in
            let lostAfter = try writer.incarnations().last?.newest ?? Timetoken(rawValue: 0)
            try writer.begin(.renewing(at: date, commit: commit, newest: newest, lostAfter: lostAfter))
        }
    }
}

extension IncarnationRow {
    /// Creates the incarnation that begins when a store is opened.
    static func next(
        in store: any StoreReader, at date: Date, generation: UInt64, commit: Int64, newest: Timetoken
    ) throws -> IncarnationRow {
        let last = try store.incarnations().last
        let isRestored = last.map { $0.generation != generation } ?? false
        return IncarnationRow(
            id: .incarnation(at: date), generation: generation, firstCommit: commit, newest: newest,
            lostAfter: isRestored ? newest : nil)
    }

    /// Creates an incarnation with a new random generation.
    ///
    /// - Parameter other: An incarnation that the store lost. The new one is later even if the clock went back.
    static func renewing(
        at date: Date, after other: MessageID? = nil, commit: Int64, newest: Timetoken, lostAfter: Timetoken
    ) -> IncarnationRow {
        let date = max(date, other.map { $0.time + 0.002 } ?? date)
        return IncarnationRow(
            id: .incarnation(at: date), generation: .random(in: .min ... .max), firstCommit: commit, newest: newest,
            lostAfter: lostAfter)
    }
}

extension MessageID {
    /// Creates the ID of an incarnation.
    static func incarnation(at date: Date) -> MessageID {
        var generator = SystemRandomNumberGenerator()
        return MessageID(at: date, using: &generator)
    }

    /// The time in the first 48 bits, in whole milliseconds.
    var time: Date {
        let milliseconds = withUnsafeBytes(of: uuid.uuid) { $0.prefix(6).reduce(0) { $0 << 8 | UInt64($1) } }
        return Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}
