package import Foundation
import GRDB
package import ScrollbackModel
package import ScrollbackSync
import ScrollbackWire

/// A message on its way out, with what it says.
package struct PendingMessage: Hashable, Sendable, Identifiable {
    package var submission: Submission
    package var conversation: ConversationID
    package var ordinal: Int64
    package var createdAt: Date
    package var state: State

    package enum State: Hashable, Sendable {
        case queued, sending
        case waiting(until: Date)
        case failed(ChatErrorBox)
    }

    /// An error as a value that can be compared and hashed by what it says.
    package struct ChatErrorBox: Hashable, Sendable {
        package var error: ChatError
        package static func == (a: Self, b: Self) -> Bool { a.error == b.error }
        package func hash(into hasher: inout Hasher) { hasher.combine(error.code) }
    }

    package var id: MessageID { submission.id }
}

extension LocalReader {
    /// Everything that is to be sent, in order.
    package func outbox() throws -> [OutboxItem] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT id, conversation, ordinal, createdAt, state, until, error, attempts, isFrozen
                FROM outbox ORDER BY ordinal
                """
        ).map { try Self.item($0) }
    }

    package func submission(_ id: MessageID) throws -> (ConversationID, Submission)? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT conversation, submission FROM outbox WHERE id = ?"), arguments: [id.data])
        return try row.map { (try ConversationID($0[0] as String), try Self.submission($0[1])) }
    }

    /// The messages of a conversation that are to be sent, in order.
    package func pending(in id: ConversationID) throws -> [PendingMessage] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id, conversation, ordinal, createdAt, state, until, error, attempts, isFrozen, submission
                    FROM outbox WHERE conversation = ? ORDER BY ordinal
                    """), arguments: [id.description]
        ).map { try Self.pending($0) }
    }

    package func pending(_ id: MessageID) throws -> PendingMessage? {
        try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT id, conversation, ordinal, createdAt, state, until, error, attempts, isFrozen, submission
                    FROM outbox WHERE id = ?
                    """), arguments: [id.data]
        ).map { try Self.pending($0) }
    }

    private static func pending(_ row: Row) throws -> PendingMessage {
        let item = try item(row)
        let state: PendingMessage.State =
            switch item.state {
            case .queued: .queued
            case .sending: .sending
            case .waiting(let until): .waiting(until: until)
            case .failed(let error): .failed(.init(error: error))
            }
        return PendingMessage(
            submission: try submission(row[9]), conversation: item.conversation, ordinal: item.ordinal,
            createdAt: item.createdAt, state: state)
    }

    private static func submission(_ json: String) throws -> Submission {
        var reader = JSONReader(json)
        // It was checked when it was queued; limits may have changed since, and the server has the last word.
        let unlimited = Limits(frameBytes: .max, contentBytes: .max, attributeBytes: .max, pageSize: 100)
        return try Submission(from: SubmissionFields(from: &reader), limits: unlimited)
    }

    private static func item(_ row: Row) throws -> OutboxItem {
        let state: OutboxItem.State
        switch row[4] as String {
        case "waiting": state = .waiting(until: Date(timeIntervalSince1970: row[5]))
        case "failed":
            var reader = JSONReader(row[6] as String)
            state = .failed(try ChatError(problem: &reader))
        case "sending": state = .sending
        default: state = .queued
        }
        return OutboxItem(
            id: MessageID(data: row[0]), conversation: try ConversationID(row[1] as String), ordinal: row[2],
            createdAt: Date(timeIntervalSince1970: row[3]), state: state, attempts: row[7], isFrozen: row[8])
    }
}

extension LocalWriter {
    /// Queues a message, durable when the transaction is.
    package func insert(_ submission: Submission, to id: ConversationID, now: Date) throws -> OutboxItem {
        let ordinal = try Int64.fetchOne(db, sql: "SELECT coalesce(max(ordinal), 0) + 1 FROM outbox") ?? 1
        let item = OutboxItem(id: submission.id, conversation: id, ordinal: ordinal, createdAt: now)
        var writer = JSONWriter()
        writer.object { submission.writeMembers(to: &$0) }
        try db.cachedStatement(
            sql: """
                INSERT INTO outbox (id, conversation, ordinal, createdAt, state, attempts, isFrozen, submission)
                VALUES (?, ?, ?, ?, 'queued', 0, 0, ?)
                """
        ).execute(arguments: [
            submission.id.data, id.description, ordinal, now.timeIntervalSince1970, writer.text,
        ])
        return item
    }

    package func save(_ item: OutboxItem) throws {
        var state = "queued"
        var until: Double?
        var error: String?
        switch item.state {
        case .queued: break
        case .sending: state = "sending"
        case .waiting(let date):
            state = "waiting"
            until = date.timeIntervalSince1970
        case .failed(let failure):
            state = "failed"
            var writer = JSONWriter()
            failure.writeProblem(to: &writer)
            error = writer.text
        }
        try db.cachedStatement(
            sql: "UPDATE outbox SET state = ?, until = ?, error = ?, attempts = ?, isFrozen = ? WHERE id = ?"
        ).execute(arguments: [state, until, error, item.attempts, item.isFrozen, item.id.data])
    }

    package func removeFromOutbox(_ id: MessageID) throws {
        try db.cachedStatement(sql: "DELETE FROM outbox WHERE id = ?").execute(arguments: [id.data])
    }
}
