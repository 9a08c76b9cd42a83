import Foundation
import ScrollbackEngine
import ScrollbackModel
import Testing

@Suite("The base of unread counts")
struct UnreadBaseTests {
    private func row(head: Seq = 20, floor: Seq = 0) -> ConversationRow {
        var row = ConversationRow(
            id: .group("g"), salt: 7, createdAt: Date(timeIntervalSinceReferenceDate: 0))
        (row.head, row.countedIndex) = (head, head)
        (row.firstSeq, row.floorCountedIndex) = (floor + 1, floor)
        return row
    }

    private func member(
        joined: Seq = 0, read: Seq = 0, cleared: Seq = 0, _ standing: MemberRow.Standing = .member
    ) -> MemberRow {
        var member = MemberRow(conversation: 1, user: "alice", standing: standing)
        (member.joinSeq, member.joinCountedIndex) = (joined, joined)
        (member.readSeq, member.readCountedIndex) = (read, read)
        (member.clearSeq, member.clearCountedIndex) = (cleared, cleared)
        return member
    }

    @Test("A new conversation is unread from its first message")
    func newConversation() {
        #expect(UnreadBase(of: row(), nil) == UnreadBase())
        #expect(UnreadBase(of: row(), member()) == UnreadBase())
        #expect((UnreadBase().position, UnreadBase().countedIndex) == (0, 0))
    }

    @Test(
        "The base is the highest of the retention floor and the joined, read and cleared positions",
        arguments: [
            (floor: 0, joined: 0, read: 9, cleared: 0, base: 9),
            (floor: 0, joined: 0, read: 4, cleared: 9, base: 9),
            (floor: 9, joined: 0, read: 4, cleared: 0, base: 9),
            (floor: 4, joined: 9, read: 0, cleared: 0, base: 9),
            (floor: 9, joined: 7, read: 8, cleared: 6, base: 9),
            (floor: 3, joined: 9, read: 9, cleared: 9, base: 9),
        ] as [(floor: Seq, joined: Seq, read: Seq, cleared: Seq, base: Seq)])
    func highestPosition(floor: Seq, joined: Seq, read: Seq, cleared: Seq, base: Seq) {
        for standing in [MemberRow.Standing.member, .left, .reader] {
            let member = member(joined: joined, read: read, cleared: cleared, standing)
            let found = UnreadBase(of: row(floor: floor), member)
            #expect((found.position, found.countedIndex) == (base, base), "\(standing)")
        }
    }

    @Test("The counted index and the sequence number can come from different positions")
    func independentParts() {
        // A reader of a public channel has no sequence number of where they joined.
        let base = UnreadBase(joinCountedIndex: 9, readSeq: 5, readCountedIndex: 5)
        #expect((base.position, base.countedIndex) == (5, 9))
    }

    @Test("Where a member of a public channel joined replaces the row's position from its time as a private channel")
    func joinedThroughCommunity() {
        let old = member(joined: 15, read: 3)
        let earlier = UnreadBase(of: row(), old, joined: (seq: 6, countedIndex: 5))
        #expect((earlier.position, earlier.countedIndex) == (6, 5))
        let withoutRow = UnreadBase(of: row(floor: 2), nil, joined: (seq: 6, countedIndex: 5))
        #expect((withoutRow.position, withoutRow.countedIndex) == (6, 5))
    }

    @Test("The counted indexes that may be unread are those above the base")
    func countedIndexes() {
        let base = UnreadBase(readSeq: 9, readCountedIndex: 7)
        #expect(base.countedIndexes(through: 10) == 8...10)
        #expect(base.countedIndexes(through: 8) == 8...8)
        #expect(base.countedIndexes(through: 7) == nil)
        #expect(base.countedIndexes(through: 0) == nil)
    }

    // MARK: The list of recents

    @Test("A conversation is listed from its first message until the user removes it")
    func listedUntilRemoved() {
        #expect(!MembershipSummary(of: row(head: 0), member()).isListed)
        var removed = member()
        #expect(MembershipSummary(of: row(), removed).isListed)
        removed.removedSeq = 20
        #expect(!MembershipSummary(of: row(), removed).isListed)
        #expect(MembershipSummary(of: row(head: 21), removed).isListed)
    }

    @Test("Messages that recents skip don't bring a removed conversation back, unless there are no others")
    func skippedMessages() {
        var row = row()
        var removed = member()
        removed.removedSeq = 12
        #expect(MembershipSummary(of: row, removed).isListed)
        row.recentSeq = 12
        #expect(!MembershipSummary(of: row, removed).isListed)
        row.recentSeq = 13
        #expect(MembershipSummary(of: row, removed).isListed)
    }

    @Test("Deleted conversations, rooms and communities themselves are not listed")
    func neverListed() {
        var deleted = row()
        deleted.isDeleted = true
        #expect(!MembershipSummary(of: deleted, member()).isListed)
        for (id, isListed) in [
            (ConversationID.room("r"), false), (.community("c"), false), (.community("c", channel: "x"), true),
        ] {
            var row = ConversationRow(id: id, salt: 7, createdAt: deleted.createdAt)
            row.head = 3
            #expect(MembershipSummary(of: row, member()).isListed == isListed, "\(id)")
        }
    }

    @Test("For a former member, only messages up to where they left count")
    func formerMember() {
        var former = member(read: 4, .left)
        former.removedSeq = 9
        var summary = MembershipSummary(of: row(), former)
        summary.head = 9
        #expect(!summary.isListed)
        summary.removedSeq = 8
        #expect(summary.isListed)
        #expect(summary.unreadBase == UnreadBase(readSeq: 4, readCountedIndex: 4))
    }
}
