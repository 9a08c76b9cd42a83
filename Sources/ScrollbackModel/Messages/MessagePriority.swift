/// The priority with which a room streams a message under load.
///
/// The server stores and acknowledges all messages regardless of their priority. Messages that were not streamed are in
/// the history of the room. Other conversations stream all messages.
public enum MessagePriority: String, CaseIterable, Codable, Sendable, Comparable {
    /// Dropped first: likes, gifts, "joined".
    case low
    /// Dropped if dropping low-priority messages is not enough.
    case normal
    /// Always streamed; only hosts and moderators may send with this priority.
    case high

    private var rank: Int {
        switch self {
        case .low: 0
        case .normal: 1
        case .high: 2
        }
    }

    /// Returns whether `a` is dropped before `b`.
    public static func < (a: MessagePriority, b: MessagePriority) -> Bool {
        a.rank < b.rank
    }
}

extension MessageAttributes {
    /// The traits that are off and the priority, as a number for storage.
    package var flagBits: Int64 {
        switch priority {
        case .low: traits.bits | 16
        case .normal: traits.bits
        case .high: traits.bits | 32
        }
    }

    package mutating func setFlags(bits: Int64) {
        traits = MessageTraits(bits: bits)
        priority = bits & 16 != 0 ? .low : bits & 32 != 0 ? .high : .normal
    }
}
