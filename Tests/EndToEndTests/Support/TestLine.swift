import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A TCP line to a server that can be slow, be held, and be cut.
///
/// What it does, it does to what the server says; what clients say goes through at once.
final class TestLine: Sendable {
    enum Speed: Hashable {
        case full
        case bytesPerSecond(Int)
        /// Nothing comes through; what the server says stays in the kernel, and is lost when the line is cut.
        case held
    }

    private let listener: any Channel
    private let state: SharedState

    private final class SharedState: Sendable {
        let value: Mutex<State>
        init(_ speed: Speed) { value = Mutex(State(speed: speed)) }

        /// Counts, and cuts where it was said to.
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
        var pairs: [ObjectIdentifier: Pair] = [:]
        var connections = 0
        var carried = 0
        var carriedUp = 0
        var cutsUpAt: [Int] = []
        var cutsDownAt: [Int] = []
        var cuts = 0
        var holdsAfter: Int?
    }

    init(to server: RunningServer, speed: Speed = .full) async throws {
        let state = SharedState(speed)
        self.state = state
        let port = server.port
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.socketOption(.so_sndbuf), value: 16 * 1024)
            .childChannelInitializer { client in Self.connect(client, to: port, state) }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    deinit {
        listener.close(promise: nil)
        cut()
    }

    var url: URL { URL(string: "http://127.0.0.1:\(listener.localAddress?.port ?? 0)")! }

    /// How many connections were made over it.
    var connections: Int { state.value.withLock { $0.connections } }

    /// How many bytes of the server's it has carried.
    var carried: Int { state.value.withLock { $0.carried } }

    /// How many bytes of the clients' it has carried.
    var carriedUp: Int { state.value.withLock { $0.carriedUp } }

    /// How often it was cut because it had carried so much.
    var cuts: Int { state.value.withLock { $0.cuts } }

    /// Cuts it each time it has carried so many bytes of the clients', or of the server's, from now on.
    func cut(up: [Int] = [], down: [Int] = []) {
        state.value.withLock { state in
            state.cutsUpAt = up.map { state.carriedUp + $0 }
            state.cutsDownAt = down.map { state.carried + $0 }
        }
    }

    /// Holds it once it has carried so many bytes of the server's from now on.
    func hold(after bytes: Int) { state.value.withLock { $0.holdsAfter = bytes } }

    var isHeld: Bool { state.value.withLock { $0.speed == .held } }

    /// Changes how fast it is, for open connections as well.
    func set(_ speed: Speed) {
        let pairs = state.value.withLock { state in
            state.speed = speed
            return Array(state.pairs.values)
        }
        for pair in pairs { pair.set(speed) }
    }

    /// Closes every connection; what was under way is lost.
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
            // Little room in the kernel, so that a slow line is felt at its other end.
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
                // It is not read before this is done: then it is registered.
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

    /// The two halves of one connection.
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

    /// Hands on what one half reads, and closes the other behind it.
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
