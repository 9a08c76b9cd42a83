import Foundation
import ScrollbackModel
import ScrollbackSQLite
import ScrollbackServer

/// Checks the machine and the shell's limits.
enum SystemChecks {
    /// Each connection needs one descriptor.
    private static let recommendedDescriptors = 4096

    static func run() -> [Finding] { [descriptors(), sqlite()] }

    private static func descriptors() -> Finding {
        let check = "file descriptors"
        // The server raises its own limit as far as the system permits.
        guard let count = DescriptorLimit.maximum else { return .skipped(check, "The system reports no limit.") }
        let connections = DescriptorLimit.connections(of: count)
        guard count < recommendedDescriptors else {
            return .ok(check, "The limit is \(count) per process, so a server supports \(connections) connections.")
        }
        return .warning(
            check, "The limit is \(count) per process, so a server supports only \(connections) connections.",
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
