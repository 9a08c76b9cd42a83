public import Foundation
public import ScrollbackModel
import ScrollbackSync

/// A message on its way out, or something on its way to be done to one.
///
/// It goes on by itself; this only tells of it.
public struct Sending: Sendable, Identifiable {
    /// Its id: of a message the message's own, which it keeps; of a change the id that makes a retry of it harmless.
    public let id: MessageID
    /// Where it goes.
    public let conversation: ConversationID
    let core: ClientCore
    /// The message that something is done to; nothing where the message itself is sent.
    var changes: MessageID?

    /// How far a message has come.
    public enum State: Equatable, Sendable {
        /// Safe on this device, waiting for its turn or for the network.
        case stored
        /// Its files are on their way to the server, 0...1 of them.
        case uploading(Double)
        /// Handed to the server, whose answer is to come.
        case sending
        /// Refused for now; tried again by itself at this time.
        case waiting(until: Date)
        /// On the server, at its place; a change: done to this message.
        case sent(Message)
        /// Refused for good: ``Sending/retry()`` or ``Sending/cancel()`` it.
        case failed(ChatError)
        /// Cancelled, or sent without being stored, or done to a message that is not on this device.
        case gone
    }

    /// How far it has come, from now on until it is sent, failed or gone.
    public var states: AsyncStream<State> {
        let (stream, continuation) = AsyncStream.makeStream(of: State.self, bufferingPolicy: .bufferingNewest(1))
        let changes = core.changes.changes(of: .conversation(conversation))
        let task = Task { [self] in
            var last: State?
            for await _ in changes {
                guard let state = try? await current() else { break }
                // Other messages of the conversation change too.
                if state != last { continuation.yield(state) }
                last = state
                if state.isFinal { break }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// What the message says, as it waits to be sent; nothing once it is sent, and of a change.
    ///
    /// What was encrypted with a key that this client was not given again is as it will be sent.
    ///
    /// - Throws: `local-storage`.
    public func content() async throws(ChatError) -> MessageContent? {
        try await core.store.read { [id] in try $0.pending(id)?.submission.content }
    }

    /// Waits until the message is on the server.
    ///
    /// - Returns: the message; of a change, the message as it is then.
    /// - Throws: why it failed; `cancelled` for what is ``State/gone``: of a change that leaves no message on this device, such
    ///   as a deletion for oneself, wait for ``finished()`` instead. `closed` when the client was closed, or the task that
    ///   waits was cancelled.
    public func delivered() async throws(ChatError) -> Message {
        guard let message = try await outcome() else {
            throw ChatError(.cancelled, "the message was cancelled, or sent without being stored")
        }
        return message
    }

    /// Waits until the server has taken it, whether or not a message is left to show.
    ///
    /// - Throws: why it failed; `closed` when the client was closed, or the task that waits was cancelled.
    public func finished() async throws(ChatError) {
        _ = try await outcome()
    }

    private func outcome() async throws(ChatError) -> Message? {
        for await state in states {
            switch state {
            case .sent(let message): return message
            case .failed(let error): throw error
            case .gone: return nil
            case .stored, .uploading, .sending, .waiting: continue
            }
        }
        throw ChatError(.closed, "the client was closed, or nobody waits any more; the message stays queued")
    }

    /// Tries again now, at its old place and under the same id.
    ///
    /// One that is on its way already is left as it is.
    ///
    /// - Throws: `unknown-message` when it is not waiting to be sent: it was sent, or cancelled.
    public func retry() async throws(ChatError) {
        let isQueued = try await core.ask { .retry(id, $0) }
        guard isQueued else { throw ChatError(.unknownMessage, "the message is not waiting to be sent") }
        core.mailbox.post(.kick)
    }

    /// Takes the message back.
    ///
    /// One that was handed to the server before, on a connection that was lost, may have been stored there all the
    /// same.
    ///
    /// - Throws: `conflict` while it is in flight, since the server may have it; `unknown-message` when it is not waiting
    ///   to be sent.
    public func cancel() async throws(ChatError) {
        let cancellation = try await core.ask { .cancel(id, $0) }
        core.changes.changed([conversation])
        switch cancellation {
        case .cancelled, .mayHaveBeenStored: return
        case .inFlight: throw ChatError(.conflict, "the message is being sent: recall it instead")
        case .unknown: throw ChatError(.unknownMessage, "the message is not waiting to be sent")
        }
    }

    private func current() async throws(ChatError) -> State {
        try await core.store.read { [id, conversation, changes, core] reader in
            let message = try reader.message(changes ?? id, in: conversation)
            // A change is done once it is out of the outbox; a message once it is in the log.
            if let message, changes == nil { return .sent(message) }
            if let progress = try reader.progress(id) {
                return State(progress, uploaded: { core.uploads.fraction(of: id) })
            }
            return message.map { .sent($0) } ?? .gone
        }
    }
}

extension Sending.State {
    fileprivate var isFinal: Bool {
        switch self {
        case .sent, .failed, .gone: true
        case .stored, .uploading, .sending, .waiting: false
        }
    }
}
