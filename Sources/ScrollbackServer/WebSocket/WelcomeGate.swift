import NIOCore
import ScrollbackEngine

/// Bounds the bytes that a client can send over a WebSocket before the server has verified its token.
///
/// It stands before the frame decoder, which would otherwise collect a whole frame of an unknown client.
final class WelcomeGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    struct Violation: Error {}

    private let isVerified: () -> Bool
    private var isOpen = false
    private var received = 0

    init(isVerified: @escaping () -> Bool) {
        self.isVerified = isVerified
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isOpen { isOpen = isVerified() }
        guard !isOpen else { return context.fireChannelRead(data) }
        let isWithinLimit = received <= Session.maximumBytesBeforeWelcome
        received += unwrapInboundIn(data).readableBytes
        guard received > Session.maximumBytesBeforeWelcome else { return context.fireChannelRead(data) }
        // Later bytes are dropped until the connection is closed.
        if isWithinLimit { context.fireErrorCaught(Violation()) }
    }
}
