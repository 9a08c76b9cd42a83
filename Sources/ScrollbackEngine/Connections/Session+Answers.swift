import ScrollbackModel
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
