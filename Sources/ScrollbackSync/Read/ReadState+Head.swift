package import ScrollbackModel

extension ReadState {
    /// The log is known to have moved on, though not by which messages: what counts among them is in the running
    /// number.
    package mutating func advance(to seq: Seq, n: Int64) {
        guard seq > computedAt.seq else { return }
        if seq > readSeq { unread += max(0, n - max(computedAt.n, pendingN ?? 0)) }
        computedAt.seq = seq
        computedAt.n = n
    }
}
