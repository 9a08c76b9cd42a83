package import ScrollbackModel
import ScrollbackWire
import Synchronization

/// Answers to requests.
extension Session {
    func answer<Answer>(
        _ ref: Int64, _ result: Result<Answer, ChatError>, _ encode: (inout JSONWriter, Answer) -> Void
    ) {
        switch result {
        case .success(let value):
            // The commit is read after the answer, so that the checkpoint covers it. Without the number, the store is
            // failing and the session can't vouch for what the client has seen.
            let checkpoint: String?
            let lineage = state.withLock { $0.lineage }
            do { checkpoint = try engine.checkpoints.current(on: lineage) } catch { return close(.restarting) }
            guard let checkpoint else { return close(.restarting, Engine.newIncarnationReason) }
            transport.send(ServerFrame.encodeResult(ref: ref, checkpoint: checkpoint) { encode(&$0, value) })
        case .failure(let error): answer(ref, error)
        }
    }

    func answer(_ ref: Int64?, _ error: ChatError) {
        transport.send(ServerFrame.encodeError(ref: ref, error))
    }
}

extension ChatError {
    /// Keeps a `ChatError` as it is, and wraps every other error that a store throws.
    package init(wrapping error: any Error) {
        self = error as? ChatError ?? ChatError(.internalError, "The store failed.", cause: error)
    }
}

extension Engine {
    /// Returns the conversations whose messages a connection of the caller receives without subscribing.
    ///
    /// These are conversations that stream to their members, private channels, and communities, whose members are
    /// notified of channels with new messages.
    ///
    /// - Returns: Each conversation with the sequence number above which the caller sees every message.
    package func automaticSubscriptions(of caller: Caller) throws -> [ConversationID: Seq] {
        try store.read { store in
            var ids: [ConversationID: Seq] = [:]
            for member in try store.memberships(of: caller.user) where member.standing == .member {
                guard let row = try store.conversation(numbered: member.conversation), !row.isDeleted,
                    permissions[.read, row.id.kind].isMet(by: member.role, isAdmin: caller.isAdmin)
                else { continue }
                ids[row.id] = try store.fullyVisibleAfter(member, in: row)
            }
            return ids
        }
    }
}
