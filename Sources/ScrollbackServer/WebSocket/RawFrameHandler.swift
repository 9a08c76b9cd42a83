import NIOCore

/// Writes frames that are already encoded.
///
/// Placed before the frame encoder in the pipeline.
///
/// `@unchecked Sendable`: used only on its event loop.
final class RawFrameHandler: ChannelOutboundHandler, @unchecked Sendable {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func write(_ frame: ByteBuffer) {
        context?.write(wrapOutboundOut(frame), promise: nil)
    }

    func flush() {
        context?.flush()
    }
}
