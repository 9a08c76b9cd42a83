package import Foundation
import GRDB
package import ScrollbackModel
package import ScrollbackSync

/// The newest checkpoint that the server sent, until it is stored.
///
/// The driver notes the checkpoint of a frame before it handles the frame. Every transaction stores the noted
/// checkpoint, so that a stored checkpoint covers everything in the store.
struct NotedCheckpoint: Sendable {
    private var lineage: String?
    private var newest: (commit: Int64, text: String)?
    /// The stored checkpoint.
    var stored: String?

    /// The checkpoint to store, if it is not stored yet.
    var unstored: String? { newest?.text == stored ? nil : newest?.text }

    /// Starts with the checkpoints of another connection.
    mutating func connected(lineage: String?) {
        if lineage != self.lineage { newest = nil }
        self.lineage = lineage
    }

    /// Notes the checkpoint of a frame; frames can arrive in another order than their commits.
    mutating func note(_ checkpoint: String) {
        guard let lineage, let commit = Int64(checkpoint.prefix { $0 != "." }), commit > newest?.commit ?? -1 else {
            return
        }
        newest = (commit, "\(lineage).\(checkpoint)")
    }
}

extension LocalReader {
    /// Returns the newest stored checkpoint, which the client presents to the server.
    package func checkpoint() throws -> String? {
        try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'checkpoint'")
    }

    /// Returns the conversations that were not fetched since the server's store went back.
    package func outdatedConversations() throws -> [ConversationID] {
        try String.fetchAll(
            db.cachedStatement(sql: "SELECT id FROM conversation WHERE lastCommit = \(LocalWriter.outdatedCommit)")
        ).map { try ConversationID($0) }
    }

    /// Returns the user's messages of which it is unknown whether the server still has them.
    package func unconfirmedMessages(limit: Int) throws -> [MessageReference] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT id, conversation FROM outbox WHERE state = 'unconfirmed' ORDER BY ordinal LIMIT ?"),
            arguments: [limit]
        ).map { MessageReference(MessageID(data: $0[0]), in: try ConversationID($0[1] as String)) }
    }
}

extension LocalWriter {
    /// The commit number of conversations that were not fetched since the server's store went back.
    static let outdatedCommit = -1

    /// The age in seconds up to which a message that the server lost is sent again automatically.
    ///
    /// Older messages fail, so that the user decides whether they still make sense.
    static let resendAge: TimeInterval = 24 * 60 * 60

    func save(checkpoint: String) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO meta VALUES ('checkpoint', ?)")
            .execute(arguments: [checkpoint])
    }

    /// Prepares for a new sync because the server's store went back to an earlier state.
    ///
    /// The user's own messages that the server may have lost are kept in the outbox until the server has answered
    /// whether it has them. Their files are kept too, if they are stored on this device. The user's other messages are
    /// kept for the case that the store goes back once more. All conversations and profiles are fetched again, and
    /// drafts are compared with those of the server. This method can be called repeatedly.
    ///
    /// - Parameter time: The time after which messages may be lost.
    package func adoptRollback(lostAfter time: Timetoken, files: LocalFiles) throws {
        try keepInOutbox(since: time, files: files)
        try db.execute(sql: "UPDATE conversation SET lastCommit = \(Self.outdatedCommit) WHERE epoch IS NOT NULL")
        try db.execute(sql: "UPDATE person SET fetchedAt = 0")
        // A server that lost all drafts does not report any.
        try markDraftsBehind()
    }

    private func keepInOutbox(since time: Timetoken, files: LocalFiles) throws {
        try keepOwnMessages()
        for message in try reader.keptMessages(after: time) {
            let submission = message.submission
            _ = try insert(submission, to: message.conversation, now: message.timetoken.date)
            try db.cachedStatement(sql: "UPDATE outbox SET state = 'unconfirmed', isFrozen = 1 WHERE id = ?")
                .execute(arguments: [submission.id.data])
            try recreateUploads(of: submission.id, with: submission.content, from: files)
        }
        try removeKeptMessages(after: time)
    }

    /// Queues a message that the server lost with its files, or marks it as failed if it is old.
    ///
    /// - Returns: The item, or `nil` if the message is not waiting for this.
    package func requeue(_ id: MessageID, now: Date) throws -> OutboxItem? {
        guard try reader.isUnconfirmed(id), var item = try reader.item(of: id) else { return nil }
        item.state = .queued
        item.needsUpload = try !reader.uploads(of: id).isEmpty
        if now.timeIntervalSince(item.createdAt) > Self.resendAge {
            item.state = .failed(
                ChatError(
                    .expired,
                    "The server was restored to an earlier state and lost this message. Send it again or delete it."))
        }
        try save(item)
        return item
    }

    /// Removes a message from the outbox that the server still has.
    ///
    /// - Parameters:
    ///   - message: The message as the server has it.
    ///   - id: The conversation of the message in the outbox.
    package func confirm(_ message: Message, in id: ConversationID) throws {
        guard try reader.isUnconfirmed(message.id) else { return }
        try removeFromOutbox(message.id)
        if let number = try reader.number(of: id) { try keep(message, in: number) }
    }
}

extension LocalReader {
    fileprivate func isUnconfirmed(_ id: MessageID) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT state = 'unconfirmed' FROM outbox WHERE id = ?"), arguments: [id.data])
            ?? false
    }
}
