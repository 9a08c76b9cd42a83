package import Foundation
import GRDB
package import ScrollbackModel
package import ScrollbackSync
package import ScrollbackWire
import StoreFiles

/// A message on its way out, with what it says.
package struct PendingMessage: Hashable, Sendable, Identifiable {
    package var submission: Submission
    /// Why it can't be read here: it was encrypted with a key that is not there any more.
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

    /// An error as a value that can be compared and hashed by what it says.
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
    /// What ``item(_:)`` reads.
    private static let itemColumns =
        "id, conversation, ordinal, createdAt, state, until, error, attempts, isFrozen, kind = 'send', needsUpload"

    /// Everything that is to be sent, in order.
    package func outbox() throws -> [OutboxItem] {
        try Row.fetchAll(
            db,
            sql: "SELECT \(Self.itemColumns) FROM outbox ORDER BY ordinal"
        ).map { try item($0) }
    }

    /// What is to be asked of the server under an id.
    package func request(_ id: MessageID) throws -> ClientRequest? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT conversation, kind, body FROM outbox WHERE id = ?"), arguments: [id.data])
        return try row.map { row in
            let body = try body(row[2], of: id)
            guard row[1] == "change" else {
                return .send(try ConversationID(row[0] as String), try Self.submission(body))
            }
            return try Self.change(body)
        }
    }

    /// What is to be done to messages of a conversation, in order: each message and what it is about to be.
    package func pendingChanges(in id: ConversationID) throws -> [ClientRequest] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id, body FROM outbox WHERE conversation = ? AND kind = 'change' AND state <> 'failed'
                    ORDER BY ordinal
                    """), arguments: [id.description]
        ).map { row in try Self.change(body(row[1], of: MessageID(data: row[0]))) }
    }

    /// Whether a message waits to be sent that was never transmitted.
    package func isUnsent(_ id: MessageID) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT NOT isFrozen FROM outbox WHERE id = ? AND kind = 'send'"),
            arguments: [id.data]) ?? false
    }

    /// How far something that is to be asked has come, and which message it is about.
    package func progress(_ id: MessageID) throws -> PendingMessage.State? {
        try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT \(Self.itemColumns) FROM outbox WHERE id = ?"), arguments: [id.data]
        ).map { PendingMessage.State(try item($0).state) }
    }

    private static func change(_ body: String) throws -> ClientRequest {
        do {
            guard case .request(_, let request) = try ClientFrame.decode(Array(body.utf8), limits: unlimited) else {
                throw ChatError(.localStorage, "what is queued is no request")
            }
            return request
        } catch let error as RequestError {
            throw error.error
        }
    }

    /// What is queued was checked before; limits may have changed since, and the server has the last word.
    private static let unlimited = Limits(
        frameBytes: .max, contentBytes: .max, attributeBytes: .max, pageSize: 100)

    /// The messages of a conversation that are to be sent, in order.
    package func pending(in id: ConversationID) throws -> [PendingMessage] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT \(Self.itemColumns), body
                    FROM outbox WHERE conversation = ? AND kind = 'send' ORDER BY ordinal
                    """), arguments: [id.description]
        ).map { try pending($0) }
    }

    package func pending(_ id: MessageID) throws -> PendingMessage? {
        try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT \(Self.itemColumns), body
                    FROM outbox WHERE id = ? AND kind = 'send'
                    """), arguments: [id.data]
        ).map { try pending($0) }
    }

    private func pending(_ row: Row) throws -> PendingMessage {
        let item = try item(row)
        let queued = try Self.submission(body(row[11], of: item.id))
        let (submission, error) = sealing?.open(queued, to: item.conversation) ?? (queued, nil)
        return PendingMessage(
            submission: submission, decryptionError: error, conversation: item.conversation, ordinal: item.ordinal,
            createdAt: item.createdAt, state: PendingMessage.State(item.state))
    }

    private func body(_ value: DatabaseValue, of id: MessageID) throws -> String {
        try text(value, "body", of: .outbox(id)) ?? ""
    }

    private static func submission(_ json: String) throws -> Submission {
        var reader = JSONReader(json)
        return try Submission(from: SubmissionFields(from: &reader), limits: unlimited)
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
            attempts: row[7], isFrozen: row[8])
    }
}

extension LocalWriter {
    /// Queues a message, durable when the transaction is.
    package func insert(
        _ submission: Submission, to id: ConversationID, needsUpload: Bool = false, now: Date
    ) throws -> OutboxItem {
        var writer = JSONWriter()
        writer.object { submission.writeMembers(to: &$0) }
        return try insert(submission.id, to: id, "send", writer.text, about: nil, needsUpload: needsUpload, now: now)
    }

    /// Queues something to be done to a message.
    ///
    /// - Parameter id: of the request: it makes a retry harmless.
    package func insert(
        _ request: ClientRequest, _ id: MessageID, about message: MessageID?, in conversation: ConversationID, now: Date
    ) throws -> OutboxItem {
        let body = String(decoding: ClientFrame.request(ref: 0, request).encoded(), as: UTF8.self)
        return try insert(id, to: conversation, "change", body, about: message, now: now)
    }

    private func insert(
        _ id: MessageID, to conversation: ConversationID, _ kind: String, _ body: String, about message: MessageID?,
        needsUpload: Bool = false, now: Date
    ) throws -> OutboxItem {
        let ordinal = try Int64.fetchOne(db, sql: "SELECT coalesce(max(ordinal), 0) + 1 FROM outbox") ?? 1
        try db.cachedStatement(
            sql: """
                INSERT INTO outbox (
                    id, conversation, ordinal, createdAt, state, attempts, isFrozen, kind, body, about, needsUpload)
                VALUES (?, ?, ?, ?, 'queued', 0, 0, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            id.data, conversation.description, ordinal, now.timeIntervalSince1970, kind,
            try reader.stored(body, "body", of: .outbox(id)), message?.data, needsUpload,
        ])
        return OutboxItem(
            id: id, conversation: conversation, ordinal: ordinal, createdAt: now, isMessage: kind == "send",
            needsUpload: needsUpload)
    }

    /// Changes what a message that was never transmitted says.
    ///
    /// - Returns: false where it is not in the outbox, or may have reached the server.
    package func replace(_ submission: Submission) throws -> Bool {
        var writer = JSONWriter()
        writer.object { submission.writeMembers(to: &$0) }
        try db.cachedStatement(sql: "UPDATE outbox SET body = ? WHERE id = ? AND kind = 'send' AND NOT isFrozen")
            .execute(arguments: [
                try reader.stored(writer.text, "body", of: .outbox(submission.id)), submission.id.data,
            ])
        return db.changesCount > 0
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
            state, until, try reader.stored(error, "error", of: .outbox(item.id)), item.attempts, item.isFrozen,
            item.needsUpload, item.id.data,
        ])
    }

    /// Takes out what was not sent, with all that goes with it; what was sent is not there any more.
    package func takeBack(_ id: MessageID) throws {
        try removeLocalExtension(ofUnsent: id)
        try removeFromOutbox(id)
    }

    package func removeFromOutbox(_ id: MessageID) throws {
        try db.cachedStatement(sql: "DELETE FROM outbox WHERE id = ?").execute(arguments: [id.data])
        try removeUploads(of: id)
    }
}
