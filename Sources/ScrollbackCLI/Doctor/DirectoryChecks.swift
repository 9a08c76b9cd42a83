import Foundation
import ScrollbackModel
import ScrollbackServer
import ScrollbackSQLite
import SQLiteSupport

/// Checks a data directory without modifying it.
///
/// A server may be using it.
struct DirectoryChecks {
    let directory: URL

    /// The minimum free disk space in bytes.
    ///
    /// With less, the operating system itself may fail.
    private static let minimumFreeBytes: Int64 = 200 << 20
    /// The maximum size of the write-ahead log in bytes.
    ///
    /// The server checkpoints it at about 16 MiB.
    private static let largestWAL: Int64 = 256 << 20

    func run() -> [Finding] {
        // If permissions hide the directory, it also seems not to exist.
        guard !isDenied(directory, R_OK | X_OK) else { return [denied("data directory", directory)] }
        guard FileManager.default.fileExists(atPath: directory.path) else {
            return [
                .failed(
                    "data directory", "\(directory.path) does not exist.",
                    fix: "Use --data with the server's data directory, or create one with scrollback serve --data DIR.")
            ]
        }
        if BackupManifest.exists(in: directory) {
            return [
                .failed(
                    "data directory", "\(directory.path) is a backup.",
                    fix: "Restore it with scrollback restore \(directory.path) --data NEW-DIRECTORY.")
            ]
        }
        return [filePermissions("data directory", directory, 0o700)]
            + ["secrets.json", "admin.key"].map { filePermissions($0, directory.appending(component: $0), 0o600) }
            + store() + files()
    }

    private func denied(_ check: String, _ file: URL) -> Finding {
        .failed(
            check, "The current user can't read \(file.path).", fix: "Run this command as the server's user.")
    }

    private func files() -> [Finding] {
        guard DirectoryMarker.s3.exists(in: directory) else { return [] }
        return [.ok("files", "The files are in an S3 store, which this command does not check.")]
    }

    /// Checks that other users can't read a file or directory with secrets.
    private func filePermissions(_ check: String, _ file: URL, _ wanted: Int) -> Finding {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file.path),
            let permissions = attributes[.posixPermissions] as? Int
        else {
            return .failed(
                check, "\(file.path) does not exist.",
                fix: "Start the server to create it, or restore it from a backup.")
        }
        let mode = String(permissions & 0o777, radix: 8)
        guard permissions & 0o077 == 0 else {
            return .failed(
                check, "Other users can read \(file.path) (mode \(mode)).",
                fix: "Run chmod \(String(wanted, radix: 8)) \(file.path)"
                    + (check == "secrets.json"
                        ? ". If its content may have leaked, run scrollback token admin --admin --rotate --overlap 0."
                        : "."))
        }
        guard !isDenied(file) else { return denied(check, file) }
        return .ok(check, "Only the owner can read \(file.path) (mode \(mode)).")
    }

    private func store() -> [Finding] {
        if DirectoryMarker.postgres.exists(in: directory) {
            return [.ok("store", "The messages are in a PostgreSQL database, which this command does not check.")]
        }
        let file = directory.appending(component: SQLiteStore.fileName)
        guard !isDenied(file) else { return [denied("store", file)] }
        let inspection: SQLiteStore.Inspection
        do {
            guard let found = try SQLiteStore.inspect(directory) else {
                return [
                    .failed(
                        "store", "\(directory.path) has no store.",
                        fix: "Start the server, or restore a backup with scrollback restore DIR --data NEW-DIRECTORY.")
                ]
            }
            inspection = found
        } catch {
            return [
                .failed(
                    "store", error.message,
                    fix: "Stop the server and run scrollback verify. If that fails, restore a backup.")
            ]
        }
        return [
            schema(inspection), encryption(inspection), usage(inspection), diskSpace(inspection),
            writeAheadLog(inspection),
        ]
    }

    private func schema(_ store: SQLiteStore.Inspection) -> Finding {
        guard store.schema <= store.knownSchema else {
            return .failed(
                "schema", "The store has schema \(store.schema), but this version supports \(store.knownSchema).",
                fix: "Use the newer version that wrote the store.")
        }
        return store.schema == store.knownSchema
            ? .ok("schema", "The store has the current schema \(store.schema).")
            : .warning(
                "schema", "The store has the old schema \(store.schema). The current one is \(store.knownSchema).",
                fix: "Create a backup, then start this version. It upgrades the store.")
    }

    private func encryption(_ store: SQLiteStore.Inspection) -> Finding {
        let keys = store.keys.map(\.description).joined(separator: ", ")
        guard !store.isReencrypting else {
            return .warning(
                "encryption", "The encryption is still being changed. Keys in use: \(keys.isEmpty ? "none" : keys).",
                fix: "Keep these keys and let the server run until it logs that the storage encryption has changed.")
        }
        return .ok(
            "encryption",
            keys.isEmpty ? "Messages and files are not encrypted." : "Messages and files use the key \(keys).")
    }

    private func usage(_ store: SQLiteStore.Inspection) -> Finding {
        .ok(
            "in use",
            store.isOpen
                ? "Another process, usually the server, uses the directory."
                : "No process uses the directory.")
    }

    private func diskSpace(_ store: SQLiteStore.Inspection) -> Finding {
        let check = "disk space"
        let detail = "\(store.freeBytes.bytesText) are free. The store has \(store.databaseBytes.bytesText)."
        if store.freeBytes < Self.minimumFreeBytes {
            return .failed(check, detail, fix: "Free disk space. Without it, the server rejects all writes.")
        }
        if store.freeBytes < store.databaseBytes + store.walBytes {
            return .warning(
                check, detail, fix: "Free disk space, or write backups to another volume. They don't fit on this one.")
        }
        return .ok(check, detail)
    }

    private func writeAheadLog(_ store: SQLiteStore.Inspection) -> Finding {
        let check = "write-ahead log"
        let detail = "scrollback.sqlite-wal has \(store.walBytes.bytesText)."
        guard store.walBytes > Self.largestWAL else { return .ok(check, detail) }
        return .warning(
            check, "\(detail) A few MiB are normal.",
            fix: "End long reads of the store, for example a backup or an sqlite3 shell. They block checkpoints.")
    }
}
