import Foundation
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPush
import ScrollbackSQLite
import ServiceLifecycle
import Synchronization
import UnixSignals

/// The whole server over one data directory: store, engine, HTTP and WebSockets.
package struct Server: Sendable {
    /// Of the server and of the command line, which are one program.
    package static let version = "0.1.0"

    private let options: ServerOptions
    private let logger: Logger
    private let store: SQLiteStore
    private let search: SQLiteSearch
    private let media: DiskMediaStore
    private let engine: Engine
    private let webhooks: HTTPWebhooks
    private let pushTransport: HTTPPushTransport
    private let http2: HTTP2PushTransport
    private let pushCredentials: PushCredentialsFile?
    private let tokens: TokenService
    private let metrics: ServerMetrics
    private let certificates: Certificates?
    /// Of the disk where files lie: a slow one must not keep readers of the store.
    private let diskThreads: NIOThreadPool

    /// Opens the data directory, making it with a secret and an admin key where there is none.
    package init(_ options: ServerOptions, logger: Logger) async throws {
        self.options = options
        self.logger = logger
        try Backup.checkIsNone(options.directory)
        try FileManager.default.createDirectory(
            at: options.directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        certificates = try options.certificate.map { chain in
            guard let key = options.key else {
                throw ChatError.invalidParameter("tls-key", "is missing: a certificate needs its key")
            }
            return try Certificates(chain: chain, key: key)
        }
        let metrics = ServerMetrics()
        self.metrics = metrics
        var storeOptions = SQLiteStore.Options()
        storeOptions.readers = options.readers
        storeOptions.keys = options.storeKeys
        store = try SQLiteStore(directory: options.directory, options: storeOptions)
        search = try SQLiteSearch(store)
        webhooks = HTTPWebhooks()
        let agent = "scrollback/\(Self.version)"
        pushTransport = HTTPPushTransport(agent: agent, authorities: options.pushAuthorities)
        http2 = HTTP2PushTransport(agent: agent, authorities: options.pushAuthorities)
        diskThreads = NIOThreadPool(numberOfThreads: options.diskThreads)
        diskThreads.start()
        let refusals = PushRefusals(logger: logger)
        let gateway = PushServices(over: pushTransport, http2: http2, refused: refusals.refused)
        media = try DiskMediaStore(in: options.directory, threads: diskThreads, keys: options.storeKeys)
        engine = try Engine(
            store: store, index: search, media: media,
            webhooks: webhooks, gateway: gateway,
            pushPacing: PushPacing(first: options.pushRetrySeconds),
            erasures: FileErasureRegister(in: options.directory), observe: { metrics.record($0) })
        pushCredentials = options.pushCredentials.map { PushCredentialsFile($0, for: gateway) }
        try pushCredentials?.load(into: engine, logger: logger)
        tokens = try await TokenService(directory: options.directory, trust: options.tokenTrust)
        tokens.foreignKeys?.tell(logger)
        if !AdminKey.exists(in: options.directory) { try await AdminKey.write(in: options.directory, tokens) }
        // A store from before has them still: nobody is let in under their names again.
        let erased = try await engine.eraseAgain()
        if erased > 0 {
            logger.notice(
                "users that were erased are in the store again: it is from before", metadata: ["users": "\(erased)"])
        }
        if options.makesDemo {
            var demo = DemoCommunity(engine: engine, now: Date())
            try await demo.make()
        }
    }

    /// Serves until it is told to stop; then finishes what is under way and returns.
    ///
    /// - Parameter onListening: told the address once requests are taken.
    package func run(onListening: @escaping @Sendable (_ address: String) -> Void) async throws {
        let threads = NIOThreadPool(numberOfThreads: options.readers)
        threads.start()
        let readiness = Readiness()
        let tidy = Tidying(engine: engine, interval: options.tidyInterval, logger: logger)
        let scope = RequestScope(
            engine: engine, tokens: tokens,
            allowance: options.sendRate.map { SendAllowance(perSecond: $0, burst: options.sendBurst) },
            readers: threads, metrics: metrics, store: store, readiness: readiness, tidy: tidy,
            announcesUploads: options.announcesUploads)
        let sockets = WebSockets(scope: scope, options: options)
        let router = makeRouter(Route.all, scope)
        let scheme = certificates == nil ? "http" : "https"
        let host = options.host
        let application = Application(
            router: router,
            server: HTTPServerBuilder { responder in
                ServerChannel(
                    responder: Exchange.around(responder), certificates: certificates,
                    frameBytes: engine.limits.frameBytes,
                    makeWebSocket: { sockets.make(on: $0) })
            },
            configuration: .init(address: .hostname(options.host, port: options.port), serverName: "scrollback"),
            onServerRunning: { channel in
                readiness.isReady = true
                onListening("\(scheme)://\(host):\(channel.localAddress?.port ?? 0)")
            },
            logger: logger)
        // They stop in the reverse order: connections first, then the listener, which waits for requests under way.
        var services = ServiceGroupConfiguration(
            services: [
                Housekeeping(
                    engine: engine, tokens: tokens, certificates: certificates, pushCredentials: pushCredentials,
                    logger: logger),
                tidy,
                Indexing(search: search, logger: logger),
                Telling(engine: engine),
                Pushing(engine: engine),
                ErasingUsers(engine: engine, logger: logger),
                Sealing(store: store, media: media, threads: diskThreads, logger: logger),
                application,
                Drain(sockets: sockets, engine: engine, readiness: readiness),
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        services.maximumGracefulShutdownDuration = .seconds(30)
        do {
            try await ServiceGroup(configuration: services).run()
        } catch let error as IOError {
            let reason = String(cString: strerror(error.errnoCode))
            throw ChatError(
                .invalidParameter, "can't listen on \(options.host):\(options.port): \(reason)", parameter: "port",
                cause: error)
        }
        engine.tellAllLeft()
        engine.log.close()
        await webhooks.shutdown()
        await pushTransport.shutdown()
        await http2.shutdown()
        try await threads.shutdownGracefully()
        try await diskThreads.shutdownGracefully()
        try? search.close()
        try store.close()
    }
}

/// Things that are looked at now and then: heads of channels to announce, secrets, keys, certificates and credentials
/// that changed.
private struct Housekeeping: Service {
    let engine: Engine
    let tokens: TokenService
    let certificates: Certificates?
    let pushCredentials: PushCredentialsFile?
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            var turn = 0
            while true {
                try await Task.sleep(for: .milliseconds(200))
                engine.hub.announceMovedChannels()
                engine.tellWhoLeft()
                turn += 1
                guard turn % 10 == 0 else { continue }
                certificates?.reloadIfChanged(logger: logger)
                await tokens.reloadIfChanged(logger: logger)
                pushCredentials?.reloadIfChanged(engine, logger: logger)
            }
        }
    }
}

/// On shutdown answers what was sent, tells every connection to come back after a random wait, and waits until they went.
private struct Drain: Service {
    let sockets: WebSockets
    let engine: Engine
    let readiness: Readiness

    func run() async throws {
        try? await gracefulShutdown()
        readiness.isReady = false
        // What came is kept, and a client whose connection ends goes on with the next server; an answer would stop it.
        engine.interruptTransfers()
        await sockets.drain()
    }
}
