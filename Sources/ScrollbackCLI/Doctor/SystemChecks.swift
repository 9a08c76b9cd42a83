import Foundation
import ScrollbackModel
import ScrollbackSQLite

/// What the machine, and the shell this runs in, give a server.
enum SystemChecks {
    /// Each connection takes one.
    private static let comfortableDescriptors = 4096

    static func run() -> [Finding] { [descriptors(), sqlite()] }

    private static func descriptors() -> Finding {
        let check = "file descriptors"
        var limit = rlimit()
        #if canImport(Glibc)
            let outcome = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
            let outcome = getrlimit(RLIMIT_NOFILE, &limit)
        #endif
        guard outcome == 0 else { return .skipped(check, "the system does not say how many there may be") }
        let count = limit.rlim_cur > UInt64(Int.max) ? Int.max : Int(limit.rlim_cur)
        guard count < comfortableDescriptors else {
            return .ok(check, count == .max ? "no limit" : "a process started here may have \(count)")
        }
        return .warning(
            check, "a process started here may have \(count), so a server takes fewer than \(count) connections",
            fix: "ulimit -n 65536 before `scrollback serve`, or LimitNOFILE=65536 in its systemd unit")
    }

    private static func sqlite() -> Finding {
        let check = "SQLite"
        let (version, options) = SQLiteStore.library
        var missing: [String] = []
        if options.contains("OMIT_WAL") { missing.append("WAL") }
        if !options.contains("ENABLE_FTS5") { missing.append("FTS5") }
        if options.contains("THREADSAFE=0") { missing.append("threads") }
        guard missing.isEmpty else {
            return .failed(
                check, "SQLite \(version) was built without \(missing.joined(separator: ", "))",
                fix: "install the SQLite that comes with the system (libsqlite3), or one built with these options")
        }
        return .ok(check, "SQLite \(version) with WAL and FTS5")
    }
}
