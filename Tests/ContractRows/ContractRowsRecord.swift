import Foundation
import Synchronization
import Testing

/// Where this process writes which tests have passed: a line for each case of a test that shows rows.
final class ContractRowsRecord: Sendable {
    /// The record of this process, in the directory that `SCROLLBACK_ROWS` names; nothing where it names none.
    static let shared: ContractRowsRecord? = {
        guard let path = ProcessInfo.processInfo.environment["SCROLLBACK_ROWS"], !path.isEmpty else { return nil }
        return ContractRowsRecord(directory: URL(filePath: path, directoryHint: .isDirectory))
    }()

    private let file: Mutex<FileHandle>

    private init?(directory: URL) {
        try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        // The runs of a day may have processes of the same number.
        let name = "\(ProcessInfo.processInfo.processIdentifier)-\(UInt32.random(in: 0 ... .max)).tsv"
        let url = directory.appending(component: name)
        guard FileManager.default.createFile(atPath: url.path, contents: nil),
            let handle = try? FileHandle(forWritingTo: url)
        else {
            Issue.record("SCROLLBACK_ROWS names a directory that can't be written: \(directory.path)")
            return nil
        }
        file = Mutex(handle)
    }

    /// Rows, "passed" or "failed", the file and the test's name, with tabs between.
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
                Issue.record(error, "the record of contract rows can't be written")
            }
        }
    }

    private static func sentence(_ test: Test) -> String {
        if let name = test.displayName { return name }
        let name = test.name.prefix { $0 != "(" }
        return String(name.filter { $0 != "`" })
    }
}

/// What became of a test while it ran.
final class Outcome: Sendable {
    private let hasFailed = Atomic<Bool>(false)

    var passed: Bool { !hasFailed.load(ordering: .acquiring) }

    func failed() { hasFailed.store(true, ordering: .releasing) }
}
