import Foundation
import Logging
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import Synchronization

/// Connecting, staying connected, and coming back.
extension Driver {
    /// Asks for a token, then opens a connection; each step comes back as an input.
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
                        ?? ChatError(.unreachable, "the app's token could not be had", cause: error))
            }
            core.mailbox.post(.token(generation: generation, result))
        }
    }

    func tokenCame(_ result: Result<String, ChatError>) {
        guard case .opening = phase else { return }
        switch result {
        case .failure(let error):
            // An app's own server that is down for a while is no reason to give up.
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
        phase = .greeting(connection)
        lastHeard = now
        greetedActive = isActive
        connection.send(
            ClientFrame.hello(
                .init(
                    token: token, device: core.device, cursor: nil, sharesPresence: core.sharesPresence,
                    isActive: isActive)
            ).encoded())
        scheduleHeartbeat()
    }

    func welcomed(_ welcome: ServerFrame.Welcome, _ connection: any TransportConnection) async {
        guard welcome.user == core.user else {
            return reject(ChatError(.invalidToken, "the token is \(welcome.user)'s, not \(core.user)'s"))
        }
        phase = .online(connection)
        heartbeat = max(1, welcome.heartbeat)
        backoff.reset()
        hasRefreshedToken = false
        core.connection.set(.online)
        do {
            try await askAboutPushed()
            try await beginPass()
        } catch {
            return await failed(error)
        }
        push.connected()
        tellPush()
        if isActive != greetedActive { send(.activity(isActive: isActive), .nothing) }
        if !subscriptions.isEmpty {
            let ids = subscriptions.keys.sorted()
            ask(toHear: ids)
        }
        askWhoIsThere(watched.keys.sorted())
        for (request, timeout, reply) in waiting { send(request, .reply(reply), timeout: timeout) }
        waiting = []
        await perform(outbox.connected(now: now))
        await sendStates()
    }

    /// Asks what moved since the last time.
    func beginPass() async throws(ChatError) {
        let (point, behind) = try await core.store.read { (try $0.syncPoint(), try $0.positionsBehind()) }
        continuesPass = point.isInterrupted
        perform(resume.connected(cursor: point.cursor, behind: behind, isNew: !point.isSettled))
    }

    /// Asks once more what moved: at once, or when the pass under way has ended.
    ///
    /// A pass looks at what had moved when it began.
    func passAgain() async throws(ChatError) {
        guard !resume.isPassing else {
            continuesPass = true
            return
        }
        await applyReleased()
        // Unless the store failed just now.
        guard connection != nil else { return }
        hasBegunAgain = true
        try await beginPass()
    }

    /// The connection is gone, or could not be made.
    func lost(_ closure: TransportClosure?, _ error: ChatError?) async {
        let wasOnline = connection != nil
        disconnect()
        await perform(outbox.disconnected())
        switch closure?.code {
        case 4001:
            // A token may have been revoked or outlived its key: a fresh one is asked for once.
            guard !hasRefreshedToken else {
                return reject(ChatError(.invalidToken, closure?.reason ?? "the token was refused"))
            }
            hasRefreshedToken = true
            open()
        case 4003: open()
        case 4008 where wasOnline: open()
        case 4009: reject(ChatError(.closed, "another connection of this device took its place"))
        case 4010: reject(Self.signedOut(closure?.reason))
        case 1012: waitAndRetry(nil, spread: 5)
        default: waitAndRetry(error?.retryAfter)
        }
    }

    /// Why a server signs this device out: it names the code of what a fresh token would not change.
    private static func signedOut(_ reason: String?) -> ChatError {
        for code in [ChatError.Code.userDeactivated, .banned] {
            guard let reason, reason.hasPrefix("\(code): ") else { continue }
            return ChatError(code, String(reason.dropFirst(code.rawValue.count + 2)))
        }
        return ChatError(.tokenRevoked, "signed out by the server")
    }

    /// Lets go of the connection, if there is one, and of everything that waited for its answers.
    func disconnect() {
        switch phase {
        case .greeting(let connection), .online(let connection): connection.close()
        case .idle, .opening, .waiting, .rejected: break
        }
        generation += 1
        phase = .idle
        resume.disconnected()
        push.disconnected()
        released = []
        hasBegunAgain = false
        core.setCurrency(isResumed: false, heard: [])
        statesInFlight = []
        retryAt = nil
        learning = []
        learningAgain = []
        learningLater = []
        learnedTwice = []
        watchesLater = false
        subscriptionRetries = [:]
        for id in subscriptions.keys { core.subscriptions.set(.waiting, of: id) }
        forgetTyping()
        core.presence.set([:])
        let unanswered = requests.values
        requests = [:]
        for case .reply(let reply) in unanswered {
            reply(.failure(ChatError(.unreachable, "the connection was lost before the answer came")))
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
        failWaiting(ChatError(.unreachable, "the server can't be reached"))
        wake(at: until)
    }

    private func failWaiting(_ error: ChatError) {
        let unanswered = waiting
        waiting = []
        for (_, _, reply) in unanswered { reply(.failure(error)) }
    }

    /// Something suggests that the network is back: no reason to wait out the backoff, though not more than once a second.
    func kick() {
        guard case .waiting = phase, now.timeIntervalSince(lastKick) >= 1 else { return }
        lastKick = now
        open()
    }

    /// The store failed under the connection: start it over.
    func failed(_ error: ChatError) async {
        core.logger.error("the local store failed", metadata: ["code": "\(error.code)"])
        await lost(nil, error)
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

    func beat() {
        switch phase {
        case .online(let connection), .greeting(let connection):
            guard now.timeIntervalSince(lastHeard) < Double(heartbeat) * 2 else {
                // Nothing was heard for two heartbeats: the other side is gone, whatever the socket says.
                connection.close()
                core.mailbox.post(.transport(generation: generation, .closed(TransportClosure(reason: "silence"))))
                return
            }
            if case .online = phase { send(.ping, .nothing) }
            scheduleHeartbeat()
        case .idle, .opening, .waiting, .rejected: break
        }
    }
}
