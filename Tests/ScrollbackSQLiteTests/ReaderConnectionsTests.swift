import Dispatch
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import Synchronization
import TestSupport
import Testing

/// Reads from many threads, more than the store has connections.
@Suite("Connections of readers")
struct ReaderConnectionsTests {
    @Test("At most as many reads run at once as the options allow, and all complete")
    func readsAreBounded() async throws {
        let folder = try TemporaryFolder()
        var options = SQLiteStore.Options()
        options.readers = 2
        let store = try SQLiteStore(directory: folder.url, options: options)
        let running = Mutex((now: 0, most: 0))
        let completed = Atomic<Int>(0)
        // Each read waits until a second one runs, so the bound is reached.
        let pairs = DispatchSemaphore(value: 0)
        for number in 0..<8 {
            Thread.detachNewThread {
                try? store.read { _ in
                    running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    if number % 2 == 0 { pairs.wait() } else { pairs.signal() }
                    running.withLock { $0.now -= 1 }
                }
                completed.add(1, ordering: .sequentiallyConsistent)
            }
        }
        // Four even reads at once would wait for odd ones that can't start, so this releases them.
        _ = try await eventually {
            if completed.load(ordering: .sequentiallyConsistent) < 8 { pairs.signal() }
            return completed.load(ordering: .sequentiallyConsistent) == 8
        }
        #expect(completed.load(ordering: .sequentiallyConsistent) == 8)
        #expect(running.withLock { $0.most } <= 2)
        try store.close()
    }

    @Test("Closing waits for a running read, and later reads fail")
    func closingWaitsForReads() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(directory: folder.url)
        let mayEnd = DispatchSemaphore(value: 0)
        let isRunning = Atomic<Bool>(false)
        let order = Mutex<[String]>([])
        Thread.detachNewThread {
            try? store.read { reader in
                isRunning.store(true, ordering: .sequentiallyConsistent)
                mayEnd.wait()
                // The connection is still open.
                _ = try reader.conversation(numbered: 1)
                order.withLock { $0.append("read") }
            }
        }
        #expect(try await eventually { isRunning.load(ordering: .sequentiallyConsistent) })
        Thread.detachNewThread {
            try? store.close()
            order.withLock { $0.append("closed") }
        }
        #expect(
            try await eventually {
                do {
                    try store.read { _ in }
                    return false
                } catch {
                    return ChatError(wrapping: error).code == .shuttingDown
                }
            })
        #expect(order.withLock { $0 } == [])
        mayEnd.signal()
        #expect(try await eventually { order.withLock { $0 } == ["read", "closed"] })
    }
}
