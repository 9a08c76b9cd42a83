package import Foundation
package import ScrollbackModel

/// A message on its way out, as the outbox sees it.
///
/// What it says lies in the store.
package struct OutboxItem: Equatable, Sendable, Identifiable {
    package enum State: Equatable, Sendable {
        case queued
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
    package var state: State
    /// How often it was transmitted.
    package var attempts: Int
    /// Whether it was ever transmitted.
    ///
    /// From then on its submission never changes: the server may have it.
    package var isFrozen: Bool

    package init(
        id: MessageID, conversation: ConversationID, ordinal: Int64, createdAt: Date, state: State = .queued,
        attempts: Int = 0, isFrozen: Bool = false
    ) {
        self.id = id
        self.conversation = conversation
        self.ordinal = ordinal
        self.createdAt = createdAt
        self.state = state
        self.attempts = attempts
        self.isFrozen = isFrozen
    }

    package var isFailed: Bool {
        if case .failed = state { true } else { false }
    }
}
