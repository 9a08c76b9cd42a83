package import Foundation
package import ScrollbackModel

/// The socket of a session.
///
/// Methods are called on any thread and must not block.
package protocol SessionTransport: AnyObject, Sendable {
    func send(_ frame: [UInt8])
    func close(_ reason: CloseReason, _ text: String)
    /// Lifts the bounds for unknown clients, because the server has verified the client's token.
    func verified()
    /// Records that a rate limit refused a request, so that the transport can slow down the client.
    func refused()
    /// Records a request that has no rate limit.
    func pinged()
    /// The approximate number of bytes that wait for the peer to read them.
    var queuedBytes: Int { get }
}

extension SessionTransport {
    package func verified() {}
    package func refused() {}
    package func pinged() {}
    package var queuedBytes: Int { 0 }
}

/// The services that a session needs besides the engine.
package struct SessionServices: Sendable {
    package typealias Verified = Result<(caller: Caller, expiresAt: Date?), ChatError>

    package var engine: Engine
    /// Verifies a token, and completes with the caller and the time when the token expires.
    package var verify: @Sendable (_ token: String, _ completion: @escaping @Sendable (Verified) -> Void) -> Void
    /// Runs work that may block on the disk.
    package var offload: PoolOffload
    /// The heartbeat interval, in seconds.
    package var heartbeat: Int
    package var limiter: RateLimiter?
    /// The maximum number of open connections of one user, or `nil` for no limit.
    ///
    /// Administrators are exempt.
    package var maximumConnections: Int?
    /// Returns the time in milliseconds in which clients must connect to another server, or `nil` if this one goes on.
    package var movesWithin: @Sendable () -> Int?
    /// Starts the removal of rows that no user can see.
    package var startCleanup: @Sendable () -> Void

    package init(
        engine: Engine,
        verify: @escaping @Sendable (String, @escaping @Sendable (Verified) -> Void) -> Void,
        offload: @escaping PoolOffload, heartbeat: Int = 30,
        limiter: RateLimiter? = nil, maximumConnections: Int? = nil,
        movesWithin: @escaping @Sendable () -> Int? = { nil },
        startCleanup: @escaping @Sendable () -> Void = {}
    ) {
        self.engine = engine
        self.verify = verify
        self.offload = offload
        self.heartbeat = heartbeat
        self.limiter = limiter
        self.maximumConnections = maximumConnections
        self.movesWithin = movesWithin
        self.startCleanup = startCleanup
    }
}
