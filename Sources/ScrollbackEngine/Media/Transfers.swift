import Foundation
import ScrollbackModel
import ScrollbackPictures
package import Synchronization

/// The requests that write to uploads: at most one per upload, the newest.
final class Transfers: Sendable {
    private struct Hold {
        var number: UInt64
        /// The owner of an upload that can't be resumed.
        var nonResumableOwner: UserID?
        /// Stops the request that holds the upload.
        var interrupt: @Sendable () -> Void
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private struct State {
        var holds: [UploadID: Hold] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    private enum Step { case taken(UInt64), wait(@Sendable () -> Void) }

    /// Acquires an upload after interrupting the request that holds it and waiting for its release.
    ///
    /// A device that lost its connection may return before the server detects the loss, so the old request must not
    /// block the new one.
    ///
    /// - Parameter nonResumableOwner: The owner of an upload that can't be resumed.
    /// - Returns: A number with which to release the upload.
    func acquire(_ id: UploadID, nonResumableOwner: UserID? = nil, interrupt: @escaping @Sendable () -> Void) async
        -> UInt64
    {
        while true {
            let step: Step = state.withLock { state in
                if let hold = state.holds[id] { return .wait(hold.interrupt) }
                state.last += 1
                state.holds[id] = Hold(number: state.last, nonResumableOwner: nonResumableOwner, interrupt: interrupt)
                return .taken(state.last)
            }
            switch step {
            case .taken(let number): return number
            case .wait(let interrupt):
                interrupt()
                await withCheckedContinuation { continuation in
                    let isFree = state.withLock { state in
                        state.holds[id]?.waiting.append(continuation)
                        return state.holds[id] == nil
                    }
                    if isFree { continuation.resume() }
                }
            }
        }
    }

    func release(_ id: UploadID, _ number: UInt64) {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard let hold = state.holds[id], hold.number == number else { return [] }
            state.holds[id] = nil
            return hold.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func isHeld(_ id: UploadID) -> Bool { state.withLock { $0.holds[id] != nil } }

    /// Returns the number of a user's current uploads that can't be resumed.
    func nonResumableCount(of user: UserID) -> Int {
        state.withLock { $0.holds.values.count { $0.nonResumableOwner == user } }
    }

    /// Interrupts all current transfers.
    func interruptAll() {
        for interrupt in state.withLock({ $0.holds.values.map(\.interrupt) }) { interrupt() }
    }
}

/// Blobs that are protected from removal because they are about to get a row, and blobs that are being removed.
///
/// Bytes and rows are stored separately. Without this protection, a cleanup could remove a blob after an upload found
/// it and before its row is stored.
final class BlobPins: Sendable {
    private struct State {
        var pinned: [BlobID: Int] = [:]
        var removing: Set<BlobID> = []
    }

    private let state = Mutex(State())

    /// Protects a blob from removal, after waiting for a removal in progress.
    func pin(_ blob: BlobID) async {
        while true {
            let isPinned = state.withLock { state in
                guard !state.removing.contains(blob) else { return false }
                state.pinned[blob, default: 0] += 1
                return true
            }
            if isPinned { return }
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    func unpin(_ blob: BlobID) {
        state.withLock { state in
            let count = state.pinned[blob] ?? 0
            state.pinned[blob] = count > 1 ? count - 1 : nil
        }
    }

    /// Begins the removal of a blob.
    ///
    /// - Returns: Whether the blob may be removed now.
    func beginRemoval(of blob: BlobID) -> Bool {
        state.withLock { state in
            guard state.pinned[blob] == nil else { return false }
            return state.removing.insert(blob).inserted
        }
    }

    func endRemoval(of blob: BlobID) {
        state.withLock { _ = $0.removing.remove(blob) }
    }
}

/// Media counters since the start.
package final class MediaCounts: Sendable {
    package let files = Atomic<Int>(0)
    package let receivedBytes = Atomic<Int>(0)
    package let sentBytes = Atomic<Int>(0)
    /// The number of uploads refused because their user had too many open ones.
    package let openUploadRefusals = Atomic<Int>(0)
    /// The number of files whose header has so many parts that reading it ended at the limit of steps.
    package let pictureStepLimits = Atomic<Int>(0)

    /// Examines a file, and counts whether that ended at the limit of steps.
    func examining<Answer>(_ body: (PictureSteps) throws(ChatError) -> Answer) throws(ChatError) -> Answer {
        let steps = PictureSteps()
        defer { if steps.hasReachedLimit { pictureStepLimits.wrappingAdd(1, ordering: .relaxed) } }
        return try body(steps)
    }
}
