import Foundation
import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension SealedTable {
    /// All tables with texts.
    ///
    /// Other columns stay readable (Documentation/threat-model.md).
    static let all = [
        SealedTable("setting", key: ["name"], texts: ["value"]),
        SealedTable("user", key: ["id"], texts: ["name", "avatar", "metadata"]),
        // The number can't be part of the binding, because the insert itself assigns it.
        SealedTable(
            "conversation", key: ["number"], binding: ["kind", "target", "part"],
            texts: ["name", "avatar", "metadata"]),
        SealedTable(
            "message", key: ["conversation", "seq"],
            texts: ["mentions", "actions", "metadata", "extra", "push", "content"]),
        SealedTable("action", key: ["conversation", "seq", "timetoken"], texts: ["value"]),
        SealedTable("media", key: ["id"], texts: ["name"]),
        SealedTable("upload", key: ["id"], texts: ["name"]),
        SealedTable("ban", key: ["conversation", "user"], texts: ["reason"]),
        SealedTable(
            "report", key: ["number"], binding: ["message", "conversation", "reporter"],
            texts: ["content", "text", "note"]),
        SealedTable("delivery", key: ["number"], texts: ["body"]),
        SealedTable("pushDevice", key: ["user", "device"], texts: ["p256dh", "auth"]),
        SealedTable("push", key: ["number"], binding: ["conversation", "kind", "seq"], texts: ["body"]),
        SealedTable(
            "pushRetry", key: ["number"], binding: ["user", "device", "push"], texts: ["body"]),
    ]
}

/// The rows in the form in which ``SealedTable`` binds them.
extension SealedRow {
    static let settings = SealedRow("setting", .text("server"))

    static func user(_ id: UserID) -> SealedRow { SealedRow("user", .text(id.text)) }

    static func conversation(_ id: ConversationID) -> SealedRow {
        SealedRow("conversation", .text(id.kind.rawValue), .text(id.target.text), .text(id.part?.text ?? ""))
    }

    static func message(_ conversation: Int64, _ seq: Seq) -> SealedRow {
        SealedRow("message", .number(conversation), .number(seq))
    }

    static func action(_ conversation: Int64, _ seq: Seq, _ timetoken: Timetoken) -> SealedRow {
        SealedRow(
            "action", .number(conversation), .number(seq), .number(Int64(bitPattern: timetoken.rawValue)))
    }

    static func media(_ id: MediaID) -> SealedRow { SealedRow("media", .bytes(id.uuid)) }

    static func upload(_ id: UploadID) -> SealedRow { SealedRow("upload", .text(id.text)) }

    static func ban(_ conversation: Int64, _ user: UserID) -> SealedRow {
        SealedRow("ban", .number(conversation), .text(user.text))
    }

    static func report(_ message: MessageID, _ conversation: Int64, _ reporter: UserID) -> SealedRow {
        SealedRow("report", .bytes(message.uuid), .number(conversation), .text(reporter.text))
    }

    static func delivery(_ number: Int64) -> SealedRow { SealedRow("delivery", .number(number)) }

    static func pushDevice(_ user: UserID, _ device: Identifier) -> SealedRow {
        SealedRow("pushDevice", .text(user.text), .text(device.text))
    }

    static func push(_ conversation: Int64, _ kind: PushRow.Kind, _ seq: Seq) -> SealedRow {
        SealedRow("push", .number(conversation), .number(kind.rawValue), .number(seq))
    }

    static func pushRetry(_ user: UserID, _ device: Identifier, _ push: Int64) -> SealedRow {
        SealedRow("pushRetry", .text(user.text), .text(device.text), .number(push))
    }
}
