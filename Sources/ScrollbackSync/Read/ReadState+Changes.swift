package import ScrollbackModel

extension ReadState {
    /// Counts a change as it happens: a message that counts no more, or mentions the user no more, or now does.
    ///
    /// - Parameters:
    ///   - old: the message as it was here, where it is known.
    ///   - mayHavePassed: whether the user may have sent something after the message. Sending moves the position on, and
    ///     how far only the server knows: a mention that comes late may lie behind it.
    /// - Returns: whether the server must say what the counts are: the change came out of turn, or concerns what is not
    ///   known here.
    @discardableResult
    package mutating func apply(
        _ change: LogChange, replacing old: Message?, reader: UserID, mayHavePassed: @autoclosure () throws -> Bool
    ) rethrows -> Bool {
        guard change.rev > computedAt.rev else { return false }
        guard change.rev == computedAt.rev + 1 else { return isTouched(by: [change]) }
        switch change {
        case .invisible: break
        case .removed: if isTouched(by: [change]) { return true }
        case .message(let new):
            guard new.seq > readSeq, new.sender != reader else { break }
            guard let old else { return isTouched(by: [change]) }
            if new.isMention(of: reader), !old.isMention(of: reader), try mayHavePassed() { return true }
            unread = max(0, unread + (new.countsUnread ? 1 : 0) - (old.countsUnread ? 1 : 0))
            mentions = max(0, mentions + (new.isMention(of: reader) ? 1 : 0) - (old.isMention(of: reader) ? 1 : 0))
        }
        computedAt.rev = change.rev
        return false
    }

    /// Whether changes may concern the counts, which were made before them.
    package func isTouched(by changes: [LogChange]) -> Bool {
        guard unread > 0 || mentions > 0 || !changes.allSatisfy({ $0.removes }) else { return false }
        return changes.contains { change in
            guard change.rev > computedAt.rev else { return false }
            return switch change {
            case .invisible: false
            case .removed(let places, _): places.upperBound > readSeq
            case .message(let message): message.seq > readSeq
            }
        }
    }

    /// Whether a row that took another's place means other counts.
    package func isTouched(by new: Message, replacing old: Message?, reader: UserID) -> Bool {
        guard new.rev > computedAt.rev, new.seq > readSeq, new.sender != reader, let old else { return false }
        return old.countsUnread != new.countsUnread || old.isMention(of: reader) != new.isMention(of: reader)
    }
}

extension LogChange {
    /// Whether it can only take something away.
    fileprivate var removes: Bool {
        switch self {
        case .removed: true
        case .message(let message): message.isDeleted
        case .invisible: true
        }
    }
}

extension Message {
    fileprivate func isMention(of user: UserID) -> Bool { attributes.mentions?.includes(user) == true }
}
