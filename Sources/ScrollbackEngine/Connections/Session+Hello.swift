import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// The opening of a connection, from its hello until it is subscribed to its conversations.
extension Session {
    func receiveHello(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maximumBytesBeforeWelcome else {
            return terminate(.frameTooLarge, "A hello can have at most \(Self.maximumBytesBeforeWelcome) bytes.")
        }
        do throws(ChatError) {
            authenticate(try HelloFrame(bytes, limits: engine.limits))
        } catch {
            terminate(.badToken, "The first frame must be a valid hello: \(error.message)")
        }
    }

    private func authenticate(_ hello: HelloFrame) {
        let now = engine.clock()
        let isOpen = state.withLock { state in
            guard case .connected = state.phase else { return false }
            state.phase = .verifying
            state.helloReceivedAt = now
            return true
        }
        guard isOpen else { return }
        services.verify(hello.token) { [self] result in
            switch result {
            case .failure(let error):
                refuse(error)
            case .success(let verified):
                do throws(ChatError) {
                    try AccessRule.connect.check(verified.caller)
                } catch {
                    return refuse(error)
                }
                services.offload(.admission, WorkOwner(verified.caller)) {
                    self.open(verified.caller, hello, expiresAt: verified.expiresAt)
                }
            }
        }
    }

    /// Opens the session, unless the client has seen more than the store has.
    private func open(_ caller: Caller, _ hello: HelloFrame, expiresAt: Date?) {
        let finding: Checkpoints.Finding
        let lineage: String
        do {
            // Another node may have begun the incarnation that the client has seen.
            try engine.catchUp()
            (finding, lineage) = try engine.checkpoints.check(hello.checkpoint)
        } catch {
            return terminate(.restarting, "The store failed. Reconnect later.")
        }
        switch finding {
        case .consistent: open(caller, hello, expiresAt: expiresAt, lostAfter: nil, on: lineage)
        case .earlierGeneration(let lostAfter):
            open(caller, hello, expiresAt: expiresAt, lostAfter: lostAfter, on: lineage)
        case .rolledBack(let rollback):
            engine.recover(from: rollback) { [self] _ in
                terminate(.restarting, "The server's store went back to an earlier state. Reconnect and synchronize.")
            }
        }
    }

    /// - Parameter lineage: The lineage of the store for which `lostAfter` is right.
    private func open(
        _ caller: Caller, _ hello: HelloFrame, expiresAt: Date?, lostAfter: Timetoken?, on lineage: String
    ) {
        let isOpen = state.withLock { state in
            guard case .verifying = state.phase else { return false }
            state.phase = .open(caller: caller, device: hello.device, expiresAt: expiresAt)
            state.lineage = lineage
            owner.withLock { $0 = caller.user }
            state.sharesPresence = hello.sharesPresence
            state.isActive = hello.isActive
            return true
        }
        guard isOpen else { return }
        // Clients reset their delay between attempts when they receive the welcome, so check the limit before it.
        guard isWithinLimit(among: hub.connections(of: caller.user), caller) else { return }
        transport.verified()
        // The welcome precedes every event; requests wait until the session is subscribed to its conversations.
        transport.send(
            ServerFrame.encodeWelcome(
                .init(
                    user: caller.user, heartbeat: services.heartbeat, limits: engine.limits, lineage: lineage,
                    lostAfter: lostAfter)))
        // If a new incarnation began after the check, nothing else would close the session.
        guard let others = hub.add(self, if: { engine.checkpoints.lineage == lineage }) else {
            return terminate(.restarting, Engine.newIncarnationReason)
        }
        // If the session ended in the meantime, nothing else would remove it from the hub.
        guard self.caller != nil else { return hub.remove(self) }
        // Several connections may have passed the first check at the same time.
        guard isWithinLimit(among: others, caller) else { return }
        for other in others {
            guard let other = other as? Session, other.device == hello.device else { continue }
            // The device gave up this connection before it opened the other one, whose hello was processed first.
            guard other.number < number else { return close(.replaced) }
            other.close(.replaced)
        }
        do {
            // Detects bans and revocations after the token was verified and before the hub could close the session.
            try engine.checkToken(of: caller.user, issuedAt: state.withLock { $0.helloReceivedAt })
            try subscribeToStreams(of: caller)
        } catch let error as ChatError where error.status < 500 {
            return refuse(error)
        } catch {
            return terminate(.restarting, "The store failed. Reconnect later.")
        }
        reportOnline()
        engine.connectionOpened(by: caller.user, hello.device)
        while case let frames = state.withLock({ $0.takeWaiting() }), !frames.isEmpty {
            for frame in frames { request(frame) }
        }
        // The server may have asked the other clients before this one was ready.
        askToMove()
    }

    /// Closes the connection if its user has too many, not counting one that this connection replaces.
    ///
    /// The new connection is closed, and not the oldest one, because that one would connect again and displace another.
    private func isWithinLimit(among others: [any Connection], _ caller: Caller) -> Bool {
        guard let limit = services.maximumConnections, !caller.isAdmin else { return true }
        guard others.count(where: { ($0 as? Session)?.device != device }) >= limit else { return true }
        terminate(.tooManyConnections, "\(caller.user) has reached the limit of \(limit) connections.")
        return false
    }

    /// Closes the connection with the reason why a token was refused; the code shows whether a new token would help.
    private func refuse(_ error: ChatError) {
        switch error.code {
        case .tokenExpired: terminate(.tokenExpired, error.message)
        case .userDeactivated, .banned: terminate(.signedOut, "\(error)")
        case .tokenRevoked where caller != nil: terminate(.signedOut, error.message)
        // The token may be valid.
        case _ where error.isTemporary: terminate(.restarting, error.message)
        default: terminate(.badToken, error.message)
        }
    }

    private func subscribeToStreams(of caller: Caller) throws {
        var isSubscribed = false
        while !isSubscribed {
            let version = accessVersion()
            let conversations = try engine.automaticSubscriptions(of: caller)
            try engine.catchUp()
            isSubscribed = try subscribe(to: conversations, since: version)
        }
    }
}
