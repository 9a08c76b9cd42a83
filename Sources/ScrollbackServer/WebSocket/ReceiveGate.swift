import DequeModule
import NIOCore

/// Passes received bytes to the frame decoder in small pieces, and keeps them while reading is paused.
///
/// The decoder decodes all frames of the bytes that it gets. Without the gate, a pause would begin only after hundreds
/// of frames that arrived in one read.
final class ReceiveGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The buffers that the server reads into.
    ///
    /// They bound the bytes that the gate keeps, and the time until another connection of the event loop gets its turn.
    static let allocator = AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 512, maximum: 16 << 10)

    private let handler: WebSocketHandler
    private var context: ChannelHandlerContext?
    private var waiting: Deque<ByteBuffer> = []
    private var isDelivering = false

    init(_ handler: WebSocketHandler) {
        self.handler = handler
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        handler.received(bytes.readableBytes)
        if !isDelivering, waiting.isEmpty, !handler.isPaused, bytes.readableBytes <= handler.pieceBytes {
            return context.fireChannelRead(data)
        }
        waiting.append(bytes)
        deliver(context)
    }

    /// Passes on what arrived before the pause and was not decoded.
    func resume() {
        guard let context, !waiting.isEmpty else { return }
        deliver(context)
        context.fireChannelReadComplete()
    }

    private func deliver(_ context: ChannelHandlerContext) {
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while !handler.isPaused, var bytes = waiting.popFirst() {
            guard let piece = bytes.readSlice(length: min(handler.pieceBytes, bytes.readableBytes)) else { continue }
            if bytes.readableBytes > 0 { waiting.prepend(bytes) }
            context.fireChannelRead(wrapInboundOut(piece))
        }
    }

    /// Drops what was not decoded: the client has closed the connection and gets no answers.
    func channelInactive(context: ChannelHandlerContext) {
        waiting.removeAll()
        context.fireChannelInactive()
    }
}
