package import Foundation
package import ScrollbackModel

/// A way to open a WebSocket: swift-nio's on Linux, URLSession's on Apple platforms, a pipe in tests of apps.
package protocol Transport: Sendable {
    /// Opens a connection. `events` is told what arrives, in order, and the end exactly once if opening succeeded.
    ///
    /// - Throws: `unreachable` when there is no server, or it does not speak the protocol.
    func open(
        _ url: URL, events: @escaping @Sendable (TransportEvent) -> Void
    ) async throws(ChatError) -> any TransportConnection
}

/// An open connection.
///
/// Calls come from any thread and never block.
package protocol TransportConnection: AnyObject, Sendable {
    func send(_ frame: [UInt8])
    func close()
}

package enum TransportEvent: Sendable {
    /// A whole text frame.
    case frame([UInt8])
    /// The connection is gone.
    case closed(TransportClosure)
}

/// Why a connection ended.
package struct TransportClosure: Sendable {
    /// The peer's close code (RFC 6455), if it sent one.
    package var code: Int?
    package var reason: String

    package init(code: Int? = nil, reason: String = "") {
        self.code = code
        self.reason = reason
    }
}
