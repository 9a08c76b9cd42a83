import NIOCore
import NIOWebSocket
import ScrollbackEngine

/// What RFC 6455 forbids and the decoder lets through: frames of a client that are not masked (section 5.1), opcodes and
/// bits nobody agreed on (section 5.2).
final class FrameRules: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    struct Violation: Error {}

    private static let opcodes: Set<WebSocketOpcode> = [.continuation, .text, .binary, .connectionClose, .ping, .pong]

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard frame.maskKey != nil, Self.opcodes.contains(frame.opcode), !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return context.fireErrorCaught(Violation())
        }
        context.fireChannelRead(data)
    }
}

extension CloseReason {
    /// Why a connection whose frames can't be read is closed; absent for errors that are not the peer's.
    init?(frameError error: any Error) {
        switch error {
        case is FrameRules.Violation: self = .protocolError
        case let error as NIOWebSocketError: self = error == .invalidFrameLength ? .frameTooLarge : .protocolError
        case let error as NIOWebSocketFrameAggregator.Error:
            switch error {
            case .accumulatedFrameSizeIsTooLarge, .tooManyFragments: self = .frameTooLarge
            default: self = .protocolError
            }
        default: return nil
        }
    }
}
