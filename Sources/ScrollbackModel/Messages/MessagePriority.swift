/// Which messages of a room are streamed when there are more than can be.
///
/// All of them are stored and acknowledged, whatever their priority; a message that was not streamed is in the room's
/// history. Other conversations stream everything.
public enum MessagePriority: String, CaseIterable, Codable, Sendable, Comparable {
    /// The first to be left out: likes, gifts, "joined".
    case low
    /// Left out when leaving out what is low was not enough.
    case normal
    /// Always streamed: what a host or a moderator says, and nobody else may.
    case high

    private var rank: Int {
        switch self {
        case .low: 0
        case .normal: 1
        case .high: 2
        }
    }

    /// Whether `a` is left out before `b`.
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
