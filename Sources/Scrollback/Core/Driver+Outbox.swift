import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Carries out the effects of ``Outbox`` and reports their results back to it.
extension Driver {
    /// The longest time for which a change of members or settings delays later messages of its conversation.
    private static let longestDelay: TimeInterval = 60

    /// Stores the changed items, and then transmits.
    ///
    /// An item that may have reached the server is therefore always stored as transmitted
    /// (``OutboxItem/wasTransmitted``).
    ///
    /// - Returns: Whether the changes were stored. If not, nothing was transmitted and the connection starts over.
    @discardableResult
    func perform(_ effects: Outbox.Effects) async -> Bool {
        guard effects != Outbox.Effects() else { return true }
        for id in effects.stopUpload { core.uploads.stop(id) }
        do {
            let messages = try await core.store.write { writer in
                for item in effects.changed { try writer.save(item) }
                for id in effects.removed { try writer.removeUnsent(id) }
                return effects.transmit.map { id in (id: id, stored: Result { try writer.reader.request(id) }) }
            }
            for message in messages {
                switch message.stored {
                case .success(let request?): send(request, .send(message.id, request))
                case .success(nil): break
                case .failure(let error):
                    // An unreadable message must not block the others.
                    let failure = ChatError(.localStorage, "The queued message can't be read.", cause: error)
                    let answer = Result<OutboxAnswer, ChatError>.failure(failure)
                    await perform(outbox.answered(message.id, answer, now: now, using: &generator))
                }
            }
            for id in effects.removed { core.uploads.forget(id) }
            for id in effects.upload { core.uploads.start(id, in: core) }
            let concerned = Set(effects.changed.map(\.conversation))
            if !concerned.isEmpty { core.changes.changed(concerned) }
        } catch {
            await storeFailed(error)
            // The uploads never began. The next connection starts them.
            for id in effects.upload {
                let failure = ChatError(.unreachable, "The local store failed.", cause: error)
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

    /// Cancels a message.
    ///
    /// - Throws: The error if the message could not be deleted from the store. It then stays in the outbox.
    func cancel(_ id: MessageID) async throws(ChatError) -> Outbox.Cancellation {
        guard let item = outbox[id] else { return .unknown }
        let begun = try await core.store.read { try $0.uploads(of: id).filter { !$0.isDone }.compactMap(\.resource) }
        let request = try await core.store.read { try $0.request(id) }
        let (cancellation, effects) = outbox.cancel(id, now: now)
        guard await perform(effects) else {
            outbox.restore(item)
            throw ChatError(.localStorage, "The message can't be deleted from this device's store.")
        }
        if !effects.removed.isEmpty {
            core.uploads.cancelUploads(begun, in: core)
            if let request { try await undo(request, in: item.conversation) }
        }
        return cancellation
    }

    /// Undoes the effect that a request had on the store when it was queued, after it was refused or cancelled.
    private func undo(_ request: OutboxRequest, in id: ConversationID) async throws(ChatError) {
        guard case .putConversation(let request) = request, request.exists == false else { return }
        try await core.store.write { try $0.undoCreation(id) }
        core.changes.changed([id])
    }

    func sendAnswered(
        _ id: MessageID, to ref: Int64, _ request: OutboxRequest, _ result: Result<[UInt8], ChatError>
    ) async {
        var outcome: Result<OutboxAnswer, ChatError>
        do {
            outcome = .success(try OutboxAnswer(to: request, result))
        } catch {
            outcome = .failure(error)
        }
        // The daily quota for members, for example, delays a change for hours. The user can retry it.
        if case .failure(var error) = outcome, request.failsWhenDelayed, error.retryAfter ?? 0 > Self.longestDelay {
            error.isTemporary = false
            outcome = .failure(error)
        }
        if case .success(let answer) = outcome {
            do {
                guard try await store(answer, to: ref, request, id) else { return }
            } catch {
                return await storeFailed(error)
            }
        }
        if case .failure(let error) = outcome, error.code == .timeout {
            // A timeout is not a rejection: the message may be stored. A new connection sends it again with the same
            // ID.
            return await dropConnection()
        }
        if case .failure(let error) = outcome, error.code == .unknownMedia, await reupload(id) { return }
        if case .failure(let error) = outcome, error.code == .unknownMedia, case .send = request {
            outcome = .failure(Self.missingFile(error))
        }
        if case .failure(let error) = outcome, error.code == .unknownConversation, let item = outbox[id] {
            outcome = .failure(await explained(error, of: item))
        }
        await perform(outbox.answered(id, outcome, now: now, using: &generator))
        if let item = outbox[id], item.isFailed {
            do {
                try await undo(request, in: item.conversation)
            } catch {
                return await storeFailed(error)
            }
        }
        if case .failure(let error) = outcome { await fetchHeadIfGone(of: id, after: error) }
        // Another device of the user sent the message first, in an older or newer version.
        if case .failure(let error) = outcome, error.code == .conflict, case .send(let request) = request {
            await removeIfStored(id, in: request.conversation)
        }
    }

    func uploadEnded(_ id: MessageID, _ result: Result<Void, ChatError>) async {
        core.uploads.ended(id)
        var result = result
        if case .failure(let error) = result, error.code == .unknownConversation, let item = outbox[id] {
            result = .failure(await explained(error, of: item))
        }
        await perform(outbox.uploaded(id, result, now: now, using: &generator))
        if case .failure(let error) = result, !error.isTemporary { await fetchHeadIfGone(of: id, after: error) }
    }

    /// Returns the error of a message whose conversation the server does not know.
    ///
    /// If the server refused an earlier request to create the conversation, the error states why. If such a request is
    /// still queued, which uploads do not wait for, the error is temporary.
    private func explained(_ error: ChatError, of message: OutboxItem) async -> ChatError {
        guard message.isMessage else { return error }
        var error = error
        for item in outbox.items
        where item.conversation == message.conversation && item.ordinal < message.ordinal && !item.isMessage {
            let request = try? await core.store.read { try $0.request(item.id) }
            guard case .putConversation(let creation)? = request, creation.exists == false else { continue }
            if case .failed(let refusal) = item.state {
                error.message = "The conversation could not be created: \(refusal.message)"
            } else {
                error.isTemporary = true
            }
        }
        return error
    }

    /// Fetches the head of a refused item's conversation if the server does not know the conversation.
    ///
    /// A conversation that the server deleted or lost is deleted when its last queued message has failed.
    private func fetchHeadIfGone(of id: MessageID, after error: ChatError) async {
        guard error.code == .unknownConversation else { return }
        if let item = outbox[id] { fetchHeads([item.conversation]) }
        await recoverFromRollback()
    }

    /// The error of a message that can't be sent because the server lacks one of its files, which this device can't
    /// upload again.
    private static func missingFile(_ error: ChatError) -> ChatError {
        ChatError(
            .unknownMedia,
            "The server has no file of this message that you may send, and the file is not stored on this device. "
                + "Delete the message and send the file again.", parameter: error.parameter, cause: error)
    }

    /// Uploads the files of a message again, if the server no longer has them.
    ///
    /// - Returns: Whether the message has such files.
    private func reupload(_ id: MessageID) async -> Bool {
        do {
            guard try await core.store.write({ try $0.resetUploads(of: id) }),
                let effects = outbox.reupload(id, now: now)
            else { return false }
            await perform(effects)
        } catch {
            await storeFailed(error)
        }
        return true
    }

    /// Applies an answer to the log, in the transaction that removes the request from the outbox.
    ///
    /// - Returns: `false` if the message was already stored earlier and may have been changed since. It must be read
    ///   from the server.
    private func store(
        _ answer: OutboxAnswer, to ref: Int64, _ request: OutboxRequest, _ id: MessageID
    ) async throws(ChatError) -> Bool {
        let user = core.user
        let isOfDeletedLog = outbox[id].map { wasDeleted($0.conversation, after: ref) } ?? false
        // The server may have done a repeated request before changes that this device already knows.
        let isRepeated = outbox[id].map { $0.attempts > 1 } ?? false
        let (outcome, outdated) = try await core.store.write { writer -> (LogOutcome?, Message?) in
            guard let request = try writer.reader.request(id) else { return (nil, nil) }
            var input = answer.input(for: request, user)
            if case .sent(let message)? = input, let log = try writer.reader.log(of: message.conversation) {
                if log.isOutdated(message, readAt: message.rev) { return (nil, message) }
                // The message was deleted with its log. The conversation was created again and has a new one.
                if isOfDeletedLog, log.epoch != message.epoch { input = nil }
            }
            try writer.removeFromOutbox(id)
            switch (answer, request) {
            case (.done(let conversation), .putConversation(let request)) where !isRepeated:
                try writer.saveAccepted(request.settings, of: conversation)
            case (.done(let conversation), .deleteConversation): try writer.deleteConversation(conversation)
            case (.thread(let conversation, let state), _): try writer.save(state, in: conversation)
            case (.done, .putMember(let request)): try writer.saveAccepted(.put(request))
            case (.done, .removeMember(let request)), (.done, .leave(let request)):
                try writer.saveAccepted(.remove(request))
            default: break
            }
            return (try input.flatMap { try writer.apply([$0]).first }, nil)
        }
        if let outdated {
            let page = HistoryQuery(.before(.seq(outdated.seq + 1)), limit: 1)
            send(
                GetHistory(conversation: outdated.conversation, query: page),
                .alreadyStored(id, in: outdated.conversation))
            return false
        }
        guard let outcome else {
            switch (answer, request) {
            // The answer can be older than the newest announcement of the profile, which has the change.
            case (.done, .putUser):
                core.ownProfile.invalidate()
                core.changes.changedAnything()
            case (.thread(let conversation, _), _): core.changes.changed([conversation])
            case (.done(let conversation), _):
                core.changes.changed([conversation])
                await recheck([conversation])
                // Only the server knows the time of the conversation's last activity, if any, and whether another
                // device changed the name since the request.
                var needsHead = try await core.store.read { try $0.isListedWithoutMessage(conversation) }
                if case .putConversation = request { needsHead = true }
                if needsHead { fetchHeads([conversation]) }
            // The message is not stored; observers notice that it left the outbox.
            case (.sent, .send(let request)): core.changes.changed([request.conversation])
            default: break
            }
            return true
        }
        core.changes.changed([outcome.conversation])
        // A stored message of another user may follow the sent one.
        core.reportDelivered(after: [outcome])
        requestMissing(after: outcome)
        return true
    }

    /// Stores the current state of a message that was sent earlier, and removes it from the outbox.
    func alreadyStored(
        _ id: MessageID, in conversation: ConversationID, _ result: Result<[UInt8], ChatError>
    ) async {
        if case .failure(let error) = result, error.code == .timeout { return await dropConnection() }
        do throws(ChatError) {
            var page: LogPage?
            switch result {
            case .success(let body):
                var reader = try JSONReader(body)
                page = try LogPage(from: &reader)
            // The message is sent again after a delay, which has no effect on the server.
            case .failure(let error) where error.isTemporary: throw error
            // Without permission to read the conversation, there is no message to show.
            case .failure: break
            }
            let outcome = try await core.store.write { [page] writer in
                try writer.removeFromOutbox(id)
                return try page.flatMap { try writer.apply([.page(conversation, $0)]).first }
            }
            core.changes.changed([conversation])
            if let outcome {
                core.reportDelivered(after: [outcome])
                requestMissing(after: outcome)
            }
            await perform(outbox.answered(id, Result<Void, ChatError>.success(()), now: now, using: &generator))
        } catch {
            guard error.code != .localStorage else { return await storeFailed(error) }
            await perform(outbox.answered(id, Result<Void, ChatError>.failure(error), now: now, using: &generator))
        }
    }
}
