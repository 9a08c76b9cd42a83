import NIOCore
import NIOEmbedded
import ScrollbackEngine
import Synchronization
import Testing

@testable import ScrollbackServer

@Suite struct WelcomeGateTests {
    private final class Errors: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        var count = 0
        func errorCaught(context: ChannelHandlerContext, error: any Error) { count += 1 }
    }

    @Test func `Before the token is verified, 16 KiB pass, and everything after them is dropped`() throws {
        let isVerified = Mutex(false)
        let errors = Errors()
        let channel = EmbeddedChannel(handlers: [WelcomeGate(isVerified: { isVerified.withLock(\.self) }), errors])
        func passes(_ count: Int) throws -> Bool {
            try channel.writeInbound(ByteBuffer(repeating: 1, count: count))
            return try channel.readInbound(as: ByteBuffer.self)?.readableBytes == count
        }
        #expect(try passes(Session.maximumBytesBeforeWelcome - 1))
        #expect(try passes(1))
        #expect(try !passes(1))
        #expect(try !passes(1))
        #expect(errors.count == 1)
    }

    @Test func `After the token is verified, everything passes`() throws {
        let isVerified = Mutex(false)
        let errors = Errors()
        let channel = EmbeddedChannel(handlers: [WelcomeGate(isVerified: { isVerified.withLock(\.self) }), errors])
        try channel.writeInbound(ByteBuffer(repeating: 1, count: 1000))
        isVerified.withLock { $0 = true }
        for _ in 0..<10 { try channel.writeInbound(ByteBuffer(repeating: 1, count: 500_000)) }
        var count = 0
        while let bytes = try channel.readInbound(as: ByteBuffer.self) { count += bytes.readableBytes }
        #expect(count == 5_001_000)
        #expect(errors.count == 0)
    }
}
