import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension EncryptedTable {
    /// All tables with texts.
    ///
    /// Other columns stay readable (Documentation/threat-model.md).
    static let all = [
        EncryptedTable("setting", key: ["name"], texts: ["value"]),
        EncryptedTable("person", boundAs: "user", key: ["id"], texts: ["name", "avatar", "metadata"]),
        // The number can't be part of the binding, because the insert itself assigns it.
        EncryptedTable(
            "conversation", key: ["number"], binding: ["kind", "target", "part"],
            texts: ["name", "avatar", "metadata"]),
        EncryptedTable(
            "message", key: ["conversation", "seq"],
            texts: ["mentions", "actions", "metadata", "extra", "push", "content"]),
        EncryptedTable("span", key: ["conversation", "userID", "joined"], texts: ["name", "avatar"]),
        EncryptedTable("action", key: ["conversation", "seq", "timetoken"], texts: ["value"]),
        EncryptedTable("media", key: ["id"], texts: ["name"]),
        EncryptedTable("upload", key: ["id"], texts: ["name"]),
        EncryptedTable("ban", key: ["conversation", "userID"], texts: ["reason"]),
        EncryptedTable(
            "report", key: ["number"], binding: ["message", "conversation", "reporter"],
            texts: ["content", "text", "note"]),
        EncryptedTable("scheduled", key: ["userID", "id"], texts: ["body"]),
        EncryptedTable("draft", key: ["userID", "conversation"], texts: ["body"]),
        EncryptedTable("delivery", key: ["number"], texts: ["body"]),
        EncryptedTable("pushDevice", key: ["userID", "device"], texts: ["p256dh", "auth"]),
        EncryptedTable("push", key: ["number"], binding: ["conversation", "kind", "seq"], texts: ["body"]),
        EncryptedTable(
            "pushRetry", key: ["number"], binding: ["userID", "device", "push"], texts: ["body"]),
    ]
}

/// The rows in the form in which ``EncryptedTable`` binds them.
extension EncryptedRow {
    static let settings = EncryptedRow("setting", .text("server"))

    static func user(_ id: UserID) -> EncryptedRow { EncryptedRow("user", .text(id.text)) }

    static func conversation(_ id: ConversationID) -> EncryptedRow {
        EncryptedRow("conversation", .text(id.kind.rawValue), .text(id.target.text), .text(id.part?.text ?? ""))
    }

    static func message(_ conversation: Int64, _ seq: Seq) -> EncryptedRow {
        EncryptedRow("message", .number(conversation), .number(seq))
    }

    static func span(_ conversation: Int64, _ user: UserID, _ joined: Int64) -> EncryptedRow {
        EncryptedRow("span", .number(conversation), .text(user.text), .number(joined))
    }

    static func action(_ conversation: Int64, _ seq: Seq, _ timetoken: Timetoken) -> EncryptedRow {
        EncryptedRow(
            "action", .number(conversation), .number(seq), .number(Int64(bitPattern: timetoken.rawValue)))
    }

    static func media(_ id: MediaID) -> EncryptedRow { EncryptedRow("media", .bytes(id.uuid)) }

    static func upload(_ id: UploadID) -> EncryptedRow { EncryptedRow("upload", .text(id.text)) }

    static func ban(_ conversation: Int64, _ user: UserID) -> EncryptedRow {
        EncryptedRow("ban", .number(conversation), .text(user.text))
    }

    static func report(_ message: MessageID, _ conversation: Int64, _ reporter: UserID) -> EncryptedRow {
        EncryptedRow("report", .bytes(message.uuid), .number(conversation), .text(reporter.text))
    }

    /// - Parameter conversation: The conversation's text form, from the user's point of view.
    static func draft(_ user: UserID, _ conversation: String) -> EncryptedRow {
        EncryptedRow("draft", .text(user.text), .text(conversation))
    }

    static func scheduled(_ user: UserID, _ id: MessageID) -> EncryptedRow {
        EncryptedRow("scheduled", .text(user.text), .bytes(id.uuid))
    }

    static func delivery(_ number: Int64) -> EncryptedRow { EncryptedRow("delivery", .number(number)) }

    static func pushDevice(_ user: UserID, _ device: Identifier) -> EncryptedRow {
        EncryptedRow("pushDevice", .text(user.text), .text(device.text))
    }

    static func push(_ conversation: Int64, _ kind: PushRow.Kind, _ seq: Seq) -> EncryptedRow {
        EncryptedRow("push", .number(conversation), .number(kind.rawValue), .number(seq))
    }

    static func pushRetry(_ user: UserID, _ device: Identifier, _ push: Int64) -> EncryptedRow {
        EncryptedRow("pushRetry", .text(user.text), .text(device.text), .number(push))
    }
}
