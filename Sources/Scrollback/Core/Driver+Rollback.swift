import Foundation
import Logging
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Recovers from a server whose store went back to an earlier state.
extension Driver {
    /// Handles the server's `welcome`.
    func welcomed(_ welcome: ServerFrame.Welcome) async {
        if let time = welcome.lostAfter {
            core.logger.warning(
                "The server's store went back to an earlier state. Messages sent since then may be lost.",
                metadata: ["lostAfter": "\(time.date)"])
            do {
                // This precedes every checkpoint of this connection. If the process ends, the next connection repeats
                // it.
                try await core.store.write { [files = core.files] writer in
                    try writer.adoptRollback(lostAfter: time, files: files)
                }
            } catch {
                return await storeFailed(error)
            }
        }
        core.store.connected(lineage: welcome.lineage)
        connectionFailure = nil
        await perform(lifecycle.welcomed(as: welcome.user, heartbeat: welcome.heartbeat))
    }

    /// Fetches what a sync pass does not list: conversations that the server lost, and the user's own messages that it
    /// may have lost.
    func recoverFromRollback() async {
        guard connection != nil else { return }
        do {
            let (conversations, messages) = try await core.store.read { reader in
                (
                    try reader.outdatedConversations(),
                    try reader.unconfirmedMessages(limit: RefreshMessages.maximumMessages)
                )
            }
            fetchHeads(conversations)
            guard !messages.isEmpty, !isConfirming else { return }
            isConfirming = true
            send(RefreshMessages(messages: messages), .confirmation(messages))
        } catch {
            await storeFailed(error)
        }
    }

    func confirmationAnswered(_ asked: [MessageReference], _ result: Result<[UInt8], ChatError>) async {
        isConfirming = false
        do throws(ChatError) {
            var reader = try JSONReader(try result.get())
            let answer = try RefreshMessages.Answer(from: &reader)
            let known = answer.messages.compactMap { try? $0.result.get() }
            let messages = Dictionary(known.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            let now = now
            let lost = try await core.store.write { writer in
                try asked.compactMap { reference -> OutboxItem? in
                    guard let message = messages[reference.id] else {
                        return try writer.requeue(reference.id, now: now)
                    }
                    try writer.confirm(message, in: reference.conversation)
                    return nil
                }
            }
            for item in lost { await perform(outbox.requeue(item, now: now)) }
            core.changes.changed(Set(asked.map(\.conversation)))
            await recoverFromRollback()
        } catch {
            guard error.code != .localStorage else { return await storeFailed(error) }
            retry(after: error)
        }
    }

    /// Removes messages from the outbox that failed on this device, and that another device of the user sent.
    ///
    /// Both devices send a message that the server lost, but only one may have its file.
    func removeStored(_ messages: some Sequence<Message>) async {
        for message in messages where message.sender == core.user && outbox[message.id]?.isFailed == true {
            do {
                try await core.store.write { try $0.removeFromOutbox(message.id) }
            } catch {
                return await storeFailed(error)
            }
            await perform(outbox.answered(message.id, Result<Void, ChatError>.success(()), now: now, using: &generator))
        }
    }

    /// Removes a failed message from the outbox if the log has it.
    func removeIfStored(_ id: MessageID, in conversation: ConversationID) async {
        do {
            let message = try await core.store.read { try $0.asStored.message(id, in: conversation) }
            if let message { await removeStored([message]) }
        } catch {
            await storeFailed(error)
        }
    }
}
