package import Foundation
package import ScrollbackModel

extension ScheduledMessage: ListElement {
    package static let listName = "scheduled"
    package static let schema = JSONSchema.component("ScheduledMessage")

    package func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.key("message")
        writer.object { writeMessage(to: &$0) }
        writer.field("failure", failure?.rawValue)
    }

    /// Writes the body of a request to schedule the message.
    package func writeMessage(to writer: inout JSONWriter) {
        submission.writeMembers(to: &writer)
        writer.field("sendAt", sendAt)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var conversation: ConversationID?
        var message = ScheduledSubmission()
        var failure: ChatError.Code?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "conversation": conversation = try value.conversation()
            case "message":
                try value.object { (name, value) throws(ChatError) in
                    if try !message.read(name, &value) { try value.skip() }
                }
            case "failure": failure = ChatError.Code(rawValue: try value.string())
            default: try value.skip()
            }
        }
        self.init(
            conversation: try conversation.required("conversation"),
            submission: try Submission(from: message.fields, limits: .standard),
            sendAt: try message.sendAt.required("sendAt"), failure: failure)
    }
}

/// The members of a message to schedule: those of a submission, `sendAt`, and the `operation` of the request.
package struct ScheduledSubmission: Sendable {
    package var fields = SubmissionFields()
    package var sendAt: Date?
    package var operation: MessageID?

    package init() {}

    /// Reads one member.
    ///
    /// - Returns: Whether a scheduled message has such a member. If not, its value is still to be read.
    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "sendAt": sendAt = try value.date(name)
        case "operation": operation = try value.messageID(name)
        default: return try fields.read(name, &value)
        }
        return true
    }
}
