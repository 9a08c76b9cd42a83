import Foundation
import ScrollbackModel

/// Checks of a PostgreSQL server before a store uses it.
enum ServerChecks {
    /// The difference between the clocks of the nodes for which times and tokens are still right.
    private static let clockTolerance: TimeInterval = 5

    /// Checks the server of a connection.
    ///
    /// - Throws: `invalid-parameter` that says what to change.
    static func run(on connection: PostgresConnection, _ options: PostgresStore.Options) throws {
        try checkClock(connection, options.now)
        if !options.allowsAsynchronousStandbys { try checkStandbys(connection, waiting: options.lockTimeout) }
    }

    private static func checkClock(_ connection: PostgresConnection, _ now: () -> Date) throws {
        let before = now()
        let time = try connection.first(Notes.time)
        guard let time = time ?? nil else { return }
        // The answer can have taken long.
        let (ahead, behind) = (time.timeIntervalSince(now()), before.timeIntervalSince(time))
        guard max(ahead, behind) > clockTolerance else { return }
        let seconds = String(format: "%.1f", max(ahead, behind))
        throw ChatError.invalidParameter(
            "store",
            "names a server whose clock is \(seconds) seconds \(ahead > behind ? "ahead of" : "behind") the clock of "
                + "this machine. Synchronize both clocks, for example with chrony")
    }

    /// Whether there are standbys, and commits wait for none.
    ///
    /// A role without `pg_monitor` sees only standbys with a replication slot, and not the names of programs.
    private static let hasOnlyAsynchronousStandbys = Statement(
        """
        SELECT current_setting('synchronous_standby_names') = '' AND EXISTS (
            SELECT FROM pg_stat_replication AS sender LEFT JOIN pg_replication_slots AS slot ON active_pid = sender.pid
            WHERE coalesce(application_name, '') NOT IN ('pg_basebackup', 'pg_receivewal', 'barman_receive_wal') AND
                CASE
                    WHEN slot_name IS NULL THEN state IN ('catchup', 'streaming')
                    ELSE slot_type = 'physical' AND NOT temporary
                END
        )
        """
    ) { $0.flag() }

    private static func checkStandbys(_ connection: PostgresConnection, waiting timeout: Duration) throws {
        let deadline = ContinuousClock.now + timeout
        // A standby that has just become the primary may get its synchronous standby a little later.
        while try connection.first(hasOnlyAsynchronousStandbys) == true, .now < deadline {
            Thread.sleep(forTimeInterval: 0.5)
        }
        guard try connection.first(hasOnlyAsynchronousStandbys) == true else { return }
        throw ChatError.invalidParameter(
            "store",
            "names a server with a standby that is not synchronous, so a failover could lose confirmed messages. Set "
                + "synchronous_standby_names, or start with --allow-asynchronous-standbys if no such standby takes over"
        )
    }
}
