import Dispatch
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// A transport that opens in-memory connections to a ``MemoryServer``.
struct MemoryTransport: Transport {
    let server: MemoryServer
    let user: UserID

    func open(
        _ url: URL, events: @escaping @Sendable (TransportEvent) -> Void
    ) async throws(ChatError) -> any TransportConnection {
        try server.connect(user, events: events)
    }
}

/// The client's end of an in-memory connection.
///
/// Frames reach the other side asynchronously and in order, on the connection's own queue.
final class MemoryConnection: TransportConnection {
    let user: UserID
    private let server: MemoryServer
    private let events: @Sendable (TransportEvent) -> Void
    private let queue = DispatchQueue(label: "scrollback.world.connection")
    private let session = Mutex<Session?>(nil)
    private let isDropped = Atomic<Bool>(false)
    /// The newest heads of rooms whose messages were skipped for this connection.
    private let skippedHeads = Mutex<[ConversationID: HeadFrame]>([:])
    /// Events that are delivered in one batch after a delay.
    private let delayedFrames = Mutex<[[UInt8]]>([])

    init(
        server: MemoryServer, user: UserID, services: SessionServices,
        events: @escaping @Sendable (TransportEvent) -> Void
    ) {
        self.server = server
        self.user = user
        self.events = events
        let end = ServerEnd(connection: self)
        session.withLock { $0 = Session(services: services, lane: end, transport: end) }
    }

    /// Drops the connection without a close handshake, as a pulled cable would.
    func drop(_ closure: TransportClosure = TransportClosure(reason: "The connection was lost.")) {
        guard !isDropped.exchange(true, ordering: .acquiringAndReleasing) else { return }
        server.disconnected(self)
        queue.async { [self] in
            let session = session.withLock { session in
                defer { session = nil }
                return session
            }
            session?.disconnected()
            events(.closed(closure))
        }
    }

    /// Waits until both sides have processed all frames in transit.
    func waitForFramesInTransit() {
        queue.sync {}
    }

    func send(_ frame: [UInt8]) {
        queue.async { [self] in
            guard !isDropped.load(ordering: .acquiring) else { return }
            server.received(frame, from: user)
            session.withLock { $0 }?.receive(frame)
        }
    }

    func close() {
        drop(TransportClosure(code: 1000, reason: "The client closed the connection."))
    }

    /// Delivers a frame, or remembers its substitute if the connection is slow.
    fileprivate func enqueue(_ frame: [UInt8], orElse substitute: HeadFrame) {
        guard server.isSlow(user) else { return enqueue(frame) }
        skippedHeads.withLock { $0[substitute.conversation] = substitute }
    }

    /// Delivers the substitutes of all skipped frames.
    func catchUp() {
        let heads = skippedHeads.withLock { skippedHeads in
            defer { skippedHeads = [:] }
            return skippedHeads.values
        }
        for head in heads { enqueue(head.encoded) }
    }

    /// Delivers a frame as an event.
    func push(_ frame: [UInt8]) { enqueue(frame) }

    fileprivate func enqueue(_ frame: [UInt8]) {
        guard server.isDelayed(user) else {
            return queue.async { [self] in
                deliverDelayedFrames()
                deliver(frame)
            }
        }
        guard frame.starts(with: Self.answer) else {
            let isFirst = delayedFrames.withLock { delayedFrames in
                delayedFrames.append(frame)
                return delayedFrames.count == 1
            }
            if isFirst { queue.asyncAfter(deadline: Self.randomDeadline) { [self] in deliverDelayedFrames() } }
            return
        }
        queue.asyncAfter(deadline: Self.randomDeadline) { [self] in
            // Events that precede a response must be delivered before it.
            deliverDelayedFrames()
            deliver(frame)
        }
    }

    private static var randomDeadline: DispatchTime { .now() + .milliseconds(Int.random(in: 0...15)) }

    private func deliverDelayedFrames() {
        let frames = delayedFrames.withLock { delayedFrames in
            defer { delayedFrames = [] }
            return delayedFrames
        }
        for frame in frames { deliver(frame) }
    }

    private func deliver(_ frame: [UInt8]) {
        guard !isDropped.load(ordering: .acquiring) else { return }
        if server.mustDropAcknowledgement(frame, to: user) { return drop() }
        events(.frame(frame))
    }

    private static let answer = Array(#"{"type":"result""#.utf8)
}

/// The server's end of the connection, and a lane with this one connection.
private final class ServerEnd: SessionTransport, ConnectionLane {
    private let connection: MemoryConnection

    init(connection: MemoryConnection) {
        self.connection = connection
    }

    func send(_ frame: [UInt8]) {
        connection.enqueue(frame)
    }

    func close(_ reason: CloseReason, _ text: String) {
        connection.drop(TransportClosure(code: reason.rawValue, reason: text))
    }

    func deliver(_ frame: [UInt8], to connections: [any Connection], except origin: Origin?) {
        for case let session as Session in connections where Origin(session) != origin {
            session.transport.send(frame)
        }
    }

    func deliver(
        _ frame: [UInt8], to connections: [any Connection], except origin: Origin?, orElse substitute: HeadFrame
    ) {
        for case let session as Session in connections where Origin(session) != origin {
            guard let end = session.transport as? ServerEnd else { continue }
            end.connection.enqueue(frame, orElse: substitute)
        }
    }
}
