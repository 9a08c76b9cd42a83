package import Foundation
package import ScrollbackModel

/// The outbox's record of an outgoing item; its content is in the store.
package struct OutboxItem: Equatable, Sendable, Identifiable {
    package enum State: Equatable, Sendable {
        case queued
        /// The files are being uploaded.
        case uploading
        /// Transmitted and waiting for the answer.
        case sending
        /// Temporarily rejected; the rest of the queue waits too.
        case waiting(until: Date)
        /// Permanently rejected or expired; the rest of the queue continues.
        case failed(ChatError)
    }

    /// The ID, which is the same for every retry and makes retries idempotent.
    package let id: MessageID
    package let conversation: ConversationID
    /// The position in the queue; items with lower ordinals are sent first.
    package let ordinal: Int64
    package let createdAt: Date
    /// Whether the item sends a message, so that the send rate applies to it.
    package let isMessage: Bool
    package var state: State
    /// Whether files must be uploaded before the item is sent.
    package var needsUpload: Bool
    /// The number of transmissions; before the upload is complete, the number of upload attempts.
    package var attempts: Int
    /// Whether the item was ever transmitted.
    ///
    /// From then on its submission must not change, because the server may have it.
    package var wasTransmitted: Bool

    package init(
        id: MessageID, conversation: ConversationID, ordinal: Int64, createdAt: Date, isMessage: Bool = true,
        state: State = .queued, needsUpload: Bool = false, attempts: Int = 0, wasTransmitted: Bool = false
    ) {
        self.id = id
        self.conversation = conversation
        self.ordinal = ordinal
        self.createdAt = createdAt
        self.isMessage = isMessage
        self.state = state
        self.needsUpload = needsUpload
        self.attempts = attempts
        self.wasTransmitted = wasTransmitted
    }

    package var isFailed: Bool {
        if case .failed = state { true } else { false }
    }

    package var isWaiting: Bool {
        if case .waiting = state { true } else { false }
    }
}
