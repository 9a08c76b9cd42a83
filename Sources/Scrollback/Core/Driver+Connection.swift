import Foundation
import Logging
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import Synchronization

/// Carries out the actions of ``ConnectionLifecycle`` and reports their results back to it.
extension Driver {
    func perform(_ actions: [ConnectionAction]) async {
        for action in actions {
            switch action {
            case .requestToken(let generation): requestToken(generation)
            case .open(let generation, let token): open(generation, token)
            case .sendHello(let token, let isActive):
                do throws(ChatError) {
                    let checkpoint = try await core.store.read { try $0.checkpoint() }
                    let hello = HelloFrame(
                        token: token, device: core.device, checkpoint: checkpoint,
                        sharesPresence: core.sharesPresence, isActive: isActive)
                    openConnection?.send(hello.encoded())
                } catch {
                    return await storeFailed(error)
                }
            case .sendActivity(let isActive): send(SetActivity(isActive: isActive), .nothing)
            case .resume: await resumeSession()
            case .sendPing: send(Ping(), .nothing)
            case .scheduleHeartbeat(let generation, let seconds):
                post(.heartbeat(generation: generation), after: .seconds(seconds))
            case .retryRequests: await retryRequests()
            case .disconnect:
                disconnect()
                await perform(outbox.disconnected())
            case .publishPhase: publishPhase()
            case .wake(let date): wake(at: date)
            }
        }
    }

    private func requestToken(_ generation: Int) {
        Task { [core] in
            let result: Result<String, ChatError>
            do {
                result = .success(try await core.token())
            } catch {
                // The state of the connection only shows that the client waits for the next attempt.
                core.logger.warning("The app's token provider failed.", metadata: ["reason": "\(error)"])
                result = .failure(
                    error as? ChatError
                        ?? ChatError(.unreachable, "The app's token provider failed.", cause: error))
            }
            core.mailbox.post(.token(generation: generation, result))
        }
    }

    private func open(_ generation: Int, _ token: String) {
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

    func opened(_ generation: Int, _ connection: any TransportConnection) async {
        let actions = lifecycle.opened(generation, now: now)
        guard !actions.isEmpty else { return connection.close() }
        openConnection = connection
        await perform(actions)
    }

    private func resumeSession() async {
        heads.connected()
        do {
            try await fetchPushedHeads()
            try await startSync()
        } catch {
            return await storeFailed(error)
        }
        push.connected()
        sendPushRegistration()
        perform(subscriptions.connected())
        perform(watchedUsers.connected())
        let waited = waiting
        waiting = []
        for one in waited { await ask(one.request, ContinuousClock.now.duration(to: one.end), one.caller, one.reply) }
        await perform(outbox.connected(now: now))
        await sendSettings()
        await perform(deliveries.connected(now: now))
        await syncDrafts()
    }

    private func publishPhase() {
        switch lifecycle.phase {
        case .idle, .authenticating: break
        case .opening: core.connection.set(.connecting)
        case .online: core.connection.set(.online)
        case .waiting(let until):
            core.connection.set(.waiting(until: until))
            failWaiting(unreachable)
        case .rejected(let error):
            core.connection.set(.rejected(error))
            failWaiting(error)
        }
    }

    /// The error of requests while the client waits for its next attempt to connect.
    var unreachable: ChatError {
        ChatError(
            .unreachable, connectionFailure?.message ?? "The server can't be reached.",
            cause: connectionFailure?.cause ?? connectionFailure)
    }

    func failWaiting(_ error: ChatError) {
        let unanswered = waiting
        waiting = []
        for one in unanswered { one.reply(.failure(error)) }
    }

    /// Closes the connection, and fails all requests that wait for an answer.
    func disconnect(
        _ error: ChatError = ChatError(.unreachable, "The connection was lost before the server answered.")
    ) {
        openConnection?.close()
        openConnection = nil
        resume.disconnected()
        heads.disconnected()
        deletions = [:]
        push.disconnected()
        deliveries.disconnected()
        released = []
        isConfirming = false
        pass.disconnected()
        core.setSyncStatus(isResumed: false, subscribed: [])
        core.ownProfile.invalidate()
        settings.disconnected()
        draftsArePaused = false
        watchedUsers.disconnected()
        perform(subscriptions.disconnected())
        resetTyping()
        core.presence.set([:])
        let unanswered = requests.values
        requests = [:]
        for case .reply(let reply) in unanswered {
            reply(.failure(error))
        }
    }

    /// Opens the next connection if the server asked for it and it is time.
    func moveIfDue(now: Date) async {
        await perform(
            lifecycle.moveIfDue(now: now, awaitsAnswers: requests.values.contains { $0.failsWithConnection }))
    }

    /// Drops the connection and starts over.
    func dropConnection(retryAfter: TimeInterval? = nil) async {
        await perform(lifecycle.drop(retryAfter: retryAfter, now: now, using: &generator))
    }

    /// Handles a failure of the store: drops the connection and starts over.
    func storeFailed(_ error: ChatError) async {
        core.logger.error("The local store failed.", metadata: ["code": "\(error.code)"])
        await dropConnection(retryAfter: error.retryAfter)
    }
}
