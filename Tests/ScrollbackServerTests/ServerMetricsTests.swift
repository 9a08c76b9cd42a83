import CoreMetrics
import MetricsTestKit
import ScrollbackModel
import ScrollbackSQLite
import Synchronization
import TestSupport
import Testing

@testable import ScrollbackEngine
@testable import ScrollbackServer

@Suite("Server metrics")
struct ServerMetricsTests {
    /// Records one value of each metric that the server itself records.
    private static func record(_ metrics: ServerMetrics, _ engine: Engine) {
        metrics.connections.increment()
        metrics.connections.increment()
        metrics.connections.decrement()
        metrics.outboundBytes.increment(by: 300)
        metrics.outboundBytes.increment(by: 12)
        metrics.slowConsumerDisconnects.increment()
        metrics.roomMessagesSkipped.increment(by: 4)
        metrics.requests.increment(by: 7)
        metrics.failedRequests.increment()
        metrics.record(CommitReport(writeCount: 1, seconds: 0.0005, failed: false))
        metrics.record(CommitReport(writeCount: 3, seconds: 0.03, failed: false))
        metrics.record(CommitReport(writeCount: 600, seconds: 2, failed: false))
        metrics.record(CommitReport(writeCount: 1, seconds: 1, failed: true))
        engine.removedMessages.wrappingAdd(5, ordering: .relaxed)
        engine.mediaCounts.files.wrappingAdd(2, ordering: .relaxed)
        engine.mediaCounts.receivedBytes.wrappingAdd(2_000, ordering: .relaxed)
        engine.mediaCounts.sentBytes.wrappingAdd(5_000_000_000, ordering: .relaxed)
        engine.mediaCounts.openUploadRefusals.wrappingAdd(6, ordering: .relaxed)
        engine.mediaCounts.pictureStepLimits.wrappingAdd(3, ordering: .relaxed)
    }

    private static let text = """
        # HELP scrollback_connections Number of open WebSocket connections.
        # TYPE scrollback_connections gauge
        scrollback_connections 1
        # HELP scrollback_outbound_bytes_total Bytes of WebSocket frames sent.
        # TYPE scrollback_outbound_bytes_total counter
        scrollback_outbound_bytes_total 312
        # HELP scrollback_slow_closes_total Connections closed with 4008 because the client was too slow.
        # TYPE scrollback_slow_closes_total counter
        scrollback_slow_closes_total 1
        # HELP scrollback_refused_connections_total Connections refused by the limit that they exceeded.
        # TYPE scrollback_refused_connections_total counter
        scrollback_refused_connections_total{limit="address"} 0
        scrollback_refused_connections_total{limit="total"} 0
        scrollback_refused_connections_total{limit="user"} 0
        # HELP scrollback_accept_errors_total Connections that the system did not let the server accept.
        # TYPE scrollback_accept_errors_total counter
        scrollback_accept_errors_total 0
        # HELP scrollback_closes_before_welcome_total WebSockets closed before the client sent a valid token.
        # TYPE scrollback_closes_before_welcome_total counter
        scrollback_closes_before_welcome_total 0
        # HELP scrollback_replaced_pongs_total Pings left unanswered because a newer ping followed.
        # TYPE scrollback_replaced_pongs_total counter
        scrollback_replaced_pongs_total 0
        # HELP scrollback_receive_pauses_total Times that reading was paused after too many refusals or pings.
        # TYPE scrollback_receive_pauses_total counter
        scrollback_receive_pauses_total 0
        # HELP scrollback_slow_transfers_total HTTP connections closed because a body was too slow.
        # TYPE scrollback_slow_transfers_total counter
        scrollback_slow_transfers_total 0
        # HELP scrollback_memory_closes_total Connections closed because too many bytes were queued for all clients.
        # TYPE scrollback_memory_closes_total counter
        scrollback_memory_closes_total 0
        # HELP scrollback_refused_bodies_total Requests refused because too many bodies were arriving.
        # TYPE scrollback_refused_bodies_total counter
        scrollback_refused_bodies_total 0
        # HELP scrollback_http_requests_total HTTP requests answered.
        # TYPE scrollback_http_requests_total counter
        scrollback_http_requests_total 7
        # HELP scrollback_http_failures_total HTTP requests answered with status 5xx.
        # TYPE scrollback_http_failures_total counter
        scrollback_http_failures_total 1
        # HELP scrollback_write_queue_depth Writes waiting for the writer thread.
        # TYPE scrollback_write_queue_depth gauge
        scrollback_write_queue_depth 0
        # HELP scrollback_failed_commits_total Failed write transactions.
        # TYPE scrollback_failed_commits_total counter
        scrollback_failed_commits_total 1
        # HELP scrollback_store_rollbacks_total Times that a client or a node showed that the store went back.
        # TYPE scrollback_store_rollbacks_total counter
        scrollback_store_rollbacks_total 0
        # HELP scrollback_messages_removed_total Deleted or expired messages removed from the store.
        # TYPE scrollback_messages_removed_total counter
        scrollback_messages_removed_total 5
        # HELP scrollback_quota_refusals_total Requests refused because of a user's daily quota.
        # TYPE scrollback_quota_refusals_total counter
        scrollback_quota_refusals_total{quota="fileBytesPerDay"} 0
        scrollback_quota_refusals_total{quota="groupsPerDay"} 0
        scrollback_quota_refusals_total{quota="membersPerDay"} 0
        scrollback_quota_refusals_total{quota="messageBytesPerDay"} 0
        # HELP scrollback_storage_refusals_total Requests refused because the volume has little free space.
        # TYPE scrollback_storage_refusals_total counter
        scrollback_storage_refusals_total 0
        # HELP scrollback_media_files_total Media files uploaded.
        # TYPE scrollback_media_files_total counter
        scrollback_media_files_total 2
        # HELP scrollback_media_received_bytes_total Bytes of media received.
        # TYPE scrollback_media_received_bytes_total counter
        scrollback_media_received_bytes_total 2000
        # HELP scrollback_media_sent_bytes_total Bytes of media sent.
        # TYPE scrollback_media_sent_bytes_total counter
        scrollback_media_sent_bytes_total 5000000000
        # HELP scrollback_writer_pauses_total Pauses of uploads and pushes because the writer was busy.
        # TYPE scrollback_writer_pauses_total counter
        scrollback_writer_pauses_total 0
        # HELP scrollback_upload_waits_total Parts of uploads after which their user had to wait.
        # TYPE scrollback_upload_waits_total counter
        scrollback_upload_waits_total 0
        # HELP scrollback_room_messages_left_out_total Room messages not streamed due to the rate limit.
        # TYPE scrollback_room_messages_left_out_total counter
        scrollback_room_messages_left_out_total 0
        # HELP scrollback_room_messages_spared_total Low-priority room messages skipped for slow clients.
        # TYPE scrollback_room_messages_spared_total counter
        scrollback_room_messages_spared_total 4
        # HELP scrollback_webhook_waiting Events waiting for delivery to webhooks.
        # TYPE scrollback_webhook_waiting gauge
        scrollback_webhook_waiting 0
        # HELP scrollback_webhook_posts_total Webhook requests accepted by the endpoint.
        # TYPE scrollback_webhook_posts_total counter
        scrollback_webhook_posts_total 0
        # HELP scrollback_webhook_failures_total Webhook requests that failed.
        # TYPE scrollback_webhook_failures_total counter
        scrollback_webhook_failures_total 0
        # HELP scrollback_webhook_checks_failed_total Messages that the webhook did not answer validly in time.
        # TYPE scrollback_webhook_checks_failed_total counter
        scrollback_webhook_checks_failed_total 0
        # HELP scrollback_push_waiting Messages waiting to be pushed.
        # TYPE scrollback_push_waiting gauge
        scrollback_push_waiting 0
        # HELP scrollback_push_retries Pushes waiting for a retry.
        # TYPE scrollback_push_retries gauge
        scrollback_push_retries 0
        # HELP scrollback_pushes_total Pushes by service and outcome.
        # TYPE scrollback_pushes_total counter
        # HELP scrollback_commit_seconds Duration of a write transaction in seconds, including the sync.
        # TYPE scrollback_commit_seconds histogram
        scrollback_commit_seconds_bucket{le="0.0005"} 1
        scrollback_commit_seconds_bucket{le="0.001"} 1
        scrollback_commit_seconds_bucket{le="0.0025"} 1
        scrollback_commit_seconds_bucket{le="0.005"} 1
        scrollback_commit_seconds_bucket{le="0.01"} 1
        scrollback_commit_seconds_bucket{le="0.025"} 1
        scrollback_commit_seconds_bucket{le="0.05"} 2
        scrollback_commit_seconds_bucket{le="0.1"} 2
        scrollback_commit_seconds_bucket{le="0.25"} 2
        scrollback_commit_seconds_bucket{le="1.0"} 2
        scrollback_commit_seconds_bucket{le="+Inf"} 3
        scrollback_commit_seconds_sum 2.0305
        scrollback_commit_seconds_count 3
        # HELP scrollback_commit_writes Number of writes in a transaction.
        # TYPE scrollback_commit_writes histogram
        scrollback_commit_writes_bucket{le="1.0"} 1
        scrollback_commit_writes_bucket{le="2.0"} 1
        scrollback_commit_writes_bucket{le="4.0"} 2
        scrollback_commit_writes_bucket{le="8.0"} 2
        scrollback_commit_writes_bucket{le="16.0"} 2
        scrollback_commit_writes_bucket{le="32.0"} 2
        scrollback_commit_writes_bucket{le="64.0"} 2
        scrollback_commit_writes_bucket{le="128.0"} 2
        scrollback_commit_writes_bucket{le="256.0"} 2
        scrollback_commit_writes_bucket{le="512.0"} 2
        scrollback_commit_writes_bucket{le="+Inf"} 3
        scrollback_commit_writes_sum 604.0
        scrollback_commit_writes_count 3
        # HELP scrollback_rate_limited_total Requests refused because their user exceeded a rate limit.
        # TYPE scrollback_rate_limited_total counter
        # HELP scrollback_write_queue_refusals_total Writes refused because the queue, or a user's part of it, was full.
        # TYPE scrollback_write_queue_refusals_total counter
        scrollback_write_queue_refusals_total{bound="total"} 0
        scrollback_write_queue_refusals_total{bound="user"} 0
        # HELP scrollback_searches_stopped_total Searches stopped because they took too long.
        # TYPE scrollback_searches_stopped_total counter
        scrollback_searches_stopped_total 0
        # HELP scrollback_limits_reached_total Times that another limit was reached, by limit.
        # TYPE scrollback_limits_reached_total counter
        scrollback_limits_reached_total{limit="everyoneRate"} 0
        scrollback_limits_reached_total{limit="moderationQueue"} 0
        scrollback_limits_reached_total{limit="openUploads"} 6
        scrollback_limits_reached_total{limit="pictureSteps"} 3
        # HELP scrollback_token_key_fetches_total Downloads of a token issuer's keys by outcome.
        # TYPE scrollback_token_key_fetches_total counter
        # HELP scrollback_file_store_requests_total Requests to the S3 store of files by operation and outcome.
        # TYPE scrollback_file_store_requests_total counter
        # HELP scrollback_reads_refused_total Reads refused because too many reads of their user were waiting.
        # TYPE scrollback_reads_refused_total counter
        # HELP scrollback_admission_wait_seconds Time that work waited for a thread of the admission pool.
        # TYPE scrollback_admission_wait_seconds histogram
        scrollback_admission_wait_seconds_bucket{le="0.001"} 0
        scrollback_admission_wait_seconds_bucket{le="0.01"} 0
        scrollback_admission_wait_seconds_bucket{le="0.1"} 0
        scrollback_admission_wait_seconds_bucket{le="1.0"} 0
        scrollback_admission_wait_seconds_bucket{le="10.0"} 0
        scrollback_admission_wait_seconds_bucket{le="+Inf"} 0
        scrollback_admission_wait_seconds_sum 0.0
        scrollback_admission_wait_seconds_count 0
        # HELP scrollback_read_wait_seconds Time that work waited for a thread of the read pool.
        # TYPE scrollback_read_wait_seconds histogram
        scrollback_read_wait_seconds_bucket{le="0.001"} 0
        scrollback_read_wait_seconds_bucket{le="0.01"} 0
        scrollback_read_wait_seconds_bucket{le="0.1"} 0
        scrollback_read_wait_seconds_bucket{le="1.0"} 0
        scrollback_read_wait_seconds_bucket{le="10.0"} 0
        scrollback_read_wait_seconds_bucket{le="+Inf"} 0
        scrollback_read_wait_seconds_sum 0.0
        scrollback_read_wait_seconds_count 0
        # HELP scrollback_search_wait_seconds Time that work waited for a thread of the search pool.
        # TYPE scrollback_search_wait_seconds histogram
        scrollback_search_wait_seconds_bucket{le="0.001"} 0
        scrollback_search_wait_seconds_bucket{le="0.01"} 0
        scrollback_search_wait_seconds_bucket{le="0.1"} 0
        scrollback_search_wait_seconds_bucket{le="1.0"} 0
        scrollback_search_wait_seconds_bucket{le="10.0"} 0
        scrollback_search_wait_seconds_bucket{le="+Inf"} 0
        scrollback_search_wait_seconds_sum 0.0
        scrollback_search_wait_seconds_count 0
        # HELP scrollback_file_wait_seconds Time that work waited for a thread of the file pool.
        # TYPE scrollback_file_wait_seconds histogram
        scrollback_file_wait_seconds_bucket{le="0.001"} 0
        scrollback_file_wait_seconds_bucket{le="0.01"} 0
        scrollback_file_wait_seconds_bucket{le="0.1"} 0
        scrollback_file_wait_seconds_bucket{le="1.0"} 0
        scrollback_file_wait_seconds_bucket{le="10.0"} 0
        scrollback_file_wait_seconds_bucket{le="+Inf"} 0
        scrollback_file_wait_seconds_sum 0.0
        scrollback_file_wait_seconds_count 0
        # HELP scrollback_database_bytes Size of the database file in bytes.
        # TYPE scrollback_database_bytes gauge
        scrollback_database_bytes N
        # HELP scrollback_wal_bytes Size of the write-ahead log in bytes.
        # TYPE scrollback_wal_bytes gauge
        scrollback_wal_bytes N
        # HELP scrollback_disk_free_bytes Free bytes on the data directory's volume.
        # TYPE scrollback_disk_free_bytes gauge
        scrollback_disk_free_bytes N

        """

    /// Replaces the sizes, which differ from run to run.
    private static func withoutSizes(_ text: String) -> String {
        text.replacing(/(?<name>\n(scrollback_database|scrollback_wal|scrollback_disk_free)_bytes )[0-9]+\n/) {
            "\($0.output.name)N\n"
        }
    }

    private func withEngine(_ body: (Engine, SQLiteStore) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(directory: folder.url)
        let space = StorageSpace(volumeOf: folder.url, floor: 0)
        try await body(try Engine(store: store, execution: .inline, space: space), store)
        try store.close()
    }

    @Test("The Prometheus text has every metric with its help, type and value, and sampling twice counts once")
    func text() async throws {
        try await withEngine { engine, store in
            let metrics = ServerMetrics()
            Self.record(metrics, engine)
            metrics.sample(engine, store)
            #expect(Self.withoutSizes(metrics.text(engine: engine, store: store)) == Self.text)
        }
    }

    @Test("A backend receives the same values as the Prometheus text")
    func backend() async throws {
        try await withEngine { engine, store in
            let backend = TestMetrics()
            let metrics = ServerMetrics(factory: backend)
            Self.record(metrics, engine)
            #expect(Self.withoutSizes(metrics.text(engine: engine, store: store)) == Self.text)

            let connections = try backend.expectMeter("scrollback_connections").lastValue
            #expect(connections == 1)
            let size = try backend.expectMeter("scrollback_database_bytes").lastValue
            #expect(size ?? 0 > 0)
            let outbound = try backend.expectCounter("scrollback_outbound_bytes_total").totalValue
            #expect(outbound == 312)
            let sent = try backend.expectCounter("scrollback_media_sent_bytes_total").totalValue
            #expect(sent == 5_000_000_000)
            let seconds = try backend.expectTimer("scrollback_commit_seconds").values
            #expect(seconds == [500_000, 30_000_000, 2_000_000_000])
            let writes = try backend.expectRecorder("scrollback_commit_writes").values
            #expect(writes == [1, 3, 600])
        }
    }

    @Test("A backend receives values of the engine without a request for the Prometheus text")
    func sampling() async throws {
        try await withEngine { engine, store in
            let backend = TestMetrics()
            let metrics = ServerMetrics(factory: backend)
            let service = MetricsSamplingService(
                metrics: metrics, engine: engine, store: store, interval: .milliseconds(1))
            let running = Task { try await service.run() }
            let removed = try backend.expectCounter("scrollback_messages_removed_total")
            engine.removedMessages.wrappingAdd(3, ordering: .relaxed)
            try await eventually("the first count arrives") { removed.totalValue == 3 ? true : nil }
            engine.removedMessages.wrappingAdd(4, ordering: .relaxed)
            try await eventually("the growth arrives") { removed.totalValue == 7 ? true : nil }
            running.cancel()
            try await running.value
        }
    }

    @Test("A counter with dimensions has one line for each combination, in a fixed order")
    func dimensions() {
        let registry = MetricsRegistry()
        registry.declare("pushes", .counter, "Pushes.")
        for (service, count) in [("fcm", 2), ("apns", 1), ("fcm", 3)] {
            Counter(label: "pushes", dimensions: [("service", service)], factory: registry).increment(by: count)
        }
        #expect(
            registry.text() == """
                # HELP pushes Pushes.
                # TYPE pushes counter
                pushes{service="apns"} 1
                pushes{service="fcm"} 5

                """)
    }
}
