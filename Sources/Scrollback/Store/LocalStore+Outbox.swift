package import Foundation
import GRDB
package import ScrollbackModel
package import ScrollbackSync
import ScrollbackWire
import SQLiteSupport

/// A queued message with its content.
package struct PendingMessage: Hashable, Sendable, Identifiable {
    package var submission: Submission
    /// The error if the message can't be decrypted here, because its key is no longer available.
    package var decryptionError: ChatError?
    package var conversation: ConversationID
    package var ordinal: Int64
    package var createdAt: Date
    package var state: State

    package enum State: Hashable, Sendable {
        case queued, uploading, sending
        case waiting(until: Date)
        case failed(ChatErrorBox)
    }

    /// A `ChatError` that can be compared and hashed by its content.
    package struct ChatErrorBox: Hashable, Sendable {
        package var error: ChatError
        package static func == (a: Self, b: Self) -> Bool { a.error == b.error }
        package func hash(into hasher: inout Hasher) { hasher.combine(error.code) }
    }

    package var id: MessageID { submission.id }
}

extension PendingMessage.State {
    init(_ state: OutboxItem.State) {
        self =
            switch state {
            case .queued: .queued
            case .uploading: .uploading
            case .sending: .sending
            case .waiting(let until): .waiting(until: until)
            case .failed(let error): .failed(.init(error: error))
            }
    }
}

extension LocalReader {
    /// The columns that ``item(_:)`` reads.
    private static let itemColumns =
        "id, conversation, ordinal, createdAt, state, until, error, attempts, isFrozen, kind = 'send', needsUpload"

    /// Returns all queued items, in order.
    package func outbox() throws -> [OutboxItem] {
        try Row.fetchAll(
            db,
            sql: "SELECT \(Self.itemColumns) FROM outbox WHERE state <> 'unconfirmed' ORDER BY ordinal"
        ).map { try item($0) }
    }

    /// Returns the queued request with an ID.
    package func request(_ id: MessageID) throws -> OutboxRequest? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT conversation, kind, body FROM outbox WHERE id = ?"), arguments: [id.data])
        return try row.map { row in
            try OutboxRequest(
                storedText: body(row[2], of: id), in: ConversationID(row[0] as String), isMessage: row[1] == "send")
        }
    }

    /// Returns the queued changes to messages of a conversation, in order.
    package func pendingChanges(in id: ConversationID) throws -> [OutboxRequest] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id, body FROM outbox
                    WHERE conversation = ? AND kind = 'change' AND subject IS NULL AND state <> 'failed'
                    ORDER BY ordinal
                    """), arguments: [id.description]
        ).map { row in
            try OutboxRequest(storedText: body(row[1], of: MessageID(data: row[0])), in: id, isMessage: false)
        }
    }

    /// Returns whether a queued message was never transmitted.
    package func isUnsent(_ id: MessageID) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT NOT isFrozen FROM outbox WHERE id = ? AND kind = 'send'"),
            arguments: [id.data]) ?? false
    }

    /// Returns the state of a queued item.
    package func progress(_ id: MessageID) throws -> PendingMessage.State? {
        try item(of: id).map { PendingMessage.State($0.state) }
    }

    func item(of id: MessageID) throws -> OutboxItem? {
        try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT \(Self.itemColumns) FROM outbox WHERE id = ?"), arguments: [id.data]
        ).map { try item($0) }
    }

    /// Returns the queued messages of a conversation, in order.
    package func pending(in id: ConversationID) throws -> [PendingMessage] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT \(Self.itemColumns), body
                    FROM outbox WHERE conversation = ? AND kind = 'send' AND state <> 'unconfirmed' ORDER BY ordinal
                    """), arguments: [id.description]
        ).map { try pending($0) }
    }

    package func pending(_ id: MessageID) throws -> PendingMessage? {
        try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT \(Self.itemColumns), body
                    FROM outbox WHERE id = ? AND kind = 'send' AND state <> 'unconfirmed'
                    """), arguments: [id.data]
        ).map { try pending($0) }
    }

    private func pending(_ row: Row) throws -> PendingMessage {
        let item = try item(row)
        let body = try body(row[11], of: item.id)
        guard case .send(let request) = try OutboxRequest(storedText: body, in: item.conversation, isMessage: true)
        else {
            throw ChatError(.localStorage, "The outbox has another request in place of message \(item.id).")
        }
        let queued = request.submission
        let (submission, error) = messageEncryption?.open(queued, to: item.conversation) ?? (queued, nil)
        return PendingMessage(
            submission: submission, decryptionError: error, conversation: item.conversation, ordinal: item.ordinal,
            createdAt: item.createdAt, state: PendingMessage.State(item.state))
    }

    private func body(_ value: DatabaseValue, of id: MessageID) throws -> String {
        try text(value, "body", of: .outbox(id)) ?? ""
    }

    private func item(_ row: Row) throws -> OutboxItem {
        let id = MessageID(data: row[0])
        let state: OutboxItem.State
        switch row[4] as String {
        case "waiting": state = .waiting(until: Date(timeIntervalSince1970: row[5]))
        case "failed":
            var reader = JSONReader(try text(row[6], "error", of: .outbox(id)) ?? "")
            state = .failed(try ChatError(problem: &reader))
        case "sending": state = .sending
        case "uploading": state = .uploading
        default: state = .queued
        }
        return OutboxItem(
            id: id, conversation: try ConversationID(row[1] as String), ordinal: row[2],
            createdAt: Date(timeIntervalSince1970: row[3]), isMessage: row[9], state: state, needsUpload: row[10],
            attempts: row[7], wasTransmitted: row[8])
    }
}

extension LocalWriter {
    /// Adds a message to the outbox.
    package func insert(
        _ submission: Submission, to id: ConversationID, needsUpload: Bool = false, now: Date
    ) throws -> OutboxItem {
        try insert(
            submission.id, to: id, "send", OutboxRequest.storedText(of: submission), about: nil,
            needsUpload: needsUpload,
            now: now)
    }

    /// Adds a request other than sending a message to the outbox.
    ///
    /// - Parameter id: The operation's ID, which makes retries idempotent.
    package func insert(
        _ request: OutboxRequest, _ id: MessageID, about message: MessageID?, in conversation: ConversationID, now: Date
    ) throws -> OutboxItem {
        try insert(
            id, to: conversation, "change", request.storedText, about: message, subject: request.subject, now: now)
    }

    private func insert(
        _ id: MessageID, to conversation: ConversationID, _ kind: String, _ body: String, about message: MessageID?,
        subject: OutboxRequest.Subject? = nil, needsUpload: Bool = false, now: Date
    ) throws -> OutboxItem {
        let ordinal = try Int64.fetchOne(db, sql: "SELECT coalesce(max(ordinal), 0) + 1 FROM outbox") ?? 1
        try db.cachedStatement(
            sql: """
                INSERT INTO outbox (
                    id, conversation, ordinal, createdAt, state, attempts, isFrozen, kind, body, about, subject,
                    needsUpload)
                VALUES (?, ?, ?, ?, 'queued', 0, 0, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            id.data, conversation.description, ordinal, now.timeIntervalSince1970, kind,
            try reader.stored(body, "body", of: .outbox(id)), message?.data, subject?.rawValue, needsUpload,
        ])
        return OutboxItem(
            id: id, conversation: conversation, ordinal: ordinal, createdAt: now, isMessage: kind == "send",
            needsUpload: needsUpload)
    }

    /// Replaces the content of a queued message that was never transmitted.
    ///
    /// - Returns: `false` if the message is not in the outbox or may have reached the server.
    package func replace(_ submission: Submission) throws -> Bool {
        let text = OutboxRequest.storedText(of: submission)
        try db.cachedStatement(sql: "UPDATE outbox SET body = ? WHERE id = ? AND kind = 'send' AND NOT isFrozen")
            .execute(arguments: [
                try reader.stored(text, "body", of: .outbox(submission.id)), submission.id.data,
            ])
        return db.changesCount > 0
    }

    /// Replaces the content of a message that the server lost.
    ///
    /// If the server has the message nevertheless, it refuses the changed one.
    func replaceLost(_ message: PendingMessage) throws {
        let submission =
            try reader.messageEncryption?.seal(message.submission, to: message.conversation) ?? message.submission
        try db.cachedStatement(sql: "UPDATE outbox SET body = ? WHERE id = ? AND kind = 'send'")
            .execute(arguments: [
                try reader.stored(OutboxRequest.storedText(of: submission), "body", of: .outbox(message.id)),
                message.id.data,
            ])
    }

    package func save(_ item: OutboxItem) throws {
        var state = "queued"
        var until: Double?
        var error: String?
        switch item.state {
        case .queued: break
        case .uploading: state = "uploading"
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
            sql: """
                UPDATE outbox SET state = ?, until = ?, error = ?, attempts = ?, isFrozen = ?, needsUpload = ?
                WHERE id = ?
                """
        ).execute(arguments: [
            state, until, try reader.stored(error, "error", of: .outbox(item.id)), item.attempts, item.wasTransmitted,
            item.needsUpload, item.id.data,
        ])
    }

    /// Deletes an unsent message with its local data; has no effect if it was sent.
    package func removeUnsent(_ id: MessageID) throws {
        try removeLocalExtension(ofUnsent: id)
        try removeFromOutbox(id)
    }

    /// Deletes the refused changes that were queued before a time.
    func removeFailedChanges(queuedBefore time: Date) throws {
        try db.cachedStatement(
            sql: "DELETE FROM outbox WHERE kind = 'change' AND state = 'failed' AND createdAt < ?"
        ).execute(arguments: [time.timeIntervalSince1970])
    }

    package func removeFromOutbox(_ id: MessageID) throws {
        try db.cachedStatement(sql: "DELETE FROM outbox WHERE id = ?").execute(arguments: [id.data])
        try removeUploads(of: id)
    }
}
