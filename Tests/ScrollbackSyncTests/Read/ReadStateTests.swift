import ContractRows
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Read state")
struct ReadStateTests {
    private func summary(
        read: Seq, unread: Int64, mentions: Int64 = 0, seq: Seq, n: Int64? = nil, rev: Int64 = 0, userRev: Int64 = 0,
        epoch: UInt64 = 7, isMarked: Bool = false
    ) -> ReadSummary {
        ReadSummary(
            epoch: Epoch(rawValue: epoch), readSeq: read, unread: unread, mentions: mentions, isMarkedUnread: isMarked,
            seq: seq, n: n ?? seq, rev: rev, userRev: userRev)
    }

    @Test("An answer from before a read on another client does not restore the count", .history(12))
    func delayedAnswer() {
        var shelf = Shelf(summary(read: 7, unread: 3, seq: 10, userRev: 5))
        shelf.apply(summary(read: 10, unread: 0, seq: 10, userRev: 6))
        shelf.apply(summary(read: 7, unread: 3, seq: 10, userRev: 5))
        #expect(shelf.read.unread == 0)
        #expect(shelf.read.position == 10)
        #expect(shelf.read.isExact)
    }

    @Test("An answer from before this client's unacknowledged read does not restore the count", .history(12))
    func delayedAnswerWhilePending() {
        var shelf = Shelf(summary(read: 7, unread: 3, mentions: 1, seq: 10, userRev: 5))
        shelf.markRead(upTo: 10)
        #expect(shelf.read.pendingReadSeq == 10)
        shelf.apply(summary(read: 7, unread: 3, mentions: 1, seq: 10, userRev: 5))
        #expect(shelf.read.unread == 0)
        #expect(shelf.read.mentions == 0)
        #expect(shelf.read.position == 10)
        // Two more messages arrive before the server receives the read.
        shelf.apply(message(11))
        shelf.apply(message(12, mentions: .users([me])))
        shelf.apply(summary(read: 7, unread: 5, mentions: 2, seq: 12, userRev: 5))
        #expect(shelf.read.unread == 2)
        #expect(shelf.read.mentions == 1)
        shelf.apply(summary(read: 10, unread: 2, mentions: 1, seq: 12, userRev: 6))
        #expect(shelf.read.pendingReadSeq == nil)
        #expect(shelf.read.unread == 2)
        #expect(shelf.read.mentions == 1)
        #expect(shelf.read.isExact)
    }

    @Test("A read that clears an unread flag is sent despite a stale answer without the flag")
    func delayedAnswerWhileMarked() {
        var shelf = Shelf(summary(read: 10, unread: 0, seq: 10, userRev: 5, isMarked: true))
        shelf.markRead(upTo: 10)
        shelf.apply(summary(read: 10, unread: 0, seq: 10, userRev: 7, isMarked: true))
        shelf.apply(summary(read: 10, unread: 0, seq: 10, userRev: 6))
        #expect(shelf.read.pendingReadSeq == 10)
        shelf.apply(summary(read: 10, unread: 0, seq: 10, userRev: 8))
        #expect(shelf.read.pendingReadSeq == nil)
    }

    @Test("An own message behind unread ones is not counted and marks nothing as read", .history(13))
    func ownMessage() {
        // 50 messages and a mention arrived while Alice was offline. Her own message is stored at 151.
        var shelf = Shelf(summary(read: 100, unread: 50, mentions: 1, seq: 150))
        shelf.apply(message(151, sender: me))
        #expect(shelf.read.unread == 50)
        #expect(shelf.read.mentions == 1)
        shelf.apply(message(152))
        #expect(shelf.read.unread == 51)
        #expect(shelf.read.isExact)
        shelf.apply(summary(read: 152, unread: 0, seq: 152, userRev: 1))
        #expect(shelf.read.unread == 0)
    }

    @Test("An own message acknowledged before the missed ones counts them and requests the head", .history(13))
    func ownMessageFirst() {
        var shelf = Shelf(summary(read: 100, unread: 0, seq: 100))
        shelf.apply(message(151, sender: me))
        #expect(shelf.read.unread == 50)
        #expect(!shelf.read.isExact)
        shelf.apply(summary(read: 100, unread: 50, mentions: 1, seq: 151, userRev: 1))
        #expect(shelf.read.unread == 50)
        #expect(shelf.read.mentions == 1)
        #expect(shelf.read.isExact)
    }

    @Test("Messages that are loaded into a gap adjust the count before the server answers")
    func learnedInAGap() {
        var shelf = Shelf(summary(read: 100, unread: 0, seq: 100))
        shelf.apply(message(151, sender: me))
        #expect(shelf.read.unread == 50)
        shelf.apply(message(120, sender: me))
        shelf.apply(message(125))
        #expect(shelf.read.unread == 49)
        shelf.apply(message(130, mentions: .users([me])))
        #expect(shelf.read.unread == 49 && shelf.read.mentions == 1)
        #expect(!shelf.read.isExact)
    }

    @Test("An answer for an older head is extended with the messages that arrived since")
    func behindInSeq() {
        var shelf = Shelf(summary(read: 0, unread: 10, seq: 10))
        shelf.apply(message(11))
        shelf.apply(message(12))
        shelf.apply(summary(read: 8, unread: 2, seq: 10, userRev: 1))
        #expect(shelf.read.unread == 4)
        #expect(shelf.read.countedAt == .init(seq: 12, n: 12, rev: 0, userRev: 1))
        #expect(shelf.read.isExact)
    }

    @Test("An answer from before a change that affects counts is not used, and the head is requested")
    func behindInRev() {
        var shelf = Shelf(summary(read: 3, unread: 7, seq: 10), rows: [message(9)])
        shelf.apply(.message(message(9, "edited", rev: 1)))
        #expect(shelf.read.unread == 7)
        var recalled = message(9, nil, rev: 2)
        recalled.attributes.traits.countsUnread = false
        shelf.apply(.message(recalled))
        #expect(shelf.read.unread == 6)
        #expect(shelf.read.isExact)
        shelf.apply(summary(read: 5, unread: 5, seq: 10, rev: 1, userRev: 1))
        #expect(shelf.read.position == 5)
        #expect(!shelf.read.isExact)
        shelf.apply(summary(read: 5, unread: 4, seq: 10, rev: 2, userRev: 1))
        #expect(shelf.read.unread == 4)
        #expect(shelf.read.isExact)
    }

    @Test("The recall of a read message does not lower the count")
    func recallOfTheRead() {
        var shelf = Shelf(summary(read: 0, unread: 10, seq: 10), rows: messages(1...10))
        shelf.markRead(upTo: 5)
        #expect(shelf.read.unread == 5)
        for (rev, seq, left) in [(1, 3, 5), (2, 5, 5), (3, 7, 4)] as [(Int64, Seq, Int64)] {
            var recalled = message(seq, nil, rev: rev)
            recalled.attributes.traits.countsUnread = false
            shelf.apply(.message(recalled))
            #expect(shelf.read.unread == left)
        }
        #expect(shelf.read.isExact)
    }

    @Test("An answer from before a change that does not affect counts is used")
    func behindInIdleChanges() {
        var shelf = Shelf(summary(read: 3, unread: 7, seq: 10), rows: [message(9)])
        shelf.apply(.message(message(9, "edited", rev: 1)))
        shelf.apply(summary(read: 5, unread: 5, seq: 10, rev: 0, userRev: 1))
        #expect(shelf.read.unread == 5)
        #expect(shelf.read.isExact)
    }

    @Test("An answer from before a change of an uncounted or deleted message is not used")
    func behindInWhatCame() {
        // The message is sent and recalled in one transaction, and the answer is from between the two.
        var recalled = message(3, nil, rev: 1)
        recalled.attributes.traits.countsUnread = false
        for known in [nil, message(3)] {
            var read = Shelf(summary(read: 0, unread: 2, seq: 2)).read
            read.changed(recalled, replacing: known, reader: me, mayHavePassed: false)
            read.apply(summary(read: 0, unread: 3, seq: 3))
            #expect(read.unread == 2 && !read.isExact)
            read.apply(summary(read: 0, unread: 2, seq: 3, rev: 1))
            #expect(read.unread == 2 && read.isExact)
        }
        var read = Shelf(summary(read: 0, unread: 2, seq: 2)).read
        read.erased(3...4, rev: 2)
        read.apply(summary(read: 0, unread: 4, seq: 4, rev: 1))
        #expect(read.unread == 2 && !read.isExact)
    }

    @Test("An answer from before the recall of a read message does not count it after the read is dropped")
    func behindInTheRead() {
        var shelf = Shelf(summary(read: 0, unread: 2, seq: 2), rows: messages(1...2))
        shelf.markRead(upTo: 2)
        var recalled = message(2, nil, rev: 1)
        recalled.attributes.traits.countsUnread = false
        shelf.apply(.message(recalled))
        shelf.read.dropPendingRead()
        shelf.apply(summary(read: 0, unread: 2, seq: 2))
        #expect(shelf.read.unread == 1 && shelf.read.isExact)
    }

    @Test("Local messages are counted again if an answer can't be used")
    func countedAnew() {
        var shelf = Shelf(summary(read: 7, unread: 3, seq: 10), rows: [message(8), message(9), message(10)])
        var recalled = message(9, nil, rev: 1)
        recalled.attributes.traits.countsUnread = false
        shelf.apply(.message(recalled))
        shelf.apply(summary(read: 8, unread: 2, seq: 10, rev: 0, userRev: 1))
        #expect(shelf.read.unread == 1)
        #expect(shelf.read.isExact)
    }

    @Test("A message that does not count can mention the user", .history(14))
    func mentionWithoutCount() {
        var shelf = Shelf(summary(read: 9, unread: 0, seq: 9))
        var quiet = message(10, n: 9, mentions: .users([me]))
        quiet.attributes.traits.countsUnread = false
        shelf.apply(quiet)
        #expect(shelf.read.unread == 0)
        #expect(shelf.read.mentions == 1)
        #expect(shelf.read.isExact)
    }

    @Test("A message below the read marker does not count when it arrives")
    func readAhead() {
        var shelf = Shelf(summary(read: 5, unread: 5, seq: 10))
        shelf.apply(summary(read: 13, unread: 0, seq: 13, userRev: 1))
        shelf.apply(message(13))
        #expect(shelf.read.unread == 0)
        shelf.apply(message(14))
        #expect(shelf.read.unread == 1)
    }

    @Test("A partial read gives estimated counts until all messages above it are loaded")
    func partialRead() {
        var shelf = Shelf(summary(read: 0, unread: 10, mentions: 4, seq: 10), rows: [message(8)])
        shelf.markRead(upTo: 8)
        #expect(shelf.read.unread == 2)
        #expect(shelf.read.mentions == 2)
        #expect(!shelf.read.isExact)
        shelf.markRead(upTo: 6)
        #expect(shelf.read.position == 8)
        shelf.apply(message(9, sender: me))
        shelf.apply(message(10))
        #expect(shelf.read.unread == 1)
        #expect(shelf.read.mentions == 0)
        #expect(shelf.read.isExact)
    }

    @Test("A message that the user deleted and its sender then recalled is subtracted once", .history(15))
    func hiddenThenRecalled() {
        var shelf = Shelf(summary(read: 0, unread: 3, seq: 3), rows: messages(1...3))
        shelf.apply(hidden: [2...2])
        #expect(shelf.read.unread == 2)
        shelf.apply(summary(read: 0, unread: 2, seq: 3, userRev: 1))
        shelf.apply(.invisible(rev: 1))
        #expect(shelf.read.unread == 2)
        #expect(shelf.read.isExact)
    }

    @Test("An answer from before a message was deleted for oneself does not count it again", .history(12))
    func delayedAnswerAfterHiding() {
        var shelf = Shelf(summary(read: 0, unread: 3, seq: 3, userRev: 5), rows: messages(1...3))
        shelf.apply(hidden: [2...2])
        shelf.apply(summary(read: 0, unread: 2, seq: 3, userRev: 6))
        shelf.apply(summary(read: 0, unread: 3, seq: 3, userRev: 5))
        #expect(shelf.read.unread == 2)
        #expect(shelf.read.isExact)
    }

    @Test("A head with a higher retention floor lowers the count to the remaining messages")
    func floor() {
        var shelf = Shelf(summary(read: 0, unread: 10, seq: 10), rows: messages(1...10))
        shelf.apply(head: LogHead(epoch: Epoch(rawValue: 7), view: 0, head: 10, firstSeq: 8, n: 10, rev: 0))
        #expect(shelf.read.unread == 3)
        #expect(shelf.read.isExact)
    }

    @Test("A mention that an edit adds below an own message leaves the counts inexact")
    func lateMention() {
        var shelf = Shelf(summary(read: 0, unread: 0, seq: 0), rows: [message(1), message(2, sender: me)])
        shelf.apply(.message(message(1, "@me", rev: 1, mentions: .users([me]))))
        #expect(!shelf.read.isExact)
    }

    @Test("An unsubscribed channel is counted by counted indexes, without own messages")
    func channel() {
        var shelf = Shelf(summary(read: 10, unread: 0, seq: 10))
        shelf.hearsOwn = true
        shelf.apply(message(13, sender: me))
        shelf.apply(message(15, mentions: .users([me])))
        shelf.apply(head: LogHead(epoch: Epoch(rawValue: 7), view: 0, head: 20, firstSeq: 1, n: 20, rev: 0))
        #expect(shelf.read.unread == 9)
        #expect(shelf.read.mentions == 1)
        #expect(shelf.read.isExact)
        // Without the message, a recall arrives only as a new revision.
        shelf.apply(head: LogHead(epoch: Epoch(rawValue: 7), view: 0, head: 20, firstSeq: 1, n: 20, rev: 1))
        #expect(!shelf.read.isExact)
    }

    @Test("An answer for an old epoch is dropped", .history(17))
    func deadEpoch() {
        var state = ReadState(unknownIn: Epoch(rawValue: 8), countsAfter: 0, n: 0)
        state.apply(summary(read: 2, unread: 1, seq: 3, epoch: 8))
        let known = state
        state.apply(summary(read: 90, unread: 5, seq: 100, rev: 9, userRev: 9))
        #expect(known.unread == 1 && state == known)
    }

    @Test("A permanently refused read leaves inexact counts until the next answer")
    func refusedRead() {
        var shelf = Shelf(summary(read: 0, unread: 10, seq: 10))
        shelf.markRead(upTo: 10)
        #expect(shelf.read.unread == 0)
        shelf.read.dropPendingRead()
        #expect(!shelf.read.isExact)
        shelf.apply(summary(read: 0, unread: 10, seq: 10))
        #expect(shelf.read.unread == 10)
    }

    @Test("A summary can be created from a conversation's head")
    func fromHead() {
        let head = ConversationHead(
            conversation: swift, state: log(12, n: 11, rev: 2), unread: 3, mentions: 1, readSeq: 9, userRev: 4)
        #expect(ReadSummary(head) == summary(read: 9, unread: 3, mentions: 1, seq: 12, n: 11, rev: 2, userRev: 4))
    }
}
