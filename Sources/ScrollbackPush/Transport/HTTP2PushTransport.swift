import Foundation
import NIOSSL
import Synchronization

/// Services that speak HTTP/2 alone: a few connections to each, kept open.
///
/// Not by AsyncHTTPClient, which has one connection to a host, and whose pool holds that a service which changes how many streams
/// it takes while nothing is under way, as Apple's does after the first push, can't be (decision 23).
package final class HTTP2PushTransport: PushTransport {
    private let services = Mutex<[Origin: HTTP2Service]>([:])
    private let authorities: String?
    private let agent: String

    /// How long a service may take to answer.
    private static let timeout = Duration.seconds(30)

    private struct Origin: Hashable {
        var host: String
        var port: Int
    }

    /// - Parameters:
    ///   - agent: what it calls itself.
    ///   - authorities: a PEM file of certificate authorities that are trusted besides the system's.
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

/// The connections to one service.
private actor HTTP2Service {
    private static let mostConnections = 4
    /// How many requests are under way on a connection before another one is opened.
    private static let fullLoad = 200

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

    /// The one with the least to do; another one where all have much.
    func connection() async throws -> HTTP2Connection {
        connections.removeAll { $0.load == nil }
        let best = connections.min { $0.load ?? .max < $1.load ?? .max }
        if let best, let load = best.load, load < Self.fullLoad || connections.count >= Self.mostConnections {
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
