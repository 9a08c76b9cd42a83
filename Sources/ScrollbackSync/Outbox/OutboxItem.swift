package import Foundation
package import ScrollbackModel

/// A message on its way out, as the outbox sees it.
///
/// What it says lies in the store.
package struct OutboxItem: Equatable, Sendable, Identifiable {
    package enum State: Equatable, Sendable {
        case queued
        /// Its files are on their way to the server.
        case uploading
        /// Transmitted; its answer is to come.
        case sending
        /// Refused for now; everything behind it in the conversation waits with it.
        case waiting(until: Date)
        /// Refused for good, or too old. What is behind it goes on.
        case failed(ChatError)
    }

    /// Kept through every retry: it is what makes a retry harmless.
    package let id: MessageID
    package let conversation: ConversationID
    /// Its turn: lower ones of the same conversation go first.
    package let ordinal: Int64
    package let createdAt: Date
    /// Whether it is a message, which keeps the pace, or something to be done to one.
    package let isMessage: Bool
    package var state: State
    /// Whether it has files that the server has yet to take: only then is the message itself sent.
    package var needsUpload: Bool
    /// How often it was transmitted; until its files are on the server, how often these were tried.
    package var attempts: Int
    /// Whether it was ever transmitted.
    ///
    /// From then on its submission never changes: the server may have it.
    package var isFrozen: Bool

    package init(
        id: MessageID, conversation: ConversationID, ordinal: Int64, createdAt: Date, isMessage: Bool = true,
        state: State = .queued, needsUpload: Bool = false, attempts: Int = 0, isFrozen: Bool = false
    ) {
        self.id = id
        self.conversation = conversation
        self.ordinal = ordinal
        self.createdAt = createdAt
        self.isMessage = isMessage
        self.state = state
        self.needsUpload = needsUpload
        self.attempts = attempts
        self.isFrozen = isFrozen
    }

    package var isFailed: Bool {
        if case .failed = state { true } else { false }
    }

    package var isWaiting: Bool {
        if case .waiting = state { true } else { false }
    }
}
