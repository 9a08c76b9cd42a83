import Foundation
import ScrollbackModel
import ScrollbackServer
import ScrollbackSQLite
import StoreFiles

/// What a data directory is like, seen from outside: a server may run on it.
struct DirectoryChecks {
    let directory: URL

    /// With less than this free the system itself gets into trouble.
    private static let leastFree: Int64 = 200 << 20
    /// The server empties its log of commits at about 16 MiB.
    private static let largestWAL: Int64 = 256 << 20

    func run() -> [Finding] {
        guard FileManager.default.fileExists(atPath: directory.path) else {
            return [
                .failed(
                    "data directory", "\(directory.path) is not there",
                    fix: "name the server's data directory with --data, or start one there: scrollback serve --data …")
            ]
        }
        if BackupManifest.exists(in: directory) {
            return [
                .failed(
                    "data directory", "\(directory.path) is a backup",
                    fix: "restore it: scrollback restore \(directory.path) --data NEW-DIRECTORY")
            ]
        }
        guard access(directory.path, R_OK | X_OK) == 0 else {
            return [
                .failed(
                    "data directory", "\(directory.path) can't be read by this user",
                    fix: "run this as the server's user")
            ]
        }
        return [privacy("data directory", directory, 0o700)]
            + ["secrets.json", "admin.key"].map { privacy($0, directory.appending(component: $0), 0o600) } + store()
    }

    /// Nobody else may read what lets one in as anybody.
    private func privacy(_ check: String, _ file: URL, _ wanted: Int) -> Finding {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file.path),
            let permissions = attributes[.posixPermissions] as? Int
        else {
            return .failed(
                check, "\(file.path) is not there",
                fix: "start the server there, which makes it, or put it back from a backup")
        }
        let mode = String(permissions & 0o777, radix: 8)
        guard permissions & 0o077 == 0 else {
            return .failed(
                check, "\(file.path) is open to others (\(mode))",
                fix: "chmod \(String(wanted, radix: 8)) \(file.path)"
                    + (check == "secrets.json"
                        ? ", and if somebody may have read it: scrollback token admin --admin --rotate --overlap 0"
                        : ""))
        }
        guard access(file.path, R_OK) == 0 else {
            return .failed(check, "\(file.path) can't be read by this user", fix: "run this as the server's user")
        }
        return .ok(check, "\(file.path) is its owner's alone (\(mode))")
    }

    private func store() -> [Finding] {
        let inspection: SQLiteStore.Inspection
        do {
            guard let found = try SQLiteStore.inspect(directory) else {
                return [
                    .failed(
                        "store", "there is none in \(directory.path)",
                        fix: "start the server there, or restore a backup: scrollback restore DIR --data NEW-DIRECTORY")
                ]
            }
            inspection = found
        } catch {
            return [
                .failed(
                    "store", error.message,
                    fix: "see what scrollback verify says while the server is stopped, and restore a backup")
            ]
        }
        return [schema(inspection), seals(inspection), use(inspection), space(inspection), commits(inspection)]
    }

    private func schema(_ store: SQLiteStore.Inspection) -> Finding {
        guard store.schema <= store.knownSchema else {
            return .failed(
                "schema", "the store has schema \(store.schema), and this program knows \(store.knownSchema)",
                fix: "use the newer version that wrote it")
        }
        return store.schema == store.knownSchema
            ? .ok("schema", "schema \(store.schema), the newest this program knows")
            : .warning(
                "schema", "the store has schema \(store.schema), and this program knows \(store.knownSchema)",
                fix: "take a backup; the store is brought up to date when this version serves it")
    }

    private func seals(_ store: SQLiteStore.Inspection) -> Finding {
        let keys = store.keys.map(\.description).joined(separator: ", ")
        guard !store.isBeingSealed else {
            return .warning(
                "seals", "not everything has the newest key's seal yet; keys in use: \(keys.isEmpty ? "none" : keys)",
                fix: "let the server run until its log says that the store is sealed, and keep these keys until then")
        }
        return .ok(
            "seals",
            keys.isEmpty ? "messages and files are not sealed" : "messages and files are sealed with the key \(keys)")
    }

    private func use(_ store: SQLiteStore.Inspection) -> Finding {
        .ok(
            "in use",
            store.isOpen
                ? "somebody has the directory open: a server that runs, or a check of it"
                : "nobody has the directory open")
    }

    private func space(_ store: SQLiteStore.Inspection) -> Finding {
        let check = "disk space"
        let detail = "\(store.freeBytes.bytesText) free, and the store has \(store.databaseBytes.bytesText)"
        if store.freeBytes < Self.leastFree {
            return .failed(check, detail, fix: "make room: without any, sends are refused and only reads go on")
        }
        if store.freeBytes < store.databaseBytes + store.walBytes {
            return .warning(
                check, detail, fix: "make room, or keep backups on another volume: one beside it has no room")
        }
        return .ok(check, detail)
    }

    private func commits(_ store: SQLiteStore.Inspection) -> Finding {
        let check = "log of commits"
        let detail = "\(store.walBytes.bytesText) in scrollback.sqlite-wal"
        guard store.walBytes > Self.largestWAL else { return .ok(check, detail) }
        return .warning(
            check, "\(detail), where a few MiB are usual",
            fix: "end what reads the store for long (a backup, an sqlite3 shell): while it reads, nothing can be moved")
    }
}
