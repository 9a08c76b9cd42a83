import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import ScrollbackServer

@Suite struct UpgradeGateTests {
    /// - Parameter leftOver: What the parser does at its end with bytes that it keeps.
    private func channel(_ leftOver: RemoveAfterUpgradeStrategy = .dropBytes) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        let decoder = HTTPRequestDecoder(leftOverBytesStrategy: leftOver, limitConfiguration: UpgradeGate.headLimits)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandlers([HTTPResponseEncoder(), ByteToMessageHandler(decoder)])
        try pipeline.addHandler(UpgradeGate(allowedOrigins: AllowedOrigins()))
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        return channel
    }

    private func answer(_ channel: EmbeddedChannel) throws -> String {
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }

    @Test func `A connection without a complete head is closed after 30 seconds, however it sends its bytes`() throws {
        for isSilent in [true, false] {
            let channel = try channel()
            if !isSilent { try channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\n")) }
            for _ in 0..<29 {
                channel.embeddedEventLoop.advanceTime(by: .seconds(1))
                if !isSilent { try channel.writeInbound(ByteBuffer(string: "A: b\r\n")) }
            }
            #expect(channel.isActive)
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            #expect(!channel.isActive)
        }
    }

    @Test(arguments: [
        "GET /\(String(repeating: "x", count: 33_000)) HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nA: \(String(repeating: "x", count: 33_000))",
        "GET / HTTP/1.1\r\n" + String(repeating: "A: \(String(repeating: "x", count: 1_000))\r\n", count: 33),
        "GET / HTTP/1.1\r\n" + String(repeating: "A: b\r\n", count: 129),
    ])
    func `A head above 32 KiB or 128 fields is refused before it is complete`(head: String) throws {
        let channel = try channel()
        try channel.writeInbound(ByteBuffer(string: head))
        let answer = try answer(channel)
        #expect(answer.hasPrefix("HTTP/1.1 413 "))
        #expect(answer.contains(#""code":"too-large""#) && answer.contains("32768"))
        #expect(!channel.isActive)
    }

    @Test(arguments: [
        "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    ])
    func `The bytes after a request that stops the parser are discarded, before it is answered`(request: String) throws
    {
        let channel = try channel(.fireError)
        try channel.writeInbound(ByteBuffer(string: request))
        guard case .head(let head) = try #require(try channel.readInbound(as: HTTPServerRequestPart.self)) else {
            return #expect(Bool(false), "The request has no head.")
        }
        #expect(head.headers["connection"] == ["close"] && !head.headers.contains(name: "upgrade"))
        for _ in 0..<10 { try channel.writeInbound(ByteBuffer(repeating: 0x78, count: 1000)) }
        let pipeline = channel.pipeline.syncOperations
        let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        let removal = pipeline.removeHandler(parser)
        channel.embeddedEventLoop.run()
        try removal.wait()
        // The parser reports bytes that it kept as an error.
        try channel.throwIfErrorCaught()
    }

    @Test func `A head of almost 32 KiB is accepted`() throws {
        let channel = try channel()
        let value = String(repeating: "x", count: 32_000)
        try channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: x\r\nA: \(value)\r\n\r\n"))
        let part = try #require(try channel.readInbound(as: HTTPServerRequestPart.self))
        guard case .head(let head) = part else { return #expect(Bool(false), "\(part)") }
        #expect(head.headers["a"] == [value])
    }
}
