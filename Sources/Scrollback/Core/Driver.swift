import Foundation
import Logging
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// The loop of a ``ClientCore``: owns the connection and the state machines, and is run by one task only.
final class Driver {
    let core: ClientCore
    var outbox: Outbox
    var push: PushRegistration
    var resume = ResumeState()
    var generator = SystemRandomNumberGenerator()

    var phase = Phase.idle
    /// Counts connections; what an earlier one still says is ignored.
    var generation = 0
    var backoff = Backoff()
    var hasRefreshedToken = false
    var token = ""
    /// Whether the window under way is its pass's last, and whether that pass began on an earlier connection.
    var windowEndsPass = false
    var continuesPass = false
    /// Whether another pass began on this connection: what channels and rooms that are heard brought may be lost with the one
    /// before.
    var hasBegunAgain = false
    /// Live events that may be applied.
    var released: [LiveEvent] = []
    var heartbeat = 30
    var lastHeard = Date.distantPast
    var lastRef: Int64 = 0
    var requests: [Int64: Request] = [:]
    /// Requests that came while a connection was being made.
    var waiting: [(ClientRequest, timeout: Duration, ClientCore.Reply<[UInt8]>)] = []
    /// Conversations of which something that was set is on its way.
    var statesInFlight: Set<ConversationID> = []
    /// What is unread in all conversations, as the window under way says.
    var windowTotals: UnreadTotals?
    var learning: Set<ConversationID> = []
    /// Those of them that must be asked for once more.
    var learningAgain: Set<ConversationID> = []
    /// Those whose heads left their counts open, and were asked for once more.
    var learnedTwice: Set<ConversationID> = []
    /// Those that are asked for in a while.
    var learningLater: Set<ConversationID> = []
    /// Channels and rooms somebody wants to hear in full.
    var subscriptions: [ConversationID: Int] = [:]
    /// When to ask again for those that were refused for now.
    var subscriptionRetries: [ConversationID: Date] = [:]
    /// When to tell and ask again what the server could not take or answer for now.
    var retryAt: Date?
    /// People somebody wants to hear of, and how often.
    var watched: [UserID: Int] = [:]
    /// Whether the server could not say for now who of them is there.
    var watchesLater = false
    var ownTyping = OwnTyping()
    var typingPeople = TypingPeople()
    var typingWake: Date?
    var heard = HeardIDs()
    var isActive = true
    /// What the server was told of that when it was greeted.
    var greetedActive = true
    var lastKick = Date.distantPast
    /// When the loop will look at the clock for the outbox, which then says when to look again.
    var outboxWakesAt: Date?

    enum Phase {
        case idle
        case opening
        case greeting(any TransportConnection)
        case online(any TransportConnection)
        case waiting(until: Date)
        case rejected
    }

    /// What is to be done with the answer to a request.
    enum Request {
        case reply(ClientCore.Reply<[UInt8]>)
        case send(MessageID, ClientRequest)
        /// Of a message that the server had already.
        case sentEarlier(MessageID, in: ConversationID)
        case window(Int)
        case logs(batch: Int, [LogPosition])
        case read(ConversationID)
        case reads([ConversationID])
        case state(PendingState)
        case heads([ConversationID])
        case subscription([ConversationID])
        case presence
        case push(PushRegistration.Step)
        case nothing
    }

    init(core: ClientCore, outbox: Outbox, push: PushRegistration) {
        self.core = core
        self.outbox = outbox
        self.push = push
    }

    var now: Date { core.clock() }

    var connection: (any TransportConnection)? {
        if case .online(let connection) = phase { return connection }
        return nil
    }

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
                // Messages that come in a row are applied in one transaction.
                guard case .transport(let generation, .frame(let bytes)) = input else {
                    await applyLive(&live)
                    await handle(input)
                    continue
                }
                guard generation == self.generation, let frame = decode(bytes) else { continue }
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

    /// Everybody who waits for an answer gets one.
    private func end(_ rest: ArraySlice<ClientCore.Input>) {
        let unheard = Array(rest) + core.mailbox.close()
        disconnect()
        for (_, _, reply) in waiting { reply(.failure(ClientCore.closed)) }
        waiting = []
        for input in unheard {
            switch input {
            case .request(_, _, let reply): reply(.failure(ClientCore.closed))
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
        case .connect:
            if case .idle = phase { open() }
            if case .rejected = phase { open() }
            if case .waiting = phase { open() }
        case .kick: kick()
        case .token(let generation, let result) where generation == self.generation: tokenCame(result)
        case .opened(let generation, let connection): opened(generation, connection)
        case .openFailed(let generation, let error) where generation == self.generation: await lost(nil, error)
        case .transport(let generation, let event) where generation == self.generation:
            if case .closed(let closure) = event { await lost(closure, nil) }
        case .heartbeat(let generation) where generation == self.generation: beat()
        case .token, .openFailed, .transport, .heartbeat: break
        case .tick: await tick()
        case .request(let request, let timeout, let reply): ask(request, timeout, reply)
        case .requestTimedOut(let ref, let generation) where generation == self.generation:
            await answered(ref, .failure(ChatError(.timeout, "the server did not answer in time")))
        case .requestTimedOut: break
        case .queued(let item):
            if item.isMessage { ownTyping.sent(to: item.conversation) }
            await perform(
                outbox.enqueue(
                    item.id, in: item.conversation, isMessage: item.isMessage, needsUpload: item.needsUpload, now: now))
            kick()
        case .uploaded(let id, let result):
            core.uploads.ended(id)
            await perform(outbox.uploaded(id, result, now: now, using: &generator))
        case .retry(let id, let reply):
            let waits = outbox[id] != nil
            await perform(outbox.retry(id, now: now))
            // Whoever asks next finds it waiting, and no more failed.
            reply(.success(waits))
        case .cancel(let id, let reply):
            let result: Result<Outbox.Cancellation, ChatError>
            do throws(ChatError) {
                result = .success(try await cancel(id))
            } catch {
                result = .failure(error)
            }
            reply(result)
        case .stateSet: await sendStates()
        case .learn(let ids): learn(ids)
        case .behind(let position):
            perform(resume.needsSync(position))
            await applyReleased()
        case .storeHeads(let heads, let cursor, let generation):
            if generation == self.generation { await store(heads, cursor) }
        case .recheck(let ids): await recheck(ids)
        case .setActive(let isActive):
            self.isActive = isActive
            if isActive {
                kick()
                Task { [core] in await core.lookIntoPushInbox() }
            }
            if connection != nil { send(.activity(isActive: isActive), .nothing) }
        case .subscribe(let ids, let isOn): subscribe(ids, isOn: isOn)
        case .typing(let id, let isTyping): typing(in: id, isTyping: isTyping)
        case .watch(let users, let isOn): watch(users, isOn: isOn)
        case .setPush(let device, let reply):
            do throws(ChatError) {
                try await setPush(device)
                reply(.success(()))
            } catch {
                reply(.failure(error))
            }
        case .pushed:
            do {
                try await askAboutPushed()
            } catch {
                await failed(error)
            }
        }
    }

    private func tick() async {
        outboxWakesAt = nil
        if case .waiting(let until) = phase, until <= now { open() }
        await perform(outbox.tick(now: now))
        perform(resume.tick(now: now))
        tickTyping()
        tickSubscriptions()
        await tickRetries()
        await applyReleased()
    }

    func wake(at date: Date) {
        let seconds = max(0, date.timeIntervalSince(now)) + 0.001
        Task { [mailbox = core.mailbox] in
            try? await Task.sleep(for: .seconds(seconds))
            mailbox.post(.tick)
        }
    }
}
