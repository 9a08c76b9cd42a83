import ArgumentParser
import Foundation
import GRDBSQLite
import Synchronization

/// Does a fixed amount of work, whose instructions `scripts/bench-instructions.py` counts.
///
/// The instructions of one operation are the difference between a run with twice the work and a run with once the work.
/// Preparation occurs in both, so it does not count.
struct Instructions: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Do a fixed amount of work. make bench-instructions counts its instructions.")

    @Argument(help: "The operation: \(FixedWork.allCases.map(\.rawValue).joined(separator: ", ")).")
    var operation: FixedWork?
    @Option(name: .customLong("repeat"), help: "How often to do the work, at least 1.") var rounds = 1
    @Flag(help: "Print the operations and the version of SQLite as JSON.") var list = false

    func validate() throws {
        guard list != (operation != nil) else { throw ValidationError("Give an operation or --list.") }
        guard rounds >= 1 else { throw ValidationError("--repeat must be at least 1.") }
    }

    /// ``Program`` calls ``runUnderCounter()`` instead.
    func run() async throws {
        try await work()
    }

    /// Runs the command on the calling thread.
    func runUnderCounter() throws {
        let result = Mutex<Result<Void, any Error>?>(nil)
        let executor = CallingThreadExecutor()
        Task(executorPreference: executor) {
            do {
                try await work()
                result.withLock { $0 = .success(()) }
            } catch {
                result.withLock { $0 = .failure(error) }
            }
        }
        executor.run { result.withLock { $0 != nil } }
        try result.withLock { $0 }?.get()
    }

    private func work() async throws {
        guard let operation else { return try printList() }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let work = try await operation.prepare(in: folder.url)
        for round in 0..<rounds { try await work(round) }
    }

    private func printList() throws {
        struct List: Encodable {
            var sqlite: String
            var operations: [Entry]
        }
        struct Entry: Encodable {
            var name: String
            var count: Int
            var unit: String
        }
        let list = List(
            sqlite: String(cString: sqlite3_libversion()),
            operations: FixedWork.allCases.map { Entry(name: $0.rawValue, count: $0.count, unit: $0.unit) })
        print(String(decoding: try JSONEncoder().encode(list), as: UTF8.self))
    }
}

/// Runs tasks on the thread that calls ``run(until:)``.
///
/// The hash tables of the Swift runtime depend on addresses. If several threads allocate memory, addresses depend on
/// their timing.
private final class CallingThreadExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let enqueued = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        enqueued.signal()
    }

    func run(until isDone: () -> Bool) {
        while !isDone() {
            enqueued.wait()
            let job = jobs.withLock { $0.removeFirst() }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
