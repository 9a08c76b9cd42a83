package import Foundation
import GRDB
package import ScrollbackModel
import ScrollbackWire
import SQLiteSupport

extension LocalReader {
    package func draft(in conversation: ConversationID) throws -> Draft? {
        let body = try DatabaseValue.fetchOne(
            db.cachedStatement(sql: "SELECT body FROM draft WHERE conversation = ?"),
            arguments: [conversation.description])
        return try body.flatMap { try text($0, "body", of: .draft(conversation)) }.map { try Draft(stored: $0) }
    }

    package func localExtension(of message: MessageID, in conversation: ConversationID) throws -> RawJSON? {
        let body = try DatabaseValue.fetchOne(
            db.cachedStatement(sql: "SELECT body FROM extension WHERE conversation = ? AND message = ?"),
            arguments: [conversation.description, message.data])
        return try body.flatMap { try text($0, "body", of: .localExtension(message, conversation)) }
            .map { RawJSON(known: $0) }
    }
}

extension Draft {
    init(stored body: String) throws(ChatError) {
        var reader = JSONReader(body)
        var text = ""
        var attributes = MessageAttributes()
        try reader.object { (name, value) throws(ChatError) in
            if name == "text" { return text = try value.string() }
            // Skip a member that this version can't decode, so that the text is not lost.
            var member = JSONReader(try value.raw().text)
            _ = try? attributes.readMember(name, &member)
        }
        self.init(text, mentions: attributes.mentions, replyTo: attributes.replyTo)
    }

    /// The form in which the draft is stored.
    package var json: RawJSON {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("text", text)
            MessageAttributes(mentions: mentions, replyTo: replyTo).writeMembers(to: &writer)
        }
        return RawJSON(known: writer.text)
    }
}

extension LocalWriter {
    package func save(_ draft: Draft?, in conversation: ConversationID, now: Date) throws {
        guard let draft, !draft.text.isEmpty || draft.replyTo != nil else {
            return try db.cachedStatement(sql: "DELETE FROM draft WHERE conversation = ?")
                .execute(arguments: [conversation.description])
        }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO draft VALUES (?, ?, ?)")
            .execute(arguments: [
                conversation.description, try reader.stored(draft.json.text, "body", of: .draft(conversation)),
                now.timeIntervalSince1970,
            ])
    }

    /// Deletes the local extensions of messages that are deleted from this device.
    func removeLocalExtensions(at range: SeqRange, in number: Int64) throws {
        try db.cachedStatement(
            sql: """
                DELETE FROM extension
                WHERE conversation = (SELECT id FROM conversation WHERE number = ?1)
                AND message IN (SELECT id FROM message WHERE conversation = ?1 AND seq BETWEEN ?2 AND ?3)
                """
        ).execute(arguments: [number, range.lowerBound, range.upperBound])
    }

    /// Deletes the local extension of a cancelled message, unless the server stored the message.
    func removeLocalExtension(ofUnsent message: MessageID) throws {
        let place = try String.fetchOne(
            db.cachedStatement(sql: "SELECT conversation FROM outbox WHERE id = ? AND kind = 'send'"),
            arguments: [message.data])
        guard let place else { return }
        let conversation = try ConversationID(place)
        if try reader.message(message, in: conversation) == nil {
            try save(localExtension: nil, of: message, in: conversation)
        }
    }

    /// Deletes the local extensions of a conversation, except those of queued messages.
    func removeLocalExtensions(in conversation: ConversationID) throws {
        try db.cachedStatement(
            sql: "DELETE FROM extension WHERE conversation = ? AND message NOT IN (SELECT id FROM outbox)"
        ).execute(arguments: [conversation.description])
    }

    package func save(
        localExtension json: RawJSON?, of message: MessageID, in conversation: ConversationID
    ) throws {
        guard let json else {
            return try db.cachedStatement(sql: "DELETE FROM extension WHERE conversation = ? AND message = ?")
                .execute(arguments: [conversation.description, message.data])
        }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO extension VALUES (?, ?, ?)")
            .execute(arguments: [
                conversation.description, message.data,
                try reader.stored(json.text, "body", of: .localExtension(message, conversation)),
            ])
    }
}
