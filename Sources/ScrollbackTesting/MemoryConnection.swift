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
    private let isCut = Atomic<Bool>(false)
    /// The newest heads of rooms whose messages were skipped for this connection.
    private let owed = Mutex<[ConversationID: HeadFrame]>([:])
    /// Events that are delivered in one batch after a delay.
    private let heap = Mutex<[[UInt8]]>([])

    init(
        server: MemoryServer, user: UserID, services: SessionServices,
        events: @escaping @Sendable (TransportEvent) -> Void
    ) {
        self.server = server
        self.user = user
        self.events = events
        let end = ServerEnd(connection: self)
        session.withLock { $0 = Session(services: services, lane: end, outlet: end) }
    }

    /// Drops the connection without a close handshake, as a pulled cable would.
    func cut(_ closure: TransportClosure = TransportClosure(reason: "The connection was lost.")) {
        guard !isCut.exchange(true, ordering: .acquiringAndReleasing) else { return }
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
    func settle() {
        queue.sync {}
    }

    func send(_ frame: [UInt8]) {
        queue.async { [self] in
            guard !isCut.load(ordering: .acquiring) else { return }
            server.received(frame, from: user)
            session.withLock { $0 }?.receive(frame)
        }
    }

    func close() {
        cut(TransportClosure(code: 1000, reason: "The client closed the connection."))
    }

    /// Delivers a frame, or remembers its substitute if the connection is slow.
    fileprivate func arrive(_ frame: [UInt8], orElse substitute: HeadFrame) {
        guard server.isSlow(user) else { return arrive(frame) }
        owed.withLock { $0[substitute.conversation] = substitute }
    }

    /// Delivers the substitutes of all skipped frames.
    func catchUp() {
        let heads = owed.withLock { owed in
            defer { owed = [:] }
            return owed.values
        }
        for head in heads { arrive(head.encoded) }
    }

    fileprivate func arrive(_ frame: [UInt8]) {
        guard server.isLate(user) else {
            return queue.async { [self] in
                arriveHeap()
                hand(over: frame)
            }
        }
        guard frame.starts(with: Self.answer) else {
            let isFirst = heap.withLock { heap in
                heap.append(frame)
                return heap.count == 1
            }
            if isFirst { queue.asyncAfter(deadline: Self.soon) { [self] in arriveHeap() } }
            return
        }
        queue.asyncAfter(deadline: Self.soon) { [self] in
            // Events that precede a response must be delivered before it.
            arriveHeap()
            hand(over: frame)
        }
    }

    private static var soon: DispatchTime { .now() + .milliseconds(Int.random(in: 0...15)) }

    private func arriveHeap() {
        let frames = heap.withLock { heap in
            defer { heap = [] }
            return heap
        }
        for frame in frames { hand(over: frame) }
    }

    private func hand(over frame: [UInt8]) {
        guard !isCut.load(ordering: .acquiring) else { return }
        if server.mustLose(frame, to: user) { return cut() }
        events(.frame(frame))
    }

    private static let answer = Array(#"{"type":"result""#.utf8)
}

/// The server's end of the connection, and a lane with this one connection.
private final class ServerEnd: SessionOutlet, Lane {
    private let connection: MemoryConnection

    init(connection: MemoryConnection) {
        self.connection = connection
    }

    func send(_ frame: [UInt8]) {
        connection.arrive(frame)
    }

    func close(_ reason: CloseReason, _ text: String) {
        connection.cut(TransportClosure(code: reason.rawValue, reason: text))
    }

    func deliver(_ frame: [UInt8], to connections: [any Connection], except origin: Origin?) {
        for case let session as Session in connections where Origin(session) != origin {
            session.outlet.send(frame)
        }
    }

    func deliver(
        _ frame: [UInt8], to connections: [any Connection], except origin: Origin?, orElse substitute: HeadFrame
    ) {
        for case let session as Session in connections where Origin(session) != origin {
            guard let end = session.outlet as? ServerEnd else { continue }
            end.connection.arrive(frame, orElse: substitute)
        }
    }
}
