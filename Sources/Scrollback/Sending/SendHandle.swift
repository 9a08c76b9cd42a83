public import Foundation
public import ScrollbackModel
import ScrollbackSync

/// A handle for a message that is being sent, or for a queued change.
///
/// The client sends queued messages and changes automatically. The handle observes the progress, retries and cancels.
public struct SendHandle: Sendable, Identifiable {
    /// The ID of the message, or of the change, which makes retries idempotent.
    public let id: MessageID
    /// The conversation.
    public let conversation: ConversationID
    let core: ClientCore
    /// The message that a change applies to, or the change's own ID if it applies to no message; `nil` if the handle is
    /// for a message.
    var target: MessageID?

    /// The progress of a message or change.
    public enum State: Equatable, Sendable {
        /// Stored durably on this device, and waiting for its turn or for the network.
        case stored
        /// Uploading files, with the fraction uploaded, 0...1.
        case uploading(Double)
        /// Transmitted, and waiting for the server's answer.
        case sending
        /// Failed temporarily; the client retries at this time.
        case waiting(until: Date)
        /// Accepted by the server: the stored message, or the message after the change.
        case sent(Message)
        /// Failed permanently; call ``SendHandle/retry()`` or ``SendHandle/cancel()``.
        case failed(ChatError)
        /// Cancelled, sent without being stored, or an accepted change that leaves no message on this device.
        case gone
    }

    /// The current state and its changes, until the state is final: sent, failed or gone.
    public var states: AsyncStream<State> {
        let (stream, continuation) = AsyncStream.makeStream(of: State.self, bufferingPolicy: .bufferingNewest(1))
        let changes = core.changes.changes(of: .conversation(conversation))
        let task = Task { [self] in
            var last: State?
            for await _ in changes {
                guard let state = try? await core.retryingReads(current) else { break }
                // The change may concern another message of the conversation.
                if state != last { continuation.yield(state) }
                last = state
                if state.isFinal { break }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Returns the content of a queued message; `nil` after it was sent, and for changes.
    ///
    /// Content that was encrypted with a key this client doesn't have is returned in its encrypted form.
    ///
    /// - Throws: `local-storage`.
    public func content() async throws(ChatError) -> MessageContent? {
        try await core.store.read { [id] in try $0.pending(id)?.submission.content }
    }

    /// Waits until the server has stored the message or accepted the change.
    ///
    /// - Returns: The message; for a change, the changed message.
    /// - Throws: The error of a failure. `cancelled` for the state ``State/gone``. `closed` if the client was closed or
    ///   the waiting task was cancelled. For changes that leave no message on this device, such as a deletion for this
    ///   user or a new name, use ``waitForCompletion()`` instead.
    public func waitUntilSent() async throws(ChatError) -> Message {
        guard let message = try await outcome() else {
            throw ChatError(.cancelled, "The message was cancelled, or sent without being stored.")
        }
        return message
    }

    /// Waits until the server has accepted the message or change, even if no message remains on this device.
    ///
    /// - Throws: The error of a failure, or `closed` if the client was closed or the waiting task was cancelled.
    public func waitForCompletion() async throws(ChatError) {
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
        throw ChatError(.closed, "The client was closed or the waiting task was cancelled. The message stays queued.")
    }

    /// Retries immediately, with the same ID and position in the queue.
    ///
    /// Has no effect if the message is already being sent.
    ///
    /// - Throws: `unknown-message` if the message is no longer queued, because it was sent or cancelled.
    public func retry() async throws(ChatError) {
        let isQueued = try await core.ask { .retry(id, $0) }
        guard isQueued else { throw ChatError(.unknownMessage, "The message is not queued for sending.") }
        core.mailbox.post(.reconnectNow)
    }

    /// Cancels the message.
    ///
    /// If the message was transmitted before, on a connection that was lost, the server may have stored it
    /// nevertheless.
    ///
    /// - Throws: `conflict` while the message is in flight, because the server may have stored it. `unknown-message` if
    ///   the message is not queued.
    public func cancel() async throws(ChatError) {
        let cancellation = try await core.ask { .cancel(id, $0) }
        core.changes.changed([conversation])
        switch cancellation {
        case .cancelled, .mayHaveBeenStored: return
        case .inFlight: throw ChatError(.conflict, "The message is being sent. Recall it instead.")
        case .unknown: throw ChatError(.unknownMessage, "The message is not queued for sending.")
        }
    }

    private func current() async throws(ChatError) -> State {
        try await core.store.read { [id, conversation, target, core] reader in
            let message = try reader.message(target ?? id, in: conversation)
            // A change is complete when it leaves the outbox; a message when it is in the log.
            if let message, target == nil { return .sent(message) }
            if let progress = try reader.progress(id) {
                return State(progress, uploaded: { core.uploads.fraction(of: id) })
            }
            return message.map { .sent($0) } ?? .gone
        }
    }
}

extension SendHandle.State {
    fileprivate var isFinal: Bool {
        switch self {
        case .sent, .failed, .gone: true
        case .stored, .uploading, .sending, .waiting: false
        }
    }
}
