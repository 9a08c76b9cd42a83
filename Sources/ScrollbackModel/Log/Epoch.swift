/// The identity of one log.
///
/// A conversation that was deleted and made again, or a store restored from a backup, has another: positions, cursors
/// and pages of the old one are refused with `epoch-changed`.
public struct Epoch: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    public init(_ text: String, parameter: String = "epoch") throws(ChatError) {
        guard let value = UInt64(digits: text) else {
            throw .invalidParameter(parameter, "must be the epoch a page or an acknowledgement gave, a decimal number")
        }
        rawValue = value
    }
}

extension Epoch: CustomStringConvertible {
    public var description: String { String(rawValue) }
}
