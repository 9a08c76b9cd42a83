import DequeModule
import NIOCore
import NIOWebSocket
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// The WebSocket of one client: passes incoming frames to the session and sends outgoing frames.
///
/// While the client does not read, outgoing frames wait in a bounded queue.
///
/// All methods run on the channel's event loop, except `send` and `close` of `SessionTransport`, which use the lane.
/// `@unchecked Sendable`: mutable state is accessed only on the event loop.
final class WebSocketHandler: ChannelInboundHandler, SessionTransport, @unchecked Sendable {
    typealias InboundIn = WebSocketFrame

    private let lane: EventLoopLane
    private let metrics: ServerMetrics
    private let maximumQueuedBytes: Int
    /// Runs work that may block on disk access on another thread.
    private let runBlocking: PoolOffload
    /// The session, set before the handler is added.
    ///
    /// Cleared on disconnect to break the reference cycle.
    var session: Session?
    private var context: ChannelHandlerContext?
    private let raw: RawFrameHandler
    private var queue: Deque<ByteBuffer> = []
    private var waitingBytes = 0 {
        didSet { lastWaitingBytes.store(waitingBytes, ordering: .relaxed) }
    }
    /// A copy of `waitingBytes` for reading from other threads.
    private let lastWaitingBytes = Atomic<Int>(0)
    private var isClosing = false
    /// The latest head of each room whose messages were skipped because this client was too slow.
    private var skippedHeads: [ConversationID: HeadFrame] = [:]
    /// Pending requests with potentially large responses, in order of arrival.
    private var reads: Deque<(pool: WorkPool, owner: WorkOwner, work: @Sendable () -> Void)> = []
    private var isReading = false
    /// The maximum size of the close reason.
    ///
    /// A control frame has at most 125 bytes, including the 2-byte code (RFC 6455 section 5.5).
    private static let closeTextBytes = 120
    /// The number of pending requests at which the handler stops reading from the socket.
    private static let maximumReads = 64

    init(
        lane: EventLoopLane, raw: RawFrameHandler, metrics: ServerMetrics, maximumQueuedBytes: Int,
        runBlocking: @escaping PoolOffload
    ) {
        self.lane = lane
        self.runBlocking = runBlocking
        self.raw = raw
        self.metrics = metrics
        self.maximumQueuedBytes = maximumQueuedBytes
    }

    // MARK: Incoming frames

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
        skippedHeads.removeAll()
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
            // Data after an unreadable frame is ignored until the peer answers the close frame. Closing the socket with
            // unread data would reset the connection, and the peer might never see the close reason.
            context.close(promise: nil)
        }
    }

    // MARK: Queries

    /// Queues a request that reads from the store.
    ///
    /// Requests run one at a time, and only while the client has read all previous responses. A client that requests
    /// more than its connection can carry waits and is not closed as too slow.
    func offload(_ pool: WorkPool, _ owner: WorkOwner, _ work: @escaping @Sendable () -> Void) {
        lane.eventLoop.execute {
            self.reads.append((pool, owner, work))
            if self.reads.count == Self.maximumReads { self.setAutoRead(false) }
            self.readNext()
        }
    }

    private func readNext() {
        guard !isReading, !isClosing, queue.isEmpty, let context, context.channel.isWritable,
            let read = reads.popFirst()
        else { return }
        isReading = true
        if reads.count == Self.maximumReads / 2 { setAutoRead(true) }
        runBlocking(read.pool, read.owner) { [self] in
            read.work()
            // Enqueued after the response, which goes to the event loop through the same lane.
            lane.eventLoop.execute {
                self.isReading = false
                self.readNext()
            }
        }
    }

    private func setAutoRead(_ isOn: Bool) {
        context?.channel.setOption(.autoRead, value: isOn).whenFailure { _ in }
    }

    // MARK: Outgoing frames

    /// Writes a frame, or queues it while the socket is not writable.
    ///
    /// - Returns: Whether the socket must be flushed.
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

    /// Whether the queue is more than half full, so that optional frames are skipped.
    var isBehind: Bool { waitingBytes > maximumQueuedBytes / 2 }

    /// Records that a message of a room was skipped.
    ///
    /// The client gets the room's head after it has read the queued frames.
    func recordSkippedMessage(_ head: HeadFrame) {
        metrics.roomMessagesSkipped.add(1)
        skippedHeads[head.conversation] = head
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
        if queue.isEmpty, !skippedHeads.isEmpty, !isClosing {
            for head in skippedHeads.values { mustFlush = write(lane.encode(head.encoded)) || mustFlush }
            skippedHeads.removeAll()
        }
        if mustFlush { raw.flush() }
        readNext()
        context.fireChannelWritabilityChanged()
    }

    /// Closes a connection whose queue is full.
    ///
    /// The queued frames are dropped, because the client gets them when it resumes.
    private func overflow() {
        metrics.slowConsumerDisconnects.add(1)
        queue.removeAll()
        waitingBytes = 0
        session?.disconnected()
        finish(.tooSlow, "The client did not read fast enough. Reconnect and resume.")
    }

    func finish(_ reason: CloseReason, _ text: String) {
        guard !isClosing, let context else { return }
        // Send queued frames before the close frame.
        while let frame = queue.popFirst() { raw.write(frame) }
        isClosing = true
        var payload = context.channel.allocator.buffer(capacity: 2 + text.utf8.count)
        payload.writeInteger(UInt16(reason.rawValue))
        payload.writeString(text.prefix(utf8: Self.closeTextBytes))
        sendControl(.connectionClose, payload)
        // A responsive peer answers the close frame immediately. A slow one gets more time.
        let timeout: TimeAmount = reason == .tooSlow ? .seconds(30) : .seconds(5)
        context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { context.close(promise: nil) }
    }

    private func sendControl(_ opcode: WebSocketOpcode, _ data: ByteBuffer) {
        guard let context else { return }
        let frame = WebSocketFrame(fin: true, opcode: opcode, data: data)
        context.writeAndFlush(NIOAny(frame), promise: nil)
    }

    // MARK: SessionTransport

    var queuedBytes: Int { lastWaitingBytes.load(ordering: .relaxed) }

    func send(_ frame: [UInt8]) {
        lane.reply(frame, to: self)
    }

    func close(_ reason: CloseReason, _ text: String) {
        lane.close(self, reason, text)
    }
}

extension String {
    /// Returns the longest prefix of whole characters with at most `count` bytes in UTF-8.
    fileprivate func prefix(utf8 count: Int) -> String {
        var bytes = 0
        return String(
            prefix { character in
                bytes += character.utf8.count
                return bytes <= count
            })
    }
}

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
