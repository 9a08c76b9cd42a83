/// The sequence number of a message in its conversation.
///
/// Sequence numbers are dense from 1. The transaction that stores the message assigns its number.
public typealias Seq = Int64

/// A range of sequence numbers, including both ends.
public typealias SeqRange = ClosedRange<Seq>

extension ClosedRange<Seq> {
    /// Returns the sequence numbers that both ranges contain, if any.
    package func intersection(_ other: SeqRange) -> SeqRange? {
        let lower = Swift.max(lowerBound, other.lowerBound)
        let upper = Swift.min(upperBound, other.upperBound)
        return lower <= upper ? lower...upper : nil
    }
}
