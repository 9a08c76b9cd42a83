import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Read state")
struct ReadStateTests {
    private func summary(
        read: Seq, unread: Int64, mentions: Int64 = 0, seq: Seq, n: Int64? = nil, rev: Int64 = 0, userRev: Int64 = 0,
        isMarkedUnread: Bool = false, epoch: UInt64 = 7
    ) -> ReadSummary {
        ReadSummary(
            epoch: Epoch(rawValue: epoch), readSeq: read, unread: unread, mentions: mentions,
            isMarkedUnread: isMarkedUnread, seq: seq, n: n ?? seq, rev: rev, userRev: userRev)
    }

    @Test("History 12: an answer from before another device read everything brings nothing back")
    func delayedAnswer() {
        var state = ReadState(summary(read: 7, unread: 3, seq: 10, userRev: 5))
        let delayed = summary(read: 7, unread: 3, seq: 10, userRev: 5)
        state.apply(summary(read: 10, unread: 0, seq: 10, userRev: 6))
        #expect(state.apply(delayed) == false)
        #expect(state.unread == 0)
        #expect(state.readSeq == 10)
    }

    @Test("History 12: nor does one from before this device read, while the server has not confirmed it")
    func delayedAnswerWhilePending() {
        var state = ReadState(summary(read: 7, unread: 3, mentions: 1, seq: 10, userRev: 5))
        state.markRead(upTo: 10, n: 10)
        #expect(state.pendingReadSeq == 10)
        state.apply(summary(read: 7, unread: 3, mentions: 1, seq: 10, userRev: 5))
        #expect(state.unread == 0)
        #expect(state.mentions == 0)
        #expect(state.readSeq == 10)
        // Two more came before the server heard of the reading.
        state.apply(summary(read: 7, unread: 5, mentions: 2, seq: 12, userRev: 5))
        #expect(state.unread == 2)
        #expect(state.mentions == 2)
        state.apply(summary(read: 10, unread: 2, mentions: 1, seq: 12, userRev: 6))
        #expect(state.pendingReadSeq == nil)
        #expect(state.unread == 2)
        #expect(state.mentions == 1)
    }

    @Test("History 13: an own message sent after others counts nothing and reads nothing")
    func ownMessage() {
        // 50 messages and a mention came while Alice was offline; hers commits at 151.
        var state = ReadState(summary(read: 100, unread: 50, mentions: 1, seq: 150))
        state.apply(message(151, sender: me), reader: me)
        #expect(state.unread == 50)
        #expect(state.mentions == 1)
        state.apply(message(152), reader: me)
        #expect(state.unread == 51)
        state.apply(summary(read: 152, unread: 0, seq: 152, userRev: 1))
        #expect(state.unread == 0)
    }

    @Test("History 13: an own message that is acknowledged before the others are there counts those")
    func ownMessageFirst() {
        var state = ReadState(summary(read: 100, unread: 0, seq: 100))
        state.apply(message(151, sender: me), reader: me)
        #expect(state.unread == 50)
        #expect(state.apply(summary(read: 100, unread: 50, mentions: 1, seq: 151, userRev: 1)) == true)
        #expect(state.unread == 50)
        #expect(state.mentions == 1)
    }

    @Test("An answer that is behind in places counts what came since")
    func behindInSeq() {
        var state = ReadState(summary(read: 0, unread: 10, seq: 10))
        state.apply(message(11), reader: me)
        state.apply(message(12), reader: me)
        #expect(state.apply(summary(read: 8, unread: 2, seq: 10, userRev: 1)) == true)
        #expect(state.unread == 4)
        #expect(state.computedAt == .init(seq: 12, n: 12, rev: 0, userRev: 1))
    }

    @Test("An answer that is behind in changes is dropped, all but how far was read")
    func behindInRev() {
        var state = ReadState(summary(read: 3, unread: 6, seq: 10, rev: 4))
        #expect(state.apply(summary(read: 5, unread: 5, seq: 11, rev: 3)) == false)
        #expect(state.unread == 6)
        #expect(state.readSeq == 5)
    }

    @Test("History 14: a message that does not count may still mention")
    func mentionWithoutCount() {
        var state = ReadState(summary(read: 9, unread: 0, seq: 9))
        state.apply(message(10, n: 9, mentions: .users([me])), reader: me)
        #expect(state.unread == 0)
        #expect(state.mentions == 1)
    }

    @Test("A message that was read before it came does not count")
    func readAhead() {
        var state = ReadState(summary(read: 5, unread: 5, seq: 10))
        state.apply(summary(read: 12, unread: 5, seq: 9, userRev: 0))
        state.markRead(upTo: 13, n: 13)
        state.apply(message(13), reader: me)
        #expect(state.unread == 0)
        state.apply(message(15), reader: me)
        #expect(state.unread == 2)
    }

    @Test("Reading to a place leaves what is above it")
    func partialRead() {
        var state = ReadState(summary(read: 0, unread: 10, mentions: 4, seq: 10))
        state.markRead(upTo: 8, n: 8)
        #expect(state.unread == 2)
        #expect(state.mentions == 2)
        state.markRead(upTo: 6, n: 6)
        #expect(state.readSeq == 8)
        state.markRead(upTo: 9)
        #expect(state.unread == 2)
    }

    @Test("A mark as unread comes from the server and goes with the next reading")
    func markedUnread() {
        var state = ReadState(summary(read: 10, unread: 0, seq: 10))
        state.apply(summary(read: 10, unread: 0, seq: 10, userRev: 1, isMarkedUnread: true))
        #expect(state.isMarkedUnread)
        state.markRead(upTo: 10)
        #expect(!state.isMarkedUnread)
        state.apply(summary(read: 9, unread: 1, seq: 10, userRev: 1, isMarkedUnread: true))
        #expect(!state.isMarkedUnread)
        #expect(state.pendingReadSeq == 10)
    }

    @Test("History 17: an answer about a dead epoch is dropped")
    func deadEpoch() {
        var state = ReadState(summary(read: 2, unread: 1, seq: 3, epoch: 8))
        #expect(state.apply(summary(read: 90, unread: 5, seq: 100, rev: 9, userRev: 9)) == false)
        #expect(state == ReadState(summary(read: 2, unread: 1, seq: 3, epoch: 8)))
    }

    @Test("History 17: starting over takes queued reads along")
    func startOver() {
        var state = ReadState(summary(read: 0, unread: 10, seq: 10, userRev: 3))
        state.markRead(upTo: 10)
        state.startOver(with: summary(read: 2, unread: 1, seq: 3))
        #expect(state.pendingReadSeq == nil)
        #expect(state.readSeq == 2)
        #expect(state.unread == 1)
    }

    @Test("A summary is read from a conversation's head")
    func fromHead() {
        let head = ConversationHead(
            conversation: swift, state: log(12, n: 11, rev: 2), unread: 3, mentions: 1, readSeq: 9, userRev: 4)
        #expect(ReadSummary(head) == summary(read: 9, unread: 3, mentions: 1, seq: 12, n: 11, rev: 2, userRev: 4))
    }
}
