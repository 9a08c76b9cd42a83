import ContractRows
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Read state")
struct ReadStateTests {
    private func summary(
        read: Seq, unread: Int64, mentions: Int64 = 0, seq: Seq, countedIndex: Int64? = nil, rev: Int64 = 0,
        userRev: Int64 = 0,
        epoch: UInt64 = 7, isMarked: Bool = false
    ) -> ReadSummary {
        ReadSummary(
            epoch: Epoch(rawValue: epoch), readSeq: read, unread: unread, mentions: mentions, isMarkedUnread: isMarked,
            seq: seq, countedIndex: countedIndex ?? seq, rev: rev, userRev: userRev)
    }

    @Test("An answer from before a read on another client does not restore the count", .history(12))
    func delayedAnswer() {
        var harness = ReadStateHarness(summary(read: 7, unread: 3, seq: 10, userRev: 5))
        harness.apply(summary(read: 10, unread: 0, seq: 10, userRev: 6))
        harness.apply(summary(read: 7, unread: 3, seq: 10, userRev: 5))
        #expect(harness.read.unread == 0)
        #expect(harness.read.position == 10)
        #expect(harness.read.isExact)
    }

    @Test("An answer from before this client's unacknowledged read does not restore the count", .history(12))
    func delayedAnswerWhilePending() {
        var harness = ReadStateHarness(summary(read: 7, unread: 3, mentions: 1, seq: 10, userRev: 5))
        harness.markRead(upTo: 10)
        #expect(harness.read.pendingReadSeq == 10)
        harness.apply(summary(read: 7, unread: 3, mentions: 1, seq: 10, userRev: 5))
        #expect(harness.read.unread == 0)
        #expect(harness.read.mentions == 0)
        #expect(harness.read.position == 10)
        // Two more messages arrive before the server receives the read.
        harness.apply(message(11))
        harness.apply(message(12, mentions: .users([me])))
        harness.apply(summary(read: 7, unread: 5, mentions: 2, seq: 12, userRev: 5))
        #expect(harness.read.unread == 2)
        #expect(harness.read.mentions == 1)
        harness.apply(summary(read: 10, unread: 2, mentions: 1, seq: 12, userRev: 6))
        #expect(harness.read.pendingReadSeq == nil)
        #expect(harness.read.unread == 2)
        #expect(harness.read.mentions == 1)
        #expect(harness.read.isExact)
    }

    @Test("A read that clears an unread flag is sent despite a stale answer without the flag")
    func delayedAnswerWhileMarked() {
        var harness = ReadStateHarness(summary(read: 10, unread: 0, seq: 10, userRev: 5, isMarked: true))
        harness.markRead(upTo: 10)
        harness.apply(summary(read: 10, unread: 0, seq: 10, userRev: 7, isMarked: true))
        harness.apply(summary(read: 10, unread: 0, seq: 10, userRev: 6))
        #expect(harness.read.pendingReadSeq == 10)
        harness.apply(summary(read: 10, unread: 0, seq: 10, userRev: 8))
        #expect(harness.read.pendingReadSeq == nil)
    }

    @Test("An own message behind unread ones is not counted and marks nothing as read", .history(13))
    func ownMessage() {
        // 50 messages and a mention arrived while Alice was offline. Her own message is stored at 151.
        var harness = ReadStateHarness(summary(read: 100, unread: 50, mentions: 1, seq: 150))
        harness.apply(message(151, sender: me))
        #expect(harness.read.unread == 50)
        #expect(harness.read.mentions == 1)
        harness.apply(message(152))
        #expect(harness.read.unread == 51)
        #expect(harness.read.isExact)
        harness.apply(summary(read: 152, unread: 0, seq: 152, userRev: 1))
        #expect(harness.read.unread == 0)
    }

    @Test("An own message acknowledged before the missed ones counts them and requests the head", .history(13))
    func ownMessageFirst() {
        var harness = ReadStateHarness(summary(read: 100, unread: 0, seq: 100))
        harness.apply(message(151, sender: me))
        #expect(harness.read.unread == 50)
        #expect(!harness.read.isExact)
        harness.apply(summary(read: 100, unread: 50, mentions: 1, seq: 151, userRev: 1))
        #expect(harness.read.unread == 50)
        #expect(harness.read.mentions == 1)
        #expect(harness.read.isExact)
    }

    @Test("Messages that are loaded into a gap adjust the count before the server answers")
    func messagesLoadedIntoGapAdjustCount() {
        var harness = ReadStateHarness(summary(read: 100, unread: 0, seq: 100))
        harness.apply(message(151, sender: me))
        #expect(harness.read.unread == 50)
        harness.apply(message(120, sender: me))
        harness.apply(message(125))
        #expect(harness.read.unread == 49)
        harness.apply(message(130, mentions: .users([me])))
        #expect(harness.read.unread == 49 && harness.read.mentions == 1)
        #expect(!harness.read.isExact)
    }

    @Test("An answer for an older head is extended with the messages that arrived since")
    func answerForOlderHeadIsExtended() {
        var harness = ReadStateHarness(summary(read: 0, unread: 10, seq: 10))
        harness.apply(message(11))
        harness.apply(message(12))
        harness.apply(summary(read: 8, unread: 2, seq: 10, userRev: 1))
        #expect(harness.read.unread == 4)
        #expect(harness.read.countedAt == .init(seq: 12, countedIndex: 12, rev: 0, userRev: 1))
        #expect(harness.read.isExact)
    }

    @Test("An answer from before a change that affects counts is not used, and the head is requested")
    func answerBeforeCountedChangeIsNotUsed() {
        var harness = ReadStateHarness(summary(read: 3, unread: 7, seq: 10), rows: [message(9)])
        harness.apply(.message(message(9, "edited", rev: 1)))
        #expect(harness.read.unread == 7)
        var recalled = message(9, nil, rev: 2)
        recalled.attributes.traits.countsUnread = false
        harness.apply(.message(recalled))
        #expect(harness.read.unread == 6)
        #expect(harness.read.isExact)
        harness.apply(summary(read: 5, unread: 5, seq: 10, rev: 1, userRev: 1))
        #expect(harness.read.position == 5)
        #expect(!harness.read.isExact)
        harness.apply(summary(read: 5, unread: 4, seq: 10, rev: 2, userRev: 1))
        #expect(harness.read.unread == 4)
        #expect(harness.read.isExact)
    }

    @Test("A change that does not affect the counts does not cover one before it that may", .history(27))
    func uncountedChangeDoesNotCoverEarlierOne() {
        for isComplete in [true, false] {
            let rows = isComplete ? messages(1...10) : [message(9)]
            var harness = ReadStateHarness(summary(read: 0, unread: 10, seq: 10), rows: rows)
            harness.applyChanges([(1, true), (2, false)])
            #expect(harness.read.unread == 10 && !harness.read.isExact)
            var recalled = message(9, nil, rev: 1)
            recalled.attributes.traits.countsUnread = false
            let head = LogHead(
                epoch: recalled.epoch, view: 0, head: 10, firstSeq: 1, countedIndex: 10, rev: 2)
            harness.apply(
                LogSync(
                    page: page(nil, [], of: head), changes: [.message(recalled), .message(message(8, rev: 2))],
                    changedThrough: 2, mustRefetch: false))
            #expect(harness.read.unread == 9)
            #expect(harness.read.isExact == isComplete)
        }
    }

    @Test("A change that does not affect the counts keeps them exact")
    func uncountedChangesKeepCountsExact() {
        var harness = ReadStateHarness(summary(read: 0, unread: 10, seq: 10), rows: messages(1...10))
        harness.applyChanges([(1, false), (2, false)])
        harness.applyChanges([(3, false)])
        #expect(harness.read.unread == 10 && harness.read.isExact)
        #expect(harness.read.countedAt.rev == 3)
    }

    @Test("The recall of a read message does not lower the count")
    func recallOfReadMessageKeepsCount() {
        var harness = ReadStateHarness(summary(read: 0, unread: 10, seq: 10), rows: messages(1...10))
        harness.markRead(upTo: 5)
        #expect(harness.read.unread == 5)
        for (rev, seq, left) in [(1, 3, 5), (2, 5, 5), (3, 7, 4)] as [(Int64, Seq, Int64)] {
            var recalled = message(seq, nil, rev: rev)
            recalled.attributes.traits.countsUnread = false
            harness.apply(.message(recalled))
            #expect(harness.read.unread == left)
        }
        #expect(harness.read.isExact)
    }

    @Test("An answer from before a change that does not affect counts is used")
    func answerBeforeUncountedChangeIsUsed() {
        var harness = ReadStateHarness(summary(read: 3, unread: 7, seq: 10), rows: [message(9)])
        harness.apply(.message(message(9, "edited", rev: 1)))
        harness.apply(summary(read: 5, unread: 5, seq: 10, rev: 0, userRev: 1))
        #expect(harness.read.unread == 5)
        #expect(harness.read.isExact)
    }

    @Test("An answer from before a change of an uncounted or deleted message is not used")
    func answerBeforeChangeOfUncountedMessage() {
        // The message is sent and recalled in one transaction, and the answer is from between the two.
        var recalled = message(3, nil, rev: 1)
        recalled.attributes.traits.countsUnread = false
        for known in [nil, message(3)] {
            var read = ReadStateHarness(summary(read: 0, unread: 2, seq: 2)).read
            read.changed(recalled, replacing: known, reader: me, mayHaveSentLater: false)
            read.apply(summary(read: 0, unread: 3, seq: 3))
            #expect(read.unread == 2 && !read.isExact)
            read.apply(summary(read: 0, unread: 2, seq: 3, rev: 1))
            #expect(read.unread == 2 && read.isExact)
        }
        var read = ReadStateHarness(summary(read: 0, unread: 2, seq: 2)).read
        read.erased(3...4, rev: 2)
        read.apply(summary(read: 0, unread: 4, seq: 4, rev: 1))
        #expect(read.unread == 2 && !read.isExact)
    }

    @Test("An answer from before the recall of a read message does not count it after the read is dropped")
    func answerBeforeRecallOfReadMessage() {
        var harness = ReadStateHarness(summary(read: 0, unread: 2, seq: 2), rows: messages(1...2))
        harness.markRead(upTo: 2)
        var recalled = message(2, nil, rev: 1)
        recalled.attributes.traits.countsUnread = false
        harness.apply(.message(recalled))
        harness.read.dropPendingRead()
        harness.apply(summary(read: 0, unread: 2, seq: 2))
        #expect(harness.read.unread == 1 && harness.read.isExact)
    }

    @Test("Local messages are counted again if an answer can't be used")
    func localMessagesAreCountedAgain() {
        var harness = ReadStateHarness(
            summary(read: 7, unread: 3, seq: 10), rows: [message(8), message(9), message(10)])
        var recalled = message(9, nil, rev: 1)
        recalled.attributes.traits.countsUnread = false
        harness.apply(.message(recalled))
        harness.apply(summary(read: 8, unread: 2, seq: 10, rev: 0, userRev: 1))
        #expect(harness.read.unread == 1)
        #expect(harness.read.isExact)
    }

    @Test("A message that does not count can mention the user", .history(14))
    func uncountedMessageCanMention() {
        var harness = ReadStateHarness(summary(read: 9, unread: 0, seq: 9))
        var quiet = message(10, countedIndex: 9, mentions: .users([me]))
        quiet.attributes.traits.countsUnread = false
        harness.apply(quiet)
        #expect(harness.read.unread == 0)
        #expect(harness.read.mentions == 1)
        #expect(harness.read.isExact)
    }

    @Test("A message below the read marker does not count when it arrives")
    func messageBelowReadMarkerDoesNotCount() {
        var harness = ReadStateHarness(summary(read: 5, unread: 5, seq: 10))
        harness.apply(summary(read: 13, unread: 0, seq: 13, userRev: 1))
        harness.apply(message(13))
        #expect(harness.read.unread == 0)
        harness.apply(message(14))
        #expect(harness.read.unread == 1)
    }

    @Test("A partial read gives estimated counts until all messages above it are loaded")
    func partialRead() {
        var harness = ReadStateHarness(summary(read: 0, unread: 10, mentions: 4, seq: 10), rows: [message(8)])
        harness.markRead(upTo: 8)
        #expect(harness.read.unread == 2)
        #expect(harness.read.mentions == 2)
        #expect(!harness.read.isExact)
        harness.markRead(upTo: 6)
        #expect(harness.read.position == 8)
        harness.apply(message(9, sender: me))
        harness.apply(message(10))
        #expect(harness.read.unread == 1)
        #expect(harness.read.mentions == 0)
        #expect(harness.read.isExact)
    }

    @Test("A message that the user deleted and its sender then recalled is subtracted once", .history(15))
    func hideAndRecallAreSubtractedOnce() {
        var harness = ReadStateHarness(summary(read: 0, unread: 3, seq: 3), rows: messages(1...3))
        harness.apply(hidden: [2...2])
        #expect(harness.read.unread == 2)
        harness.apply(summary(read: 0, unread: 2, seq: 3, userRev: 1))
        harness.apply(.invisible(rev: 1))
        #expect(harness.read.unread == 2)
        #expect(harness.read.isExact)
    }

    @Test("An answer from before a message was deleted for oneself does not count it again", .history(12))
    func delayedAnswerAfterHide() {
        var harness = ReadStateHarness(summary(read: 0, unread: 3, seq: 3, userRev: 5), rows: messages(1...3))
        harness.apply(hidden: [2...2])
        harness.apply(summary(read: 0, unread: 2, seq: 3, userRev: 6))
        harness.apply(summary(read: 0, unread: 3, seq: 3, userRev: 5))
        #expect(harness.read.unread == 2)
        #expect(harness.read.isExact)
    }

    @Test("A head with a higher retention floor lowers the count to the remaining messages")
    func floor() {
        var harness = ReadStateHarness(summary(read: 0, unread: 10, seq: 10), rows: messages(1...10))
        harness.apply(
            head: LogHead(epoch: Epoch(rawValue: 7), view: 0, head: 10, firstSeq: 8, countedIndex: 10, rev: 0))
        #expect(harness.read.unread == 3)
        #expect(harness.read.isExact)
    }

    @Test("A mention that an edit adds below an own message leaves the counts inexact")
    func lateMention() {
        var harness = ReadStateHarness(summary(read: 0, unread: 0, seq: 0), rows: [message(1), message(2, sender: me)])
        harness.apply(.message(message(1, "@me", rev: 1, mentions: .users([me]))))
        #expect(!harness.read.isExact)
    }

    @Test("An unsubscribed channel is counted by counted indexes, without own messages")
    func channel() {
        var harness = ReadStateHarness(summary(read: 10, unread: 0, seq: 10))
        harness.receivesOwnMessages = true
        harness.apply(message(13, sender: me))
        harness.apply(message(15, mentions: .users([me])))
        harness.apply(
            head: LogHead(epoch: Epoch(rawValue: 7), view: 0, head: 20, firstSeq: 1, countedIndex: 20, rev: 0))
        #expect(harness.read.unread == 9)
        #expect(harness.read.mentions == 1)
        #expect(harness.read.isExact)
        // Without the message, a recall arrives only as a new revision.
        harness.apply(
            head: LogHead(epoch: Epoch(rawValue: 7), view: 0, head: 20, firstSeq: 1, countedIndex: 20, rev: 1))
        #expect(!harness.read.isExact)
    }

    @Test("An answer for an old epoch is dropped", .history(17))
    func answerForOldEpochIsDropped() {
        var state = ReadState(unknownIn: Epoch(rawValue: 8), countsAfter: 0, countedIndex: 0)
        state.apply(summary(read: 2, unread: 1, seq: 3, epoch: 8))
        let known = state
        state.apply(summary(read: 90, unread: 5, seq: 100, rev: 9, userRev: 9))
        #expect(known.unread == 1 && state == known)
    }

    @Test("A permanently refused read leaves inexact counts until the next answer")
    func refusedRead() {
        var harness = ReadStateHarness(summary(read: 0, unread: 10, seq: 10))
        harness.markRead(upTo: 10)
        #expect(harness.read.unread == 0)
        harness.read.dropPendingRead()
        #expect(!harness.read.isExact)
        harness.apply(summary(read: 0, unread: 10, seq: 10))
        #expect(harness.read.unread == 10)
    }

    @Test("A summary can be created from a conversation's head")
    func fromHead() {
        let head = ConversationHead(
            conversation: swift, state: log(12, countedIndex: 11, rev: 2), unread: 3, mentions: 1, readSeq: 9,
            userRev: 4)
        #expect(
            ReadSummary(head) == summary(read: 9, unread: 3, mentions: 1, seq: 12, countedIndex: 11, rev: 2, userRev: 4)
        )
    }
}
