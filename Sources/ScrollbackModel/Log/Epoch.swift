/// The identity of a log.
///
/// A conversation that was deleted and recreated, or a store restored from a backup, has a new epoch. Positions,
/// cursors and pages of the old epoch are rejected with `epoch-changed`.
public struct Epoch: RawRepresentable, Hashable, Sendable {
    /// A 64-bit number that is only compared for equality; epochs have no order.
    public let rawValue: UInt64

    /// Creates an epoch from the number in a page or an acknowledgement.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Parses decimal digits, the wire form.
    ///
    /// - Throws: `invalid-parameter` if the text is not a 64-bit number.
    public init(_ text: String, parameter: String = "epoch") throws(ChatError) {
        guard let value = UInt64(digits: text) else {
            throw .invalidParameter(parameter, "must be a decimal number from a page or an acknowledgement")
        }
        rawValue = value
    }
}

extension Epoch: CustomStringConvertible {
    /// The decimal digits, the wire form.
    public var description: String { String(rawValue) }
}
