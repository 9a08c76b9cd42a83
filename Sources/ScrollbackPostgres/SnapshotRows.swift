package import ScrollbackEngine
package import ScrollbackModel

/// The rows that a snapshot has read ahead for lists of conversations and for logs.
///
/// Any change makes a transaction forget all of them.
struct SnapshotRows {
    struct MessagePosition: Hashable {
        var conversation: Int64
        var seq: Seq
    }

    /// The sequence numbers, above a given one, of other users' messages that mention a user.
    struct Mentions {
        var above: Seq
        var seqs: Set<Seq> = []
    }

    /// The changes after a revision, with the lowest ones first.
    struct Changes {
        var after: Int64
        var rows: [ChangeRow] = []
    }

    var expected: ExpectedReads.Summaries?
    private var memberships: [MembershipSummary] = []
    /// The channels of communities, by the number of the community.
    private var channels: [Int64: [MembershipSummary]] = [:]
    var drafts: [DraftRow] = []
    var messages: [MessagePosition: MessageRow] = [:]
    var mentions: [ReadAhead.MemberKey: Mentions] = [:]
    var logs: [Int64: LogPart] = [:]
    var changes: [Int64: Changes] = [:]

    /// The maximum number of mentions to read ahead, of a user by name and of everyone.
    static let maximumMentions = 100
    /// The maximum number of changes to read ahead.
    static let maximumChanges = 500

    /// - Parameter community: The community of a channel; `nil` for the membership of the user.
    mutating func add(_ row: MembershipSummary, of community: Int64?) {
        if let community { return channels[community, default: []].append(row) }
        memberships.append(row)
        if row.isCommunityRoot, channels[row.number] == nil { channels[row.number] = [] }
    }

    // Each of the following returns `nil` if it is not known.

    func summaries(_ reads: ExpectedReads.Summaries) -> [MembershipSummary]? {
        reads == expected ? memberships : nil
    }

    func channels(of user: UserID, in community: Int64) -> [MembershipSummary]? {
        user == expected?.user ? channels[community] : nil
    }

    func firstDraft(of user: UserID, after rev: Int64) -> [DraftRow]? {
        user == expected?.user && rev == expected?.rev ? drafts : nil
    }

    func message(at seq: Seq, in conversation: Int64) -> MessageRow? {
        messages[MessagePosition(conversation: conversation, seq: seq)]
    }

    func mentions(of user: UserID, in conversation: Int64, above seq: Seq) -> [Seq]? {
        guard let known = mentions[ReadAhead.MemberKey(conversation: conversation, user: user)], known.above <= seq,
            known.seqs.count <= Self.maximumMentions
        else { return nil }
        return known.seqs.filter { $0 > seq }.sorted()
    }

    func changes(in conversation: Int64, after rev: Int64, limit: Int) -> [ChangeRow]? {
        guard let known = changes[conversation], known.after == rev, limit <= Self.maximumChanges else { return nil }
        return Array(known.rows.prefix(limit))
    }
}

/// The messages of a part of a log, except for large ones.
package struct LogPart: Sendable {
    package let places: SeqRange
    /// The messages, oldest first.
    private var rows: [MessageRow] = []
    /// The sequence numbers of messages that were too large to read ahead, lowest first.
    private var large: [Seq] = []

    package init(_ places: SeqRange) {
        self.places = places
    }

    /// Adds the next message, or only its sequence number if it is too large.
    package mutating func add(_ seq: Seq, _ row: MessageRow?) {
        if let row { rows.append(row) } else { large.append(seq) }
    }

    /// Returns the messages from one end of a range on, as far as they are known.
    ///
    /// - Returns: The messages, from the end on, and the rest of the range; `nil` if no message of the range is known.
    package func messages(in range: SeqRange, newestFirst: Bool) -> (rows: [MessageRow], rest: SeqRange?)? {
        guard places.contains(newestFirst ? range.upperBound : range.lowerBound) else { return nil }
        var known = range.clamped(to: places)
        if newestFirst, let last = large.last(where: { known.contains($0) }) {
            guard last < known.upperBound else { return nil }
            known = last + 1...known.upperBound
        } else if !newestFirst, let first = large.first(where: { known.contains($0) }) {
            guard first > known.lowerBound else { return nil }
            known = known.lowerBound...first - 1
        }
        let found = rows.filter { known.contains($0.seq) }
        if newestFirst {
            let rest = known.lowerBound > range.lowerBound ? range.lowerBound...known.lowerBound - 1 : nil
            return (found.reversed(), rest)
        }
        return (found, known.upperBound < range.upperBound ? known.upperBound + 1...range.upperBound : nil)
    }
}
