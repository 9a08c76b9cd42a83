public import Foundation
public import ScrollbackModel

/// The state of a client's connection to its server.
public enum ConnectionState: Hashable, Sendable {
    /// The client is not connected: `connect()` was not called, or the client is closed.
    case idle
    /// The client is requesting a token, opening a connection, or authenticating.
    case connecting
    /// The client is connected: the server answers requests and sends updates.
    ///
    /// Also for up to a second while the client moves to another server.
    case online
    /// The client reconnects at this time, or earlier if the network seems to be back.
    case waiting(until: Date)
    /// The server rejected the client: the token was refused, another connection replaced this one, or the device was
    /// signed out.
    ///
    /// Call `connect()` to try again.
    case rejected(ChatError)

    /// Returns whether two states are equal.
    ///
    /// Errors are compared by their content.
    public static func == (a: ConnectionState, b: ConnectionState) -> Bool {
        switch (a, b) {
        case (.idle, .idle), (.connecting, .connecting), (.online, .online): true
        case (.waiting(let a), .waiting(let b)): a == b
        case (.rejected(let a), .rejected(let b)): a == b
        default: false
        }
    }

    /// Hashes the case with its date or its error's code.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .idle: hasher.combine(0)
        case .connecting: hasher.combine(1)
        case .online: hasher.combine(2)
        case .waiting(let date):
            hasher.combine(3)
            hasher.combine(date)
        case .rejected(let error):
            hasher.combine(4)
            hasher.combine(error.code)
        }
    }
}
