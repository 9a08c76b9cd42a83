import Foundation
import Logging
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import Synchronization

/// Connecting, heartbeats and reconnecting.
extension Driver {
    /// Requests a token and opens a connection.
    ///
    /// The result of each step arrives as an input.
    func open() {
        generation += 1
        phase = .opening
        core.connection.set(.connecting)
        let generation = generation
        Task { [core] in
            let result: Result<String, ChatError>
            do {
                result = .success(try await core.token())
            } catch {
                result = .failure(
                    error as? ChatError
                        ?? ChatError(.unreachable, "The app's token provider failed.", cause: error))
            }
            core.mailbox.post(.token(generation: generation, result))
        }
    }

    func tokenReceived(_ result: Result<String, ChatError>) {
        guard case .opening = phase else { return }
        switch result {
        case .failure(let error):
            // A failing token provider is a temporary condition.
            waitAndRetry(error.retryAfter)
        case .success(let token):
            let generation = generation
            self.token = token
            core.currentToken.withLock { $0 = token }
            Task { [core] in
                do throws(ChatError) {
                    let connection = try await core.transport.open(core.server) { event in
                        core.mailbox.post(.transport(generation: generation, event))
                    }
                    core.mailbox.post(.opened(generation: generation, connection))
                } catch {
                    core.mailbox.post(.openFailed(generation: generation, error))
                }
            }
        }
    }

    func opened(_ generation: Int, _ connection: any TransportConnection) {
        guard generation == self.generation, case .opening = phase else { return connection.close() }
        phase = .authenticating(connection)
        lastReceivedAt = now
        sentActivity = isActive
        connection.send(
            HelloFrame(
                token: token, device: core.device, cursor: nil, sharesPresence: core.sharesPresence, isActive: isActive
            ).encoded())
        scheduleHeartbeat()
    }

    func welcomed(_ welcome: ServerFrame.Welcome, _ connection: any TransportConnection) async {
        guard welcome.user == core.user else {
            return reject(
                ChatError(
                    .invalidToken, "The token belongs to \(welcome.user), but the client was opened for \(core.user)."))
        }
        phase = .online(connection)
        heartbeat = max(1, welcome.heartbeat)
        backoff.reset()
        hasRefreshedToken = false
        core.connection.set(.online)
        heads.connected()
        do {
            try await fetchPushedHeads()
            try await startSync()
        } catch {
            return await storeFailed(error)
        }
        push.connected()
        sendPushRegistration()
        if isActive != sentActivity { send(SetActivity(isActive: isActive), .nothing) }
        if !subscriptions.isEmpty {
            let ids = subscriptions.keys.sorted()
            requestSubscriptions(to: ids)
        }
        requestPresence(watched.keys.sorted())
        for (request, timeout, reply) in waiting { send(request, .reply(reply), timeout: timeout) }
        waiting = []
        await perform(outbox.connected(now: now))
        await sendSettings()
    }

    /// Starts a sync pass, which fetches the conversations that changed since the stored cursor.
    func startSync() async throws(ChatError) {
        let (point, behind) = try await core.store.read { (try $0.syncPoint(), try $0.positionsBehind()) }
        needsAnotherSync = point.isInterrupted
        perform(resume.connected(cursor: point.cursor, behind: behind, isNew: !point.hasCompletedSync))
    }

    /// Starts another sync pass, immediately or when the current one has ended.
    ///
    /// A pass only covers changes that were made before it began.
    func restartSync() async throws(ChatError) {
        guard !resume.isFetchingWindows else {
            needsAnotherSync = true
            return
        }
        await applyReleased()
        // The connection is gone if the store failed in the previous step.
        guard connection != nil else { return }
        hasRestartedSync = true
        try await startSync()
    }

    /// Handles a lost connection or a failed attempt to connect.
    func connectionLost(_ closure: TransportClosure?, _ error: ChatError?) async {
        let wasOnline = connection != nil
        disconnect()
        await perform(outbox.disconnected())
        switch closure?.code {
        case 4001:
            // The token may be revoked or signed with a retired key: request a new one once.
            guard !hasRefreshedToken else {
                return reject(ChatError(.invalidToken, closure?.reason ?? "The server rejected the token."))
            }
            hasRefreshedToken = true
            open()
        case 4003: open()
        case 4008 where wasOnline: open()
        case 4009: reject(ChatError(.closed, "Another connection with the same device ID replaced this one."))
        case 4010: reject(Self.signedOut(closure?.reason))
        case 1012: waitAndRetry(nil, spread: 5)
        default: waitAndRetry(error?.retryAfter)
        }
    }

    /// The reason for a sign-out by the server.
    ///
    /// The close reason starts with an error code if a new token would not help.
    private static func signedOut(_ reason: String?) -> ChatError {
        for code in [ChatError.Code.userDeactivated, .banned] {
            guard let reason, reason.hasPrefix("\(code): ") else { continue }
            return ChatError(code, String(reason.dropFirst(code.rawValue.count + 2)))
        }
        return ChatError(.tokenRevoked, "The server signed this device out.")
    }

    /// Closes the connection, and fails all requests that wait for an answer.
    func disconnect() {
        switch phase {
        case .authenticating(let connection), .online(let connection): connection.close()
        case .idle, .opening, .waiting, .rejected: break
        }
        generation += 1
        phase = .idle
        resume.disconnected()
        heads.disconnected()
        push.disconnected()
        released = []
        hasRestartedSync = false
        core.setSyncStatus(isResumed: false, subscribed: [])
        settingsInFlight = []
        retryAt = nil
        retriesPresence = false
        subscriptionRetries = [:]
        for id in subscriptions.keys { core.subscriptions.set(.waiting, of: id) }
        resetTyping()
        core.presence.set([:])
        let unanswered = requests.values
        requests = [:]
        for case .reply(let reply) in unanswered {
            reply(.failure(ChatError(.unreachable, "The connection was lost before the server answered.")))
        }
    }

    func reject(_ error: ChatError) {
        disconnect()
        phase = .rejected
        core.connection.set(.rejected(error))
        failWaiting(error)
    }

    private func waitAndRetry(_ retryAfter: TimeInterval?, spread: TimeInterval? = nil) {
        let wait = retryAfter ?? backoff.next(spreadOver: spread, using: &generator)
        let until = now.addingTimeInterval(wait)
        phase = .waiting(until: until)
        core.connection.set(.waiting(until: until))
        failWaiting(ChatError(.unreachable, "The server can't be reached."))
        wake(at: until)
    }

    private func failWaiting(_ error: ChatError) {
        let unanswered = waiting
        waiting = []
        for (_, _, reply) in unanswered { reply(.failure(error)) }
    }

    /// Reconnects without waiting for the backoff to end, at most once a second.
    func reconnectNow() {
        guard case .waiting = phase, now.timeIntervalSince(lastImmediateReconnect) >= 1 else { return }
        lastImmediateReconnect = now
        open()
    }

    /// Handles a failure of the store: drops the connection and starts over.
    func storeFailed(_ error: ChatError) async {
        core.logger.error("The local store failed.", metadata: ["code": "\(error.code)"])
        await connectionLost(nil, error)
    }

    // MARK: Heartbeat

    private func scheduleHeartbeat() {
        let generation = generation
        let seconds = heartbeat
        Task { [mailbox = core.mailbox] in
            try? await Task.sleep(for: .seconds(seconds))
            mailbox.post(.heartbeat(generation: generation))
        }
    }

    func sendHeartbeat() {
        switch phase {
        case .online(let connection), .authenticating(let connection):
            guard now.timeIntervalSince(lastReceivedAt) < Double(heartbeat) * 2 else {
                // The server sent nothing for two heartbeats: treat the connection as dead, whatever the socket's
                // state.
                connection.close()
                core.mailbox.post(
                    .transport(
                        generation: generation,
                        .closed(TransportClosure(reason: "The server did not answer heartbeats."))))
                return
            }
            if case .online = phase { send(Ping(), .nothing) }
            scheduleHeartbeat()
        case .idle, .opening, .waiting, .rejected: break
        }
    }
}
