import NIOCore
import NIOWebSocket
import ScrollbackEngine
import Synchronization

/// An event loop and the connections it serves.
///
/// Outgoing frames are queued for the loop's next turn. Each turn writes all queued frames and then flushes each socket
/// once. A frame for several connections is encoded once.
final class EventLoopLane: ConnectionLane {
    let eventLoop: any EventLoop
    private let allocator = ByteBufferAllocator()
    private let state = Mutex(State())

    private struct State {
        var deliveries: [Delivery] = []
        var isScheduled = false
    }

    private enum Delivery {
        case frame(ByteBuffer, [any Connection], except: Origin?, orElse: HeadFrame?)
        case reply(ByteBuffer, WebSocketHandler)
        case close(WebSocketHandler, CloseReason, String)
    }

    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func deliver(_ frame: [UInt8], to connections: [any Connection], except origin: Origin?) {
        enqueue(.frame(encode(frame), connections, except: origin, orElse: nil))
    }

    func deliver(
        _ frame: [UInt8], to connections: [any Connection], except origin: Origin?, orElse substitute: HeadFrame
    ) {
        enqueue(.frame(encode(frame), connections, except: origin, orElse: substitute))
    }

    func reply(_ frame: [UInt8], to handler: WebSocketHandler) {
        enqueue(.reply(encode(frame), handler))
    }

    func close(_ handler: WebSocketHandler, _ reason: CloseReason, _ text: String) {
        enqueue(.close(handler, reason, text))
    }

    private func enqueue(_ delivery: Delivery) {
        let mustSchedule = state.withLock { state in
            state.deliveries.append(delivery)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { eventLoop.execute { self.writeDeliveries() } }
    }

    private func writeDeliveries() {
        let deliveries = state.withLock { state in
            defer { state = State() }
            return state.deliveries
        }
        var written: [WebSocketHandler] = []
        func write(_ frame: ByteBuffer, _ handler: WebSocketHandler) {
            if handler.write(frame) { written.append(handler) }
        }
        for delivery in deliveries {
            switch delivery {
            case .reply(let frame, let handler): write(frame, handler)
            case .close(let handler, let reason, let text): handler.finish(reason, text)
            case .frame(let frame, let connections, let origin, let substitute):
                for connection in connections {
                    guard let session = connection as? Session, let handler = session.transport as? WebSocketHandler,
                        origin.map({ $0 != Origin(session) }) ?? true
                    else { continue }
                    if let substitute, handler.isBehind {
                        handler.recordSkippedMessage(substitute)
                    } else {
                        write(frame, handler)
                    }
                }
            }
        }
        for handler in written { handler.flush() }
    }

    /// Encodes a complete unmasked frame (RFC 6455 section 5.2).
    ///
    /// Server frames are not masked, so the same bytes are sent to every connection instead of encoding the frame for
    /// each one.
    func encode(_ payload: [UInt8], as opcode: WebSocketOpcode = .text) -> ByteBuffer {
        var buffer = allocator.buffer(capacity: payload.count + 10)
        buffer.writeInteger(0x80 | UInt8(webSocketOpcode: opcode))
        switch payload.count {
        case 0...125: buffer.writeInteger(UInt8(payload.count))
        case 126...0xFFFF:
            buffer.writeInteger(126 as UInt8)
            buffer.writeInteger(UInt16(payload.count))
        default:
            buffer.writeInteger(127 as UInt8)
            buffer.writeInteger(UInt64(payload.count))
        }
        buffer.writeBytes(payload)
        return buffer
    }
}
