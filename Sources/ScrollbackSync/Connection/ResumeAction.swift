package import Foundation
package import ScrollbackModel

/// What a connection that comes online wants done.
package enum ResumeAction: Hashable, Sendable {
    /// Ask for the next window of conversations that moved; answer with `windowAnswered` or `windowFailed`.
    case pullWindow(request: Int, cursor: String?)
    /// Apply these heads and keep the cursor in one transaction, then say `windowStored`.
    case storeHeads([ConversationHead], cursor: String)
    /// Ask `sync` for these; apply its answers, then say `syncAnswered` or `syncFailed`.
    case sync(batch: Int, [LogPosition])
    /// Apply these events, in this order.
    case release([LiveEvent])
    /// Events of these were dropped while they waited: say `needsSync` with where each stands.
    case recheck([ConversationID])
    /// Call `tick` then.
    case wake(at: Date)
}
