import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A TCP proxy in front of a server that can throttle, hold or cut connections.
///
/// It throttles and holds only the server's bytes. The clients' bytes pass immediately.
final class TestProxy: Sendable {
    enum Speed: Hashable {
        case full
        case bytesPerSecond(Int)
        /// The proxy forwards nothing. The server's bytes stay in the kernel and are lost when the proxy is cut.
        case held
    }

    private let listener: any Channel
    private let state: SharedState

    private final class SharedState: Sendable {
        let value: Mutex<State>
        init(_ speed: Speed, _ ports: [Int]) { value = Mutex(State(speed: speed, ports: ports)) }

        /// The port of a random server.
        var port: Int { value.withLock { $0.ports.randomElement() ?? 0 } }

        /// Counts forwarded bytes, and holds or cuts the proxy at the configured counts.
        func carried(_ bytes: Int, isUp: Bool) {
            if !isUp { hold(after: bytes) }
            let pairs = value.withLock { state -> [Pair] in
                if isUp { state.carriedUp += bytes } else { state.carried += bytes }
                let (count, cuts) = isUp ? (state.carriedUp, state.cutsUpAt) : (state.carried, state.cutsDownAt)
                guard let next = cuts.first, count >= next else { return [] }
                if isUp { state.cutsUpAt.removeFirst() } else { state.cutsDownAt.removeFirst() }
                state.cuts += 1
                defer { state.pairs = [:] }
                return Array(state.pairs.values)
            }
            for pair in pairs { pair.close() }
        }

        private func hold(after bytes: Int) {
            let pairs = value.withLock { state -> [Pair] in
                guard let left = state.holdsAfter else { return [] }
                state.holdsAfter = left - bytes
                guard left <= bytes else { return [] }
                state.speed = .held
                return Array(state.pairs.values)
            }
            for pair in pairs { pair.set(.held) }
        }
    }

    private struct State {
        var speed: Speed
        var ports: [Int]
        var pairs: [ObjectIdentifier: Pair] = [:]
        var connections = 0
        var carried = 0
        var carriedUp = 0
        var cutsUpAt: [Int] = []
        var cutsDownAt: [Int] = []
        var cuts = 0
        var holdsAfter: Int?
    }

    convenience init(to server: RunningServer, speed: Speed = .full) async throws {
        try await self.init(to: [server], speed: speed)
    }

    /// Starts a proxy that gives each connection to a random server.
    convenience init(to servers: [RunningServer], speed: Speed = .full) async throws {
        try await self.init(toPorts: servers.map(\.port), speed: speed)
    }

    /// Starts a proxy that gives each connection to a random port.
    init(toPorts ports: [Int], speed: Speed = .full) async throws {
        let state = SharedState(speed, ports)
        self.state = state
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.socketOption(.so_sndbuf), value: 16 * 1024)
            .childChannelInitializer { client in Self.connect(client, to: state.port, state) }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    deinit {
        listener.close(promise: nil)
        cut()
    }

    var url: URL { URL(string: "http://127.0.0.1:\(listener.localAddress?.port ?? 0)")! }

    /// Gives new connections to other servers.
    func send(to servers: [RunningServer]) { state.value.withLock { $0.ports = servers.map(\.port) } }

    /// The number of connections that clients have made through the proxy.
    var connections: Int { state.value.withLock { $0.connections } }

    /// The number of bytes forwarded from the server.
    var carried: Int { state.value.withLock { $0.carried } }

    /// The number of bytes forwarded from clients.
    var carriedUp: Int { state.value.withLock { $0.carriedUp } }

    /// The number of cuts that configured byte counts have caused.
    var cuts: Int { state.value.withLock { $0.cuts } }

    /// Cuts all connections each time the proxy has forwarded the given numbers of bytes from now on.
    ///
    /// - Parameters:
    ///   - up: The numbers of bytes from clients, in ascending order.
    ///   - down: The numbers of bytes from the server, in ascending order.
    func cut(up: [Int] = [], down: [Int] = []) {
        state.value.withLock { state in
            state.cutsUpAt = up.map { state.carriedUp + $0 }
            state.cutsDownAt = down.map { state.carried + $0 }
        }
    }

    /// Holds the proxy as soon as it has forwarded `bytes` more bytes of the server.
    func hold(after bytes: Int) { state.value.withLock { $0.holdsAfter = bytes } }

    var isHeld: Bool { state.value.withLock { $0.speed == .held } }

    /// Changes the speed of open and new connections.
    func set(_ speed: Speed) {
        let pairs = state.value.withLock { state in
            state.speed = speed
            return Array(state.pairs.values)
        }
        for pair in pairs { pair.set(speed) }
    }

    /// Closes all connections. Bytes in flight are lost.
    func cut() {
        let pairs = state.value.withLock { state in
            defer { state.pairs = [:] }
            return Array(state.pairs.values)
        }
        for pair in pairs { pair.close() }
    }

    private static func connect(_ client: any Channel, to port: Int, _ state: SharedState) -> EventLoopFuture<Void> {
        ClientBootstrap(group: client.eventLoop)
            .channelOption(.autoRead, value: false)
            // A small receive buffer makes a slow proxy noticeable at the server.
            .channelOption(.socketOption(.so_rcvbuf), value: 16 * 1024)
            .channelInitializer { server in
                server.eventLoop.makeCompletedFuture {
                    try server.pipeline.syncOperations.addHandler(
                        Forwarder(to: client) { bytes in state.carried(bytes, isUp: false) })
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .flatMapThrowing { server in
                try client.pipeline.syncOperations.addHandler(
                    Forwarder(to: server) { bytes in state.carried(bytes, isUp: true) })
                // Reading starts only after the pair is registered.
                let pair = Pair(client: client, server: server)
                let speed = state.value.withLock { state in
                    state.pairs[ObjectIdentifier(pair)] = pair
                    state.connections += 1
                    return state.speed
                }
                pair.set(speed)
                client.closeFuture.whenComplete { _ in
                    state.value.withLock { _ = $0.pairs.removeValue(forKey: ObjectIdentifier(pair)) }
                }
            }
    }

    /// The client's and the server's half of one connection.
    private final class Pair: Sendable {
        private static let turnsPerSecond = 50
        private let client: any Channel
        private let server: any Channel
        private let turns = Mutex<RepeatedTask?>(nil)

        init(client: any Channel, server: any Channel) {
            self.client = client
            self.server = server
        }

        func set(_ speed: Speed) {
            let turns = turns.withLock { turns in
                defer { turns = nil }
                return turns
            }
            turns?.cancel()
            let server = server
            switch speed {
            case .held: server.setOption(.autoRead, value: false).whenFailure { _ in }
            case .full:
                server.setOption(.recvAllocator, value: AdaptiveRecvByteBufferAllocator())
                    .and(server.setOption(.maxMessagesPerRead, value: 16))
                    .and(server.setOption(.autoRead, value: true))
                    .whenFailure { _ in }
            case .bytesPerSecond(let bytes):
                let share = max(1, bytes / Self.turnsPerSecond)
                server.setOption(.autoRead, value: false)
                    .and(server.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: share)))
                    .and(server.setOption(.maxMessagesPerRead, value: 1))
                    .whenFailure { _ in }
                let interval = TimeAmount.milliseconds(1000 / Int64(Self.turnsPerSecond))
                let task = server.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
                    server.read()
                }
                self.turns.withLock { $0 = task }
                server.closeFuture.whenComplete { _ in task.cancel() }
            }
        }

        func close() {
            client.close(promise: nil)
            server.close(promise: nil)
        }
    }

    /// Forwards the bytes of one half and closes the other half after it.
    private final class Forwarder: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let other: any Channel
        private let count: @Sendable (Int) -> Void

        init(to other: any Channel, count: @escaping @Sendable (Int) -> Void = { _ in }) {
            self.other = other
            self.count = count
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            count(bytes.readableBytes)
            other.writeAndFlush(bytes, promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            let other = other
            other.writeAndFlush(ByteBuffer()).whenComplete { _ in other.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}
