import Foundation
import Synchronization
import Testing

/// The record of passed and failed tests in this process, with one line for each case of a test that covers rows.
final class ContractRowsRecord: Sendable {
    /// The record in the directory that the environment variable `SCROLLBACK_ROWS` names, or `nil` if it is not set.
    static let shared: ContractRowsRecord? = {
        guard let path = ProcessInfo.processInfo.environment["SCROLLBACK_ROWS"], !path.isEmpty else { return nil }
        return ContractRowsRecord(directory: URL(filePath: path, directoryHint: .isDirectory))
    }()

    private let file: Mutex<FileHandle>

    private init?(directory: URL) {
        try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        // Process IDs repeat between the runs that share a directory.
        let name = "\(ProcessInfo.processInfo.processIdentifier)-\(UInt32.random(in: 0 ... .max)).tsv"
        let url = directory.appending(component: name)
        guard FileManager.default.createFile(atPath: url.path, contents: nil),
            let handle = try? FileHandle(forWritingTo: url)
        else {
            Issue.record("The test run can't write to the directory that SCROLLBACK_ROWS names: \(directory.path).")
            return nil
        }
        file = Mutex(handle)
    }

    /// Appends a line with tab-separated fields: the rows, "passed" or "failed", the file and the test's name.
    func add(_ rows: [Int], _ test: Test, passed: Bool) {
        let fields = [
            rows.map(String.init).joined(separator: ","), passed ? "passed" : "failed", test.sourceLocation.fileID,
            Self.sentence(test).replacing("\t", with: " ").replacing("\n", with: " "),
        ]
        let line = Data((fields.joined(separator: "\t") + "\n").utf8)
        file.withLock { file in
            do {
                try file.write(contentsOf: line)
            } catch {
                Issue.record(error, "The test run can't write the record of contract rows.")
            }
        }
    }

    private static func sentence(_ test: Test) -> String {
        if let name = test.displayName { return name }
        let name = test.name.prefix { $0 != "(" }
        return String(name.filter { $0 != "`" })
    }
}

/// Whether a running test has failed.
final class Outcome: Sendable {
    private let hasFailed = Atomic<Bool>(false)

    var passed: Bool { !hasFailed.load(ordering: .acquiring) }

    func failed() { hasFailed.store(true, ordering: .releasing) }
}
