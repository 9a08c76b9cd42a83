import CoreMetrics
import Foundation
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
import ScrollbackEngine
import ScrollbackModel
import ScrollbackNATS
import ScrollbackPush
import ScrollbackSQLite
import SQLiteSupport
import ServiceLifecycle
import Synchronization
import UnixSignals

/// The server of one data directory: store, engine, HTTP and WebSockets.
package struct Server: Sendable {
    /// The version of the server and the command-line tool, which are the same program.
    package static let version = "0.1.0"

    private let options: ServerOptions
    private let logger: Logger
    private let store: any ServerStore
    private let search: SQLiteSearch
    private let directoryLock: DirectoryLock?
    private let media: any MediaStore
    private let engine: Engine
    private let nodes: Nodes?
    private let bus: NATSBus?
    private let webhooks: HTTPWebhookTransport
    private let pushTransport: HTTPPushTransport
    private let http2: HTTP2PushTransport
    private let pushCredentials: PushCredentialsFile?
    private let tokens: TokenService
    private let metrics: ServerMetrics
    private let certificates: Certificates?
    private let limits: ConnectionLimits
    /// Threads for the work of users.
    private let pools: ReaderPools
    /// Threads for the services that check the lock, the other nodes and the secrets.
    ///
    /// They are separate so that these checks never wait for the work of users.
    private let serviceThreads: NIOThreadPool

    /// Opens the data directory.
    ///
    /// Creates it with a signing key and an administrator token if it does not exist.
    package init(_ options: ServerOptions, logger: Logger) async throws {
        self.options = options
        self.logger = logger
        try options.checkAddresses()
        try Backup.checkIsDataDirectory(options.directory)
        try Backup.makeDirectory(options.directory, for: "data")
        let restricted = try PrivateFiles.restrict(options.directory, errorCode: .internalError)
        if restricted > 0 {
            logger.notice(
                "Other users could read the data directory. It is now restricted to its owner.",
                metadata: ["directory": "\(options.directory.path)", "changed": "\(restricted)"])
        }
        for path in options.secretFiles {
            guard let mode = PrivateFiles.exposedMode(of: path) else { continue }
            logger.warning(
                "Other users may open a file with secrets. Restrict it to the server's user.",
                metadata: ["file": "\(path)", "mode": "\(String(mode, radix: 8))", "fix": "chmod 600 \(path)"])
        }
        certificates =
            switch (options.certificate, options.key) {
            case (nil, nil): nil
            case (let chain?, let key?): try Certificates(chain: chain, key: key)
            case (nil, _?):
                throw ChatError.invalidParameter("tls-certificate", "must be given together with tls-key")
            case (_?, nil):
                throw ChatError.invalidParameter("tls-key", "must be given together with tls-certificate")
            }
        for (parameter, path) in [
            ("token.authorities", options.tokenAuthorities), ("files.authorities", options.filesAuthorities),
            ("push.authorities", options.pushAuthorities),
        ] {
            if let path { try Certificates.check(authorities: path, parameter: parameter) }
        }
        let metrics = ServerMetrics(factory: options.metrics)
        self.metrics = metrics
        limits = ConnectionLimits(
            maximum: try DescriptorLimit.connections(configured: options.connections, of: DescriptorLimit.raise()),
            maximumPerAddress: options.connectionsPerAddress, metrics: metrics, logger: logger)
        let backups = try options.makeBackupWriter(logger: logger)
        // Before the store, so that a wrong option creates no tables.
        try options.busURL.map { try NATSBus.check($0) }
        let files = try await options.connectFiles(logger: logger)
        (store, search, directoryLock) = try options.openStore()
        webhooks = HTTPWebhookTransport()
        let agent = "scrollback/\(Self.version)"
        pushTransport = HTTPPushTransport(agent: agent, authorities: options.pushAuthorities)
        http2 = HTTP2PushTransport(agent: agent, authorities: options.pushAuthorities)
        pools = ReaderPools(options, metrics)
        pools.start()
        serviceThreads = NIOThreadPool(numberOfThreads: 4)
        serviceThreads.start()
        let refusals = PushRefusalLogger(logger: logger)
        let gateway = PushServices(over: pushTransport, http2: http2, refused: refusals.refused)
        media = try await options.openMedia(files, of: store, threads: FileThreads(pools[.file]))
        if let files { metrics.observe(files) }
        nodes = try Nodes(store, options)
        if nodes != nil, files == nil {
            logger.warning("Files are in this node's data directory, so the other nodes can't read them. Use --files.")
        }
        try nodes?.shareKeys(in: options.directory)
        engine = try Engine(
            store: store, node: nodes?.node, index: search, media: media,
            mentionLimiter: options.everyoneRate.map { MentionLimiter(perHour: $0, burst: options.everyoneBurst) },
            webhooks: webhooks, webhookStateChanged: WebhookLogger(logger: logger).stateChanged, gateway: gateway,
            pushTiming: PushTiming(firstDelay: options.pushRetrySeconds),
            erasures: FileErasureRegister(in: options.directory), backups: backups,
            space: StorageSpace(volumeOf: options.directory, floor: options.freeSpaceFloor),
            uploadPace: UploadPace(rate: options.uploadRate),
            checkpointKey: try SigningKeys.open(in: options.directory).checkpointKey,
            rolledBack: { rollback in
                metrics.rollbacks.increment()
                logger.error(
                    """
                    The store went back to an earlier state: a client or a node has seen a commit that the store does \
                    not have. Later messages are lost. The server now makes all clients synchronize again. If another \
                    copy of this data directory is in use, stop it. Restore backups with `scrollback restore`.
                    """,
                    metadata: [
                        "seenCommit": "\(rollback.seenCommit)", "lastCommit": "\(rollback.lastCommit)",
                        "lostAfter": "\(rollback.lostAfter.date.iso8601)",
                    ])
            }, searchTime: SearchTime(limit: options.searchLimit), observe: { metrics.record($0) })
        bus = try nodes?.connect(options)
        pushCredentials = options.pushCredentials.map { PushCredentialsFile($0, for: gateway) }
        try pushCredentials?.load(into: engine, logger: logger)
        let tokens = try await TokenService(
            directory: options.directory, trust: options.tokenTrust,
            download: .overHTTP(trustingAlso: options.tokenAuthorities), isShared: nodes != nil)
        self.tokens = tokens
        try await nodes?.readKeys(for: tokens)
        let rotator = SecretRotator(
            nodes?.store ?? SecretsFile(in: options.directory), isShared: nodes != nil)
        engine.onSecretRotation { try rotator.rotate(own: tokens.encodedSecrets(), overlap: $0) }
        await tokens.reloadIfChanged(logger: logger)
        metrics.observe(tokens)
        if !AdminKey.exists(in: options.directory) { try await AdminKey.write(in: options.directory, tokens) }
        // A restored backup may contain users that were erased after it was made.
        let erased = try await engine.restartMissingErasures()
        if erased > 0 {
            logger.notice(
                "The store is from a backup and contains erased users. Erasing them again.",
                metadata: ["users": "\(erased)"])
        }
        if options.makesDemo {
            var demo = DemoCommunity(engine: engine, now: Date())
            try await demo.make()
        }
    }

    /// Runs the server until a shutdown signal arrives, then completes pending work and returns.
    ///
    /// - Parameter onListening: Called with the URL of each address once the server accepts requests there.
    package func run(
        onListening: @escaping @Sendable (_ url: String, _ address: ListenAddress) -> Void
    ) async throws {
        let readiness = Readiness()
        let tidy = CleanupService(engine: engine, interval: options.cleanupInterval, logger: logger)
        let budget = OutboundBudget(limit: options.outboundMemory, metrics: metrics)
        let limiter = RateLimiter(options.rates)
        metrics.observe(limits, budget)
        metrics.observe(limiter, pools)
        let scope = RequestScope(
            engine: engine, tokens: tokens, limiter: limiter, pools: pools, metrics: metrics,
            bodies: BodyBudget(metrics: metrics), store: store, readiness: readiness, tidy: tidy,
            announcesUploads: options.announcesUploads, metricsToken: options.metricsToken,
            allowedOrigins: options.allowedOrigins, demo: DemoSessions(options, tokens))
        var addresses = [options.address]
        if let address = options.adminAddress { addresses.append(address) }
        let listeners = addresses.map { address in
            var own = scope
            own.acceptsAdministrators = options.adminAddress == nil || address == options.adminAddress
            let sockets = WebSockets(scope: own, options: options, budget: budget)
            let application = makeApplication(address, own, sockets, budget) { url in
                if address == options.address {
                    readiness.isReady = true
                    nodes?.node.listens(at: url)
                }
                onListening(url, address)
            }
            return Listener(application: application, sockets: sockets, address: address)
        }
        // Services stop in reverse order: first the connections, then the listener, which waits for pending requests.
        var services: [any Service] = [
            Housekeeping(
                engine: engine, tokens: tokens, certificates: certificates, pushCredentials: pushCredentials,
                logger: logger),
            tidy,
            SearchIndexingService(search: search, logger: logger),
            WebhookDeliveryService(engine: engine),
            PushDeliveryService(engine: engine),
            ScheduledMessageService(engine: engine, logger: logger),
            UserErasureService(engine: engine, logger: logger),
            StoreLockService(store: store, threads: serviceThreads, logger: logger),
        ]
        if let nodes {
            services.append(
                NodeService(
                    engine: engine, node: nodes.node, store: nodes.store, threads: serviceThreads, logger: logger))
            services.append(
                SharedSecretsService(tokens: tokens, store: nodes.store, threads: serviceThreads, logger: logger))
        }
        if let store = store as? SQLiteStore, let media = media as? any ReencryptableMediaStore {
            services.append(
                StorageEncryptionService(
                    store: store, media: media, threads: FileThreads(pools[.file]), logger: logger))
        }
        services += listeners as [any Service]
        let drain = Drain(
            sockets: listeners.map(\.sockets), engine: engine, readiness: readiness,
            sequence: DrainSequence(delay: options.drainDelay, window: options.drainWindow), logger: logger)
        services.append(drain)
        if options.metrics != nil {
            services.insert(MetricsSamplingService(metrics: metrics, engine: engine, store: store), at: 0)
        }
        var group = ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        group.maximumGracefulShutdownDuration = .seconds(30) + (nodes == nil ? .zero : drain.sequence.maximum)
        let running = ServiceGroup(configuration: group)
        nodes?.node.onDrain { Task { await running.triggerGracefulShutdown() } }
        try await running.run()
        engine.recordAllOffline()
        engine.commits.close()
        nodes?.node.leave()
        bus?.close()
        await webhooks.shutdown()
        await pushTransport.shutdown()
        await http2.shutdown()
        try await pools.shutdown()
        try await serviceThreads.shutdownGracefully()
        try? search.close()
        try store.close()
        directoryLock?.release()
    }
}

extension Server {
    /// Creates the HTTP server of one address.
    private func makeApplication(
        _ address: ListenAddress, _ scope: RequestScope, _ sockets: WebSockets, _ budget: OutboundBudget,
        onListening: @escaping @Sendable (_ url: String) -> Void
    ) -> some Service {
        let pace = options.transferRate.map { TransferPace(rate: $0, grace: options.transferGrace) } ?? .unlimited
        let scheme = certificates == nil ? "http" : "https"
        return Application(
            router: makeRouter(Route.all, scope),
            server: HTTPServerBuilder { responder in
                ServerChannel(
                    responder: Exchange.wrapping(responder), certificates: certificates,
                    frameBytes: engine.limits.frameBytes,
                    allowedOrigins: options.allowedOrigins,
                    makePaceHandler: { HTTPPaceHandler(channel: $0, pace: pace, metrics: metrics, budget: budget) },
                    makeWebSocket: { sockets.make(on: $0) })
            },
            configuration: .init(address: .hostname(address.host, port: address.port), serverName: "scrollback"),
            onServerRunning: { channel in
                try? await channel.eventLoop.submit {
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptGate(limits: limits, metrics: metrics, logger: logger), position: .first)
                }.get()
                onListening("\(scheme)://\(address.urlHost):\(channel.localAddress?.port ?? 0)")
            },
            logger: logger)
    }
}

/// The HTTP server of one address, with its WebSockets.
private struct Listener: Service {
    let application: any Service
    let sockets: WebSockets
    let address: ListenAddress

    func run() async throws {
        do {
            try await application.run()
            // The listener does not wait for those that connected while the others were closed.
            await sockets.drain()
        } catch let error as IOError {
            throw failure(String(cString: strerror(error.errnoCode)), error)
        } catch let error as SocketAddressError.UnknownHost {
            throw failure("the name of the host has no address", error)
        }
    }

    private func failure(_ reason: String, _ cause: any Error) -> ChatError {
        ChatError(
            .invalidParameter, "Can't listen on \(address): \(reason).", parameter: address.parameter, cause: cause)
    }
}

/// Runs periodic tasks: announces channel heads and presence, and reloads changed secrets, keys, certificates and
/// credentials.
private struct Housekeeping: Service {
    let engine: Engine
    let tokens: TokenService
    let certificates: Certificates?
    let pushCredentials: PushCredentialsFile?
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            var turn = 0
            let start = ContinuousClock.now
            while true {
                try await Task.sleep(for: .milliseconds(200))
                engine.hub.announceChannelHeads()
                engine.notifyWatchersOfOfflineUsers()
                turn += 1
                guard turn % 10 == 0 else { continue }
                // With several nodes, the database is elsewhere, and a copy of this machine is only another node.
                if engine.node == nil { engine.checkClocks(date: Date(), uptime: start.duration(to: .now)) }
                certificates?.reloadIfChanged(logger: logger)
                await tokens.reloadIfChanged(logger: logger)
                let retired = tokens.retiredKeys()
                if !retired.isEmpty { engine.closeConnections(ofRetired: retired) }
                pushCredentials?.reloadIfChanged(engine, logger: logger)
            }
        }
    }
}

/// Drains connections on shutdown: answers received messages, asks clients to reconnect after a random delay, and
/// waits.
///
/// With other nodes, the clients first get time to move to them.
private struct Drain: Service {
    let sockets: [WebSockets]
    let engine: Engine
    let readiness: Readiness
    let sequence: DrainSequence
    let logger: Logger

    func run() async throws {
        try? await gracefulShutdown()
        readiness.isReady = false
        if let node = engine.node {
            engine.beginDraining()
            if node.hasOthers { await moveClients() }
        }
        // Received data is kept, and clients resume the upload with the next server. A response would make them stop.
        engine.interruptTransfers()
        for sockets in sockets { await sockets.drain() }
    }

    /// Waits until the clients have moved to other nodes, unless the node stops because a service failed.
    private func moveClients() async {
        guard !Task.isCancelled else { return }
        var sequence = sequence
        logger.notice("The server stops. Its clients move to other nodes.")
        let count = await sequence.run {
            sockets.reduce(0) { $0 + $1.count }
        } askToMove: { window in
            readiness.clientsMove = true
            for sockets in sockets { sockets.askToMove(within: window) }
        }
        logger.notice("The clients have moved.", metadata: ["left": "\(count)"])
    }
}
