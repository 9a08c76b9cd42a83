package import Foundation
package import ScrollbackModel

/// Opens WebSocket connections: with SwiftNIO on Linux, URLSession on Apple platforms, and in memory in tests.
package protocol Transport: Sendable {
    /// Opens a connection.
    ///
    /// - Parameters:
    ///   - url: The URL of the server.
    ///   - events: Receives all incoming events in order. If opening succeeded, the last one is a single `closed`
    ///     event.
    /// - Throws: `unreachable` if there is no server, or if it does not support the protocol.
    func open(
        _ url: URL, events: @escaping @Sendable (TransportEvent) -> Void
    ) async throws(ChatError) -> any TransportConnection
}

/// An open connection.
///
/// The methods can be called from any thread and never block.
package protocol TransportConnection: AnyObject, Sendable {
    func send(_ frame: [UInt8])
    func close()
}

package enum TransportEvent: Sendable {
    /// A complete text frame arrived.
    case frame([UInt8])
    /// The connection was closed.
    case closed(TransportClosure)
}

/// The reason why a connection ended.
package struct TransportClosure: Sendable {
    /// The peer's WebSocket close code, if it sent one.
    package var code: Int?
    package var reason: String

    package init(code: Int? = nil, reason: String = "") {
        self.code = code
        self.reason = reason
    }
}
