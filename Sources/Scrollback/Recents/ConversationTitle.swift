package import ScrollbackModel

extension ConversationID {
    /// The other user of a direct or system conversation.
    package var peer: UserID? {
        switch kind {
        case .direct, .system: UserID(known: target.text)
        case .group, .community, .room: nil
        }
    }

    /// Returns the name to show: the conversation's own, or the peer's, or else the ID without the kind.
    package func title(named name: String?, _ profiles: [UserID: UserProfile]) -> String {
        name ?? peer.map { profiles.name(of: $0) } ?? (part ?? target).text
    }
}

extension [UserID: UserProfile] {
    /// Returns the name of a user to show, which is the ID if the name is unknown.
    package func name(of user: UserID) -> String { self[user]?.name ?? user.text }
}
