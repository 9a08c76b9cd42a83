extension Query {
    /// The SQL of receipts, invitations and presence; `nil` for other statements.
    var people: String? {
        switch self {
        case .receipt: "SELECT seq FROM receipt WHERE conversation = ? AND user = ?"
        case .positions:
            "SELECT \(Self.memberColumns) FROM member WHERE conversation = ? AND user > ? ORDER BY user"
        case .putReceipt:
            """
            INSERT INTO receipt (conversation, user, seq) VALUES (?, ?, ?)
            ON CONFLICT (conversation, user) DO UPDATE SET seq = excluded.seq
            """
        case .eraseReceipts: "DELETE FROM receipt WHERE conversation = ?"
        case .invitation:
            "SELECT \(Self.invitationColumns) FROM invitation WHERE conversation = ? AND user = ?"
        case .invitationsTo:
            """
            SELECT \(Self.invitationColumns) FROM invitation WHERE conversation = ? AND user > ? ORDER BY user
            """
        case .invitationsOf:
            """
            SELECT \(Self.invitationColumns) FROM invitation WHERE user = ? AND conversation > ? ORDER BY conversation
            """
        case .putInvitation:
            """
            INSERT INTO invitation (\(Self.invitationColumns)) VALUES (\(Self.places(5)))
            ON CONFLICT (conversation, user) DO UPDATE
            SET inviter = excluded.inviter, at = excluded.at, until = excluded.until
            """
        case .dropInvitation: "DELETE FROM invitation WHERE conversation = ? AND user = ?"
        case .invitationsBy:
            """
            SELECT \(Self.invitationColumns) FROM invitation
            WHERE inviter = ? AND (conversation, user) > (?, ?) ORDER BY conversation, user
            """
        case .invitationsEnded:
            // Uses the index. A DELETE with a subquery would scan all invitations of a conversation.
            """
            SELECT \(Self.invitationColumns) FROM invitation WHERE until IS NOT NULL AND until <= ? ORDER BY until
            """
        case .eraseInvitations: "DELETE FROM invitation WHERE conversation = ?"
        case .lastSeen: "SELECT lastSeen FROM presence WHERE user = ?"
        case .putLastSeen:
            """
            INSERT INTO presence (user, lastSeen) VALUES (?, ?)
            ON CONFLICT (user) DO UPDATE SET lastSeen = excluded.lastSeen
            """
        default: nil
        }
    }

    private static let invitationColumns = "conversation, user, inviter, at, until"
}
