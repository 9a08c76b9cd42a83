package import ScrollbackModel

/// The user's read position and unread counts in one conversation.
///
/// The server counts. Between two of its answers, the device updates the counts from its copy of the log. The device
/// knows whether its counts are exact, and requests them if not. An older answer never undoes a pending read of this
/// device.
package struct ReadState: Hashable, Sendable {
    package internal(set) var epoch: Epoch
    /// The sequence number up to which nothing is unread, according to the server.
    package internal(set) var readSeq: Seq
    package internal(set) var unread: Int64
    package internal(set) var mentions: Int64
    /// The position and revisions that the counts include.
    package internal(set) var countedAt: Stamp
    /// The sequence number up to which no count was derived from counted indexes.
    ///
    /// Gaps above are assumed to have messages of other users.
    package internal(set) var knownThrough: Seq
    /// The newest revision that may have altered the counts; older answers can't include it.
    package internal(set) var lastCountChangeRev: Int64
    /// The certainty of the counts.
    package internal(set) var certainty: Certainty
    /// The position of a read on this device that the server has not confirmed yet.
    package internal(set) var pendingReadSeq: Seq?
    /// The counted index at `pendingReadSeq`, if known.
    package internal(set) var pendingReadCountedIndex: Int64?

    package enum Certainty: Int64, Hashable, Comparable, Sendable {
        /// The counts equal those of the server.
        case exact = 0
        /// The counts are approximate and become exact when the device recounts a range that it has completely.
        case estimated = 1
        /// Only the server knows the counts, because it knows how far sending advanced the read position.
        case disputed = 2

        package static func < (a: Certainty, b: Certainty) -> Bool { a.rawValue < b.rawValue }
    }

    /// The position and revisions at which counts were computed.
    package struct Stamp: Hashable, Sendable {
        package var seq: Seq
        /// The counted index at `seq`.
        package var countedIndex: Int64
        package var rev: Int64
        /// The user revision.
        package var userRev: Int64

        package init(seq: Seq, countedIndex: Int64, rev: Int64, userRev: Int64) {
            self.seq = seq
            self.countedIndex = countedIndex
            self.rev = rev
            self.userRev = userRev
        }
    }

    /// Creates a state from stored values.
    package init(
        epoch: Epoch, readSeq: Seq, unread: Int64, mentions: Int64, countedAt: Stamp, knownThrough: Seq,
        lastCountChangeRev: Int64, certainty: Certainty, pendingReadSeq: Seq?, pendingReadCountedIndex: Int64?
    ) {
        self.epoch = epoch
        self.readSeq = readSeq
        self.unread = unread
        self.mentions = mentions
        self.countedAt = countedAt
        self.knownThrough = knownThrough
        self.lastCountChangeRev = lastCountChangeRev
        self.certainty = certainty
        self.pendingReadSeq = pendingReadSeq
        self.pendingReadCountedIndex = pendingReadCountedIndex
    }

    /// Creates a state without counts from the server; messages after `seq` count until the server answers.
    package init(unknownIn epoch: Epoch, countsAfter seq: Seq, countedIndex: Int64) {
        self.init(
            epoch: epoch, readSeq: 0, unread: 0, mentions: 0,
            countedAt: Stamp(seq: seq, countedIndex: countedIndex, rev: 0, userRev: 0), knownThrough: seq,
            lastCountChangeRev: 0,
            certainty: .estimated, pendingReadSeq: nil, pendingReadCountedIndex: nil)
    }

    package var isExact: Bool { certainty == .exact }

    /// The sequence number up to which nothing is unread for the user, including a pending read.
    package var position: Seq { max(readSeq, pendingReadSeq ?? 0) }

    /// The counts of stored messages in a range.
    package struct RangeCounts: Hashable, Sendable {
        /// The messages of other users that count as unread.
        package var unread: Int64
        /// The messages of other users that mention the user.
        package var mentions: Int64
        /// The user's own messages that count as unread for others.
        package var own: Int64
        /// Whether all messages of the range are stored.
        package var isComplete: Bool

        package init(unread: Int64 = 0, mentions: Int64 = 0, own: Int64 = 0, isComplete: Bool = true) {
            self.unread = unread
            self.mentions = mentions
            self.own = own
            self.isComplete = isComplete
        }
    }

    /// The maximum number of messages that are read for a recount.
    package static let countedMessages: Int64 = 1_000
}

extension ReadState.Stamp {
    init(of summary: ReadSummary) {
        self.init(seq: summary.seq, countedIndex: summary.countedIndex, rev: summary.rev, userRev: summary.userRev)
    }
}

extension ReadSummary {
    /// Creates a summary from the user's own state in a conversation's head.
    package init(_ head: ConversationHead) {
        self.init(
            epoch: head.state.epoch, readSeq: head.readSeq, unread: head.unread, mentions: head.mentions,
            isMarkedUnread: head.isMarkedUnread, isMuted: head.isMuted, notifications: head.notifications,
            isPinned: head.isPinned,
            removedSeq: head.removedSeq, seq: head.state.head, countedIndex: head.state.countedIndex,
            rev: head.state.rev,
            userRev: head.userRev)
    }
}
