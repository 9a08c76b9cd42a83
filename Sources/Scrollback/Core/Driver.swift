import Foundation
import Logging
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// The loop of a ``ClientCore``, which owns the connection and the state machines.
///
/// Only one task runs it.
final class Driver {
    let core: ClientCore
    var outbox: Outbox
    var push: PushRegistration
    var resume = ResumeState()
    var pass = SyncPass()
    var generator = SystemRandomNumberGenerator()

    var lifecycle: ConnectionLifecycle
    /// The reason why the last attempt to connect failed; `nil` after the server's `welcome`.
    var connectionFailure: ChatError?
    /// The connection that is authenticating or online.
    var openConnection: (any TransportConnection)?
    /// Live events that ``ResumeState`` released for applying.
    var released: [LiveEvent] = []
    var lastRef: Int64 = 0
    /// The requests that wait for an answer, by their `ref`.
    var requests: [Int64: Request] = [:]
    /// Requests that arrived while the client was connecting.
    var waiting: [WaitingRequest] = []
    var lastWaiting = 0
    var settings = SettingRequests(limit: ReadMark.maximum)
    /// Whether drafts wait for the retry after an error.
    var draftsArePaused = false
    var heads = HeadFetches()
    /// The newest request before the deletion of each conversation that was deleted on this connection.
    ///
    /// The answers to it and to earlier requests can be older than the deletion.
    var deletions: [ConversationID: Int64] = [:]
    var deliveries = DeliveryReports()
    var subscriptions = SubscriptionSet(limit: Subscribe.maximum)
    var watchedUsers = WatchedUsers(limit: FetchUsers.maximum)
    var ownTyping = OwnTyping()
    var typingUsers = TypingUsers()
    var typingWake: Date?
    var receivedIDs = ReceivedIDs()
    /// Whether a request for messages that the server may have lost is in flight.
    var isConfirming = false
    /// The time of the next scheduled call of the outbox's `tick`.
    var outboxWakesAt: Date?

    /// The handler for the answer to a request.
    enum Request {
        case reply(ClientCore.Reply<[UInt8]>)
        case send(MessageID, OutboxRequest)
        /// A history request for a message that the server had already stored.
        case alreadyStored(MessageID, in: ConversationID)
        case window(Int)
        case logs(batch: Int, [LogPosition])
        case read(ConversationID)
        case reads([ConversationID])
        case delivered([DeliveryMark])
        case state(PendingSetting)
        case drafts(DraftCursor)
        case draft(PendingDraft)
        case heads([ConversationID])
        case subscription([ConversationID])
        case presence
        case push(PushRegistration.Step)
        /// Asks whether the server still has these messages of the user.
        case confirmation([MessageReference])
        case nothing

        /// Whether the request fails with the connection, instead of being sent again on the next one.
        var failsWithConnection: Bool { if case .reply = self { true } else { false } }
    }

    /// A request that waits for the connection.
    ///
    /// Its timeout includes this time.
    struct WaitingRequest {
        var number: Int
        var request: any FrameRequest
        var end: ContinuousClock.Instant
        var caller: RequestCaller
        var reply: ClientCore.Reply<[UInt8]>
    }

    init(core: ClientCore, outbox: Outbox, push: PushRegistration) {
        self.core = core
        self.outbox = outbox
        self.push = push
        lifecycle = ConnectionLifecycle(user: core.user)
    }

    var now: Date { core.clock() }

    /// The connection, if it is online.
    var connection: (any TransportConnection)? { lifecycle.isOnline ? openConnection : nil }

    // MARK: The loop

    func run() async {
        while true {
            let inputs = await core.mailbox.take()
            if inputs.isEmpty { break }
            var live: [LiveEvent] = []
            for (index, input) in inputs.enumerated() {
                if case .close = input {
                    await applyLive(&live)
                    return end(inputs[(index + 1)...])
                }
                // Consecutive live events are applied in one transaction.
                guard case .transport(let generation, .frame(let bytes)) = input else {
                    await applyLive(&live)
                    await handle(input)
                    continue
                }
                guard generation == lifecycle.generation, let frame = decode(bytes) else { continue }
                if connection != nil, let event = frame.liveEvent {
                    live.append(event)
                    if live.count == 500 { await applyLive(&live) }
                } else {
                    await applyLive(&live)
                    await received(frame)
                }
            }
            await applyLive(&live)
        }
    }

    /// Fails all requests that wait for an answer.
    private func end(_ rest: ArraySlice<ClientCore.Input>) {
        let unhandled = Array(rest) + core.mailbox.close()
        _ = lifecycle.disconnect()
        disconnect(ClientCore.closed)
        failWaiting(ClientCore.closed)
        for input in unhandled {
            switch input {
            case .request(_, _, _, let reply): reply(.failure(ClientCore.closed))
            case .retry(_, let reply): reply(.failure(ClientCore.closed))
            case .cancel(_, let reply): reply(.failure(ClientCore.closed))
            case .setPush(_, let reply): reply(.failure(ClientCore.closed))
            default: break
            }
        }
    }

    private func handle(_ input: ClientCore.Input) async {
        switch input {
        case .close: break
        case .connect: await perform(lifecycle.connect())
        case .reconnectNow: await reconnectNow()
        case .token(let generation, let result):
            if case .failure(let error) = result, generation == lifecycle.generation { connectionFailure = error }
            await perform(lifecycle.tokenReceived(generation, result, now: now, using: &generator))
        case .opened(let generation, let connection): await opened(generation, connection)
        case .openFailed(let generation, let error):
            if generation == lifecycle.generation { connectionFailure = error }
            await perform(lifecycle.openFailed(generation, error, now: now, using: &generator))
        case .transport(let generation, .closed(let closure)):
            await perform(
                lifecycle.closed(
                    generation, code: closure.code, reason: closure.reason, now: now, using: &generator))
        case .transport(_, .frame): break  // Handled by the loop.
        case .heartbeat(let generation):
            await perform(lifecycle.heartbeat(generation, now: now, using: &generator))
        case .tick(let due): await tick(now: max(now, due))
        case .request(let request, let timeout, let caller, let reply): await ask(request, timeout, caller, reply)
        case .requestCancelled(let caller):
            // A request that was sent still waits for its answer.
            guard let index = waiting.firstIndex(where: { $0.caller === caller }) else { break }
            waiting.remove(at: index).reply(.failure(ClientCore.cancelled))
        case .requestTimedOut(let ref, let generation):
            guard generation == lifecycle.generation else { break }
            await answered(ref, .failure(Self.timeout))
        case .waitTimedOut(let number):
            guard let index = waiting.firstIndex(where: { $0.number == number }) else { break }
            waiting.remove(at: index).reply(.failure(Self.timeout))
        case .queued(let item):
            if item.isMessage { ownTyping.sent(to: item.conversation) }
            await perform(
                outbox.enqueue(
                    item.id, in: item.conversation, isMessage: item.isMessage, needsUpload: item.needsUpload, now: now))
            await reconnectNow()
        case .uploaded(let id, let result): await uploadEnded(id, result)
        case .retry(let id, let reply):
            let waits = outbox[id] != nil
            await perform(outbox.retry(id, now: now))
            // Reply last, so that the caller's next read no longer finds the message failed.
            reply(.success(waits))
        case .cancel(let id, let reply):
            let result: Result<Outbox.Cancellation, ChatError>
            do throws(ChatError) {
                result = .success(try await cancel(id))
            } catch {
                result = .failure(error)
            }
            reply(result)
        case .settingChanged: await sendSettings()
        case .draftChanged: await syncDrafts()
        case .fetchHeads(let ids): fetchHeads(ids)
        case .reportDelivered: await perform(deliveries.needed(now: now))
        case .behind(let position):
            perform(resume.needsSync(position))
            await applyReleased()
        case .storeHeads(let heads, let cursor, let generation):
            if generation == lifecycle.generation { await store(heads, cursor) }
        case .restartSync:
            do throws(ChatError) {
                try await restartSync()
            } catch {
                await storeFailed(error)
            }
        case .setActive(let isActive):
            await perform(lifecycle.setActive(isActive, now: now))
            if isActive { Task { [core] in await core.processPushInbox() } }
        case .subscribe(let ids, let isOn): perform(isOn ? subscriptions.add(ids) : subscriptions.remove(ids))
        case .typing(let id, let isTyping): typing(in: id, isTyping: isTyping)
        case .watch(let users, let isOn): perform(isOn ? watchedUsers.add(users) : watchedUsers.remove(users))
        case .setPush(let device, let reply):
            do throws(ChatError) {
                try await setPush(device)
                reply(.success(()))
            } catch {
                reply(.failure(error))
            }
        case .pushed:
            do {
                try await fetchPushedHeads()
            } catch {
                await storeFailed(error)
            }
        }
    }

    /// Calls the state machines that wait for a time.
    ///
    /// A timer can run before the clock shows its time, if the clock is set back. A state machine ignores a tick before
    /// its time, and then gets no other one. The time of a tick is therefore at least the time at which its timer was
    /// due.
    private func tick(now: Date) async {
        outboxWakesAt = nil
        await perform(lifecycle.tick(now: now))
        await moveIfDue(now: now)
        await perform(outbox.tick(now: now))
        perform(resume.tick(now: now))
        tickTyping(now: now)
        perform(subscriptions.tick(now: now))
        await perform(deliveries.tick(now: now))
        await applyReleased()
    }

    func reconnectNow() async {
        await perform(lifecycle.reconnectNow(now: now))
    }

    func wake(at date: Date) {
        post(.tick(due: date), after: .seconds(max(0, date.timeIntervalSince(now))))
    }

    func post(_ input: ClientCore.Input, after delay: Duration) {
        Task { [mailbox = core.mailbox] in
            try? await Task.sleep(for: delay)
            mailbox.post(input)
        }
    }
}
