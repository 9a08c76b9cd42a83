import Foundation
import GRDB
import ScrollbackModel
import ScrollbackWire

/// A draft that was changed on this device, and that the server has not accepted.
struct PendingDraft: Sendable {
    var conversation: ConversationID
    /// The draft as the server stores it; `nil` if it was deleted.
    var body: RawJSON?
    /// The number of the change on this device.
    var version: Int64
}

/// The position of this device in the server's list of drafts.
struct DraftCursor: Sendable {
    /// `nil` for a device that has not fetched drafts yet.
    var text: String?
    /// The number of reports of drafts that this device lacks; 0 if it has all of them.
    var reports: Int64
}

extension LocalReader {
    /// Returns the cursor to fetch drafts with, or `nil` if this device has all of them.
    ///
    /// A device without a cursor fetches before it sends its first draft. A list without a cursor has no deletions, so
    /// a draft that another device deleted later would be sent again.
    func draftCursorIfBehind() throws -> DraftCursor? {
        let isBehind = try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'draftsBehind')
                        OR EXISTS (SELECT 1 FROM draftSync WHERE isPending)
                        AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'draftCursor')
                    """))
        return isBehind == true ? try draftCursor() : nil
    }

    /// Returns the cursor of the last list of drafts.
    func draftCursor() throws -> DraftCursor {
        DraftCursor(
            text: try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'draftCursor'"),
            reports: try Int64.fetchOne(
                db, sql: "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'draftsBehind'") ?? 0)
    }

    /// Returns the draft that was changed first among those that the server has not accepted.
    func nextPendingDraft() throws -> PendingDraft? {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT conversation, version FROM draftSync WHERE isPending ORDER BY version LIMIT 1"))
        guard let row else { return nil }
        let conversation = try ConversationID(row[0] as String)
        let body = try draft(in: conversation)?.json
        return PendingDraft(
            conversation: conversation,
            body: try body.map { try drafts.seal(draft: $0, in: conversation) }, version: row[1])
    }

    /// Returns whether the draft of a conversation was changed on this device, and not accepted by the server.
    func isDraftPending(in id: ConversationID) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT isPending FROM draftSync WHERE conversation = ?"),
            arguments: [id.description]) ?? false
    }

    /// The encryption of drafts, also if this reader returns messages as they are stored.
    private var drafts: MessageEncryption { messageEncryption ?? MessageEncryption(user: user, cipher: nil) }

    /// Returns a draft of the server, decrypted.
    fileprivate func opened(_ synced: SyncedDraft) throws -> Draft? {
        guard let json = synced.draft else { return nil }
        return try Draft(stored: drafts.open(draft: json, in: synced.conversation).text)
    }
}

extension LocalWriter {
    /// Records that the user changed the draft of a conversation on this device.
    func recordDraftChange(in id: ConversationID) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO draftSync (conversation, version, isPending, rev)
                VALUES (?, (SELECT coalesce(max(version), 0) + 1 FROM draftSync), 1, 0)
                ON CONFLICT (conversation) DO UPDATE SET version = excluded.version, isPending = 1
                """
        ).execute(arguments: [id.description])
    }

    /// Ends the transmission of a draft, unless the user changed it again in the meantime.
    ///
    /// - Parameter rev: The user revision of the change; `nil` if the server refused it.
    func draftAccepted(_ pending: PendingDraft, rev: Int64?) throws {
        let id = pending.conversation.description
        if let rev {
            try db.cachedStatement(sql: "UPDATE draftSync SET rev = max(rev, ?) WHERE conversation = ?")
                .execute(arguments: [rev, id])
        }
        try db.cachedStatement(sql: "UPDATE draftSync SET isPending = 0 WHERE conversation = ? AND version = ?")
            .execute(arguments: [id, pending.version])
    }

    /// Stores a draft that the server reports because it was changed at this moment.
    ///
    /// - Parameter isOwn: Whether it may be the draft of this device whose answer is still to come.
    /// - Returns: Whether the draft was stored.
    func receive(_ synced: SyncedDraft, isOwn: Bool, now: Date) throws -> Bool {
        let cursor = try reader.draftCursor()
        // The first list has no deletions, so this device must not have drafts of the server before it.
        let hasList = cursor.text != nil
        // If the request with the draft of this device was accepted before this change, this change is newer. The list
        // shows which one is. A list that is still to come may be older than this change, and replaces it after a
        // reset.
        if try !hasList || cursor.reports > 0 || !isOwn && reader.isDraftPending(in: synced.conversation) {
            try markDraftsBehind()
        }
        return try hasList && apply(synced, now: now)
    }

    /// Stores a draft of the server, unless this device has a newer one, or can't decrypt it.
    ///
    /// - Returns: Whether the draft was stored.
    func apply(_ synced: SyncedDraft, now: Date) throws -> Bool {
        let known = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT rev FROM draftSync WHERE conversation = ?"),
            arguments: [synced.conversation.description])
        guard synced.rev > known ?? 0, try !reader.isDraftPending(in: synced.conversation) else { return false }
        let draft: Draft?
        do {
            draft = try reader.opened(synced)
        } catch is ChatError {
            return false
        }
        try save(draft, in: synced.conversation, now: now)
        try db.cachedStatement(
            sql: """
                INSERT INTO draftSync (conversation, version, isPending, rev) VALUES (?, 0, 0, ?)
                ON CONFLICT (conversation) DO UPDATE SET rev = excluded.rev
                """
        ).execute(arguments: [synced.conversation.description, synced.rev])
        return true
    }

    /// Forgets which drafts the server has, because its list begins with the first draft.
    func forgetDraftRevisions() throws {
        try db.execute(sql: "UPDATE draftSync SET rev = 0")
    }

    /// Records that the server has drafts that this device has not fetched.
    func markDraftsBehind() throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO meta VALUES ('draftsBehind', ?)",
            arguments: ["\(try reader.draftCursor().reports + 1)"])
    }

    /// Stores the end of a list of drafts.
    ///
    /// - Parameters:
    ///   - start: The cursor of the request. If more drafts were reported since, the list may lack them.
    ///   - hasMore: Whether more drafts follow.
    func saveDraftCursor(_ cursor: String, after start: DraftCursor, hasMore: Bool) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO meta VALUES ('draftCursor', ?)", arguments: [cursor])
        if hasMore { return try markDraftsBehind() }
        guard try reader.draftCursor().reports == start.reports else { return }
        // The server lost or refused the drafts of this device that its list doesn't have.
        try db.execute(
            sql: """
                DELETE FROM meta WHERE key = 'draftsBehind';
                UPDATE draftSync SET isPending = 1
                WHERE rev = 0 AND EXISTS (SELECT 1 FROM draft WHERE draft.conversation = draftSync.conversation);
                """)
    }
}
