package import Foundation
import GRDB
package import ScrollbackModel
import Synchronization

/// The search index of a store's messages, in a separate file.
///
/// The index only returns candidates; the caller checks the store's rows. The index can therefore be deleted at any
/// time. It is deleted automatically if another version wrote it or if it is damaged. A new ``identity`` shows that it
/// is empty again.
///
/// The file is in WAL mode with `synchronous=NORMAL`. After a power failure, the newest commits can be missing but are
/// never partially stored.
package final class SearchIndex: Sendable {
    package static let fileName = "search.sqlite"

    /// The version of the tables and of word splitting; an index of another format is recreated.
    static let format: Int64 = 1

    private let file: URL?
    private let state: Mutex<State>

    private struct State {
        var database: any DatabaseWriter
        var identity: Int64
        var isClosed = false
    }

    /// Opens the index in a directory, or in memory if `directory` is `nil`.
    ///
    /// - Throws: An error only if a new file can't be written either, for example because of permissions or a full
    ///   disk.
    package init(directory: URL?) throws {
        file = directory?.appending(path: Self.fileName)
        let (database, identity) = try Self.open(file)
        state = Mutex(State(database: database, identity: identity))
    }

    deinit {
        try? close()
    }

    /// A random number that is created with the index; if it changes, the index must be filled again.
    package var identity: Int64 { state.withLock { $0.identity } }

    private static func open(_ file: URL?) throws -> (any DatabaseWriter, Int64) {
        do {
            return try openFile(file)
        } catch {
            // The existing file is not an index of this version: replace it.
            guard let file else { throw error }
            try erase(file)
            return try openFile(file)
        }
    }

    private static func openFile(_ file: URL?) throws -> (any DatabaseWriter, Int64) {
        var configuration = Configuration()
        configuration.label = "scrollback.search"
        configuration.busyMode = .timeout(10)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
            try database.execute(sql: "PRAGMA temp_store = MEMORY")
            // Merging the words of new rows rewrites the same pages many times. A larger WAL copies them to the file
            // less often.
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 4000")
            if !database.configuration.readonly { try database.execute(sql: "PRAGMA secure_delete = ON") }
        }
        let database: any DatabaseWriter =
            if let file {
                try openPool(file, configuration)
            } else {
                try DatabaseQueue(configuration: configuration)
            }
        do {
            return (database, try database.write(prepareSchema))
        } catch {
            try? database.close()
            throw error
        }
    }

    /// Opens the file, and first creates it for its owner only: it has words of messages.
    private static func openPool(_ file: URL, _ configuration: Configuration) throws -> DatabasePool {
        let descriptor = Foundation.open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 { Foundation.close(descriptor) }
        return try DatabasePool(path: file.path, configuration: configuration)
    }

    /// Deletes the index of a directory, which must not be open.
    package static func erase(in directory: URL) throws {
        try erase(directory.appending(path: fileName))
    }

    private static func erase(_ file: URL) throws {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let path = file.path + suffix
            if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        }
    }

    /// Closes the file; later calls fail.
    package func close() throws {
        let database = state.withLock { state in
            defer { state.isClosed = true }
            return state.isClosed ? nil : state.database
        }
        // Checkpoint after readers have finished, because the last connection that GRDB closes may be read-only.
        try? database?.barrierWriteWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try database?.close()
    }

    // MARK: Transactions

    /// Reads from one snapshot.
    ///
    /// - Parameter deadline: When the read must stop.
    /// - Throws: ``SearchIndexReset`` if the index was damaged and recreated; the deadline's error after the deadline.
    package func read<Answer>(
        until deadline: WorkDeadline? = nil, _ body: (SearchReader) throws -> Answer
    ) throws -> Answer {
        let (database, identity) = state.withLock { ($0.database, $0.identity) }
        return try recreatingIfCorrupt(identity) {
            try database.read { database in
                let reader = SearchReader(database: database, deadline: deadline)
                guard let deadline else { return try body(reader) }
                return try database.interrupting(at: deadline) { try body(reader) }
            }
        }
    }

    /// Writes in one transaction.
    ///
    /// - Throws: ``SearchIndexReset`` if the index was damaged and recreated.
    package func write<Answer>(_ body: (SearchWriter) throws -> Answer) throws -> Answer {
        let (database, identity) = state.withLock { ($0.database, $0.identity) }
        return try recreatingIfCorrupt(identity) { try database.write { try body(SearchWriter(database: $0)) } }
    }

    private func recreatingIfCorrupt<Answer>(_ identity: Int64, _ body: () throws -> Answer) throws -> Answer {
        do {
            return try body()
        } catch let error as DatabaseError where error.indicatesCorruption {
            try recreate(replacing: identity)
            throw SearchIndexReset()
        }
    }

    /// Replaces the file with a new one, unless another thread already did.
    private func recreate(replacing identity: Int64) throws {
        try state.withLock { state in
            guard state.identity == identity, !state.isClosed else { return }
            try? state.database.close()
            if let file { try Self.erase(file) }
            (state.database, state.identity) = try Self.open(file)
        }
    }
}

/// The error for an index that was damaged and recreated empty; retry after it has been filled.
package struct SearchIndexReset: Error {
    package init() {}
}

extension DatabaseError {
    /// Whether the error means a damaged file, as opposed to a busy, full or inaccessible one.
    fileprivate var indicatesCorruption: Bool {
        switch resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: true
        case .SQLITE_IOERR: extendedResultCode == .SQLITE_IOERR_SHORT_READ
        case .SQLITE_ERROR:
            message?.hasPrefix("vtable constructor failed") == true || message?.hasPrefix("no such") == true
        default: false
        }
    }
}
