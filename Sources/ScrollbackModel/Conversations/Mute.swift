public import Foundation

/// For how long somebody may not write in a conversation.
///
/// It is not the mute of a list, which only spares its reader the push.
public enum Mute: Hashable, Sendable {
    /// Until this time.
    case until(Date)
    /// Until somebody takes it back.
    case forever

    /// Whether it holds at a time.
    public func holds(at now: Date) -> Bool {
        switch self {
        case .until(let date): now < date
        case .forever: true
        }
    }
}
