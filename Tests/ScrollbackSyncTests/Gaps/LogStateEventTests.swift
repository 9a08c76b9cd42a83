import ContractRows
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Events of a log")
struct LogStateEventTests {
    @Test("The next message is appended, and its counted index is adopted")
    func nextMessage() {
        var copy = LogCopy(log(10))
        let edit = copy.apply(message: message(11, countedIndex: 10))
        #expect(!edit.needsSync)
        #expect(copy.state.head == 11)
        #expect(copy.state.countedIndex == 10)
        #expect(copy.gaps.isEmpty)
        #expect(copy.violations.isEmpty)
    }

    @Test("A message that skips others first opens a gap for them")
    func skippedMessages() {
        var copy = LogCopy(log(10))
        let edit = copy.apply(message: message(14))
        #expect(copy.gaps == [11...13])
        #expect(edit.needsSync)
        #expect(copy.position.seq == 10)
        #expect(copy.violations.isEmpty)
    }

    @Test("Messages that arrive in any order leave no gap and need no sync")
    func reorderedMessages() {
        var copy = LogCopy(log(10))
        for seq: Seq in [13, 11, 12] { copy.apply(message: message(seq)) }
        #expect(copy.gaps.isEmpty)
        #expect(!copy.state.isBehind)
    }

    @Test("A message inside a gap fills only its own sequence number")
    func messageInGap() {
        var copy = LogCopy(log(20), read: 15...20)
        copy.apply(message: message(7))
        #expect(copy.gaps == [1...6, 8...14])
        #expect(copy.violations.isEmpty)
    }

    @Test("A message below the retention floor or in a deleted range is ignored")
    func messageInDeletedRangeIsIgnored() {
        var copy = LogCopy(log(20, firstSeq: 5))
        copy.apply(change: .removed(9...9, rev: 1))
        copy.apply(message: message(3))
        copy.apply(message: message(9))
        #expect(copy.rows[3] == nil)
        #expect(copy.rows[9] == nil)
        #expect(copy.violations.isEmpty)
    }

    @Test("A message or change of another epoch is stale and requests a sync")
    func otherEpoch() {
        var copy = LogCopy(log(10))
        let before = copy.state
        for edit in [
            copy.apply(message: message(11, epoch: 8)),
            copy.apply(change: .invisible(rev: 1), in: Epoch(rawValue: 8)),
        ] {
            #expect(edit.outcome == .stale(.epoch))
            #expect(edit.needsSync)
        }
        #expect(copy.state == before)
    }

    @Test("An edit that arrives before an earlier reaction keeps both", .history(4))
    func reorderedChanges() {
        var copy = LogCopy(log(10, rev: 10))
        let early = copy.apply(change: .message(message(3, "edited", rev: 12)))
        #expect(copy.text(3) == "edited")
        #expect(copy.state.rev == 10)
        #expect(early.needsSync)
        copy.apply(change: .message(message(4, "reacted to", rev: 11)))
        #expect(copy.state.rev == 11)
        #expect(copy.state.isBehind)
        copy.apply(
            sync: sync(page(nil, [], of: log(10, rev: 12)), [.message(message(3, "edited", rev: 12))], through: 12),
            asked: copy.position)
        #expect(copy.text(3) == "edited")
        #expect(copy.text(4) == "reacted to")
        #expect(copy.state.rev == 12)
        #expect(!copy.state.isBehind)
    }

    @Test("Live events are applied by their kind")
    func liveEvents() {
        var copy = LogCopy(log(10))
        copy.apply { $0.apply(.message(message(11))) }
        copy.apply { $0.apply(.changed(swift, Epoch(rawValue: 7), .invisible(rev: 1))) }
        copy.apply { $0.apply(.head(swift, log(12, rev: 1))) }
        #expect(copy.state.rev == 1)
        #expect(copy.gaps == [12...12])
    }

    @Test("A range deletion is applied at once, even out of order")
    func removal() {
        var copy = LogCopy(log(20), read: 11...20)
        let edit = copy.apply(change: .removed(8...12, rev: 3))
        #expect(copy.deletedRanges == [8...12])
        #expect(copy.places == Array(13...20))
        #expect(copy.gaps == [1...7])
        #expect(copy.state.rev == 0)
        #expect(edit.needsSync)
        #expect(copy.violations.isEmpty)
    }

    @Test("A range deletion above the head waits for a sync, which provides the counted index")
    func removalAboveHeadWaitsForSync() {
        var copy = LogCopy(log(10))
        let edit = copy.apply(change: .removed(9...12, rev: 1))
        #expect(copy.deletedRanges == [9...10])
        #expect(copy.state.rev == 0)
        #expect(edit.needsSync)
        let answer = sync(
            page(11...13, [message(13)], deletedRanges: [11...12], of: log(13, rev: 1)), [.removed(9...12, rev: 1)],
            through: 1)
        copy.apply(sync: answer, asked: copy.position)
        #expect(copy.deletedRanges == [9...12])
        #expect(copy.state.countedIndex == 13)
        #expect(!copy.state.isBehind)
        #expect(copy.violations.isEmpty)
    }

    @Test("A change that arrives before its message opens a gap as the message would")
    func changeAboveHead() {
        var copy = LogCopy(log(10))
        copy.apply(change: .message(message(12, "edited", rev: 1)))
        #expect(copy.gaps == [11...11])
        #expect(copy.state.rev == 1)
        copy.apply(message: message(12, "as sent"))
        #expect(copy.text(12) == "edited")
        #expect(copy.violations.isEmpty)
    }

    @Test("A change below the retention floor only advances the revision")
    func changeBelowFloor() {
        var copy = LogCopy(log(20, firstSeq: 10))
        copy.apply(change: .message(message(4, "edited", rev: 1)))
        copy.apply(change: .removed(2...5, rev: 2))
        copy.apply(change: .invisible(rev: 3))
        #expect(copy.state.rev == 3)
        #expect(copy.places == Array(10...20))
        #expect(copy.deletedRanges.isEmpty)
    }

    @Test("A single message fills a gap only if its snapshot includes all changes that the client skipped")
    func baseline() {
        // Message 5 was edited at revision 3, before this client knew the log.
        var copy = LogCopy(adopting: log(10, rev: 4))
        copy.apply(message: message(5, "as sent"))
        #expect(copy.rows[5] == nil)
        #expect(copy.gaps == [1...10])
        copy.apply(message: message(5, "edited", rev: 3), readAt: 4)
        #expect(copy.text(5) == "edited")
        copy.apply(message: message(11))
        #expect(copy.rows[11] != nil)
        #expect(copy.violations.isEmpty)
    }
}
