extension Query {
    /// The SQL of users, bans, reports and erasures; `nil` for other statements.
    var operatorSQL: String? {
        switch self {
        case .usersKnown:
            "SELECT \(Self.userColumns) FROM user WHERE id >= ? AND id < ? AND state <> 3 ORDER BY id"
        case .usersActive:
            "SELECT \(Self.userColumns) FROM user WHERE id >= ? AND id < ? AND state = 0 ORDER BY id"
        case .usersInState:
            """
            SELECT \(Self.userColumns) FROM user
            WHERE id >= ?1 AND id < ?2 AND state = ?3 AND state <> 0 ORDER BY id
            """
        case .conversationsNamed:
            """
            SELECT \(Self.conversationColumns) FROM conversation
            WHERE kind = ? AND (target, part) >= (?, ?) AND target < ? ORDER BY target, part
            """
        case .membershipsAfter:
            "SELECT \(Self.memberColumns) FROM member WHERE user = ? AND conversation > ? ORDER BY conversation"
        case .ban: "SELECT \(Self.banColumns) FROM ban WHERE conversation = ? AND user = ?"
        case .bans: "SELECT \(Self.banColumns) FROM ban WHERE conversation = ? AND user > ? ORDER BY user"
        case .bansEnded: "SELECT \(Self.banColumns) FROM ban WHERE until <= ? ORDER BY until"
        case .report: "SELECT number, \(Self.reportColumns) FROM report WHERE number = ?"
        case .reportOf:
            "SELECT number, \(Self.reportColumns) FROM report WHERE message = ? AND conversation = ? AND reporter = ?"
        case .reports: "SELECT number, \(Self.reportColumns) FROM report WHERE number < ? ORDER BY number DESC"
        case .reportsInState:
            """
            SELECT number, \(Self.reportColumns) FROM report WHERE number < ?1 AND isOpen = ?2 ORDER BY number DESC
            """
        case .reportsBy:
            "SELECT number, \(Self.reportColumns) FROM report WHERE reporter = ? AND number > ? ORDER BY number"
        case .reportsAbout:
            "SELECT number, \(Self.reportColumns) FROM report WHERE sender = ? AND number > ? ORDER BY number"
        case .erasure: "SELECT number, \(Self.erasureColumns) FROM erasure WHERE number = ?"
        case .erasureNamed: "SELECT number, \(Self.erasureColumns) FROM erasure WHERE id = ?"
        case .erasuresOpen:
            "SELECT number, \(Self.erasureColumns) FROM erasure WHERE endedAt IS NULL AND number > 0 ORDER BY number"
        case .participations:
            "SELECT conversation FROM guest WHERE user = ? AND conversation > ? ORDER BY conversation"
        case .mediaOf: "SELECT \(Self.mediaColumns) FROM media WHERE owner = ? ORDER BY id"
        case .mediaOfAfter: "SELECT \(Self.mediaColumns) FROM media WHERE owner = ? AND id > ? ORDER BY id"
        case .placesMentioning:
            "SELECT mention.seq FROM mention WHERE conversation = ? AND user = ? AND seq > ? ORDER BY seq"
        case .keys: "SELECT \(Self.retiredColumns) FROM retired WHERE conversation = ? AND id > ? ORDER BY id"
        default: operatorChange
        }
    }

    private var operatorChange: String? {
        switch self {
        case .putBan:
            """
            INSERT INTO ban (\(Self.banColumns)) VALUES (\(Self.places(6)))
            ON CONFLICT (conversation, user) DO UPDATE
            SET until = excluded.until, by = excluded.by, reason = excluded.reason, at = excluded.at
            """
        case .dropBan: "DELETE FROM ban WHERE conversation = ? AND user = ?"
        case .eraseBans: "DELETE FROM ban WHERE conversation = ?"
        case .insertReport:
            "INSERT INTO report (\(Self.reportColumns)) VALUES (\(Self.places(15))) RETURNING number"
        case .updateReport:
            "UPDATE report SET (\(Self.reportColumns)) = (\(Self.places(15))) WHERE number = ? RETURNING number"
        case .insertErasure:
            "INSERT INTO erasure (\(Self.erasureColumns)) VALUES (\(Self.places(13))) RETURNING number"
        case .updateErasure:
            "UPDATE erasure SET (\(Self.erasureColumns)) = (\(Self.places(13))) WHERE number = ? RETURNING number"
        case .insertParticipant: "INSERT INTO guest (user, conversation) VALUES (?, ?) ON CONFLICT DO NOTHING"
        case .setSender: "UPDATE message SET sender = ? WHERE conversation = ? AND seq = ?"
        case .setRetiredSender: "UPDATE retired SET sender = ? WHERE conversation = ? AND id = ?"
        case .setMentionSender: "UPDATE mention SET sender = ? WHERE conversation = ? AND user = ? AND seq = ?"
        case .setMediaOwner: "UPDATE media SET owner = ? WHERE id = ?"
        case .forgetMember: "DELETE FROM member WHERE conversation = ? AND user = ?"
        case .forgetSpans: "DELETE FROM span WHERE conversation = ? AND user = ?"
        case .forgetBits: "DELETE FROM bits WHERE conversation = ? AND kind = 2 AND user = ?"
        case .forgetDeletedRanges: "DELETE FROM void WHERE conversation = ? AND user = ?"
        case .forgetMentions: "DELETE FROM mention WHERE conversation = ? AND user = ?"
        case .forgetParticipant: "DELETE FROM guest WHERE conversation = ? AND user = ?"
        case .forgetBlocks: "DELETE FROM block WHERE user = ?"
        case .forgetBlockers: "DELETE FROM block WHERE blocked = ?"
        case .forgetReceipt: "DELETE FROM receipt WHERE conversation = ? AND user = ?"
        case .forgetInvitations: "DELETE FROM invitation WHERE user = ?"
        case .forgetInvited: "DELETE FROM invitation WHERE inviter = ?"
        case .forgetLastSeen: "DELETE FROM presence WHERE user = ?"
        case .forgetUploads: "DELETE FROM upload WHERE owner = ? AND state = 0"
        default: nil
        }
    }

    // MARK: Columns, in the order in which rows are read and written

    static let userColumns = "id, name, avatar, metadata, rev, revokedAt, state, isBanned"
    private static let banColumns = "conversation, user, until, by, reason, at"
    private static let reportColumns = """
        conversation, message, seq, sender, type, timetoken, reporter, content, reason, text, at, isOpen, note, \
        closedBy, closedAt
        """
    private static let erasureColumns = """
        id, user, messages, replacement, stage, through, throughSeq, conversationCount, messageCount, fileCount, \
        createdAt, endedAt, error
        """
}
