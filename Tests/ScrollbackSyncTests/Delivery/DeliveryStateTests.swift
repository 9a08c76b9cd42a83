import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Delivery state of a conversation")
struct DeliveryStateTests {
    /// Returns a log whose only gaps are the given ones.
    private func state(_ head: Seq, gaps: [SeqRange] = []) -> LogState {
        var state = LogState(adopting: log(head))
        state.gaps = SeqRangeSet(gaps)
        return state
    }

    private func delivery(reported: Seq = 0, isOn: Bool = true) -> DeliveryState {
        DeliveryState(isOn: isOn, peerSeq: 0, reportedSeq: reported, dueSeq: 0, searchedSeq: 0)
    }

    @Test("The newest message of another user below the first gap is due")
    func gaps() {
        var delivery = delivery(reported: 2)
        #expect(delivery.unreported(in: state(9, gaps: [1...1, 6...7])) == 3...5)
        delivery.searched(3...5, newest: 4)
        #expect(delivery.dueSeq == 4 && delivery.isDue)
        // Filling the gap makes the rest due.
        #expect(delivery.unreported(in: state(9, gaps: [1...1])) == 6...9)
        // A gap directly after the reported position holds everything back.
        #expect(self.delivery(reported: 2).unreported(in: state(9, gaps: [3...3])) == nil)
    }

    @Test("Messages that the device deleted locally hold nothing back if it had searched them before")
    func deletedLocally() {
        var delivery = delivery(reported: 2)
        // The user's own messages, which are not reported.
        delivery.searched(3...5, newest: nil)
        #expect(delivery.unreported(in: state(6, gaps: [1...4])) == 6...6)
        #expect(delivery.unreported(in: state(6, gaps: [1...6])) == nil)
    }

    @Test("What the user has read needs no report in groups, as the server reports it with heads and reads")
    func readElsewhere() {
        for kind in [ConversationKind.group, .direct] {
            var entry = RecentEntry(kind: kind)
            let id: ConversationID = kind == .direct ? .direct("bob") : .group("g")
            let head = ConversationHead(conversation: id, state: log(9), readSeq: 6, hasDeliveryReceipts: true)
            entry.apply(head, pending: [], isRead: false)
            // In a direct conversation, an own message can have advanced the marker.
            #expect(entry.delivery.reportedSeq == (kind == .direct ? 0 : 6))
            // The history before the marker is not loaded.
            let due: SeqRange? = kind == .direct ? nil : 7...9
            #expect(entry.delivery.unreported(in: state(9, gaps: [1...5])) == due)
        }
    }

    @Test("A position that the server knows is not due again")
    func nothingDue() {
        var delivery = delivery(reported: 3)
        #expect(delivery.unreported(in: state(5)) == 4...5 && !delivery.isDue)
        delivery.searched(4...5, newest: 5)
        #expect(delivery.isDue)
        delivery.reported(through: 5)
        delivery.reported(through: 4)
        #expect(!delivery.isDue && delivery.reportedSeq == 5)
        #expect(delivery.unreported(in: state(5)) == nil)
    }

    @Test("Own messages alone are not due, and are searched once")
    func ownMessages() {
        var delivery = delivery(reported: 3)
        delivery.searched(4...5, newest: nil)
        #expect(!delivery.isDue)
        #expect(delivery.unreported(in: state(5)) == nil)
        #expect(delivery.unreported(in: state(6)) == 6...6)
    }

    @Test("Without delivery receipts in the conversation, nothing is due")
    func off() {
        #expect(delivery(isOn: false).unreported(in: state(9)) == nil)
        #expect(!DeliveryState(isOn: false, peerSeq: 0, reportedSeq: 1, dueSeq: 5, searchedSeq: 5).isDue)
    }

    @Test("The peer's position never decreases, and includes what the peer has read")
    func peer() {
        var entry = RecentEntry(kind: .direct)
        func head(read: Seq, delivered: Seq) -> ConversationHead {
            ConversationHead(
                conversation: .direct("bob"), state: log(9), peerReadSeq: read, peerDeliveredSeq: delivered,
                hasDeliveryReceipts: true)
        }
        entry.apply(head(read: 2, delivered: 5), pending: [], isRead: false)
        #expect(entry.delivery.peerSeq == 5 && entry.delivery.isOn)
        entry.apply(head(read: 3, delivered: 4), pending: [], isRead: false)
        #expect(entry.delivery.peerSeq == 5)
        entry.advancePeerRead(to: 7)
        #expect(entry.delivery.peerSeq == 7)
        entry.reset()
        #expect(entry.delivery == DeliveryState())
    }
}
