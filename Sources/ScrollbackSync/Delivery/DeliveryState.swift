package import ScrollbackModel

/// The delivery receipts of one conversation on this device.
package struct DeliveryState: Hashable, Sendable {
    /// Whether the server says that the conversation has delivery receipts.
    package var isOn = false
    /// The sequence number through which the peer of a direct conversation has received the messages.
    package var peerSeq: Seq = 0
    /// The sequence number through which the server knows that this device has the messages.
    ///
    /// A new device starts at the head: earlier messages are history, which it fetches on demand.
    package var reportedSeq: Seq = 0
    /// The sequence number to report; if it is not above ``reportedSeq``, nothing is due.
    package private(set) var dueSeq: Seq = 0
    /// The sequence number through which the messages were searched for those of other users.
    package private(set) var searchedSeq: Seq = 0

    package init() {}

    /// Restores a stored state.
    package init(isOn: Bool, peerSeq: Seq, reportedSeq: Seq, dueSeq: Seq, searchedSeq: Seq) {
        self.isOn = isOn
        self.peerSeq = peerSeq
        self.reportedSeq = reportedSeq
        self.dueSeq = dueSeq
        self.searchedSeq = searchedSeq
    }

    /// Whether the device must report a position.
    package var isDue: Bool { isOn && dueSeq > reportedSeq }

    /// Returns the range whose newest message of another user is to be reported, or `nil` if there is none.
    ///
    /// A gap holds the report back, because a position covers all earlier messages. Gaps below the searched messages do
    /// not: the device had these messages before. Each message is searched once.
    package func unreported(in log: LogState) -> SeqRange? {
        guard isOn else { return nil }
        let known = max(reportedSeq, searchedSeq)
        let gap = log.gaps.first(atOrAbove: known + 1)
        let last = (gap?.lowerBound ?? log.head + 1) - 1
        return known < last ? known + 1...last : nil
    }

    /// Records that the range that ``unreported(in:)`` returned was searched.
    ///
    /// - Parameter newest: The newest message of another user in the range; `nil` if there is none. The user's own
    ///   messages alone are not reported.
    package mutating func searched(_ range: SeqRange, newest: Seq?) {
        searchedSeq = range.upperBound
        dueSeq = newest ?? dueSeq
    }

    /// Records the peer's position, which only increases, whichever answer reports it.
    package mutating func advancePeer(to seq: Seq) {
        peerSeq = max(peerSeq, seq)
    }

    /// Records that the server knows a position of this device.
    package mutating func reported(through seq: Seq) {
        reportedSeq = max(reportedSeq, seq)
    }
}
