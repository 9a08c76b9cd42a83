import CoreMetrics
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// Bounds the memory of bodies that are still arriving, for each user and for all together.
///
/// A client can send a body at the minimum rate of ``TransferPace``, and so keep its part in memory for minutes. Bodies
/// of large files don't count, because they are written to the disk as they arrive.
final class BodyBudget: Sendable {
    /// The largest number of bytes for one user, and for all users together.
    static let standard = (own: 8 << 20, total: 256 << 20)

    private struct State {
        var total = 0
        var owners: [WorkOwner: Int] = [:]
    }

    private let limits: (own: Int, total: Int)
    private let metrics: ServerMetrics
    private let state = Mutex(State())

    init(limits: (own: Int, total: Int) = standard, metrics: ServerMetrics) {
        self.limits = limits
        self.metrics = metrics
    }

    /// Counts the bytes of a body while `body` reads it.
    ///
    /// - Throws: `rate-limited` or `overloaded`, before anything is read.
    func reserving<Answer>(
        _ bytes: Int, for owner: WorkOwner, _ body: () async throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        do {
            try add(bytes, for: owner)
        } catch {
            metrics.refusedBodies.increment()
            throw error
        }
        defer { remove(bytes, for: owner) }
        return try await body()
    }

    private func add(_ bytes: Int, for owner: WorkOwner) throws(ChatError) {
        try state.withLock { (state) throws(ChatError) in
            let own = state.owners[owner, default: 0] + bytes
            guard own <= limits.own else {
                throw ChatError(
                    .rateLimited,
                    "The bodies that you send at the same time can have \(limits.own) bytes. Send fewer at once.",
                    limit: limits.own, retryAfter: 1)
            }
            guard state.total + bytes <= limits.total else {
                throw ChatError(
                    .overloaded, "The server receives too many request bodies. Send the request again.", retryAfter: 1)
            }
            state.owners[owner] = own
            state.total += bytes
        }
    }

    private func remove(_ bytes: Int, for owner: WorkOwner) {
        state.withLock { state in
            state.total -= bytes
            let own = state.owners[owner, default: 0] - bytes
            state.owners[owner] = own > 0 ? own : nil
        }
    }
}
