package import Foundation
import GRDB
import ScrollbackEngine
import ScrollbackModel
package import SQLiteSupport

extension SQLiteStore {
    /// Sets a new generation in a data directory that was put back to an earlier state by other means than a backup.
    ///
    /// - Parameter keys: The keys of an encrypted store.
    /// - Returns: A summary of the store with its new generation.
    /// - Throws: `conflict` if a server uses the directory; `invalid-parameter` if it has no store.
    package static func renewGeneration(
        in directory: URL, keys: StoreKeys? = nil, at date: Date
    ) throws -> StoreSummary {
        let file = directory.appending(component: fileName)
        guard FileManager.default.fileExists(atPath: file.path) else {
            throw ChatError.invalidParameter("data", "has no store (\(file.path)); pass a server's data directory")
        }
        // Check the lock first, because opening the store reports another error.
        try DirectoryLock(directory, errorCode: .conflict, "stop the server that uses it").release()
        var options = Options()
        options.reencryptsExistingRows = false
        options.keys = keys
        let store = try SQLiteStore(directory: directory, options: options)
        defer { try? store.close() }
        try store.renewGeneration(at: date)
        return try store.readConnection { try summary(of: $0.database) }
    }
}

extension SQLiteReader {
    private static let incarnations = Statement<IncarnationRow>(
        "SELECT id, generation, firstCommit, newest, lostAfter FROM incarnation WHERE number > 0 ORDER BY number"
    ) { columns in
        IncarnationRow(
            id: MessageID(try columns.uuid("id")), generation: columns.bits(), firstCommit: columns.integer(),
            newest: columns.timetoken(),
            lostAfter: columns.optionalInteger().map { Timetoken(rawValue: UInt64(bitPattern: $0)) })
    }

    func incarnations() throws -> [IncarnationRow] {
        try connection.all(Self.incarnations)
    }
}

extension SQLiteWriter {
    private static let insertIncarnation = Statement(
        "INSERT INTO incarnation (id, generation, firstCommit, newest, lostAfter) VALUES (?, ?, ?, ?, ?)")
    private static let putGeneration = Statement("UPDATE meta SET value = ? WHERE name = 'generation'")

    func begin(_ incarnation: IncarnationRow) throws {
        try connection.run(Self.insertIncarnation) {
            $0.add(incarnation.id)
            $0.add(bits: incarnation.generation)
            $0.add(incarnation.firstCommit, incarnation.newest, incarnation.lostAfter)
        }
        try connection.run(Self.putGeneration) { $0.add(bits: incarnation.generation) }
        generation = incarnation.generation
    }
}
