import NIOCore
import NIOEmbedded
import NIOWebSocket
import ScrollbackEngine
import Testing

@testable import ScrollbackServer

/// A WebSocket handler on a channel whose writability the test controls.
private final class PongScene {
    let channel = EmbeddedChannel()
    let metrics = ServerMetrics()
    let budget: OutboundBudget
    let handler: WebSocketHandler

    init(budgetBytes: Int = 1 << 20) throws {
        budget = OutboundBudget(limit: budgetBytes, metrics: metrics)
        let raw = RawFrameHandler()
        handler = WebSocketHandler(
            lane: EventLoopLane(eventLoop: channel.eventLoop), raw: raw, metrics: metrics, budget: budget,
            maximumQueuedBytes: 1000, runBlocking: { _, _, work in work() })
        // As in the server, raw frames pass the encoder.
        try channel.pipeline.syncOperations.addHandlers([raw, WebSocketFrameEncoder(), handler])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    func ping(_ text: String) {
        let frame = WebSocketFrame(
            fin: true, opcode: .ping, maskKey: [0, 0, 0, 0], data: ByteBuffer(string: text))
        channel.pipeline.fireChannelRead(frame)
    }

    func readComplete() { channel.pipeline.fireChannelReadComplete() }

    func setWritable(_ isWritable: Bool) {
        channel.isWritable = isWritable
        channel.pipeline.fireChannelWritabilityChanged()
        channel.embeddedEventLoop.run()
    }

    /// Returns the payloads of the pongs that were sent since the last call.
    func pongs() throws -> [String] {
        var all = ByteBuffer()
        while var bytes = try channel.readOutbound(as: ByteBuffer.self) { all.writeBuffer(&bytes) }
        var payloads: [String] = []
        while let head = all.readInteger(as: UInt8.self), let length = all.readInteger(as: UInt8.self) {
            let payload = all.readString(length: Int(length)) ?? "?"
            if head == 0x8A { payloads.append(payload) }
        }
        return payloads
    }

    /// The last value that was set for reading from the socket, which is on initially.
    var isReceiving: Bool {
        let option = channel.options.last { $0.option is ChannelOptions.Types.AutoReadOption }
        return option?.value as? Bool ?? true
    }
}

@Suite struct PongTests {
    @Test func `Of several pings that arrive together, the newest is answered`() throws {
        let scene = try PongScene()
        for number in 1...1000 { scene.ping("\(number)") }
        #expect(try scene.pongs() == [])
        scene.readComplete()
        #expect(try scene.pongs() == ["1000"])
        scene.ping("a")
        scene.readComplete()
        scene.ping("b")
        scene.readComplete()
        #expect(try scene.pongs() == ["a", "b"])
        #expect(scene.metrics.total("scrollback_replaced_pongs_total") == 999)
    }

    @Test func `A client that does not read has one pending pong, which counts as queued bytes`() throws {
        let scene = try PongScene()
        scene.setWritable(false)
        for number in 1...100_000 {
            scene.ping("\(number % 10)")
            if number.isMultiple(of: 100) { scene.readComplete() }
        }
        #expect(scene.handler.queuedBytes == 3)
        #expect(try scene.pongs() == [])
        scene.setWritable(true)
        #expect(try scene.pongs() == ["0"])
        #expect(scene.handler.queuedBytes == 0)
    }

    @Test func `The server reads from a client only while the client reads`() throws {
        let scene = try PongScene()
        let frame = scene.handler
        #expect(scene.isReceiving)
        scene.channel.isWritable = false
        frame.flush()
        #expect(!scene.isReceiving)
        scene.setWritable(true)
        #expect(scene.isReceiving)
        // While the connection closes, the server waits for the client's close frame.
        scene.channel.isWritable = false
        frame.flush()
        #expect(!scene.isReceiving)
        frame.finish(.normal, "The connection was idle for too long.")
        #expect(scene.isReceiving)
    }

    @Test func `Pending requests and a client that does not read stop reading independently`() throws {
        let scene = try PongScene()
        scene.channel.isWritable = false
        for _ in 0..<64 { scene.handler.offload(.read, .server) {} }
        scene.channel.embeddedEventLoop.run()
        #expect(!scene.isReceiving)
        // The client reads again: its requests are executed, and reading resumes.
        scene.setWritable(true)
        #expect(scene.isReceiving)
    }

    @Test func `A client over its own limit is closed, and the budget of all is free again`() throws {
        let scene = try PongScene()
        scene.setWritable(false)
        let frame = ByteBuffer(repeating: 1, count: 400)
        for _ in 0..<2 { _ = scene.handler.write(frame) }
        #expect(scene.budget.total == 800)
        _ = scene.handler.write(frame)
        #expect(scene.metrics.total("scrollback_slow_closes_total") == 1)
        #expect(scene.handler.queuedBytes == 0)
        scene.channel.close(promise: nil)
        scene.channel.embeddedEventLoop.run()
        #expect(scene.budget.total == 0)
    }

    @Test func `A client is closed when all clients together have too much queued`() throws {
        let scene = try PongScene(budgetBytes: 500)
        scene.setWritable(false)
        for _ in 0..<2 { _ = scene.handler.write(ByteBuffer(repeating: 1, count: 400)) }
        scene.channel.embeddedEventLoop.run()
        #expect(scene.metrics.total("scrollback_memory_closes_total") == 1)
        #expect(scene.metrics.total("scrollback_slow_closes_total") == 1)
        #expect(scene.handler.queuedBytes == 0)
    }
}
