public import Foundation

/// The duration of a mute, during which a member may not write in a conversation.
///
/// Muting a conversation in the list is something else: it only turns off its pushes.
public enum Mute: Hashable, Sendable {
    /// The mute ends at this date.
    case until(Date)
    /// The mute lasts until a moderator revokes it.
    case forever

    /// Returns whether the mute is in force at `now`.
    public func isActive(at now: Date) -> Bool {
        switch self {
        case .until(let date): now < date
        case .forever: true
        }
    }
}
