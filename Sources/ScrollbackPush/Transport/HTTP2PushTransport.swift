import Foundation
import NIOSSL
import Synchronization

/// A transport for services that require HTTP/2, with a few persistent connections to each service.
///
/// AsyncHTTPClient is unsuitable: it opens only one connection per host. Its pool also fails when an idle service
/// changes its stream limit, as Apple's service does after the first push. See decision 0023.
package final class HTTP2PushTransport: PushTransport {
    private let services = Mutex<[Origin: HTTP2Service]>([:])
    private let authorities: String?
    private let agent: String

    /// The time limit for a response.
    private static let timeout = Duration.seconds(30)

    private struct Origin: Hashable {
        var host: String
        var port: Int
    }

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - agent: The value of the `User-Agent` header.
    ///   - authorities: A PEM file of certificate authorities to trust in addition to the system's.
    package init(agent: String, authorities: String? = nil) {
        self.agent = agent
        self.authorities = authorities
    }

    package func post(_ request: PushRequest) async throws -> PushResponse {
        guard let url = URL(string: request.url), let host = url.host() else { throw URLError(.badURL) }
        let service = try service(Origin(host: host, port: url.port ?? 443))
        var request = request
        request.headers["user-agent"] = agent
        return try await withDeadline(Self.timeout) { [request] in
            try await service.connection().post(request, to: url)
        }
    }

    private func service(_ origin: Origin) throws -> HTTP2Service {
        if let known = services.withLock({ $0[origin] }) { return known }
        var configuration = TLSConfiguration.outgoing(trustingAlso: authorities)
        configuration.applicationProtocols = ["h2"]
        let made = HTTP2Service(origin.host, origin.port, tls: try NIOSSLContext(configuration: configuration))
        return services.withLock { services in
            if let known = services[origin] { return known }
            services[origin] = made
            return made
        }
    }

    package func shutdown() async {
        let services = services.withLock { services in
            defer { services = [:] }
            return services
        }
        for service in services.values { await service.close() }
    }
}

/// The connections to one push service.
private actor HTTP2Service {
    private static let maximumConnections = 4
    /// The number of requests in progress on each connection from which another connection is opened.
    private static let maximumLoad = 200

    private let host: String
    private let port: Int
    private let tls: NIOSSLContext
    private var connections: [HTTP2Connection] = []
    private var opening: Task<HTTP2Connection, any Error>?

    init(_ host: String, _ port: Int, tls: NIOSSLContext) {
        self.host = host
        self.port = port
        self.tls = tls
    }

    /// Returns the least busy connection.
    ///
    /// Opens a new one if all are busy and the maximum is not reached.
    func connection() async throws -> HTTP2Connection {
        connections.removeAll { $0.load == nil }
        let best = connections.min { $0.load ?? .max < $1.load ?? .max }
        if let best, let load = best.load, load < Self.maximumLoad || connections.count >= Self.maximumConnections {
            return best
        }
        if let opening { return try await opening.value }
        let task = Task { [host, port, tls] in try await HTTP2Connection.open(host, port, tls: tls) }
        opening = task
        defer { opening = nil }
        let new = try await task.value
        connections.append(new)
        return new
    }

    func close() async {
        for connection in connections { await connection.close() }
        connections = []
    }
}
