package import Foundation
package import ScrollbackModel

/// A message that somebody reported, as it was then, and what became of it.
package struct Report: Hashable, Sendable {
    package var number: Int64
    /// Its absolute name.
    package var conversation: ConversationID
    package var message: MessageID
    package var seq: Seq
    package var sender: UserID
    package var type: MessageType
    /// Absent once its sender was erased with what they said.
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

    /// The most bytes of what somebody has to say about it.
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
