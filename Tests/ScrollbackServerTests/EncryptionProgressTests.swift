import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import SQLiteSupport
import TestSupport
import Testing

@testable import ScrollbackServer

/// Tests how the server reports the progress of a key change.
@Suite struct EncryptionProgressTests {
    private static func keys(_ numbers: UInt8...) throws -> StoreKeys {
        let lines = numbers.map { Data(repeating: $0, count: 32).base64EncodedString() }
        return try StoreKeys(text: lines.joined(separator: "\n"))
    }

    private static func open(_ folder: URL, _ keys: StoreKeys?) throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.keys = keys
        return try SQLiteStore(directory: folder, options: options)
    }

    /// Stores three conversations of 500 messages. One commit encrypts 500 messages.
    private static func fill(_ store: SQLiteStore) throws {
        let engine = try Engine(store: store, execution: .inline)
        for group in 1...3 as ClosedRange<UInt64> {
            let messages = (1...500 as ClosedRange<UInt64>).map { number in
                ImportedMessage(
                    sender: "alice", sentAt: Date(timeIntervalSince1970: 1_700_000_000),
                    submission: Submission(id: MessageID(high: group, low: number), content: .text("hello")))
            }
            let admin = Caller(user: "admin", isAdmin: true)
            engine.importHistory(messages, into: .group(try Identifier("g\(group)")), by: admin) { _ = $0 }
        }
    }

    /// Returns the value of the metric in `/metrics`, or `nil` if the metric is missing.
    private static func ratio(_ store: SQLiteStore) throws -> Double? {
        let text = ServerMetrics().text(engine: try Engine(store: store, execution: .inline), store: store)
        let line = text.split(separator: "\n").first { $0.hasPrefix("scrollback_sealed_ratio ") }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }
    }

    @Test(.timeLimit(.minutes(1)))
    func `The log and a metric report the progress of a key change from start to end`() async throws {
        let folder = try TemporaryFolder()
        let threads = FileThreads.started()
        var store = try Self.open(folder.url, nil)
        try Self.fill(store)
        #expect(try Self.ratio(store) == nil)
        for keys in [try Self.keys(1), try Self.keys(2, 1)] {
            try store.close()
            store = try Self.open(folder.url, keys)
            #expect(try Self.ratio(store) == 0)
            for _ in 0..<6 { #expect(try store.encryptNextRows()) }
            let begun = try #require(try Self.ratio(store))
            #expect(begun > 0 && begun < 1)

            let log = LogRecorder()
            let sealing = StorageEncryptionService(
                store: store, media: try DiskMediaStore(in: folder.url, threads: threads, keys: keys), threads: threads,
                logger: log.logger, progressInterval: .zero)
            let running = Task { try await sealing.run() }
            #expect(
                try await eventually { log.lines.last?.hasPrefix("Changed the storage encryption") == true })
            running.cancel()
            try await running.value

            let names = keys.keys.map { "\($0.id)" }
            let steps = log.lines.dropLast()
            #expect(
                steps.count > 3 && steps.allSatisfy { $0.hasPrefix("Changing the storage encryption. done=") },
                "\(steps)")
            #expect(steps.allSatisfy { $0.hasSuffix("% key=\(names[0])") }, "\(steps)")
            let shares = steps.compactMap { Int($0.split(separator: "=")[1].prefix { $0 != " " }) }
            #expect(shares.first == Int(begun * 100) && shares == shares.sorted(), "\(shares)")
            let end = "Changed the storage encryption. key=\(names[0]) retired=\(names.dropFirst().joined())"
            #expect(log.lines.last == end, "\(log.lines.last ?? "")")
            #expect(try Self.ratio(store) == 1)
        }
        try store.close()
    }
}
