import Foundation
import Logging
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Sends requests, and handles answers and events of the server.
extension Driver {
    func ask(
        _ request: any FrameRequest, _ timeout: Duration, _ caller: RequestCaller,
        _ reply: @escaping ClientCore.Reply<[UInt8]>
    ) async {
        guard !caller.isCancelled else { return reply(.failure(ClientCore.cancelled)) }
        switch lifecycle.phase {
        case .online: send(request, .reply(reply), timeout: timeout)
        case .opening, .authenticating: wait(request, timeout, caller, reply)
        case .waiting where lifecycle.isMoving: wait(request, timeout, caller, reply)
        case .waiting:
            await reconnectNow()
            if lifecycle.phase == .opening {
                wait(request, timeout, caller, reply)
            } else {
                reply(.failure(unreachable))
            }
        case .idle: reply(.failure(ChatError(.unreachable, "The client is not connected. Call connect() first.")))
        case .rejected(let reason):
            let message = "The server rejected this client. Call connect() to try again."
            reply(.failure(ChatError(.unreachable, message, cause: reason)))
        }
    }

    static let timeout = ChatError(.timeout, "The server did not answer in time.")

    private func wait(
        _ request: any FrameRequest, _ timeout: Duration, _ caller: RequestCaller,
        _ reply: @escaping ClientCore.Reply<[UInt8]>
    ) {
        lastWaiting += 1
        waiting.append(
            WaitingRequest(number: lastWaiting, request: request, end: .now + timeout, caller: caller, reply: reply))
        post(.waitTimedOut(lastWaiting), after: timeout)
    }

    func send(_ request: any FrameRequest, _ purpose: Request, timeout: Duration? = nil) {
        guard let connection else { return }
        lastRef += 1
        let ref = lastRef
        requests[ref] = purpose
        connection.send(request.frame(ref: ref))
        post(.requestTimedOut(ref: ref, generation: lifecycle.generation), after: timeout ?? core.requestTimeout)
    }

    func decode(_ bytes: [UInt8]) -> ServerFrame? {
        lifecycle.received(now: now)
        do {
            var checkpoint: String?
            let frame = try ServerFrame.decode(bytes, checkpoint: &checkpoint)
            if let checkpoint { core.store.note(checkpoint: checkpoint) }
            return frame
        } catch {
            core.logger.warning("A frame from the server could not be decoded.", metadata: ["code": "\(error.code)"])
            return nil
        }
    }

    func received(_ frame: ServerFrame) async {
        switch frame {
        case .welcome(let welcome): await welcomed(welcome)
        case .result(let ref, let body):
            await answered(ref, .success(body))
            await moveIfDue(now: now)
        case .error(let ref, let error):
            guard let ref else {
                core.logger.warning("The server rejected a frame.", metadata: ["code": "\(error.code)"])
                return
            }
            await answered(ref, .failure(error))
            await moveIfDue(now: now)
        case .event(let event): await eventReceived(event)
        case .moving(let milliseconds):
            let within = Double(milliseconds) / 1000
            await perform(lifecycle.moving(within: within, now: now, using: &generator))
        case .unknown: break
        }
    }

    func answered(_ ref: Int64, _ result: Result<[UInt8], ChatError>) async {
        guard let request = requests.removeValue(forKey: ref) else { return }
        switch request {
        case .nothing: break
        case .reply(let reply): reply(result)
        case .send(let id, let request): await sendAnswered(id, to: ref, request, result)
        case .alreadyStored(let id, let conversation): await alreadyStored(id, in: conversation, result)
        case .read(let id): await readAnswered(id, result)
        case .reads(let ids):
            await readsAnswered(
                ids,
                result.flatMap { body in
                    Result { () throws(ChatError) in
                        var reader = try JSONReader(body)
                        return try ReadResult.list(&reader)
                    }
                })
        case .delivered(let marks): await deliveriesAnswered(marks, result)
        case .state(let state): await stateAnswered(state, result)
        case .drafts(let cursor): await draftsAnswered(cursor, result)
        case .draft(let draft): await draftAnswered(draft, result)
        case .window(let number): await windowAnswered(number, result)
        case .logs(let batch, let positions): await logsAnswered(batch, positions, result)
        case .subscription(let ids): await subscriptionsAnswered(ids, to: ref, result)
        case .presence: handlePresenceResponse(result)
        case .push(let step): await handlePushResponse(step, result)
        case .heads(let ids): await headsAnswered(ids, to: ref, result)
        case .confirmation(let messages): await confirmationAnswered(messages, result)
        }
    }

    private func eventReceived(_ event: ServerEvent) async {
        do {
            switch event {
            case .message, .changed, .head, .hidden: break  // Handled as live events.
            case .transient(let message):
                messageReceived(from: message.sender, in: message.conversation)
                if receivedIDs.isNew(message.id, now: now) { core.notify(.transient(message)) }
            case .read(let id, let summary): try await stateChanged([(id, summary)])
            case .reads(let reads): try await stateChanged(reads)
            case .draft(let draft): try await received(draft)
            case .thread(let id, let state):
                try await core.store.write { try $0.save(state, in: id) }
                core.changes.changed([id])
            case .peerRead(let id, let user, let seq):
                try await core.store.write { try $0.savePeerRead(seq, in: id) }
                try await fetchHeadAfterPeerEvent(id)
                core.changes.changed([id])
                core.events.send(.read(id, user, seq))
            case .delivered(let id, let user, let seq):
                if id.kind == .direct {
                    try await core.store.write { try $0.savePeerDelivered(seq, in: id) }
                    try await fetchHeadAfterPeerEvent(id)
                    core.changes.changed([id])
                }
                core.events.send(.delivered(id, user, seq))
            case .invitation(let invitation): core.events.send(.invitation(invitation))
            case .invitationEnded(let id): core.events.send(.invitationEnded(id))
            case .presence(let user, let presence):
                receivedPresence([(user, presence)])
                core.events.send(.presence(user, presence))
            case .member(let id, let user, let role):
                // Joining or leaving a community affects many channels at once. A sync pass fetches their heads and
                // holds back their live events until then.
                if user == core.user { try await restartSync() }
                // If the user was removed from a subscribed room, ask the server, so that the subscription reports the
                // reason.
                if user == core.user, role == nil { perform(subscriptions.request([id])) }
                if user != core.user { try await fetchHeadIfUnknown(id) }
                try await core.store.write { try $0.saveMember(user, role, of: id.administered) }
                core.events.send(.member(id, user, role))
            case .typing(let id, let user, let isTyping):
                receivedTyping(user, in: id, isTyping: isTyping)
                core.events.send(.typing(id, user, isTyping: isTyping))
            case .conversation(let id, let isDeleted):
                if isDeleted {
                    deletions[id.absolute(for: core.user)] = lastRef
                    try await core.store.write { try $0.deleteConversation(id) }
                    core.changes.changed([id])
                    // A window from before the deletion would restore the conversation. Another pass reports the
                    // deletion.
                    if resume.isFetchingWindows { try await restartSync() }
                } else {
                    fetchHeads([id])
                }
                core.events.send(.conversation(id, isDeleted: isDeleted))
            case .user(let profile):
                try await core.saveAnnouncedProfile(profile)
            case .resync: try await restartSync()
            }
        } catch {
            await storeFailed(error)
        }
    }
}

extension ServerFrame {
    /// The frame's log update, or `nil` for any other frame.
    var liveEvent: LiveEvent? {
        guard case .event(let event) = self else { return nil }
        switch event {
        case .message(let message): return .message(message)
        case .changed(let id, let epoch, let change): return .changed(id, epoch, change)
        case .head(let id, let update):
            // The event does not include the view, which is specific to the device.
            let head = LogHead(
                epoch: update.epoch, view: 0, head: update.seq, firstSeq: update.firstSeq ?? 1,
                countedIndex: update.countedIndex, rev: update.rev)
            return .head(id, head, last: update.last, altersCounts: update.altersCounts)
        case .hidden(let id, let epoch, let places): return .hidden(id, epoch, places)
        default: return nil
        }
    }
}
