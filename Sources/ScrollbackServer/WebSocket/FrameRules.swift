import NIOCore
import NIOWebSocket
import ScrollbackEngine

/// Rejects frames that RFC 6455 forbids but NIO's decoder accepts.
///
/// These are unmasked client frames (section 5.1), and frames with reserved opcodes or reserved bits (section 5.2).
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
    /// Maps a frame error to a close reason, or returns `nil` if the peer did not cause the error.
    init?(frameError error: any Error) {
        switch error {
        case is FrameRules.Violation: self = .protocolError
        case is WelcomeGate.Violation: self = .frameTooLarge
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
