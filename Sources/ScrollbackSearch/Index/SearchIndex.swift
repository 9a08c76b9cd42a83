package import Foundation
import GRDB
import Synchronization

/// The words of a store's messages, in a file of their own beside it.
///
/// The store's rows decide: the index only proposes which of them to look at. So it may be dropped at any time, and is: when
/// another version wrote it, or when it is damaged. Whoever fills it finds by its ``identity`` that it has begun anew.
///
/// The file is in WAL mode with `synchronous=NORMAL`: after a power cut the newest commits may be missing, never half there.
package final class SearchIndex: Sendable {
    package static let fileName = "search.sqlite"

    /// Of the tables and of how words are taken from texts: an index of another format is made anew.
    static let format: Int64 = 1

    private let file: URL?
    private let state: Mutex<State>

    private struct State {
        var database: any DatabaseWriter
        var identity: Int64
        var isClosed = false
    }

    /// Opens the index in a directory, or in memory without one.
    ///
    /// - Throws: only where nothing could be written there either: no room, no permission.
    package init(directory: URL?) throws {
        file = directory?.appending(path: Self.fileName)
        let (database, identity) = try Self.open(file)
        state = Mutex(State(database: database, identity: identity))
    }

    deinit {
        try? close()
    }

    /// Random, given when the index began: with another one, whoever fills it begins anew too.
    package var identity: Int64 { state.withLock { $0.identity } }

    private static func open(_ file: URL?) throws -> (any DatabaseWriter, Int64) {
        do {
            return try openKnown(file)
        } catch {
            // Whatever is there is no index of this version; without it there is room for one.
            guard let file else { throw error }
            try erase(file)
            return try openKnown(file)
        }
    }

    private static func openKnown(_ file: URL?) throws -> (any DatabaseWriter, Int64) {
        var configuration = Configuration()
        configuration.label = "scrollback.search"
        configuration.busyMode = .timeout(10)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
            try database.execute(sql: "PRAGMA temp_store = MEMORY")
            if !database.configuration.readonly { try database.execute(sql: "PRAGMA secure_delete = ON") }
        }
        let database: any DatabaseWriter =
            if let file {
                try DatabasePool(path: file.path, configuration: configuration)
            } else {
                try DatabaseQueue(configuration: configuration)
            }
        do {
            return (database, try database.write(start))
        } catch {
            try? database.close()
            throw error
        }
    }

    /// Removes the index of a directory; nobody may have it open.
    package static func erase(in directory: URL) throws {
        try erase(directory.appending(path: fileName))
    }

    private static func erase(_ file: URL) throws {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let path = file.path + suffix
            if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        }
    }

    /// Closes the file; what is asked afterwards fails.
    package func close() throws {
        let database = state.withLock { state in
            defer { state.isClosed = true }
            return state.isClosed ? nil : state.database
        }
        // Into the file, once readers are done: GRDB's last connection to close may be one that can't write.
        try? database?.barrierWriteWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try database?.close()
    }

    // MARK: Transactions

    /// Reads one snapshot.
    ///
    /// - Throws: ``SearchIndexLost`` when the index was damaged, and has begun anew.
    package func read<Answer>(_ body: (SearchReader) throws -> Answer) throws -> Answer {
        let (database, identity) = state.withLock { ($0.database, $0.identity) }
        return try watching(identity) { try database.read { try body(SearchReader(database: $0)) } }
    }

    /// Changes in one transaction.
    ///
    /// - Throws: ``SearchIndexLost`` when the index was damaged, and has begun anew.
    package func write<Answer>(_ body: (SearchWriter) throws -> Answer) throws -> Answer {
        let (database, identity) = state.withLock { ($0.database, $0.identity) }
        return try watching(identity) { try database.write { try body(SearchWriter(database: $0)) } }
    }

    private func watching<Answer>(_ identity: Int64, _ body: () throws -> Answer) throws -> Answer {
        do {
            return try body()
        } catch let error as DatabaseError where error.meansDamage {
            try beginAnew(after: identity)
            throw SearchIndexLost()
        }
    }

    /// Drops the file and starts another, unless somebody else has already.
    private func beginAnew(after identity: Int64) throws {
        try state.withLock { state in
            guard state.identity == identity, !state.isClosed else { return }
            try? state.database.close()
            if let file { try Self.erase(file) }
            (state.database, state.identity) = try Self.open(file)
        }
    }
}

/// The index was damaged and has begun anew, empty: what was asked is to be asked again once it is filled.
package struct SearchIndexLost: Error {
    package init() {}
}

extension DatabaseError {
    /// Whether the file is not what it was, as opposed to busy, full or out of reach.
    fileprivate var meansDamage: Bool {
        switch resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: true
        case .SQLITE_IOERR: extendedResultCode == .SQLITE_IOERR_SHORT_READ
        case .SQLITE_ERROR:
            message?.hasPrefix("vtable constructor failed") == true || message?.hasPrefix("no such") == true
        default: false
        }
    }
}
