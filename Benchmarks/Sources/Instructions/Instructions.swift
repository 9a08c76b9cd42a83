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

    /// Runs the command while the calling thread waits.
    ///
    /// All work is done by one other thread.
    func runUnderCounter() throws {
        let result = Mutex<Result<Void, any Error>?>(nil)
        let done = DispatchSemaphore(value: 0)
        Task {
            do {
                try await work()
                result.withLock { $0 = .success(()) }
            } catch {
                result.withLock { $0 = .failure(error) }
            }
            done.signal()
        }
        done.wait()
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
