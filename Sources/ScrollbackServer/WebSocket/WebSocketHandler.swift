import CoreMetrics
import DequeModule
import NIOCore
import NIOWebSocket
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// The WebSocket of one client: passes incoming frames to the session and sends outgoing frames.
///
/// While the client does not read, outgoing frames wait in a bounded queue, and the handler does not read from the
/// client. It also reads nothing for a while if the client goes on after refusals.
///
/// All methods run on the channel's event loop, except `send` and `close` of `SessionTransport`, which use the lane.
/// `@unchecked Sendable`: mutable state is accessed only on the event loop.
final class WebSocketHandler: ChannelInboundHandler, SessionTransport, QueueingConnection, @unchecked Sendable {
    typealias InboundIn = WebSocketFrame

    private let lane: EventLoopLane
    private let metrics: ServerMetrics
    private let budget: OutboundBudget
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
    /// The answer to the newest ping, until it is sent.
    ///
    /// A newer ping replaces it, as RFC 6455 section 5.5.3 permits.
    private var pong: ByteBuffer?
    /// The bytes that count against the server's budget: those in `queue` and those that the channel has not sent yet.
    private var countedBytes = 0
    private let hasVerifiedToken = Atomic<Bool>(false)
    private var isClosing = false
    /// The latest head of each room whose messages were skipped because this client was too slow.
    private var skippedHeads: [ConversationID: HeadFrame] = [:]
    /// Pending requests with potentially large responses, in order of arrival.
    private var reads: Deque<(pool: WorkPool, owner: WorkOwner, work: @Sendable () -> Void)> = []
    private var isExecutingRead = false
    /// Whether so many requests are pending that the handler accepts no more.
    private var hasManyReads = false
    /// Whether the channel reads from the socket.
    private var isReceiving = true
    /// Passes received bytes to the frame decoder; set before the handler is added.
    weak var gate: ReceiveGate?
    private var pace = RefusalPace()
    /// Whether received bytes wait in the gate until the pause ends.
    private(set) var isPaused = false
    private var pauseEnd: Scheduled<Void>?
    /// The bytes received since the last pause while the connection closes.
    private var bytesWhileClosing = 0
    /// The maximum size of the close reason.
    ///
    /// A control frame has at most 125 bytes, including the 2-byte code (RFC 6455 section 5.5).
    private static let closeTextBytes = 120
    /// The number of pending requests at which the handler stops reading from the socket.
    private static let maximumReads = 64
    /// The bytes that are read between two pauses while the connection closes.
    private static let closingBytes = 64 << 10
    private static let closingPause = TimeAmount.milliseconds(100)

    init(
        lane: EventLoopLane, raw: RawFrameHandler, metrics: ServerMetrics, budget: OutboundBudget,
        maximumQueuedBytes: Int, runBlocking: @escaping PoolOffload
    ) {
        self.lane = lane
        self.runBlocking = runBlocking
        self.raw = raw
        self.metrics = metrics
        self.budget = budget
        self.maximumQueuedBytes = maximumQueuedBytes
    }

    // MARK: Incoming frames

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        metrics.connections.increment()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        session?.disconnected()
        session = nil
        isClosing = true
        pauseEnd?.cancel()
        dropQueue()
        skippedHeads.removeAll()
        reads.removeAll()
        budget.remove(self)
        metrics.connections.decrement()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A peer that ends its half of the connection can't answer the heartbeat or a close frame.
        if case .inputClosed? = event as? ChannelEvent { context.close(promise: nil) }
        // At shutdown, connections get a close frame first. Those that did not answer it must not delay the exit.
        if event is ChannelShouldQuiesceEvent, isClosing { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text:
            guard !isClosing else { return }
            session?.receive(Array(buffer: frame.unmaskedData))
        case .binary: session?.close(.unsupportedData)
        case .ping:
            answerPing(frame.unmaskedData)
            pinged()
        case .connectionClose:
            if isClosing {
                context.close(promise: nil)
            } else {
                isClosing = true
                sendControl(.connectionClose, frame.unmaskedData)
                context.close(promise: nil)
            }
        default: pinged()
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if sendPong() { flush() }
        context.fireChannelReadComplete()
    }

    /// Prepares the answer to a ping, which is sent when all received frames are processed.
    private func answerPing(_ data: ByteBuffer) {
        guard !isClosing else { return }
        if let pong {
            waitingBytes -= pong.readableBytes
            metrics.replacedPongs.increment()
        }
        let frame = lane.encode(Array(buffer: data), as: .pong)
        pong = frame
        waitingBytes += frame.readableBytes
    }

    /// Writes the answer to the newest ping if the socket is writable.
    ///
    /// - Returns: Whether the socket must be flushed.
    private func sendPong() -> Bool {
        guard !isClosing, let frame = pong, let context, context.channel.isWritable else { return false }
        pong = nil
        waitingBytes -= frame.readableBytes
        metrics.outboundBytes.increment(by: frame.readableBytes)
        raw.write(frame)
        return true
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
            self.updateReceiving()
            self.readNext()
        }
    }

    private func readNext() {
        guard !isExecutingRead, !isClosing, queue.isEmpty, let context, context.channel.isWritable,
            let read = reads.popFirst()
        else { return }
        isExecutingRead = true
        updateReceiving()
        runBlocking(read.pool, read.owner) { [self] in
            read.work()
            // Enqueued after the response, which goes to the event loop through the same lane.
            lane.eventLoop.execute {
                self.isExecutingRead = false
                self.readNext()
            }
        }
    }

    /// Reads from the socket only while the client reads its frames, few of its requests are pending, and it obeys
    /// refusals.
    ///
    /// While the connection closes, the handler reads and drops everything up to the client's close frame.
    private func updateReceiving() {
        guard let context else { return }
        if reads.count >= Self.maximumReads { hasManyReads = true }
        if reads.count <= Self.maximumReads / 2 { hasManyReads = false }
        let mustReceive = !isPaused && (isClosing || !hasManyReads && context.channel.isWritable)
        guard mustReceive != isReceiving else { return }
        isReceiving = mustReceive
        try? context.channel.syncOptions?.setOption(.autoRead, value: mustReceive)
    }

    // MARK: Pauses

    /// The number of bytes that the gate passes to the frame decoder at once.
    var pieceBytes: Int { pace.wasPaused ? 256 : 2048 }

    /// Counts received bytes while the connection closes, and slows down a client that sends on.
    func received(_ count: Int) {
        guard isClosing else { return }
        bytesWhileClosing += count
        guard bytesWhileClosing >= Self.closingBytes else { return }
        bytesWhileClosing = 0
        pause(for: Self.closingPause)
    }

    private func pauseAfterRefusals(_ duration: TimeAmount?) {
        guard let duration, !isClosing else { return }
        metrics.receivePauses.increment()
        pause(for: duration)
    }

    private func pause(for duration: TimeAmount) {
        guard !isPaused, let context else { return }
        isPaused = true
        updateReceiving()
        pauseEnd = context.eventLoop.assumeIsolated().scheduleTask(in: duration) { self.endPause() }
    }

    private func endPause() {
        guard isPaused else { return }
        isPaused = false
        pauseEnd?.cancel()
        gate?.resume()
        updateReceiving()
    }

    // MARK: Outgoing frames

    /// Writes a frame, or queues it while the socket is not writable.
    ///
    /// - Returns: Whether the socket must be flushed.
    func write(_ frame: ByteBuffer) -> Bool {
        guard !isClosing, let context else { return false }
        metrics.outboundBytes.increment(by: frame.readableBytes)
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
        countBytes()
        return false
    }

    /// Updates the bytes that count against the server's budget.
    ///
    /// Some of them may have been sent since the last update.
    func countBytes() {
        guard let context else { return }
        let buffered = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        guard waitingBytes + buffered != countedBytes else { return }
        countedBytes = waitingBytes + buffered
        budget.set(countedBytes, for: self)
    }

    private func dropQueue() {
        queue.removeAll()
        pong = nil
        waitingBytes = 0
    }

    /// Whether the queue is more than half full, so that optional frames are skipped.
    var isBehind: Bool { waitingBytes > maximumQueuedBytes / 2 }

    /// Records that a message of a room was skipped.
    ///
    /// The client gets the room's head after it has read the queued frames.
    func recordSkippedMessage(_ head: HeadFrame) {
        metrics.roomMessagesSkipped.increment()
        skippedHeads[head.conversation] = head
    }

    func flush() {
        raw.flush()
        updateReceiving()
        countBytes()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return context.fireChannelWritabilityChanged() }
        var mustFlush = sendPong()
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
        updateReceiving()
        // The client has read something. If its next frames fill the buffer again, read once from the client
        // nevertheless, so that the heartbeats and requests of a client on a slow line arrive.
        if !isReceiving, !hasManyReads, !isPaused { context.read() }
        countBytes()
        readNext()
        context.fireChannelWritabilityChanged()
    }

    /// Closes a connection whose queue is full.
    ///
    /// The queued frames are dropped, because the client gets them when it resumes.
    private func overflow() {
        guard !isClosing else { return }
        metrics.slowConsumerDisconnects.increment()
        dropQueue()
        session?.disconnected()
        finish(.tooSlow, "The client did not read fast enough. Reconnect and resume.")
    }

    func closeToFreeMemory() {
        lane.eventLoop.execute { self.overflow() }
    }

    func finish(_ reason: CloseReason, _ text: String) {
        guard !isClosing, let context else { return }
        if !isVerified { metrics.closesBeforeWelcome.increment() }
        if reason == .tooManyConnections { metrics.refusedConnections[.user]?.increment() }
        // Send queued frames before the close frame.
        while let frame = queue.popFirst() { raw.write(frame) }
        dropQueue()
        isClosing = true
        var payload = context.channel.allocator.buffer(capacity: 2 + text.utf8.count)
        payload.writeInteger(UInt16(reason.rawValue))
        payload.writeString(text.prefix(utf8: Self.closeTextBytes))
        sendControl(.connectionClose, payload)
        endPause()
        updateReceiving()
        countBytes()
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

    func verified() { hasVerifiedToken.store(true, ordering: .relaxed) }

    var isVerified: Bool { hasVerifiedToken.load(ordering: .relaxed) }

    func refused() {
        onEventLoop { self.pauseAfterRefusals(self.pace.refused(at: self.lane.eventLoop.now)) }
    }

    func pinged() {
        onEventLoop { self.pauseAfterRefusals(self.pace.pinged(at: self.lane.eventLoop.now)) }
    }

    private func onEventLoop(_ body: @escaping @Sendable () -> Void) {
        // At once if possible, so that the pause begins before the next frame is decoded.
        if lane.eventLoop.inEventLoop { body() } else { lane.eventLoop.execute(body) }
    }

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
