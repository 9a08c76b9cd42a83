package import Foundation
package import ScrollbackModel

/// The state machine for the life cycle of a client's connection.
///
/// It requests a token, opens a connection, authenticates, checks that the server still answers, and reconnects after a
/// failure. Each attempt has a number, its generation. Results of earlier generations are ignored.
package struct ConnectionLifecycle: Sendable {
    package enum Phase: Equatable, Sendable {
        /// The client is not connected, and does not try to connect.
        case idle
        /// A token is requested, or a connection is being opened.
        case opening
        /// The connection is open, and the server has not answered the hello frame.
        case authenticating
        case online
        /// The client reconnects at this time.
        case waiting(until: Date)
        /// The server rejected the client, which does not reconnect.
        case rejected(ChatError)
    }

    package private(set) var phase = Phase.idle
    package private(set) var generation = 0
    private let user: UserID
    private var backoff = Backoff()
    /// Whether a new token was requested because the server rejected the previous one.
    private var hasRefreshedToken = false
    private var token = ""
    /// The time between two heartbeats in seconds.
    private var heartbeatInterval = 30
    private var lastReceivedAt = Date.distantPast
    private var isActive = true
    /// The value of `isActive` in the hello frame.
    private var sentActivity = true
    private var lastImmediateReconnect = Date.distantPast
    /// The time at which requests that failed temporarily are retried.
    private var retryAt: Date?
    /// The time to move to another server, and the latest time if requests wait for answers.
    private var move: (at: Date, latest: Date)?
    /// The end of the time in which a client that moves to another server still counts as online.
    private var moveEnd: Date?
    private var lastMove = Date.distantPast

    /// How long the phase stays published as online while the client moves to another server, in seconds.
    package static let maximumMove: TimeInterval = 1
    /// The least time between two moves, in seconds.
    ///
    /// A load balancer can give the connection to a server that stops, too, or to the same one.
    package static let moveInterval: TimeInterval = 1

    package init(user: UserID) {
        self.user = user
    }

    package var isOnline: Bool { phase == .online }

    /// Whether the client moves to another server, and is not online for less than ``maximumMove``.
    package var isMoving: Bool { moveEnd != nil }
}

// MARK: Connecting

extension ConnectionLifecycle {
    /// Connects now, unless an attempt or a connection exists.
    package mutating func connect() -> [ConnectionAction] {
        switch phase {
        case .idle, .waiting, .rejected: open()
        case .opening, .authenticating, .online: []
        }
    }

    /// Reconnects without waiting for the backoff to end, at most once a second.
    package mutating func reconnectNow(now: Date) -> [ConnectionAction] {
        guard case .waiting = phase, now.timeIntervalSince(lastImmediateReconnect) >= 1 else { return [] }
        lastImmediateReconnect = now
        return open()
    }

    /// Handles the answer of the token provider.
    package mutating func tokenReceived(
        _ generation: Int, _ result: Result<String, ChatError>, now: Date,
        using generator: inout some RandomNumberGenerator
    ) -> [ConnectionAction] {
        guard generation == self.generation, phase == .opening else { return [] }
        switch result {
        case .success(let token):
            self.token = token
            return [.open(generation: generation, token: token)]
        // A failing token provider is a temporary condition.
        case .failure(let error): return wait(error.retryAfter, now, &generator)
        }
    }

    /// Handles an open connection.
    ///
    /// - Returns: No actions if the connection belongs to an earlier generation; the caller must then close it.
    package mutating func opened(_ generation: Int, now: Date) -> [ConnectionAction] {
        guard generation == self.generation, phase == .opening else { return [] }
        phase = .authenticating
        lastReceivedAt = now
        sentActivity = isActive
        return [.sendHello(token: token, isActive: isActive), scheduleHeartbeat()]
    }

    package mutating func openFailed(
        _ generation: Int, _ error: ChatError, now: Date, using generator: inout some RandomNumberGenerator
    ) -> [ConnectionAction] {
        guard generation == self.generation else { return [] }
        return drop(retryAfter: error.retryAfter, now: now, using: &generator)
    }

    /// Handles the server's `welcome`.
    ///
    /// - Parameters:
    ///   - user: The user that the token belongs to.
    ///   - heartbeat: The time between two heartbeats in seconds.
    package mutating func welcomed(as user: UserID, heartbeat: Int) -> [ConnectionAction] {
        guard phase == .authenticating else { return [] }
        guard user == self.user else {
            return reject(
                ChatError(.invalidToken, "The token belongs to \(user), but the client was opened for \(self.user)."))
        }
        phase = .online
        heartbeatInterval = max(1, heartbeat)
        backoff.reset()
        hasRefreshedToken = false
        let published = publishPhase()
        moveEnd = nil
        return published + (isActive == sentActivity ? [] : [.sendActivity(isActive)]) + [.resume]
    }

    private mutating func open() -> [ConnectionAction] {
        generation += 1
        phase = .opening
        return publishPhase() + [.requestToken(generation: generation)]
    }

    /// Publishes the phase, unless the client moves to another server and still counts as online.
    private func publishPhase() -> [ConnectionAction] { isMoving ? [] : [.publishPhase] }

    private mutating func wait(
        _ retryAfter: TimeInterval?, spreadOver spread: TimeInterval? = nil, _ now: Date,
        _ generator: inout some RandomNumberGenerator
    ) -> [ConnectionAction] {
        let until = now + (retryAfter ?? backoff.next(spreadOver: spread, using: &generator))
        phase = .waiting(until: until)
        return publishPhase() + [.wake(at: until)]
    }
}

// MARK: While connected

extension ConnectionLifecycle {
    /// Handles a frame from the server.
    package mutating func received(now: Date) {
        lastReceivedAt = now
    }

    /// Sets whether the app is in the foreground, which reconnects immediately.
    package mutating func setActive(_ isActive: Bool, now: Date) -> [ConnectionAction] {
        self.isActive = isActive
        if isOnline { return [.sendActivity(isActive)] }
        return isActive ? reconnectNow(now: now) : []
    }

    /// Sends a heartbeat, or drops a connection on which nothing arrived for two heartbeats.
    package mutating func heartbeat(
        _ generation: Int, now: Date, using generator: inout some RandomNumberGenerator
    ) -> [ConnectionAction] {
        guard generation == self.generation, isOnline || phase == .authenticating else { return [] }
        guard now.timeIntervalSince(lastReceivedAt) < Double(heartbeatInterval) * 2 else {
            return drop(now: now, using: &generator)
        }
        return (isOnline ? [.sendPing] : []) + [scheduleHeartbeat()]
    }

    /// Schedules a retry of requests that failed temporarily on a connection that stays open.
    ///
    /// The delay is at least `seconds`, also if a shorter one was scheduled before. The jitter keeps clients from
    /// retrying at the same time.
    ///
    /// - Returns: The time to call ``tick(now:)``, or `nil` if a retry is already scheduled at that time or later.
    package mutating func retryRequests(
        after seconds: TimeInterval, now: Date, using generator: inout some RandomNumberGenerator
    ) -> Date? {
        guard isOnline, retryAt.map({ $0 < now + seconds }) ?? true else { return nil }
        retryAt = now + seconds * Double.random(in: 1...1.5, using: &generator)
        return retryAt
    }

    /// Handles the passing of time.
    package mutating func tick(now: Date) -> [ConnectionAction] {
        let published = endMove(now: now)
        if case .waiting(let until) = phase, until <= now { return published + open() }
        guard let date = retryAt, date <= now else { return published }
        retryAt = nil
        return published + [.retryRequests]
    }

    private func scheduleHeartbeat() -> ConnectionAction {
        .scheduleHeartbeat(generation: generation, after: heartbeatInterval)
    }
}

// MARK: Moving to another server

extension ConnectionLifecycle {
    /// Handles the request of a server that stops soon to connect again.
    ///
    /// - Parameter within: The time in seconds in which the client moves, at a random moment. The client moves later if
    ///   its last move was less than ``moveInterval`` ago.
    package mutating func moving(
        within: TimeInterval, now: Date, using generator: inout some RandomNumberGenerator
    ) -> [ConnectionAction] {
        guard isOnline, move == nil else { return [] }
        let pause = lastMove <= now ? max(0, Self.moveInterval - now.timeIntervalSince(lastMove)) : 0
        let at = now + max(pause, TimeInterval.random(in: 0...max(0, within), using: &generator))
        let latest = now + max(pause, within)
        move = (at, latest)
        return [.wake(at: at), .wake(at: latest)]
    }

    /// Opens the next connection if it is time to move to another server.
    ///
    /// Call this after each ``tick(now:)``, and after each answer.
    ///
    /// - Parameter awaitsAnswers: Whether requests would fail with the connection. The client then waits for their
    ///   answers, until the latest time.
    package mutating func moveIfDue(now: Date, awaitsAnswers: @autoclosure () -> Bool) -> [ConnectionAction] {
        guard isOnline, let move, move.at <= now, move.latest <= now || !awaitsAnswers() else { return [] }
        return moveNow(now)
    }

    private mutating func moveNow(_ now: Date) -> [ConnectionAction] {
        let end = now + Self.maximumMove
        (moveEnd, lastMove) = (end, now)
        return disconnect() + open() + [.wake(at: end)]
    }

    /// Publishes the phase if the move takes too long.
    private mutating func endMove(now: Date) -> [ConnectionAction] {
        guard let end = moveEnd, end <= now else { return [] }
        moveEnd = nil
        return [.publishPhase]
    }
}

// MARK: Disconnecting

extension ConnectionLifecycle {
    /// Handles a connection that the server or the network closed.
    ///
    /// - Parameter code: The server's WebSocket close code, if it sent one.
    package mutating func closed(
        _ generation: Int, code: Int?, reason: String, now: Date, using generator: inout some RandomNumberGenerator
    ) -> [ConnectionAction] {
        guard generation == self.generation else { return [] }
        switch code {
        case 4001:
            // The token may be revoked or signed with a retired key: request a new one once.
            guard !hasRefreshedToken else { return reject(ChatError(.invalidToken, reason)) }
            hasRefreshedToken = true
            return disconnect() + open()
        case 4003 where isOnline || !hasRefreshedToken:
            // The token expired. If the provider returns an expired one again, the next attempt waits.
            hasRefreshedToken = !isOnline
            return disconnect() + open()
        case 4008 where isOnline: return disconnect() + open()
        case 4009:
            return reject(ChatError(.closed, "Another connection with the same device ID replaced this one."))
        case 4010: return reject(Self.signedOut(reason))
        // The server has already spread the reconnects.
        case 1012 where move != nil: return moveNow(now)
        case 1012: return disconnect() + wait(nil, spreadOver: 5, now, &generator)
        default: return drop(now: now, using: &generator)
        }
    }

    /// Drops the connection, if any, and reconnects after a delay.
    package mutating func drop(
        retryAfter: TimeInterval? = nil, now: Date, using generator: inout some RandomNumberGenerator
    ) -> [ConnectionAction] {
        disconnect() + wait(retryAfter, now, &generator)
    }

    /// Ends the connection, and ignores all later results.
    package mutating func disconnect() -> [ConnectionAction] {
        generation += 1
        phase = .idle
        retryAt = nil
        move = nil
        return [.disconnect]
    }

    private mutating func reject(_ error: ChatError) -> [ConnectionAction] {
        let actions = disconnect()
        phase = .rejected(error)
        moveEnd = nil
        return actions + [.publishPhase]
    }

    /// The reason for a sign-out by the server.
    ///
    /// The close reason starts with an error code if a new token would not help.
    private static func signedOut(_ reason: String) -> ChatError {
        for code in [ChatError.Code.userDeactivated, .banned] where reason.hasPrefix("\(code): ") {
            return ChatError(code, String(reason.dropFirst(code.rawValue.count + 2)))
        }
        return ChatError(.tokenRevoked, "The server signed this device out.")
    }
}
