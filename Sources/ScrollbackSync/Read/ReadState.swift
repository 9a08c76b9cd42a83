package import ScrollbackModel

/// How far the user has read in one conversation, and what is left.
///
/// The server counts; between two of its answers the device counts on, by what it holds of the log. It always knows
/// whether its numbers are exact; where they are not, it asks. What was marked read here and not confirmed yet is never
/// undone by an older answer.
package struct ReadState: Hashable, Sendable {
    package internal(set) var epoch: Epoch
    /// The newest place up to which nothing is unread, as the server said.
    package internal(set) var readSeq: Seq
    package internal(set) var unread: Int64
    package internal(set) var mentions: Int64
    /// How far the counts go: which messages, which changes, which of the user's own changes.
    package internal(set) var countedAt: Stamp
    /// Up to here nothing was guessed from running numbers: what is in gaps above is others', as far as is known.
    package internal(set) var knownThrough: Seq
    /// The newest change that may have altered what an answer counts: one from before it can't have it.
    package internal(set) var touchedRev: Int64
    /// Whether the counts are what the server would say now.
    package internal(set) var certainty: Certainty
    /// Marked read here; to be sent until an answer says at least as much.
    package internal(set) var pendingReadSeq: Seq?
    /// The running number at `pendingReadSeq`, where it is known.
    package internal(set) var pendingN: Int64?

    package enum Certainty: Int64, Hashable, Comparable, Sendable {
        /// They are what the server would say.
        case exact = 0
        /// They are near: counting what is held, where all of it is, makes them exact.
        case estimated = 1
        /// Only the server knows: how far the position went on by what the user sent.
        case disputed = 2

        package static func < (a: Certainty, b: Certainty) -> Bool { a.rawValue < b.rawValue }
    }

    /// What the counts were computed at.
    package struct Stamp: Hashable, Sendable {
        package var seq: Seq
        /// The running number at `seq`.
        package var n: Int64
        package var rev: Int64
        /// The user's own change counter.
        package var userRev: Int64

        package init(seq: Seq, n: Int64, rev: Int64, userRev: Int64) {
            self.seq = seq
            self.n = n
            self.rev = rev
            self.userRev = userRev
        }
    }

    /// As a store kept it.
    package init(
        epoch: Epoch, readSeq: Seq, unread: Int64, mentions: Int64, countedAt: Stamp, knownThrough: Seq,
        touchedRev: Int64, certainty: Certainty, pendingReadSeq: Seq?, pendingN: Int64?
    ) {
        self.epoch = epoch
        self.readSeq = readSeq
        self.unread = unread
        self.mentions = mentions
        self.countedAt = countedAt
        self.knownThrough = knownThrough
        self.touchedRev = touchedRev
        self.certainty = certainty
        self.pendingReadSeq = pendingReadSeq
        self.pendingN = pendingN
    }

    /// Of a log of which no count is known yet: what came after a place counts, until the server says what else does.
    package init(unknownIn epoch: Epoch, countsAfter seq: Seq, n: Int64) {
        self.init(
            epoch: epoch, readSeq: 0, unread: 0, mentions: 0,
            countedAt: Stamp(seq: seq, n: n, rev: 0, userRev: 0), knownThrough: seq, touchedRev: 0,
            certainty: .estimated, pendingReadSeq: nil, pendingN: nil)
    }

    package var isExact: Bool { certainty == .exact }

    /// The newest place up to which nothing is unread for the user, told to the server or not.
    package var position: Seq { max(readSeq, pendingReadSeq ?? 0) }

    /// What is held of a run of places.
    package struct Counted: Hashable, Sendable {
        /// Messages of others that count.
        package var unread: Int64
        /// Messages of others that mention the user.
        package var mentions: Int64
        /// Messages of the user's own that would count for others.
        package var own: Int64
        /// Whether every message of the run is held.
        package var isWhole: Bool

        package init(unread: Int64 = 0, mentions: Int64 = 0, own: Int64 = 0, isWhole: Bool = true) {
            self.unread = unread
            self.mentions = mentions
            self.own = own
            self.isWhole = isWhole
        }
    }

    /// The most messages that are looked at to count them anew.
    package static let countedMessages: Int64 = 1_000
}

extension ReadState.Stamp {
    init(of summary: ReadSummary) {
        self.init(seq: summary.seq, n: summary.n, rev: summary.rev, userRev: summary.userRev)
    }
}

extension ReadSummary {
    /// What a conversation's head says of the user's own state.
    package init(_ head: ConversationHead) {
        self.init(
            epoch: head.state.epoch, readSeq: head.readSeq, unread: head.unread, mentions: head.mentions,
            isMarkedUnread: head.isMarkedUnread, isMuted: head.isMuted, notifications: head.notifications,
            isPinned: head.isPinned,
            removedSeq: head.removedSeq, seq: head.state.head, n: head.state.n, rev: head.state.rev,
            userRev: head.userRev)
    }
}
