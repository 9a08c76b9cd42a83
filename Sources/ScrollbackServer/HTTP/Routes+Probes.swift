import Hummingbird
import NIOCore
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// Whether the server takes requests: false before it listens and while it drains.
final class Readiness: Sendable {
    private let value = Atomic<Bool>(false)
    var isReady: Bool {
        get { value.load(ordering: .relaxed) }
        set { value.store(newValue, ordering: .relaxed) }
    }

    private let moves = Atomic<Bool>(false)
    /// Whether clients move to other nodes, so that each HTTP connection ends with its next response.
    var clientsMove: Bool {
        get { moves.load(ordering: .relaxed) }
        set { moves.store(newValue, ordering: .relaxed) }
    }
}

extension Route {
    /// Endpoints for probes and tools, which need no token, except for the metrics.
    static let probes: [Route] = [
        Route(.get, "/healthz", .probe) { _, _, _ throws(ChatError) in
            respond {
                $0.field("status", "ok")
                $0.field("version", Server.version)
            }
        },
        Route(.get, "/readyz", .probe) { scope, _, _ throws(ChatError) in
            guard scope.readiness.isReady else {
                throw ChatError(.shuttingDown, "The server is starting or shutting down. Try again later.")
            }
            // A read that reaches the disk: a store that can't answer is not ready.
            _ = try await scope.read(for: .server, in: .admission) {
                try $0.store.read { try $0.conversation(numbered: 0) }
            }
            return respond { $0.field("status", "ready") }
        },
        Route(.get, "/metrics", .readMetrics) { scope, request, _ throws(ChatError) in
            try await scope.checkMayReadMetrics(request)
            // Some of the numbers are read from the disk.
            let text = try await scope.read(for: .server, in: .admission) {
                scope.metrics.text(engine: $0, store: scope.store)
            }
            return Response(
                status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: .init(byteBuffer: ByteBuffer(string: text)))
        },
        Route(.get, "/openapi.json", .probe) { _, _, _ throws(ChatError) in
            Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(bytes: OpenAPIDocument.bytes)))
        },
        Route(.get, "/v1/connect", .probe) { scope, request, _ throws(ChatError) in
            let refusal = scope.allowedOrigins.refusal(
                ofSocketFrom: request.headers[.origin], to: request.head.authority)
            if let refusal { throw refusal }
            throw ChatError(
                .malformed, "This path is a WebSocket endpoint. Upgrade with the subprotocol scrollback.v1.json.",
                parameter: "Sec-WebSocket-Protocol")
        },
    ]
}
