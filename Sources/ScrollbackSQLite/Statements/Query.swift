/// The statements that are kept compiled: one for each question and change, besides the filtered pages, whose text varies.
enum Query: Int, CaseIterable {
    case beginRead, beginWrite, commit, rollback
    case conversationByName, conversationByNumber, channels
    case member, members, memberships, spans, firstHidden, hiddenAtOrBelow, mentions
    case messageAt, messageByID, messageAtOrBelow, messagesNewestFirst, messagesOldestFirst
    case user
    case insertConversation, updateConversation, putMember, putUser, insertMessage, putSpan, putHidden, dropHidden
    case insertMention, putMoved
    case eraseMessages, eraseMentions, eraseSpans, eraseHidden, eraseReaders, eraseMembers

    var sql: String {
        switch self {
        case .beginRead: "BEGIN DEFERRED"
        case .beginWrite: "BEGIN IMMEDIATE"
        case .commit: "COMMIT"
        case .rollback: "ROLLBACK"
        case .conversationByName:
            "SELECT \(Self.conversationColumns) FROM conversation WHERE kind = ? AND target = ? AND part = ?"
        case .conversationByNumber: "SELECT \(Self.conversationColumns) FROM conversation WHERE number = ?"
        case .channels:
            """
            SELECT \(Self.conversationColumns) FROM conversation
            WHERE kind = 'community' AND target = ? AND part > ? ORDER BY part
            """
        case .member: "SELECT \(Self.memberColumns) FROM member WHERE conversation = ? AND user = ?"
        case .members:
            """
            SELECT \(Self.memberColumns) FROM member WHERE conversation = ? AND user > ? AND standing = 1 ORDER BY user
            """
        case .memberships: "SELECT \(Self.memberColumns) FROM member WHERE user = ? ORDER BY conversation"
        case .spans: #"SELECT joined, "left" FROM span WHERE conversation = ? AND user = ? ORDER BY joined"#
        case .firstHidden:
            """
            SELECT \(Self.hiddenColumns) FROM hidden WHERE conversation = ? AND user = ? ORDER BY lowerN LIMIT 1
            """
        case .hiddenAtOrBelow:
            """
            SELECT \(Self.hiddenColumns) FROM hidden WHERE conversation = ? AND user = ? AND lowerN <= ?
            ORDER BY lowerN DESC LIMIT 1
            """
        case .mentions:
            """
            SELECT seq FROM mention WHERE conversation = ?1 AND user = ?2 AND seq > ?3 AND sender <> ?2
            UNION SELECT seq FROM mention WHERE conversation = ?1 AND user = '' AND seq > ?3 AND sender <> ?2
            ORDER BY seq
            """
        case .messageAt: "SELECT \(Self.messageColumns) FROM message WHERE conversation = ? AND seq = ?"
        case .messageByID: "SELECT \(Self.messageColumns) FROM message WHERE conversation = ? AND id = ?"
        case .messageAtOrBelow:
            """
            SELECT \(Self.messageColumns) FROM message WHERE conversation = ? AND seq <= ? ORDER BY seq DESC LIMIT 1
            """
        case .messagesNewestFirst: Self.messages(newestFirst: true)
        case .messagesOldestFirst: Self.messages(newestFirst: false)
        case .user: "SELECT id, name, avatar, metadata, rev, revokedAt FROM user WHERE id = ?"
        case .insertConversation, .updateConversation, .putMember, .putUser, .insertMessage, .putSpan, .putHidden,
            .dropHidden, .insertMention, .putMoved:
            change
        case .eraseMessages: "DELETE FROM message WHERE conversation = ?"
        case .eraseMentions: "DELETE FROM mention WHERE conversation = ?"
        case .eraseSpans: "DELETE FROM span WHERE conversation = ?"
        case .eraseHidden: "DELETE FROM hidden WHERE conversation = ?"
        case .eraseReaders: "DELETE FROM member WHERE conversation = ? AND standing = 0"
        case .eraseMembers:
            """
            UPDATE member SET standing = 2, role = 'member', joinSeq = 0, joinN = 0, readSeq = 0, readN = 0,
                clearSeq = 0, clearN = 0, isMuted = 0, isPinned = 0, isMarkedUnread = 0, view = 0, userRev = 0
            WHERE conversation = ?
            """
        }
    }

    private var change: String {
        switch self {
        case .insertConversation:
            """
            INSERT INTO conversation (\(Self.settings), kind, target, part)
            VALUES (\(Self.places(19)))
            ON CONFLICT (kind, target, part) DO UPDATE
            SET (\(Self.settings)) = (\(Self.excluded(Self.settings)))
            RETURNING number
            """
        case .updateConversation:
            // Not its name: SQLite would write the index on names anew, though a name never changes.
            "UPDATE conversation SET (\(Self.settings)) = (\(Self.places(16))) WHERE number = ?"
        case .putMember:
            """
            INSERT INTO member (\(Self.memberColumns)) VALUES (\(Self.places(15)))
            ON CONFLICT (conversation, user) DO UPDATE
            SET (\(Self.memberState)) = (\(Self.excluded(Self.memberState)))
            """
        case .putUser:
            """
            INSERT INTO user (id, name, avatar, metadata, rev, revokedAt) VALUES (\(Self.places(6)))
            ON CONFLICT (id) DO UPDATE SET name = excluded.name, avatar = excluded.avatar,
                metadata = excluded.metadata, rev = excluded.rev, revokedAt = excluded.revokedAt
            """
        case .insertMessage: "INSERT INTO message (conversation, \(Self.messageColumns)) VALUES (\(Self.places(18)))"
        case .putSpan:
            """
            INSERT INTO span (conversation, user, joined, "left") VALUES (?, ?, ?, ?)
            ON CONFLICT (conversation, user, joined) DO UPDATE SET "left" = excluded."left"
            """
        case .putHidden:
            """
            INSERT INTO hidden (conversation, user, \(Self.hiddenColumns)) VALUES (\(Self.places(7)))
            ON CONFLICT (conversation, user, lowerN) DO UPDATE
            SET lowerSeq = excluded.lowerSeq, upperSeq = excluded.upperSeq, upperN = excluded.upperN, below = excluded.below
            """
        case .dropHidden:
            // What begins above the number ends above it: the rest is not looked at.
            "DELETE FROM hidden WHERE conversation = ?1 AND user = ?2 AND lowerN < ?3 AND upperN <= ?3"
        case .insertMention:
            """
            INSERT INTO mention (conversation, user, seq, sender) VALUES (?, ?, ?, ?)
            ON CONFLICT (conversation, user, seq) DO NOTHING
            """
        case .putMoved: "UPDATE meta SET value = ? WHERE name = 'moved'"
        default: preconditionFailure("\(self) changes nothing")
        }
    }

    /// A page, from one end of a run of places or the other; `condition` begins with `AND`.
    static func messages(newestFirst: Bool, where condition: String = "") -> String {
        """
        SELECT \(messageColumns) FROM message WHERE conversation = ? AND seq BETWEEN ? AND ?\(condition)
        ORDER BY seq\(newestFirst ? " DESC" : "")
        """
    }

    // MARK: Columns, in the order rows are read and written

    private static let settings = """
        name, avatar, metadata, visibility, isPrivate, isDeleted, createdAt, salt, head, n, timetoken, rev, firstSeq, \
        floorN, view, moved
        """
    static let conversationColumns = "number, kind, target, part, \(settings)"
    private static let memberState = """
        standing, role, joinSeq, joinN, readSeq, readN, clearSeq, clearN, isMuted, isPinned, isMarkedUnread, view, userRev
        """
    static let memberColumns = "conversation, user, \(memberState)"
    static let hiddenColumns = "lowerSeq, upperSeq, lowerN, upperN, below"
    static let messageColumns = """
        seq, n, timetoken, id, sender, type, flags, digest, rev, editedAt, customType, mentions, replyTo, metadata, \
        extra, push, content
        """

    private static func places(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ", ")
    }

    private static func excluded(_ columns: String) -> String {
        columns.split(separator: ", ").map { "excluded.\($0)" }.joined(separator: ", ")
    }
}
