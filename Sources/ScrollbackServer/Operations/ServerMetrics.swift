import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import StoreFiles
import Synchronization

/// What an operator watches, as counters that cost an atomic addition, written out in Prometheus' text format (version
/// 0.0.4) when asked.
///
/// No Prometheus library can be had from the registries this builds with: decision 0004.
final class ServerMetrics: Sendable {
    /// A number that goes up and down.
    final class Counter: Sendable {
        private let value = Atomic<Int>(0)
        func add(_ amount: Int) { value.wrappingAdd(amount, ordering: .relaxed) }
        var current: Int { value.load(ordering: .relaxed) }
    }

    /// How often a measure fell below each of some bounds.
    final class Histogram: Sendable {
        private let bounds: [Double]
        private let counts: [Counter]
        private let total = Counter()
        private let sum = Mutex(0.0)

        init(_ bounds: [Double]) {
            self.bounds = bounds
            counts = bounds.map { _ in Counter() }
        }

        func record(_ value: Double) {
            if let index = bounds.firstIndex(where: { value <= $0 }) { counts[index].add(1) }
            total.add(1)
            sum.withLock { $0 += value }
        }

        func write(_ name: String, _ help: String, to text: inout String) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) histogram\n"
            var below = 0
            for (bound, count) in zip(bounds, counts) {
                below += count.current
                text += "\(name)_bucket{le=\"\(bound)\"} \(below)\n"
            }
            text += "\(name)_bucket{le=\"+Inf\"} \(total.current)\n"
            text += "\(name)_sum \(sum.withLock { $0 })\n\(name)_count \(total.current)\n"
        }
    }

    let connections = Counter()
    let outboundBytes = Counter()
    let slowCloses = Counter()
    /// Low messages that a socket was spared which had too much to read.
    let roomMessagesSpared = Counter()
    let failedCommits = Counter()
    let requests = Counter()
    let failedRequests = Counter()
    let commitSeconds = Histogram([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1])
    let commitJobs = Histogram([1, 2, 4, 8, 16, 32, 64, 128, 256, 512])

    func record(_ report: CommitReport) {
        if report.failed { return failedCommits.add(1) }
        commitSeconds.record(report.seconds)
        commitJobs.record(Double(report.jobs))
    }

    func text(engine: Engine, store: SQLiteStore) -> String {
        var text = ""
        func write(_ name: String, _ type: String, _ help: String, _ value: some Numeric) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n\(name) \(value)\n"
        }
        write("scrollback_connections", "gauge", "Open WebSocket connections.", connections.current)
        write("scrollback_outbound_bytes_total", "counter", "Bytes of frames sent to sockets.", outboundBytes.current)
        write("scrollback_slow_closes_total", "counter", "Connections closed with 4008.", slowCloses.current)
        write("scrollback_http_requests_total", "counter", "HTTP requests answered.", requests.current)
        write("scrollback_http_failures_total", "counter", "HTTP requests answered with 5xx.", failedRequests.current)
        write("scrollback_write_queue_depth", "gauge", "Writes that wait for the log.", engine.log.depth)
        write("scrollback_failed_commits_total", "counter", "Transactions that failed.", failedCommits.current)
        write(
            "scrollback_messages_removed_total", "counter", "Messages removed after they were deleted or expired.",
            engine.removedMessages.load(ordering: .relaxed))
        let media = engine.mediaCounts
        write("scrollback_media_files_total", "counter", "Files uploaded.", media.files.load(ordering: .relaxed))
        write(
            "scrollback_media_received_bytes_total", "counter", "Bytes of files that came.",
            media.receivedBytes.load(ordering: .relaxed))
        write(
            "scrollback_media_sent_bytes_total", "counter", "Bytes of files that were given out.",
            media.sentBytes.load(ordering: .relaxed))
        write(
            "scrollback_room_messages_left_out_total", "counter", "Messages of rooms above their pace, not streamed.",
            engine.hub.messagesLeftOut)
        write(
            "scrollback_room_messages_spared_total", "counter", "Low messages of rooms that a slow socket was spared.",
            roomMessagesSpared.current)
        let deliveries = engine.deliveries
        write(
            "scrollback_webhook_waiting", "gauge", "Events that wait for the operator's program.",
            engine.waitingDeliveries)
        write(
            "scrollback_webhook_posts_total", "counter", "Posts that the operator's program took.",
            deliveries.posts.load(ordering: .relaxed))
        write(
            "scrollback_webhook_failures_total", "counter", "Posts that it did not take.",
            deliveries.failures.load(ordering: .relaxed))
        if let waiting = try? engine.waitingPushes() {
            write("scrollback_push_waiting", "gauge", "Messages that wait to be pushed.", waiting.waiting)
            write("scrollback_push_retries", "gauge", "Pushes that wait to be tried again.", waiting.retries)
        }
        text +=
            "# HELP scrollback_pushes_total Pushes by service and outcome.\n# TYPE scrollback_pushes_total counter\n"
        for (service, outcomes) in engine.pushes.counts.all.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            for (outcome, count) in outcomes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                text += """
                    scrollback_pushes_total{service="\(service.rawValue)",outcome="\(outcome.rawValue)"} \(count)\n
                    """
            }
        }
        if let sealing = (try? store.sealingProgress()) ?? nil {
            text += "# HELP scrollback_sealed_ratio How much of the store is sealed as it is to be, 0 to 1.\n"
            text += "# TYPE scrollback_sealed_ratio gauge\nscrollback_sealed_ratio \(sealing.fraction)\n"
        }
        commitSeconds.write("scrollback_commit_seconds", "Seconds of a transaction, its sync included.", to: &text)
        commitJobs.write("scrollback_commit_writes", "Writes in a transaction.", to: &text)
        if let sizes = try? store.sizes() {
            write("scrollback_database_bytes", "gauge", "Size of the database file.", sizes.database)
            write("scrollback_wal_bytes", "gauge", "Size of the write-ahead log.", sizes.wal)
            write("scrollback_disk_free_bytes", "gauge", "Free space on the data directory's volume.", sizes.free)
        }
        return text
    }
}
