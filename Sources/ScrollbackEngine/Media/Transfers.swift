import Foundation
import ScrollbackModel
package import Synchronization

/// Who writes to which upload: one request at a time, the newest.
final class Transfers: Sendable {
    private struct Hold {
        var number: UInt64
        /// Whose it is, where nobody can go on with it.
        var plainOf: UserID?
        /// Ends the request that has it.
        var interrupt: @Sendable () -> Void
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private struct State {
        var holds: [UploadID: Hold] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    private enum Step { case taken(UInt64), wait(@Sendable () -> Void) }

    /// Ends the request that has an upload, waits until it has let go, and takes it.
    ///
    /// A device that lost its connection comes again before the server knows: the old connection must not keep it out.
    ///
    /// - Parameter plainOf: whose it is, where nobody can go on with it.
    /// - Returns: what to let go of it with.
    func take(_ id: UploadID, plainOf: UserID? = nil, interrupt: @escaping @Sendable () -> Void) async -> UInt64 {
        while true {
            let step: Step = state.withLock { state in
                if let hold = state.holds[id] { return .wait(hold.interrupt) }
                state.last += 1
                state.holds[id] = Hold(number: state.last, plainOf: plainOf, interrupt: interrupt)
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

    func letGo(_ id: UploadID, _ number: UInt64) {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard let hold = state.holds[id], hold.number == number else { return [] }
            state.holds[id] = nil
            return hold.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func isHeld(_ id: UploadID) -> Bool { state.withLock { $0.holds[id] != nil } }

    /// How many uploads of a user's are under way that nobody can go on with.
    func plain(of user: UserID) -> Int { state.withLock { $0.holds.values.count { $0.plainOf == user } } }

    /// Ends every request that can be gone on with later.
    func interruptAll() {
        for interrupt in state.withLock({ $0.holds.values.map(\.interrupt) }) { interrupt() }
    }
}

/// Blobs that are about to get a row, which nobody may remove, and those that are being removed.
///
/// Bytes and rows lie in two places: without this, a sweep could take the bytes between an upload's finding them there and
/// its row.
final class BlobPins: Sendable {
    private struct State {
        var pinned: [BlobID: Int] = [:]
        var removing: Set<BlobID> = []
    }

    private let state = Mutex(State())

    /// Waits while it is being removed.
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

    /// - Returns: whether it may be removed now.
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

/// What came and went, since the start.
package final class MediaCounts: Sendable {
    package let files = Atomic<Int>(0)
    package let receivedBytes = Atomic<Int>(0)
    package let sentBytes = Atomic<Int>(0)
}
