import GRDB
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import SQLiteSupport

/// A message of the user that the server had when its store last went back.
struct KeptMessage: Sendable {
    var conversation: ConversationID
    var submission: Submission
    var timetoken: Timetoken
}

/// The user's own messages of logs that the server replaced because its store went back to an earlier state.
///
/// The device loads only some of them again. If the store goes back once more, to an even earlier state, it loses
/// messages that the server had after the first time. They are kept with their sequence numbers, which do not change
/// while the server has them.
extension LocalReader {
    /// Returns the kept messages that were sent after a time, oldest first.
    func keptMessages(after time: Timetoken) throws -> [KeptMessage] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT conversation.id, conversation, seq, timetoken, body
                FROM keptMessage JOIN conversation ON number = conversation
                WHERE timetoken > ? AND keptMessage.id NOT IN (SELECT id FROM outbox)
                ORDER BY timetoken
                """, arguments: [Int64(bitPattern: time.rawValue)]
        ).compactMap { row in
            let id = try ConversationID(row[0] as String)
            let body = try text(row[4], "body", of: .keptMessage(row[1], row[2])) ?? ""
            guard case .send(let request) = try OutboxRequest(storedText: body, in: id, isMessage: true) else {
                return nil
            }
            return KeptMessage(
                conversation: id, submission: request.submission,
                timetoken: Timetoken(rawValue: UInt64(bitPattern: row[3])))
        }
    }
}

extension LocalWriter {
    /// Keeps the user's own messages of all logs.
    func keepOwnMessages() throws {
        // A stored message is newer than its kept version. It can also be a tombstone.
        try db.execute(
            sql: """
                DELETE FROM keptMessage WHERE EXISTS (
                    SELECT 1 FROM message
                    WHERE message.conversation = keptMessage.conversation AND message.seq = keptMessage.seq)
                """)
        let found = try Row.fetchAll(
            db,
            sql: """
                SELECT conversation.id, number, epoch, seq FROM message JOIN conversation ON number = conversation
                WHERE sender = ? AND content IS NOT NULL AND epoch IS NOT NULL
                    AND message.id NOT IN (SELECT id FROM outbox)
                """, arguments: [user.text])
        for row in found {
            let message = try reader.asStored.message(
                at: row[3], number: row[1], in: try ConversationID(row[0] as String),
                epoch: Epoch(rawValue: UInt64(bitPattern: row[2])))
            if let message { try keep(message, in: row[1]) }
        }
    }

    /// Keeps a message of the user in the form in which the server has it, unless it was recalled.
    ///
    /// - Parameter number: The number of the conversation.
    func keep(_ message: Message, in number: Int64) throws {
        guard message.sender == user, let content = message.content, content.notice == nil else { return }
        let submission = Submission(id: message.id, content: content, attributes: message.attributes)
        let body = try reader.stored(
            OutboxRequest.storedText(of: submission), "body", of: .keptMessage(number, message.seq))
        try db.cachedStatement(
            sql: "INSERT OR REPLACE INTO keptMessage (conversation, seq, id, timetoken, body) VALUES (?, ?, ?, ?, ?)"
        ).execute(arguments: [
            number, message.seq, message.id.data, Int64(bitPattern: message.timetoken.rawValue), body,
        ])
    }

    /// Deletes the kept messages that were sent after a time.
    func removeKeptMessages(after time: Timetoken) throws {
        try db.execute(
            sql: "DELETE FROM keptMessage WHERE timetoken > ?", arguments: [Int64(bitPattern: time.rawValue)])
    }

    /// Deletes the kept messages in a range that the user can no longer see.
    func removeKeptMessages(at places: SeqRange, in number: Int64) throws {
        try db.cachedStatement(sql: "DELETE FROM keptMessage WHERE conversation = ? AND seq BETWEEN ? AND ?")
            .execute(arguments: [number, places.lowerBound, places.upperBound])
    }

    /// Deletes the kept messages of a conversation that has a new log because it was deleted and created again.
    ///
    /// A conversation that was not fetched since the server's store went back has a new log for that reason.
    func removeKeptMessagesOfOldEpoch(_ number: Int64) throws {
        try db.cachedStatement(
            sql: """
                DELETE FROM keptMessage WHERE conversation = ?1
                    AND (SELECT lastCommit <> \(Self.outdatedCommit) FROM conversation WHERE number = ?1)
                """
        ).execute(arguments: [number])
    }
}
