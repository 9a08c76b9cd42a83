package import Foundation
package import ScrollbackModel
import Synchronization

/// The free space of the store's volume, below which the server refuses requests that add data.
///
/// What a request adds decides how much space must be free (``Addition``). Requests that add nothing are always
/// accepted: those that read, delete, or change rows that exist for the caller anyway. The space that is left lets them
/// write.
package final class StorageSpace: Sendable {
    /// Returns the free bytes of the volume, or `nil` if they are unknown.
    private let measure: @Sendable () -> Int64?
    private let floor: Int64
    private let clock: @Sendable () -> Date
    private let state = Mutex(State())

    private struct State {
        var measuredAt: Date?
        var free: Int64?
        var refusals = 0
    }

    /// What a request adds to the store.
    enum Addition {
        /// Messages, files, members, names and other content of users, which needs the whole floor.
        case content
        /// An act that protects users or a conversation, such as a mute, a ban or a block. It needs half of the floor.
        ///
        /// Each act adds a few hundred bytes. The other half remains for deletions if a user repeats such acts.
        case protection
    }

    /// The time for which a measurement is valid, in seconds.
    private static let interval: TimeInterval = 1

    /// Creates a check.
    ///
    /// - Parameters:
    ///   - floor: The number of bytes that must stay free; 0 for no check.
    ///   - measure: Returns the free bytes of the volume. It is called at most once a second.
    package init(
        floor: Int64, clock: @escaping @Sendable () -> Date = { Date() }, measure: @escaping @Sendable () -> Int64?
    ) {
        self.floor = floor
        self.clock = clock
        self.measure = measure
    }

    /// Storage without a limit, such as memory.
    package static let unlimited = StorageSpace(floor: 0) { nil }

    /// The space that must stay free unless the operator sets it: 256 MiB, or a fiftieth of a smaller volume.
    ///
    /// File uploads stop earlier, when a twentieth of the volume or 1 GiB is free.
    package static func standardFloor(ofVolume bytes: Int64) -> Int64 { min(256 << 20, bytes / 50) }

    /// Checks that there is space for an addition.
    ///
    /// - Throws: ``Refusal`` with `storage-full`.
    func check(for addition: Addition = .content) throws(Refusal) {
        let floor = addition == .content ? floor : floor / 2
        guard floor > 0, let free = measured, free < floor else { return }
        state.withLock { $0.refusals += 1 }
        throw Refusal(
            error: ChatError(
                .storageFull,
                "The server has less than \(floor) bytes of free disk space. Nothing was stored. You can still read "
                    + "and delete.", retryAfter: 60))
    }

    /// The free bytes of the volume, or `nil` if they are unknown.
    package var free: Int64? { measure() }

    /// The free bytes at the last measurement.
    private var measured: Int64? {
        let now = clock()
        return state.withLock { state in
            if let measured = state.measuredAt, abs(now.timeIntervalSince(measured)) < Self.interval {
                return state.free
            }
            state.measuredAt = now
            state.free = measure()
            return state.free
        }
    }

    /// The number of requests that were refused since the start.
    package var refusals: Int { state.withLock { $0.refusals } }
}

/// A refusal by a check that has changed nothing, whatever the status of its error.
///
/// Other errors with a status of 500 or more come from the store, and roll back the whole transaction.
package struct Refusal: Error {
    package let error: ChatError

    package init(error: ChatError) {
        self.error = error
    }
}
