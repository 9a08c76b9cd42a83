import CoreMetrics
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import SQLiteSupport
import Synchronization

/// The server's metrics.
///
/// `/metrics` renders them from a ``MetricsRegistry``. A swift-metrics backend can receive them too. The initializer
/// declares each metric once, in the order of the text.
final class ServerMetrics: Sendable {
    let connections: Meter
    let outboundBytes: Counter
    let slowConsumerDisconnects: Counter
    /// Low-priority room messages that were skipped for slow clients.
    let roomMessagesSkipped: Counter
    /// Pings that got no answer of their own, because a newer ping replaced them.
    let replacedPongs: Counter
    /// Times that the server stopped reading from a connection, because its client went on after refusals.
    let receivePauses: Counter
    let refusedBodies: Counter
    let closesBeforeWelcome: Counter
    let refusedConnections: [ConnectionLimits.Refusal: Counter]
    let acceptErrors: Counter
    /// HTTP connections that were closed because the client transferred a body too slowly.
    let slowTransfers: Counter
    /// Connections that were closed because too many bytes were queued for all of them together.
    let memoryCloses: Counter
    let requests: Counter
    let failedRequests: Counter
    /// Times that a client or a node showed that the store went back.
    let rollbacks: Counter
    private let failedCommits: Counter
    private let commitSeconds: Timer
    private let commitWrites: Recorder
    private let sockets: Meter
    private let maximumSockets: Meter
    private let queuedBytes: Meter
    private let rateLimited: SampledTotals
    private let keyFetches: SampledTotals
    private let fileRequests: SampledTotals
    /// For each pool of threads, the number of reads that wait.
    private let readsWaiting: [Meter]
    private let readsRefused: SampledTotals
    /// How long work waited for a thread of each pool.
    let readWaits: [WorkPool: Timer]

    let registry: MetricsRegistry
    /// Read values that the engine and the store keep, one sample at a time.
    private let samples: Mutex<[MetricBuilder.Sample]>

    /// Creates metrics with the value 0.
    ///
    /// - Parameter factory: A backend that receives the metrics too.
    init(factory: (any MetricsFactory)? = nil) {
        registry = MetricsRegistry()
        var new = MetricBuilder(registry, factory)
        connections = new.gauge("scrollback_connections", "Number of open WebSocket connections.")
        connections.set(0)
        outboundBytes = new.counter("scrollback_outbound_bytes_total", "Bytes of WebSocket frames sent.")
        slowConsumerDisconnects = new.counter(
            "scrollback_slow_closes_total", "Connections closed with 4008 because the client was too slow.")
        sockets = new.gauge("scrollback_sockets", "Number of open connections, HTTP and WebSocket.")
        maximumSockets = new.gauge("scrollback_sockets_limit", "Maximum number of open connections.")
        queuedBytes = new.gauge("scrollback_outbound_queued_bytes", "Bytes queued for all clients.")
        refusedConnections = new.counters(
            "scrollback_refused_connections_total", "Connections refused by the limit that they exceeded.",
            label: "limit", ConnectionLimits.Refusal.allCases)
        acceptErrors = new.counter(
            "scrollback_accept_errors_total", "Connections that the system did not let the server accept.")
        closesBeforeWelcome = new.counter(
            "scrollback_closes_before_welcome_total", "WebSockets closed before the client sent a valid token.")
        replacedPongs = new.counter(
            "scrollback_replaced_pongs_total", "Pings left unanswered because a newer ping followed.")
        receivePauses = new.counter(
            "scrollback_receive_pauses_total",
            "Times that reading was paused after too many refusals or pings.")
        slowTransfers = new.counter(
            "scrollback_slow_transfers_total", "HTTP connections closed because a body was too slow.")
        memoryCloses = new.counter(
            "scrollback_memory_closes_total", "Connections closed because too many bytes were queued for all clients.")
        refusedBodies = new.counter(
            "scrollback_refused_bodies_total", "Requests refused because too many bodies were arriving.")
        requests = new.counter("scrollback_http_requests_total", "HTTP requests answered.")
        failedRequests = new.counter("scrollback_http_failures_total", "HTTP requests answered with status 5xx.")
        let depth = new.gauge("scrollback_write_queue_depth", "Writes waiting for the writer thread.")
        new.sample { engine, _ in depth.set(engine.commits.depth) }
        failedCommits = new.counter("scrollback_failed_commits_total", "Failed write transactions.")
        rollbacks = new.counter(
            "scrollback_store_rollbacks_total",
            "Times that a client or a node showed that the store went back.")
        new.counter("scrollback_messages_removed_total", "Deleted or expired messages removed from the store.") {
            $0.removedMessages.load(ordering: .relaxed)
        }
        new.counters("scrollback_quota_refusals_total", "Requests refused because of a user's daily quota.") {
            $0.ledger.refusals.map { ([("quota", $0.quota.setting)], $0.count) }
        }
        new.counter(
            "scrollback_storage_refusals_total", "Requests refused because the volume has little free space."
        ) { $0.space.refusals }
        new.counter("scrollback_media_files_total", "Media files uploaded.") {
            $0.mediaCounts.files.load(ordering: .relaxed)
        }
        new.counter("scrollback_media_received_bytes_total", "Bytes of media received.") {
            $0.mediaCounts.receivedBytes.load(ordering: .relaxed)
        }
        new.counter("scrollback_media_sent_bytes_total", "Bytes of media sent.") {
            $0.mediaCounts.sentBytes.load(ordering: .relaxed)
        }
        new.counter("scrollback_writer_pauses_total", "Pauses of uploads and pushes because the writer was busy.") {
            $0.commits.pauses.load(ordering: .relaxed)
        }
        new.counter("scrollback_upload_waits_total", "Parts of uploads after which their user had to wait.") {
            $0.uploadPace.waits
        }
        new.counter("scrollback_room_messages_left_out_total", "Room messages not streamed due to the rate limit.") {
            $0.hub.skippedMessageCount
        }
        roomMessagesSkipped = new.counter(
            "scrollback_room_messages_spared_total", "Low-priority room messages skipped for slow clients.")
        let webhooks = new.gauge("scrollback_webhook_waiting", "Events waiting for delivery to webhooks.")
        new.sample { engine, _ in webhooks.set(engine.pendingDeliveries) }
        new.counter("scrollback_webhook_posts_total", "Webhook requests accepted by the endpoint.") {
            $0.deliveries.posts.load(ordering: .relaxed)
        }
        new.counter("scrollback_webhook_failures_total", "Webhook requests that failed.") {
            $0.deliveries.failures.load(ordering: .relaxed)
        }
        new.counter(
            "scrollback_webhook_checks_failed_total", "Messages that the webhook did not answer validly in time."
        ) { $0.failedReviews.load(ordering: .relaxed) }
        new.pushes()
        let encryption = new.gauge(
            "scrollback_sealed_ratio", "Progress of changing the storage encryption, 0 to 1.", .ratio)
        new.sample { _, store in
            if let progress = (try? store.encryptionProgress()) ?? nil { encryption.set(progress.fraction) }
        }
        commitSeconds = new.timer(
            "scrollback_commit_seconds", "Duration of a write transaction in seconds, including the sync.",
            [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1])
        commitWrites = new.recorder(
            "scrollback_commit_writes", "Number of writes in a transaction.",
            [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
        rateLimited = SampledTotals(
            "scrollback_rate_limited_total", "Requests refused because their user exceeded a rate limit.", new)
        new.fairness()
        keyFetches = SampledTotals(
            "scrollback_token_key_fetches_total", "Downloads of a token issuer's keys by outcome.", new)
        fileRequests = SampledTotals(
            "scrollback_file_store_requests_total",
            "Requests to the S3 store of files by operation and outcome.", new)
        new.declare("scrollback_reads_waiting", .gauge, "Reads that wait for a thread.")
        readsWaiting = WorkPool.allCases.map { [new] in
            Meter(label: "scrollback_reads_waiting", dimensions: [("pool", $0.rawValue)], factory: new.factory)
        }
        readsRefused = SampledTotals(
            "scrollback_reads_refused_total", "Reads refused because too many reads of their user were waiting.", new)
        readWaits = Dictionary(
            uniqueKeysWithValues: WorkPool.allCases.map { [new] in
                let name = "scrollback_\($0.rawValue)_wait_seconds"
                let help = "Time that work waited for a thread of the \($0) pool."
                return ($0, new.timer(name, help, [0.001, 0.01, 0.1, 1, 10]))
            })
        new.sizes()
        samples = Mutex(new.samples)
    }

    func record(_ report: CommitReport) {
        if report.failed { return failedCommits.increment() }
        commitSeconds.recordSeconds(report.seconds)
        commitWrites.record(report.writeCount)
    }

    /// Also samples the open connections and the bytes queued for them, once the server has them.
    func observe(_ limits: ConnectionLimits, _ budget: OutboundBudget) {
        samples.withLock {
            $0.append { [sockets, maximumSockets, queuedBytes] _, _ in
                sockets.set(limits.total)
                maximumSockets.set(limits.maximum)
                queuedBytes.set(budget.total)
            }
        }
    }

    /// Also samples the rate limits and the pools of threads, once the server has them.
    func observe(_ limiter: RateLimiter, _ pools: ReaderPools) {
        samples.withLock {
            $0.append { [rateLimited, readsWaiting, readsRefused] _, _ in
                rateLimited.increase(to: limiter.refusals.map { ([("class", $0.cost.rawValue)], $0.count) })
                for (pool, waiting) in zip(WorkPool.allCases, readsWaiting) { waiting.set(pools[pool].depth) }
                readsRefused.increase(
                    to: WorkPool.allCases.map { ([("pool", $0.rawValue)], pools[$0].refusals.load(ordering: .relaxed)) }
                )
            }
        }
    }

    /// Also samples the downloads of a token issuer's keys.
    func observe(_ tokens: TokenService) {
        samples.withLock {
            $0.append { [keyFetches] _, _ in
                let counts = tokens.fetchCounts
                keyFetches.increase(
                    to: [([("outcome", "fetched")], counts.successes), ([("outcome", "failed")], counts.failures)])
            }
        }
    }

    /// Also samples the requests to the store of files.
    func observe(_ files: S3Client) {
        samples.withLock {
            $0.append { [fileRequests] _, _ in
                fileRequests.increase(
                    to: files.counts.map { count, total in
                        ([("operation", count.operation.rawValue), ("outcome", count.outcome.rawValue)], total)
                    })
            }
        }
    }

    /// Reads the values that the engine and the store keep.
    func sample(_ engine: Engine, _ store: any ServerStore) {
        samples.withLock { for sample in $0 { sample(engine, store) } }
    }

    /// Returns the metrics in Prometheus' text format.
    func text(engine: Engine, store: any ServerStore) -> String {
        sample(engine, store)
        return registry.text()
    }
}

extension MetricBuilder {
    fileprivate mutating func pushes() {
        let waiting = gauge("scrollback_push_waiting", "Messages waiting to be pushed.")
        let retries = gauge("scrollback_push_retries", "Pushes waiting for a retry.")
        sample { engine, _ in
            let pending = try? engine.pendingPushes()
            waiting.set(pending.map { Double($0.waiting) } ?? .nan)
            retries.set(pending.map { Double($0.retries) } ?? .nan)
        }
        counters("scrollback_pushes_total", "Pushes by service and outcome.") { engine in
            engine.pushes.counts.all.flatMap { service, outcomes in
                outcomes.map { ([("service", service.rawValue), ("outcome", $0.rawValue)], $1) }
            }
        }
    }

    /// Makes a counter for each value of a label.
    fileprivate mutating func counters<Value: RawRepresentable<String> & Hashable>(
        _ name: String, _ help: String, label: String, _ values: [Value]
    ) -> [Value: Counter] {
        declare(name, .counter, help)
        return Dictionary(
            uniqueKeysWithValues: values.map {
                ($0, Counter(label: name, dimensions: [(label, $0.rawValue)], factory: factory))
            })
    }

    /// Declares a counter with labels whose totals the engine keeps.
    ///
    /// - Parameter totals: Returns the total of each combination of labels.
    fileprivate mutating func counters(
        _ name: String, _ help: String, _ totals: @escaping @Sendable (Engine) -> [LabeledTotal]
    ) {
        let counters = SampledTotals(name, help, self)
        sample { engine, _ in counters.increase(to: totals(engine)) }
    }

    fileprivate mutating func fairness() {
        counters(
            "scrollback_write_queue_refusals_total",
            "Writes refused because the queue, or a user's part of it, was full."
        ) {
            let refusals = $0.commits.refusals
            return [([("bound", "user")], refusals.owner), ([("bound", "total")], refusals.total)]
        }
        counter("scrollback_searches_stopped_total", "Searches stopped because they took too long.") {
            $0.stoppedSearches.load(ordering: .relaxed)
        }
        counters("scrollback_limits_reached_total", "Times that another limit was reached, by limit.") { engine in
            let media = engine.mediaCounts
            return [
                ([("limit", "everyoneRate")], engine.mentionLimiter?.refusals ?? 0),
                ([("limit", "moderationQueue")], engine.orderedGate.refusals),
                ([("limit", "openUploads")], media.openUploadRefusals.load(ordering: .relaxed)),
                ([("limit", "pictureSteps")], media.pictureStepLimits.load(ordering: .relaxed)),
            ]
        }
    }

    fileprivate mutating func sizes() {
        let database = gauge("scrollback_database_bytes", "Size of the database file in bytes.")
        let wal = gauge("scrollback_wal_bytes", "Size of the write-ahead log in bytes.")
        let free = gauge("scrollback_disk_free_bytes", "Free bytes on the data directory's volume.")
        sample { engine, store in
            let sizes = try? store.sizes()
            database.set(sizes.map { Double($0.database) } ?? .nan)
            wal.set(sizes?.wal.map { Double($0) } ?? .nan)
            free.set(engine.space.free.map { Double($0) } ?? .nan)
        }
    }
}
