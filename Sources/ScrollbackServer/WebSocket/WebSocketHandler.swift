import DequeModule
import NIOCore
import NIOWebSocket
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// One socket: frames in go to its session, frames out wait in a bounded queue while the peer does not read.
///
/// Everything here runs on the channel's event loop but `send` and `close` of `SessionOutlet`, which go through the lane.
/// `@unchecked Sendable`: the mutable parts are touched on the event loop only.
final class WebSocketHandler: ChannelInboundHandler, SessionOutlet, @unchecked Sendable {
    typealias InboundIn = WebSocketFrame

    private let lane: EventLoopLane
    private let metrics: ServerMetrics
    private let maximumQueuedBytes: Int
    /// Carries out work that may wait for the disk.
    private let carryOut: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// Set before the handler is added, and let go of when the socket is gone: each holds the other.
    var session: Session?
    private var context: ChannelHandlerContext?
    private let raw: RawFrameHandler
    private var queue: Deque<ByteBuffer> = []
    private var waitingBytes = 0 {
        didSet { lastWaitingBytes.store(waitingBytes, ordering: .relaxed) }
    }
    /// For who asks from another thread.
    private let lastWaitingBytes = Atomic<Int>(0)
    private var isClosing = false
    /// Of rooms whose messages were left out for this socket, where they stand.
    private var owed: [ConversationID: HeadFrame] = [:]
    /// Requests whose answers may be long, in the order they came.
    private var reads: Deque<@Sendable () -> Void> = []
    private var isReading = false
    /// A control frame has at most 125 bytes, two of which are the code (RFC 6455 section 5.5).
    private static let closeTextBytes = 120
    /// How many of them may wait before no more frames are taken from the peer.
    private static let maximumReads = 64

    init(
        lane: EventLoopLane, raw: RawFrameHandler, metrics: ServerMetrics, maximumQueuedBytes: Int,
        carryOut: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.lane = lane
        self.carryOut = carryOut
        self.raw = raw
        self.metrics = metrics
        self.maximumQueuedBytes = maximumQueuedBytes
    }

    // MARK: In

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        metrics.connections.add(1)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        session?.disconnected()
        session = nil
        queue.removeAll()
        owed.removeAll()
        reads.removeAll()
        metrics.connections.add(-1)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text:
            guard !isClosing else { return }
            session?.receive(Array(buffer: frame.unmaskedData))
        case .binary: session?.close(.unsupportedData)
        case .ping: sendControl(.pong, frame.unmaskedData)
        case .connectionClose:
            if isClosing {
                context.close(promise: nil)
            } else {
                isClosing = true
                sendControl(.connectionClose, frame.unmaskedData)
                context.close(promise: nil)
            }
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let reason = CloseReason(frameError: error) {
            session?.close(reason)
        } else if !(error is ByteToMessageDecoderError) {
            // What still comes after a frame that could not be read is let go of until the peer answers the close frame:
            // closing with unread bytes would reset the connection, and the peer might never see why.
            context.close(promise: nil)
        }
    }

    // MARK: Reads

    /// Takes a request that is answered from the store.
    ///
    /// One at a time, and none while the peer has yet to read what it was sent: whoever asks for more than its line carries
    /// waits for it, and is not closed as one that doesn't read.
    func offload(_ read: @escaping @Sendable () -> Void) {
        lane.eventLoop.execute {
            self.reads.append(read)
            if self.reads.count == Self.maximumReads { self.takeFrames(false) }
            self.readNext()
        }
    }

    private func readNext() {
        guard !isReading, !isClosing, queue.isEmpty, let context, context.channel.isWritable,
            let read = reads.popFirst()
        else { return }
        isReading = true
        if reads.count == Self.maximumReads / 2 { takeFrames(true) }
        carryOut { [self] in
            read()
            // After its answer, which goes to the loop the same way.
            lane.eventLoop.execute {
                self.isReading = false
                self.readNext()
            }
        }
    }

    private func takeFrames(_ isOn: Bool) {
        context?.channel.setOption(.autoRead, value: isOn).whenFailure { _ in }
    }

    // MARK: Out

    /// Queues a frame for the socket.
    ///
    /// - Returns: whether the socket must be flushed.
    func write(_ frame: ByteBuffer) -> Bool {
        guard !isClosing, let context else { return false }
        metrics.outboundBytes.add(frame.readableBytes)
        if queue.isEmpty, context.channel.isWritable {
            raw.write(frame)
            return true
        }
        guard waitingBytes + frame.readableBytes <= maximumQueuedBytes else {
            overflow()
            return false
        }
        queue.append(frame)
        waitingBytes += frame.readableBytes
        return false
    }

    /// Whether so much waits for the peer that it is spared what it can do without.
    var isBehind: Bool { waitingBytes > maximumQueuedBytes / 2 }

    /// A message was left out for this socket: once it has read what waits, it is told where the room stands.
    func owe(_ head: HeadFrame) {
        metrics.roomMessagesSpared.add(1)
        owed[head.conversation] = head
    }

    func flush() {
        raw.flush()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        var mustFlush = false
        while context.channel.isWritable, let frame = queue.popFirst() {
            waitingBytes -= frame.readableBytes
            raw.write(frame)
            mustFlush = true
        }
        if queue.isEmpty, !owed.isEmpty, !isClosing {
            for head in owed.values { mustFlush = write(lane.encode(head.encoded)) || mustFlush }
            owed.removeAll()
        }
        if mustFlush { raw.flush() }
        readNext()
        context.fireChannelWritabilityChanged()
    }

    /// The peer does not read: what waits is dropped, since it can be had again by resuming.
    private func overflow() {
        metrics.slowCloses.add(1)
        queue.removeAll()
        waitingBytes = 0
        session?.disconnected()
        finish(.tooSlow, "the connection did not read fast enough: resume")
    }

    func finish(_ reason: CloseReason, _ text: String) {
        guard !isClosing, let context else { return }
        // What was queued for a peer that reads goes out before the close frame.
        while let frame = queue.popFirst() { raw.write(frame) }
        isClosing = true
        var payload = context.channel.allocator.buffer(capacity: 2 + text.utf8.count)
        payload.writeInteger(UInt16(reason.rawValue))
        payload.writeString(text.prefix(utf8: Self.closeTextBytes))
        sendControl(.connectionClose, payload)
        // A peer that reads answers the close frame; one that doesn't is given some time.
        let patience: TimeAmount = reason == .tooSlow ? .seconds(30) : .seconds(5)
        context.eventLoop.assumeIsolated().scheduleTask(in: patience) { context.close(promise: nil) }
    }

    private func sendControl(_ opcode: WebSocketOpcode, _ data: ByteBuffer) {
        guard let context else { return }
        let frame = WebSocketFrame(fin: true, opcode: opcode, data: data)
        context.writeAndFlush(NIOAny(frame), promise: nil)
    }

    // MARK: SessionOutlet

    var queuedBytes: Int { lastWaitingBytes.load(ordering: .relaxed) }

    func send(_ frame: [UInt8]) {
        lane.reply(frame, to: self)
    }

    func close(_ reason: CloseReason, _ text: String) {
        lane.close(self, reason, text)
    }
}

extension String {
    /// As many whole characters from its beginning as go into so many bytes.
    fileprivate func prefix(utf8 count: Int) -> String {
        var bytes = 0
        return String(
            prefix { character in
                bytes += character.utf8.count
                return bytes <= count
            })
    }
}

/// Stands before the frame encoder and writes frames that are encoded already.
///
/// `@unchecked Sendable`: used on its event loop only.
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
