import Foundation
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import NIOWebSocket
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import Testing

@testable import ScrollbackServer

private final class EngineClock: Sendable {
    let now = Mutex(Date(timeIntervalSince1970: 1_795_255_200))
}

/// The WebSocket of alice, with the handlers of the server, on a channel whose time the test controls.
///
/// She can make 5 reads at once, and one each second.
private final class PauseScene {
    let channel = EmbeddedChannel()
    let metrics = ServerMetrics()
    let handler: WebSocketHandler
    private let clock = EngineClock()
    /// The bytes that the server has not read yet.
    private var kernel = ByteBuffer()
    /// The received frames, without their headers.
    private(set) var frames: [String] = []

    init() throws {
        let raw = RawFrameHandler()
        let lane = EventLoopLane(eventLoop: channel.eventLoop)
        handler = WebSocketHandler(
            lane: lane, raw: raw, metrics: metrics, budget: OutboundBudget(limit: 1 << 20, metrics: metrics),
            maximumQueuedBytes: 1 << 20, runBlocking: { _, _, work in work() })
        let engine = try Engine(
            store: MemoryStore(generation: 1), execution: .inline, clock: { [clock] in clock.now.withLock(\.self) })
        let limiter = RateLimiter([.read: RateLimiter.Rate(perSecond: 1, burst: 5)])
        handler.session = Session(
            services: SessionServices(
                engine: engine, verify: { _, completion in completion(.success((Caller(user: "alice"), nil))) },
                offload: { [weak handler] in handler?.offload($0, $1, $2) }, limiter: limiter),
            lane: lane, transport: handler)
        let gate = ReceiveGate(handler)
        handler.gate = gate
        try channel.pipeline.syncOperations.addHandlers([
            raw, WebSocketFrameEncoder(), gate, ByteToMessageHandler(WebSocketFrameDecoder()), handler,
        ])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        send(.text, #"{"type":"hello","token":"t","device":"phone"}"#)
        try receive()
        #expect(frames.first?.hasPrefix(#"{"type":"welcome""#) == true)
        frames = []
    }

    var isReceiving: Bool {
        let option = channel.options.last { $0.option is ChannelOptions.Types.AutoReadOption }
        return option?.value as? Bool ?? true
    }

    var pauses: Int { metrics.total("scrollback_receive_pauses_total") ?? -1 }

    func send(_ opcode: WebSocketOpcode, _ text: String) {
        kernel.writeInteger(0x80 | UInt8(webSocketOpcode: opcode))
        kernel.writeInteger(0x80 | UInt8(text.utf8.count))
        kernel.writeInteger(0 as UInt32)
        kernel.writeString(text)
    }

    /// Sends a request that is refused with `unknown-operation`, or with `rate-limited`.
    func request(_ ref: Int) { send(.text, #"{"type":"nope","ref":\#(ref)}"#) }

    /// Lets the server read as long as it wants to, and collects its frames.
    func receive() throws {
        while isReceiving, let bytes = kernel.readSlice(length: min(16 << 10, kernel.readableBytes)),
            bytes.readableBytes > 0
        {
            channel.pipeline.fireChannelRead(bytes)
            channel.pipeline.fireChannelReadComplete()
            channel.embeddedEventLoop.run()
        }
        channel.embeddedEventLoop.run()
        while var bytes = try channel.readOutbound(as: ByteBuffer.self) {
            while let head = bytes.readInteger(as: UInt8.self), let short = bytes.readInteger(as: UInt8.self) {
                let length = short == 126 ? Int(bytes.readInteger(as: UInt16.self) ?? 0) : Int(short)
                let text = bytes.readString(length: length) ?? "?"
                frames.append(head == 0x8A ? "pong \(text)" : text)
            }
        }
    }

    func advance(_ milliseconds: Int64) throws {
        clock.now.withLock { $0 += Double(milliseconds) / 1000 }
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(milliseconds))
        try receive()
    }

    /// The `ref` of each answer.
    var refs: [Int] {
        frames.compactMap { frame in
            frame.firstRange(of: #""ref":"#).flatMap { Int(frame[$0.upperBound...].prefix(while: \.isNumber)) }
        }
    }
}

@Suite struct ReceivePauseTests {
    @Test func `A client that ignores refusals gets few answers a second, and one for each request in order`() throws {
        let scene = try PauseScene()
        for ref in 1...500 { scene.request(ref) }
        try scene.receive()
        var perSecond: [Int] = []
        for _ in 0..<100 {
            let before = scene.frames.count
            for _ in 0..<40 { try scene.advance(25) }
            perSecond.append(scene.frames.count - before)
        }
        let atOnce = 500 - perSecond.reduce(0, +)
        // 5 accepted requests, 33 refusals, and the rest of 2 KiB.
        #expect(atOnce <= 100, "\(atOnce)")
        // Pauses of 125, 250 and 500 ms end in the first second.
        #expect(perSecond[0] <= 70, "\(perSecond)")
        #expect(perSecond.dropFirst().allSatisfy { $0 <= 16 }, "\(perSecond)")
        #expect(scene.refs == Array(1...500))
        #expect(scene.frames.count { $0.contains("rate-limited") } > 390)
        #expect(scene.pauses > 30)
    }

    @Test func `A client that waits after a burst of refusals is never paused`() throws {
        let scene = try PauseScene()
        var sent = 0
        for round in 0..<50 {
            // A pipelined burst at first, and later requests at the allowed rate with one too many.
            for _ in 0..<(round == 0 ? 37 : 2) {
                sent += 1
                scene.request(sent)
            }
            try scene.receive()
            #expect(scene.isReceiving)
            try scene.advance(1001)
        }
        #expect(scene.refs == Array(1...sent))
        #expect(scene.pauses == 0)
    }

    @Test func `During a pause, answers and events are sent, and no frame is decoded`() throws {
        let scene = try PauseScene()
        for ref in 1...200 { scene.request(ref) }
        try scene.receive()
        #expect(!scene.isReceiving)
        let answered = scene.frames.count
        scene.handler.send(Array("event".utf8))
        try scene.receive()
        #expect(scene.frames.count == answered + 1)
        #expect(scene.frames.last == "event")
        // The client reads again after its buffer was full: the pause goes on.
        scene.channel.isWritable = false
        scene.channel.pipeline.fireChannelWritabilityChanged()
        scene.channel.isWritable = true
        scene.channel.pipeline.fireChannelWritabilityChanged()
        try scene.advance(124)
        #expect(!scene.isReceiving)
        #expect(scene.frames.count == answered + 1)
        try scene.advance(1)
        #expect(scene.frames.count > answered + 1)
    }

    @Test func `Pings and WebSocket pings above 20 a second count as refusals`() throws {
        for opcode in [WebSocketOpcode.ping, .pong, .text] {
            let scene = try PauseScene()
            for ref in 1...52 { scene.send(opcode, opcode == .text ? #"{"type":"ping","ref":\#(ref)}"# : "x") }
            try scene.receive()
            #expect(scene.isReceiving)
            scene.send(opcode, opcode == .text ? #"{"type":"ping","ref":53}"# : "x")
            try scene.receive()
            #expect(!scene.isReceiving)
            #expect(scene.pauses == 1)
            try scene.advance(125)
            #expect(scene.isReceiving)
        }
    }

    @Test func `A connection that closes during a pause reads up to the client's close frame`() throws {
        let scene = try PauseScene()
        for ref in 1...100 { scene.request(ref) }
        scene.send(.connectionClose, "")
        try scene.receive()
        #expect(!scene.isReceiving)
        scene.handler.finish(.normal, "The connection was idle for too long.")
        try scene.receive()
        #expect(!scene.channel.isActive)
    }

    @Test func `A client that sends on while its connection closes is slowed down`() throws {
        let scene = try PauseScene()
        scene.handler.finish(.normal, "The connection was idle for too long.")
        for ref in 1...3000 { scene.request(ref) }
        try scene.receive()
        #expect(!scene.isReceiving)
        try scene.advance(100)
        #expect(scene.isReceiving)
        #expect(scene.refs.isEmpty)
        #expect(scene.pauses == 0)
    }

    @Test func `The next HTTP request of a client that ignores refusals is read later`() throws {
        final class Reads: ChannelOutboundHandler {
            typealias OutboundIn = Never
            var count = 0
            func read(context: ChannelHandlerContext) { count += 1 }
        }
        let channel = EmbeddedChannel()
        let metrics = ServerMetrics()
        let reads = Reads()
        try channel.pipeline.syncOperations.addHandlers([
            reads,
            HTTPPaceHandler(
                channel: channel, pace: .unlimited, metrics: metrics,
                budget: OutboundBudget(limit: 1 << 20, metrics: metrics)),
        ])
        func answer(_ status: Int) {
            channel.write(HTTPResponsePart.head(.init(status: .init(code: status))), promise: nil)
            channel.read()
        }
        for _ in 0..<100 { answer(200) }
        for _ in 0..<16 {
            answer(429)
            answer(503)
        }
        #expect(reads.count == 132)
        answer(429)
        #expect(reads.count == 132)
        #expect(metrics.total("scrollback_receive_pauses_total") == 1)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(124))
        #expect(reads.count == 132)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(reads.count == 133)
    }
}
