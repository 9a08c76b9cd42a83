import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import SQLiteSupport
import Synchronization

/// The server's metrics, written in Prometheus' text format (version 0.0.4).
///
/// Updating a counter costs one atomic addition. No Prometheus library is available from the package registries in use;
/// see decision 0004.
final class ServerMetrics: Sendable {
    /// A value that can increase and decrease.
    final class Counter: Sendable {
        private let value = Atomic<Int>(0)
        func add(_ amount: Int) { value.wrappingAdd(amount, ordering: .relaxed) }
        var current: Int { value.load(ordering: .relaxed) }
    }

    /// A histogram: for each upper bound, the number of values that do not exceed it.
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
    let slowConsumerDisconnects = Counter()
    /// Low-priority room messages that were skipped for slow clients.
    let roomMessagesSkipped = Counter()
    let failedCommits = Counter()
    let rollbacks = Counter()
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
        write("scrollback_connections", "gauge", "Number of open WebSocket connections.", connections.current)
        write("scrollback_outbound_bytes_total", "counter", "Bytes of WebSocket frames sent.", outboundBytes.current)
        write(
            "scrollback_slow_closes_total", "counter", "Connections closed with 4008 because the client was too slow.",
            slowConsumerDisconnects.current)
        write("scrollback_http_requests_total", "counter", "HTTP requests answered.", requests.current)
        write(
            "scrollback_http_failures_total", "counter", "HTTP requests answered with status 5xx.",
            failedRequests.current)
        write("scrollback_write_queue_depth", "gauge", "Writes waiting for the writer thread.", engine.log.depth)
        write("scrollback_failed_commits_total", "counter", "Failed write transactions.", failedCommits.current)
        write(
            "scrollback_store_rollbacks_total", "counter",
            "Times that a client showed the store to have gone back to an earlier state.", rollbacks.current)
        write(
            "scrollback_messages_removed_total", "counter", "Deleted or expired messages removed from the store.",
            engine.removedMessages.load(ordering: .relaxed))
        let media = engine.mediaCounts
        write("scrollback_media_files_total", "counter", "Media files uploaded.", media.files.load(ordering: .relaxed))
        write(
            "scrollback_media_received_bytes_total", "counter", "Bytes of media received.",
            media.receivedBytes.load(ordering: .relaxed))
        write(
            "scrollback_media_sent_bytes_total", "counter", "Bytes of media sent.",
            media.sentBytes.load(ordering: .relaxed))
        write(
            "scrollback_room_messages_left_out_total", "counter", "Room messages not streamed due to the rate limit.",
            engine.hub.skippedMessageCount)
        write(
            "scrollback_room_messages_spared_total", "counter", "Low-priority room messages skipped for slow clients.",
            roomMessagesSkipped.current)
        let deliveries = engine.deliveries
        write(
            "scrollback_webhook_waiting", "gauge", "Events waiting for delivery to webhooks.",
            engine.pendingDeliveries)
        write(
            "scrollback_webhook_posts_total", "counter", "Webhook requests accepted by the endpoint.",
            deliveries.posts.load(ordering: .relaxed))
        write(
            "scrollback_webhook_failures_total", "counter", "Webhook requests that failed.",
            deliveries.failures.load(ordering: .relaxed))
        if let waiting = try? engine.pendingPushes() {
            write("scrollback_push_waiting", "gauge", "Messages waiting to be pushed.", waiting.waiting)
            write("scrollback_push_retries", "gauge", "Pushes waiting for a retry.", waiting.retries)
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
        if let sealing = (try? store.encryptionProgress()) ?? nil {
            text += "# HELP scrollback_sealed_ratio Progress of changing the storage encryption, 0 to 1.\n"
            text += "# TYPE scrollback_sealed_ratio gauge\nscrollback_sealed_ratio \(sealing.fraction)\n"
        }
        commitSeconds.write(
            "scrollback_commit_seconds", "Duration of a write transaction in seconds, including the sync.", to: &text)
        commitJobs.write("scrollback_commit_writes", "Number of writes in a transaction.", to: &text)
        if let sizes = try? store.sizes() {
            write("scrollback_database_bytes", "gauge", "Size of the database file in bytes.", sizes.database)
            write("scrollback_wal_bytes", "gauge", "Size of the write-ahead log in bytes.", sizes.wal)
            write("scrollback_disk_free_bytes", "gauge", "Free bytes on the data directory's volume.", sizes.free)
        }
        return text
    }
}
