/// The place of a message in its conversation: dense from 1, given in the transaction that stores the message.
public typealias Seq = Int64

/// A run of places, both ends included.
public typealias SeqRange = ClosedRange<Seq>

extension ClosedRange<Seq> {
    /// The places both have, if any.
    package func intersection(_ other: SeqRange) -> SeqRange? {
        let lower = Swift.max(lowerBound, other.lowerBound)
        let upper = Swift.min(upperBound, other.upperBound)
        return lower <= upper ? lower...upper : nil
    }
}
