package import Foundation
package import ScrollbackModel

/// An action that a connecting client must execute.
package enum ResumeAction: Hashable, Sendable {
    /// Request the next window of changed conversations; report the result with `windowAnswered` or `windowFailed`.
    case pullWindow(request: Int, cursor: String?)
    /// Apply these heads and store the cursor in one transaction, then call `windowStored`.
    case storeHeads([ConversationHead], cursor: String)
    /// Send a `sync` request for these positions, apply the answers, and then call `syncAnswered` or `syncFailed`.
    case sync(batch: Int, [LogPosition])
    /// Apply these events in this order.
    case release([LiveEvent])
    /// Start another sync pass, because some held events of these conversations were dropped.
    case recheck([ConversationID])
    /// Call `tick` at this time.
    case wake(at: Date)
}
