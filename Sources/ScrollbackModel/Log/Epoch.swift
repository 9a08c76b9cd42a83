/// The identity of one log.
///
/// A conversation that was deleted and made again, or a store restored from a backup, has another: positions, cursors
/// and pages of the old one are refused with `epoch-changed`.
public struct Epoch: RawRepresentable, Hashable, Sendable {
    /// 64 bits that say only whether two logs are the same; they have no order.
    public let rawValue: UInt64

    /// The epoch of a number that a page or an acknowledgement gave.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Reads decimal digits, as an epoch travels.
    ///
    /// - Throws: `invalid-parameter` when it is not a number of 64 bits.
    public init(_ text: String, parameter: String = "epoch") throws(ChatError) {
        guard let value = UInt64(digits: text) else {
            throw .invalidParameter(parameter, "must be the epoch a page or an acknowledgement gave, a decimal number")
        }
        rawValue = value
    }
}

extension Epoch: CustomStringConvertible {
    /// The decimal digits, as an epoch travels.
    public var description: String { String(rawValue) }
}
