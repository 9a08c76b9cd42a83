import Synchronization

/// Limits the memory for reading ahead.
///
/// Blobs that get no share read only what is requested.
final class ReadAheadBudget: Sendable {
    /// The number of bytes that one blob reads at a time.
    static let share = 2 << 20
    private static let maximumShares = 64

    private let shares = Atomic<Int>(0)

    /// Takes a share, which ``release()`` gives back.
    ///
    /// - Returns: Whether there was one.
    func acquire() -> Bool {
        guard shares.add(1, ordering: .relaxed).newValue > Self.maximumShares else { return true }
        release()
        return false
    }

    func release() { shares.subtract(1, ordering: .relaxed) }
}
