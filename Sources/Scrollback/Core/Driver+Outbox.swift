import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Carrying out what ``Outbox`` wants, and handing back what came of it.
extension Driver {
    /// Stores first and transmits then: an item that may have reached the server is always known to be frozen.
    ///
    /// - Returns: whether it was stored; else nothing was transmitted, and the connection starts over.
    @discardableResult
    func perform(_ effects: Outbox.Effects) async -> Bool {
        guard effects != Outbox.Effects() else { return true }
        for id in effects.stopUpload { core.uploads.stop(id) }
        do {
            let messages = try await core.store.write { writer in
                for item in effects.changed { try writer.save(item) }
                for id in effects.removed { try writer.takeBack(id) }
                return effects.transmit.map { id in (id: id, stored: Result { try writer.reader.request(id) }) }
            }
            for message in messages {
                switch message.stored {
                case .success(let request?): send(request, .send(message.id, request))
                case .success(nil): break
                case .failure(let error):
                    // One that can't be read must not keep the others from being sent.
                    let failure = ChatError(.localStorage, "the queued message can't be read", cause: error)
                    let answer = Result<OutboxAnswer, ChatError>.failure(failure)
                    await perform(outbox.answered(message.id, answer, now: now, using: &generator))
                }
            }
            for id in effects.removed { core.uploads.forget(id) }
            for id in effects.upload { core.uploads.start(id, in: core) }
            let concerned = Set(effects.changed.map(\.conversation))
            if !concerned.isEmpty { core.changes.changed(concerned) }
        } catch {
            await failed(error)
            // They never began. Without a connection nothing else does either; the next one begins them.
            for id in effects.upload {
                let failure = ChatError(.unreachable, "the local store failed", cause: error)
                _ = outbox.uploaded(id, .failure(failure), now: now, using: &generator)
            }
            return false
        }
        if let date = effects.wakeAt, outboxWakesAt.map({ date < $0 }) ?? true {
            outboxWakesAt = date
            wake(at: date)
        }
        return true
    }

    /// Takes a message back.
    ///
    /// - Throws: why it could not be taken out of the store, and then it stays in the outbox.
    func cancel(_ id: MessageID) async throws(ChatError) -> Outbox.Cancellation {
        guard let item = outbox[id] else { return .unknown }
        let begun = try await core.store.read { try $0.uploads(of: id).filter { !$0.isDone }.compactMap(\.resource) }
        let (cancellation, effects) = outbox.cancel(id, now: now)
        guard await perform(effects) else {
            outbox.putBack(item)
            throw ChatError(.localStorage, "the message can't be taken out of this device's store")
        }
        if !effects.removed.isEmpty { core.uploads.giveUp(begun, in: core) }
        return cancellation
    }

    func sendAnswered(_ id: MessageID, _ request: ClientRequest, _ result: Result<[UInt8], ChatError>) async {
        let outcome: Result<OutboxAnswer, ChatError>
        do {
            outcome = .success(try OutboxAnswer(to: request, try result.get()))
        } catch {
            outcome = .failure(error)
        }
        if case .success(let answer) = outcome {
            do {
                guard try await store(answer, to: request, id) else { return }
            } catch {
                return await failed(error)
            }
        }
        if case .failure(let error) = outcome, error.code == .timeout {
            // No answer is no refusal: the message may be stored. A new connection asks again under the same id.
            return await lost(nil, nil)
        }
        if case .failure(let error) = outcome, error.code == .unknownMedia, await uploadAgain(id) { return }
        await perform(outbox.answered(id, outcome, now: now, using: &generator))
    }

    /// Has the files of a message uploaded once more, where this device has some that the server does not know any more.
    private func uploadAgain(_ id: MessageID) async -> Bool {
        do {
            guard try await core.store.write({ try $0.forgetUploads(of: id) }),
                let effects = outbox.uploadAgain(id, now: now)
            else { return false }
            await perform(effects)
        } catch {
            await failed(error)
        }
        return true
    }

    /// What an answer brings goes into the log in the transaction that takes the request out of the outbox.
    ///
    /// - Returns: false where a message that was stored earlier, its answer lost, must be read as it is now: what was sent
    ///   may have been changed since.
    private func store(
        _ answer: OutboxAnswer, to request: ClientRequest, _ id: MessageID
    ) async throws(ChatError) -> Bool {
        let user = core.user
        let (outcome, outdated) = try await core.store.write { writer -> (LogOutcome?, Message?) in
            guard let request = try writer.reader.request(id) else { return (nil, nil) }
            let input = answer.input(for: request, user)
            if case .sent(let message)? = input,
                try writer.reader.log(of: message.conversation)?.isOutdated(message, readAt: message.rev) == true
            {
                return (nil, message)
            }
            try writer.removeFromOutbox(id)
            return (try input.flatMap { try writer.apply([$0]).first }, nil)
        }
        if let outdated {
            let page = HistoryQuery(.before(.seq(outdated.seq + 1)), limit: 1)
            send(.history(outdated.conversation, page), .sentEarlier(id, in: outdated.conversation))
            return false
        }
        guard let outcome else {
            switch (answer, request) {
            case (.done(let conversation), _):
                core.changes.changed([conversation])
                await recheck([conversation])
                // When it was last active, if it still was, only the server knows.
                if try await core.store.read({ try $0.isListedEmpty(conversation) }) { learn([conversation]) }
            // Nothing of it is kept: whoever waits for it, or shows it, sees that it is out of the outbox.
            case (.sent, .send(let conversation, _)): core.changes.changed([conversation])
            default: break
            }
            return true
        }
        core.changes.changed([outcome.conversation])
        follow(outcome)
        return true
    }

    /// Takes a message that was stored earlier as it is now, and out of the outbox.
    func sentEarlier(
        _ id: MessageID, in conversation: ConversationID, _ result: Result<[UInt8], ChatError>
    ) async {
        if case .failure(let error) = result, error.code == .timeout { return await lost(nil, nil) }
        do throws(ChatError) {
            var page: LogPage?
            switch result {
            case .success(let body):
                var reader = try JSONReader(body)
                page = try LogPage(from: &reader)
            // Sent once more in a while, which changes nothing there.
            case .failure(let error) where error.isTemporary: throw error
            // Who may read there no more has no message to show.
            case .failure: break
            }
            let outcome = try await core.store.write { [page] writer in
                try writer.removeFromOutbox(id)
                return try page.flatMap { try writer.apply([.page(conversation, $0)]).first }
            }
            core.changes.changed([conversation])
            if let outcome { follow(outcome) }
            await perform(outbox.answered(id, Result<Void, ChatError>.success(()), now: now, using: &generator))
        } catch {
            guard error.code != .localStorage else { return await failed(error) }
            await perform(outbox.answered(id, Result<Void, ChatError>.failure(error), now: now, using: &generator))
        }
    }
}
