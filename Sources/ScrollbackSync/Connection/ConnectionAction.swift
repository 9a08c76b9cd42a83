package import Foundation

/// An action that the owner of a connection must execute, in order.
package enum ConnectionAction: Hashable, Sendable {
    /// Request a token; report the result with `tokenReceived`.
    case requestToken(generation: Int)
    /// Open a connection; report the result with `opened` or `openFailed`.
    case open(generation: Int, token: String)
    /// Send the hello frame on the connection that was opened.
    case sendHello(token: String, isActive: Bool)
    /// Send the app's activity, which changed since the hello frame.
    case sendActivity(Bool)
    /// Resume the session: request what was missed, and send everything that waits.
    case resume
    case sendPing
    /// Call `heartbeat` after this number of seconds.
    case scheduleHeartbeat(generation: Int, after: Int)
    /// Send the requests again that failed temporarily.
    case retryRequests
    /// Close the connection, if it is open, and discard all state that depends on it.
    case disconnect
    /// Publish the current phase.
    case publishPhase
    /// Call `tick` at this time.
    case wake(at: Date)
}
