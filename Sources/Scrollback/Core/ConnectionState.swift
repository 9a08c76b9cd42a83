public import Foundation
public import ScrollbackModel

/// How a client stands with its server.
public enum ConnectionState: Hashable, Sendable {
    /// `connect()` was not called, or the client is closed.
    case idle
    /// Asking for a token, opening a connection, or greeting.
    case connecting
    /// Greeted: requests are answered, and what is new comes by itself.
    case online
    /// Trying again by itself at this time, or as soon as the network seems to be back.
    case waiting(until: Date)
    /// The server will not have this client: its token is refused, another connection took its place, or it was signed
    /// out. `connect()` tries again.
    case rejected(ChatError)

    /// Whether both say the same; errors are compared by what they say.
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
