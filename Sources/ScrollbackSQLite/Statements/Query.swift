/// The cached statements.
///
/// Each query and change of the engine has one, except for filtered pages, whose SQL varies.
enum Query: Int, CaseIterable {
    case beginRead, beginWrite, commit, rollback
    case conversationByName, conversationByNumber, channels
    case member, members, memberships, membershipSummaries, channelSummaries, recentsCandidates, unreadAdjustments
    case spans, bits, deletedRanges, mentions
    case messageAt, messageByID, messageAtOrBelow, placeAtOrBelow, messagesNewestFirst, messagesOldestFirst
    case retired, changes, changeByOperation
    case actions, actionsAt, actionByValue, actionsOfSender, actionByTime, lastAction
    case user, conversations, serverSettings
    case insertConversation, updateConversation, putMember, putUser, insertMessage, putSpan, putBits, dropBits
    case putDeletedRanges, dropDeletedRange, insertMention, dropMention, putLastCommit, updateMessage, insertRetired,
        dropRetired
    case insertChange, dropChanges, insertAction, removeAction, removeActions, removeMessages, removeActionsOf,
        putSettings
    case eraseMessages, eraseMentions, eraseSpans, eraseBits, eraseDeletedRanges, eraseRetired, eraseChanges,
        eraseActions
    case eraseReaders, eraseMembers
    case media, mediaUnused, mediaCreated, blobInFile, blobInThumbnail, conversationUsing, usesAt, usesOfPlaces
    case upload, openUploads, uploadsTouched
    case putMedia, removeMedia, insertUse, removeUse, putUpload, removeUpload
    case block, blocks, blockers, insertBlock, dropBlock, mute, putMute, dropMute, eraseMutes
    case deliveryConversation, deliveries, deliveryCount, nextDelivery, insertDelivery, dropDeliveriesOf, dropDeliveries
    case receipt, positions, putReceipt, eraseReceipts
    case invitation, invitationsTo, invitationsOf, putInvitation, dropInvitation, invitationsEnded, eraseInvitations
    case invitationsBy, lastSeen, putLastSeen
    case usersKnown, usersActive, usersInState, conversationsNamed, membershipsAfter, ban, bans, bansEnded
    case report, reportOf, reports, reportsInState, reportsBy, reportsAbout, erasure, erasureNamed, erasuresOpen
    case participations, mediaOf, mediaOfAfter, placesMentioning, keys
    case putBan, dropBan, eraseBans, insertReport, updateReport, insertErasure, updateErasure, insertParticipant
    case setSender, setRetiredSender, setMentionSender, setMediaOwner
    case forgetMember, forgetSpans, forgetBits, forgetDeletedRanges, forgetMentions, forgetParticipant
    case pushUser, pushDevices, pushDevice, pushRecipients, pushConversation, pushes, pushWalk, pushRetries,
        nextPushRetry
    case pushCount, pushRetryCount, putPushUser, dropPushToken, putPushDevice, dropPushDevice, putPushLevel,
        dropPushLevel
    case insertPush, dropPushesOf, dropPushes, putPushWalk, dropPushWalk, dropPushWalks, insertPushRetry,
        updatePushRetry
    case dropPushRetry, dropPushRetries, erasePushes, eraseReach, erasePushRetries
    case forgetPushUser, forgetPushDevices, forgetPushLevel, forgetPushRetries
    case forgetBlocks, forgetBlockers, forgetUploads, forgetReceipt, forgetInvitations, forgetInvited, forgetLastSeen

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
        case .membershipSummaries:
            // CROSS JOIN makes SQLite start with the user's rows; the other order would scan all conversations.
            """
            SELECT \(Self.involvementColumns) FROM member m CROSS JOIN conversation c ON c.number = m.conversation
            WHERE m.user = ?1 AND (c.moved > ?2 OR m.userRev > ?3 OR c.kind = 'community' AND c.part = '')
            ORDER BY m.conversation
            """
        case .channelSummaries:
            """
            SELECT \(Self.involvementColumns) FROM conversation c
            LEFT JOIN member m ON m.conversation = c.number AND m.user = ?
            WHERE c.kind = 'community' AND c.target = ? AND c.part > '' ORDER BY c.part
            """
        case .spans: #"SELECT joined, "left" FROM span WHERE conversation = ? AND user = ? ORDER BY joined"#
        case .bits:
            """
            SELECT block, words FROM bits WHERE conversation = ? AND kind = ? AND user = ? AND block BETWEEN ? AND ?
            ORDER BY block
            """
        case .deletedRanges:
            """
            SELECT lower, upper, userRev, holdsMessages FROM void WHERE conversation = ? AND user = ? ORDER BY lower
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
        case .placeAtOrBelow:
            "SELECT seq, n, timetoken FROM message WHERE conversation = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
        case .messagesNewestFirst: Self.messages(newestFirst: true)
        case .messagesOldestFirst: Self.messages(newestFirst: false)
        case .user: "SELECT \(Self.userColumns) FROM user WHERE id = ?"
        case .retired: "SELECT \(Self.retiredColumns) FROM retired WHERE id = ? AND conversation = ?"
        case .changes: "SELECT \(Self.changeColumns) FROM change WHERE conversation = ? AND rev > ? ORDER BY rev"
        case .changeByOperation:
            "SELECT \(Self.changeColumns) FROM change WHERE operation = ? AND conversation = ?"
        case .actions:
            "SELECT \(Self.actionColumns) FROM action WHERE conversation = ? AND timetoken > ? ORDER BY timetoken"
        case .actionsAt:
            """
            SELECT \(Self.actionColumns) FROM action WHERE conversation = ? AND seq = ? AND timetoken > ?
            ORDER BY timetoken
            """
        case .actionByValue:
            """
            SELECT \(Self.actionColumns) FROM action
            WHERE conversation = ? AND seq = ? AND sender = ? AND type = ? AND value = ?
            """
        case .actionsOfSender:
            """
            SELECT \(Self.actionColumns) FROM action
            WHERE conversation = ? AND seq = ? AND sender = ? AND type = ?
            """
        case .actionByTime: "SELECT \(Self.actionColumns) FROM action WHERE conversation = ? AND timetoken = ?"
        case .lastAction: "SELECT timetoken FROM action WHERE conversation = ? ORDER BY timetoken DESC LIMIT 1"
        case .conversations:
            "SELECT \(Self.conversationColumns) FROM conversation WHERE number > ? ORDER BY number"
        case .serverSettings: "SELECT value FROM setting WHERE name = 'server'"
        case .eraseMessages: "DELETE FROM message WHERE conversation = ?"
        case .eraseMentions: "DELETE FROM mention WHERE conversation = ?"
        case .eraseSpans: "DELETE FROM span WHERE conversation = ?"
        case .eraseBits: "DELETE FROM bits WHERE conversation = ?"
        case .eraseDeletedRanges: "DELETE FROM void WHERE conversation = ?"
        case .eraseRetired: "DELETE FROM retired WHERE conversation = ?"
        case .eraseChanges: "DELETE FROM change WHERE conversation = ?"
        case .eraseActions: "DELETE FROM action WHERE conversation = ?"
        case .eraseReaders: "DELETE FROM member WHERE conversation = ? AND standing = 0"
        case .eraseMembers:
            """
            UPDATE member SET standing = 2, role = 'member', joinSeq = 0, joinN = 0, readSeq = 0, readN = 0,
                clearSeq = 0, clearN = 0, removedSeq = 0, roamSeq = 0, isMuted = 0, isPinned = 0, isMarkedUnread = 0,
                markedRev = 0, view = 0, userRev = 0, hasVoids = 0, level = NULL
            WHERE conversation = ?
            """
        case .block, .blocks, .blockers, .insertBlock, .dropBlock, .mute, .putMute, .dropMute, .eraseMutes: moderation
        case .deliveryConversation, .deliveries, .deliveryCount, .nextDelivery, .insertDelivery,
            .dropDeliveriesOf, .dropDeliveries:
            moderation
        default: people ?? recents ?? mediaSQL ?? operatorSQL ?? pushSQL ?? change
        }
    }

    private var change: String {
        switch self {
        case .insertConversation:
            """
            INSERT INTO conversation (\(Self.settings), kind, target, part)
            VALUES (\(Self.places(31)))
            ON CONFLICT (kind, target, part) DO UPDATE
            SET (\(Self.settings)) = (\(Self.excluded(Self.settings)))
            RETURNING number
            """
        case .updateConversation:
            // Does not set the ID columns: they never change, but SQLite would rewrite their index.
            "UPDATE conversation SET (\(Self.settings)) = (\(Self.places(28))) WHERE number = ?"
        case .putMember:
            """
            INSERT INTO member (\(Self.memberColumns)) VALUES (\(Self.places(20)))
            ON CONFLICT (conversation, user) DO UPDATE
            SET (\(Self.memberState)) = (\(Self.excluded(Self.memberState)))
            """
        case .putUser:
            """
            INSERT INTO user (\(Self.userColumns)) VALUES (\(Self.places(8)))
            ON CONFLICT (id) DO UPDATE SET name = excluded.name, avatar = excluded.avatar,
                metadata = excluded.metadata, rev = excluded.rev, revokedAt = excluded.revokedAt,
                state = excluded.state, isBanned = excluded.isBanned
            """
        case .insertMessage: "INSERT INTO message (conversation, \(Self.messageColumns)) VALUES (\(Self.places(22)))"
        case .putSpan:
            """
            INSERT INTO span (conversation, user, joined, "left") VALUES (?, ?, ?, ?)
            ON CONFLICT (conversation, user, joined) DO UPDATE SET "left" = excluded."left"
            """
        case .putBits:
            """
            INSERT INTO bits (conversation, kind, user, block, words) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (conversation, kind, user, block) DO UPDATE SET words = excluded.words
            """
        case .dropBits: "DELETE FROM bits WHERE conversation = ? AND kind = ? AND user = ? AND block < ?"
        case .putDeletedRanges:
            """
            INSERT INTO void (conversation, user, lower, upper, userRev, holdsMessages) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (conversation, user, lower) DO UPDATE
            SET upper = excluded.upper, userRev = excluded.userRev, holdsMessages = excluded.holdsMessages
            """
        case .dropDeletedRange: "DELETE FROM void WHERE conversation = ? AND user = ? AND lower = ?"
        case .dropMention: "DELETE FROM mention WHERE conversation = ? AND user = ? AND seq = ?"
        case .updateMessage:
            """
            UPDATE message SET (\(Self.messageState)) = (\(Self.places(14))) WHERE conversation = ? AND seq = ?
            """
        case .insertRetired:
            """
            INSERT INTO retired (\(Self.retiredColumns), conversation) VALUES (\(Self.places(7)))
            ON CONFLICT (conversation, id) DO NOTHING
            """
        case .dropRetired:
            """
            DELETE FROM retired WHERE (id, conversation) IN
                (SELECT id, conversation FROM retired WHERE timetoken < ? ORDER BY timetoken LIMIT ?)
            """
        case .insertChange: "INSERT INTO change (\(Self.changeColumns), conversation) VALUES (\(Self.places(9)))"
        case .dropChanges: "DELETE FROM change WHERE conversation = ? AND rev <= ?"
        case .insertAction: "INSERT INTO action (\(Self.actionColumns), conversation) VALUES (\(Self.places(6)))"
        case .removeAction: "DELETE FROM action WHERE conversation = ? AND timetoken = ?"
        case .removeActions: "DELETE FROM action WHERE conversation = ? AND seq = ?"
        case .removeMessages: "DELETE FROM message WHERE conversation = ? AND seq BETWEEN ? AND ?"
        case .removeActionsOf: "DELETE FROM action WHERE conversation = ? AND seq BETWEEN ? AND ?"
        case .putSettings:
            """
            INSERT INTO setting (name, value) VALUES ('server', ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """
        case .insertMention:
            """
            INSERT INTO mention (conversation, user, seq, sender) VALUES (?, ?, ?, ?)
            ON CONFLICT (conversation, user, seq) DO NOTHING
            """
        case .putLastCommit: "UPDATE meta SET value = ? WHERE name = 'moved'"
        default: preconditionFailure("\(self) is not a change.")
        }
    }

    /// Returns the SQL of a page that starts at either end of a range of sequence numbers.
    ///
    /// - Parameters:
    ///   - newestFirst: Whether the page starts at the upper end.
    ///   - index: The index to scan; `nil` scans all messages of the range.
    ///   - condition: An additional condition, which starts with `AND`.
    static func messages(newestFirst: Bool, index: String? = nil, where condition: String = "") -> String {
        """
        SELECT \(messageColumns) FROM message\(index.map { " INDEXED BY \($0)" } ?? "")
        WHERE conversation = ? AND seq BETWEEN ? AND ?\(condition)
        ORDER BY seq\(newestFirst ? " DESC" : "")
        """
    }

    // MARK: Columns, in the order in which rows are read and written

    private static let settings = """
        name, avatar, metadata, visibility, isPrivate, isDeleted, createdAt, salt, head, n, timetoken, rev, firstSeq, \
        floorN, floorTime, sweptSeq, changeFloor, retention, hasVoids, view, isFrozen, capacity, hasMutes, \
        blocks, recentSeq, recentTime, marks, moved
        """
    static let conversationColumns = "number, kind, target, part, \(settings)"
    private static let memberState = """
        standing, role, joinSeq, joinN, readSeq, readN, clearSeq, clearN, removedSeq, roamSeq, isMuted, isPinned, \
        isMarkedUnread, markedRev, view, userRev, hasVoids, level
        """
    static let memberColumns = "conversation, user, \(memberState)"
    /// Raw columns, because computing values from them is faster in Swift; without a member row, its columns are 0.
    private static let involvementColumns = """
        c.number, c.kind, c.part = '', c.isDeleted, c.isPrivate, c.head, c.n, c.moved, \
        iif(c.recentSeq > 0, c.recentTime, c.timetoken), c.recentSeq, m.standing, m.userRev, m.isMuted, m.isPinned, \
        m.isMarkedUnread, m.hasVoids, m.removedSeq, c.firstSeq, c.floorN, m.joinSeq, m.joinN, m.readSeq, m.readN, \
        m.clearSeq, m.clearN
        """
    static let changeColumns = "rev, kind, lower, upper, at, operation, digest, answer"
    static let actionColumns = "seq, timetoken, sender, type, value"
    static let retiredColumns = "id, sender, digest, seq, n, timetoken"
    /// The columns that a change can alter.
    private static let messageState = """
        flags, rev, editedAt, customType, mentions, replyTo, thread, replyCount, lastReply, actions, metadata, extra, \
        push, content
        """
    static let messageColumns = "seq, n, timetoken, id, sender, type, digest, \(messageState)"

    static func places(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ", ")
    }

    static func excluded(_ columns: String) -> String {
        columns.split(separator: ", ").map { "excluded.\($0)" }.joined(separator: ", ")
    }
}
