/// The time that a peer may keep a transfer waiting.
///
/// A peer starts with a credit of `grace` seconds. Waiting for the peer uses it up, and transferred bytes restore it.
/// So a peer must transfer at least `rate` bytes per second on average, and must never pause for longer than `grace`.
struct TransferPace: Sendable {
    /// The minimum rate in bytes per second.
    let rate: Int
    let grace: Double
    private var credit: Double

    init(rate: Int, grace: Double) {
        self.rate = rate
        self.grace = grace
        credit = grace
    }

    /// The pace of a server without a minimum rate.
    static let unlimited = TransferPace(rate: 1, grace: .infinity)

    var isExhausted: Bool { credit <= 0 }

    mutating func waited(_ seconds: Double) { credit -= seconds }

    mutating func transferred(_ bytes: Int) { credit = min(grace, credit + Double(bytes) / Double(rate)) }

    /// Restores the whole credit for the next transfer.
    mutating func restart() { credit = grace }
}
