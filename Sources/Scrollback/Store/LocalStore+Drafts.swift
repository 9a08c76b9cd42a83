package import Foundation
import GRDB
package import ScrollbackModel
import ScrollbackWire

extension LocalReader {
    package func draft(in conversation: ConversationID) throws -> Draft? {
        let body = try String.fetchOne(
            db.cachedStatement(sql: "SELECT body FROM draft WHERE conversation = ?"),
            arguments: [conversation.description])
        guard let body else { return nil }
        var reader = JSONReader(body)
        var text = ""
        var attributes = MessageAttributes()
        try reader.object { (name, value) throws(ChatError) in
            if name == "text" {
                text = try value.string()
            } else if try !attributes.readMember(name, &value) {
                try value.skip()
            }
        }
        return Draft(text, mentions: attributes.mentions, replyTo: attributes.replyTo)
    }

    package func localExtension(of message: MessageID, in conversation: ConversationID) throws -> RawJSON? {
        try String.fetchOne(
            db.cachedStatement(sql: "SELECT body FROM extension WHERE conversation = ? AND message = ?"),
            arguments: [conversation.description, message.data]
        ).map { RawJSON(known: $0) }
    }
}

extension LocalWriter {
    package func save(_ draft: Draft?, in conversation: ConversationID, now: Date) throws {
        guard let draft, !draft.text.isEmpty || draft.replyTo != nil else {
            return try db.cachedStatement(sql: "DELETE FROM draft WHERE conversation = ?")
                .execute(arguments: [conversation.description])
        }
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("text", draft.text)
            MessageAttributes(mentions: draft.mentions, replyTo: draft.replyTo).writeMembers(to: &writer)
        }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO draft VALUES (?, ?, ?)")
            .execute(arguments: [conversation.description, writer.text, now.timeIntervalSince1970])
    }

    package func save(
        localExtension json: RawJSON?, of message: MessageID, in conversation: ConversationID
    ) throws {
        guard let json else {
            return try db.cachedStatement(sql: "DELETE FROM extension WHERE conversation = ? AND message = ?")
                .execute(arguments: [conversation.description, message.data])
        }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO extension VALUES (?, ?, ?)")
            .execute(arguments: [conversation.description, message.data, json.text])
    }
}
