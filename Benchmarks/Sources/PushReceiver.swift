import ArgumentParser
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// A stand-in for a push service on 127.0.0.1.
///
/// Accepts each push immediately, so that benchmarks measure mostly the server.
final class PushReceiver: Sendable {
    enum Service: String, ExpressibleByArgument, CaseIterable {
        /// A webhook over HTTP/1.1.
        case webhook
        /// APNs over HTTP/2 and TLS, authenticated with a provider token.
        case apns
    }

    private let service: Service
    private let folder: TemporaryFolder
    private let channel: any Channel
    private let arrivals: Arrivals

    /// The received pushes.
    private final class Arrivals: Sendable {
        private let state = Mutex((count: 0, last: 0.0))

        func add() {
            state.withLock { state in
                state.count += 1
                state.last = now()
            }
        }

        var current: (count: Int, last: Double) { state.withLock { $0 } }
    }

    init(_ service: Service) async throws {
        let folder = try TemporaryFolder()
        do {
            let tls = service == .apns ? try Self.makeCertificate(in: folder.url) : nil
            let arrivals = Arrivals()
            channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 256)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { try Self.prepare(channel, tls, arrivals) }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            self.arrivals = arrivals
        } catch {
            folder.remove()
            throw error
        }
        self.service = service
        self.folder = folder
    }

    func stop() {
        channel.close(promise: nil)
        folder.remove()
    }

    /// The number of received pushes.
    var count: Int { arrivals.current.count }
    /// The time of the last received push.
    var last: Double { arrivals.current.last }

    /// Waits until a number of pushes arrived.
    ///
    /// - Throws: After two minutes.
    func wait(for count: Int) async throws {
        let end = now() + 120
        while self.count < count {
            guard now() < end else {
                throw BenchError("\(count - self.count) pushes did not arrive within two minutes.")
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    // MARK: Server configuration

    /// Command-line options with which a server trusts this receiver's certificate.
    func serverOptions() throws -> [String] {
        guard service == .apns else { return [] }
        let file = folder.url.appending(path: "settings.json")
        try Self.json(["push": ["authorities": folder.url.appending(path: "chain.pem").path]]).write(to: file)
        return ["--config", file.path]
    }

    /// The push settings for this receiver, as JSON.
    func settings() throws -> String {
        let port = channel.localAddress?.port ?? 0
        let credentials =
            switch service {
            case .webhook: ["url": "http://127.0.0.1:\(port)/push", "secret": "of the benchmark alone"]
            case .apns:
                [
                    "endpoint": "https://localhost:\(port)", "topic": "com.example.bench", "keyID": "BENCHKEY01",
                    "teamID": "BENCHTEAM1", "key": P256.Signing.PrivateKey().pemRepresentation,
                ]
            }
        let settings = try Self.json(["push": ["services": [service.rawValue: credentials]]])
        return String(decoding: settings, as: UTF8.self)
    }

    /// A device registration for the user with a number, as JSON.
    func device(_ number: Int) throws -> String {
        let digits = String(number, radix: 16)
        let token = String(repeating: "0", count: 64 - digits.count) + digits
        return String(decoding: try Self.json(["service": service.rawValue, "token": token]), as: UTF8.self)
    }

    private static func json(_ object: [String: Any]) throws -> Data {
        try JSONSerialization.data(withJSONObject: object)
    }

    // MARK: Receiving pushes

    private static func prepare(_ channel: any Channel, _ tls: NIOSSLContext?, _ arrivals: Arrivals) throws {
        let pipeline = channel.pipeline.syncOperations
        guard let tls else {
            try pipeline.configureHTTPServerPipeline()
            return try pipeline.addHandler(RequestHandler(arrivals))
        }
        try pipeline.addHandler(NIOSSLServerHandler(context: tls))
        _ = try pipeline.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: .init(), streamConfiguration: .init()
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandlers(
                    [HTTP2FramePayloadToHTTP1ServerCodec(), RequestHandler(arrivals)])
            }
        }
    }

    /// Creates a self-signed certificate for localhost.
    private static func makeCertificate(in folder: URL) throws -> NIOSSLContext {
        let chain = folder.appending(path: "chain.pem").path
        let key = folder.appending(path: "key.pem").path
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key,
            "-out", chain,
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchError("--service apns requires openssl. Run apt-get install openssl.")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(chain).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
        configuration.applicationProtocols = ["h2"]
        return try NIOSSLContext(configuration: configuration)
    }

    /// Responds to each complete request with status 200.
    private final class RequestHandler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let arrivals: Arrivals

        init(_ arrivals: Arrivals) {
            self.arrivals = arrivals
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .end = unwrapInboundIn(data) else { return }
            arrivals.add()
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "0"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
