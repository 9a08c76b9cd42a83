package import Foundation
package import ScrollbackModel

/// A reported message, as it was when it was reported, with the state of the report.
package struct Report: Hashable, OperationAnswer {
    package static let schema: JSONSchema? = .component("Report")

    package var number: Int64
    /// The absolute name of the conversation.
    package var conversation: ConversationID
    package var message: MessageID
    package var seq: Seq
    package var sender: UserID
    package var type: MessageType
    /// The message's content; `nil` after the sender was erased with their messages.
    package var content: RawJSON?
    package var sentAt: Date
    package var reporter: UserID
    package var reason: ReportReason
    package var text: String?
    package var at: Date
    package var isOpen: Bool
    package var note: String?
    package var closedBy: UserID?
    package var closedAt: Date?

    /// The maximum size of a report's text or note, in bytes.
    package static let textBytes = 2_000

    package init(
        number: Int64, conversation: ConversationID, message: MessageID, seq: Seq, sender: UserID, type: MessageType,
        content: RawJSON?, sentAt: Date, reporter: UserID, reason: ReportReason, text: String?, at: Date, isOpen: Bool
    ) {
        self.number = number
        self.conversation = conversation
        self.message = message
        self.seq = seq
        self.sender = sender
        self.type = type
        self.content = content
        self.sentAt = sentAt
        self.reporter = reporter
        self.reason = reason
        self.text = text
        self.at = at
        self.isOpen = isOpen
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("number", number)
        writer.field("state", isOpen ? "open" : "closed")
        writer.field("conversation", conversation)
        writer.key("message")
        writer.object { writer in
            writer.field("id", message)
            writer.field("seq", seq)
            writer.field("sender", sender)
            writer.field("sentAt", sentAt)
            writer.field("type", type)
            writer.field("content", content)
        }
        writer.field("reporter", reporter)
        writer.field("reason", reason.rawValue)
        writer.field("text", text)
        writer.field("at", at)
        writer.field("note", note)
        writer.field("closedBy", closedBy)
        writer.field("closedAt", closedAt)
    }
}
