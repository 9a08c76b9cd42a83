import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Carrying out what ``Outbox`` wants, and handing back what came of it.
extension Driver {
    /// Stores first and transmits then: an item that may have reached the server is always known to be frozen.
    func perform(_ effects: Outbox.Effects) async {
        guard !effects.changed.isEmpty || !effects.removed.isEmpty || !effects.transmit.isEmpty || effects.wakeAt != nil
        else { return }
        do {
            let messages = try await core.store.write { writer in
                for item in effects.changed { try writer.save(item) }
                for id in effects.removed { try writer.removeFromOutbox(id) }
                return effects.transmit.map { id in (id: id, stored: Result { try writer.reader.submission(id) }) }
            }
            for message in messages {
                switch message.stored {
                case .success((let conversation, let submission)?):
                    send(.send(conversation, submission), .send(message.id))
                case .success(nil): break
                case .failure(let error):
                    // One that can't be read must not keep the others from being sent.
                    let failure = ChatError(.localStorage, "the queued message can't be read", cause: error)
                    await perform(outbox.answered(message.id, .failure(failure), now: now, using: &generator))
                }
            }
            let concerned = Set(effects.changed.map(\.conversation))
            if !concerned.isEmpty { core.changes.changed(concerned) }
        } catch {
            return await failed(error)
        }
        if let date = effects.wakeAt { wake(at: date) }
    }

    func sendAnswered(_ id: MessageID, _ result: Result<[UInt8], ChatError>) async {
        let outcome: Result<SendResult, ChatError>
        do {
            var reader = try JSONReader(try result.get())
            outcome = .success(try SendResult(from: &reader))
        } catch {
            outcome = .failure(error)
        }
        if case .success(let sent) = outcome {
            do {
                try await store(sent)
            } catch {
                return await failed(error)
            }
        }
        if case .failure(let error) = outcome, error.code == .timeout {
            // No answer is no refusal: the message may be stored. A new connection asks again under the same id.
            return await lost(nil, nil)
        }
        await perform(outbox.answered(id, outcome, now: now, using: &generator))
    }

    /// The message takes its place in the log in the transaction that takes it out of the outbox.
    private func store(_ sent: SendResult) async throws(ChatError) {
        let user = core.user
        let outcome = try await core.store.write { writer -> LogOutcome? in
            guard let (conversation, submission) = try writer.reader.submission(sent.id) else { return nil }
            try writer.removeFromOutbox(sent.id)
            guard let position = sent.position else { return nil }
            let message = Message(
                conversation: conversation, seq: position.seq, n: position.n, id: sent.id, timetoken: sent.timetoken,
                epoch: position.epoch, sender: user, type: submission.content.type, content: submission.content,
                attributes: submission.attributes)
            return try writer.apply([.sent(message)]).first
        }
        guard let outcome else { return }
        core.changes.changed([outcome.conversation])
        follow(outcome)
    }

    // MARK: Read positions

    /// Tells the server of reads it has not confirmed, one request a conversation.
    func sendReads() async {
        guard connection != nil else { return }
        do {
            for read in try await core.store.read({ try $0.pendingReads() })
            where readsInFlight.insert(read.conversation).inserted {
                send(.read(read.conversation, seq: read.seq, epoch: read.epoch), .read(read.conversation))
            }
        } catch {
            await failed(error)
        }
    }

    func readAnswered(_ id: ConversationID, _ result: Result<[UInt8], ChatError>) async {
        readsInFlight.remove(id)
        do {
            switch result {
            case .success(let body):
                var reader = try JSONReader(body)
                let summary = try ReadSummary(from: &reader)
                try await core.store.write { try $0.apply(summary, in: id) }
                core.changes.changed([id])
                await sendReads()
            // The next connection, or the next read, tries again.
            case .failure(let error) where error.isTemporary: break
            case .failure: try await core.store.write { try $0.dropPendingRead(id, seq: .max) }
            }
        } catch {
            await failed(error)
        }
    }
}
