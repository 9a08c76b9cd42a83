import Foundation
import ScrollbackModel
import ScrollbackSQLite

/// Checks the machine and the shell's limits.
enum SystemChecks {
    /// Each connection needs one descriptor.
    private static let recommendedDescriptors = 4096

    static func run() -> [Finding] { [descriptors(), sqlite()] }

    private static func descriptors() -> Finding {
        let check = "file descriptors"
        var limit = rlimit()
        #if canImport(Glibc)
            let outcome = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
            let outcome = getrlimit(RLIMIT_NOFILE, &limit)
        #endif
        guard outcome == 0 else { return .skipped(check, "The system reports no limit.") }
        let count = limit.rlim_cur > UInt64(Int.max) ? Int.max : Int(limit.rlim_cur)
        guard count < recommendedDescriptors else {
            return .ok(check, count == .max ? "There is no limit." : "The limit is \(count) per process.")
        }
        return .warning(
            check, "The limit is \(count) per process, so a server supports fewer than \(count) connections.",
            fix: "Run ulimit -n 65536 before `scrollback serve`, or set LimitNOFILE=65536 in its systemd unit.")
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
                check, "SQLite \(version) was built without \(missing.joined(separator: ", ")).",
                fix: "Install the system's SQLite package (libsqlite3), or a build with these options.")
        }
        return .ok(check, "SQLite \(version) has WAL and FTS5.")
    }
}
