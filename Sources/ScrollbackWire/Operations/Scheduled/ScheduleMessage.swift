package import Foundation
package import ScrollbackModel

/// Stores a message that the server sends at a later time.
package struct ScheduleMessage: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "schedule", http: .post("/v1/conversations/{conversation}/scheduled"), scope: .write,
        callers: .permission([.send, .sendHigh]), cost: .message, tag: .messages,
        summary: "Send a message at a later time",
        details: """
            The server stores the message and sends it at `sendAt`, which is at most 366 days ahead. It sends at once \
            if the time has passed. The message is then checked like one that you send at that moment, and you get \
            its event. If it is refused, it stays in the list with the reason in `failure`. The same ID replaces a \
            message that was not sent yet. A retry with the same `operation` changes nothing, even if the message was \
            replaced or cancelled in the meantime. Another request with it is refused with `conflict`. A user can have \
            100 scheduled messages (`conflict`).
            """,
        errors: [404, 409])

    package typealias Answer = EmptyAnswer

    package var conversation: ConversationID
    package var submission: Submission
    package var sendAt: Date
    /// The key that makes a retry harmless.
    package var operation: MessageID?

    package init(
        conversation: ConversationID, submission: Submission, sendAt: Date, operation: MessageID? = nil
    ) {
        self.conversation = conversation
        self.submission = submission
        self.sendAt = sendAt
        self.operation = operation
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        var message = ScheduledSubmission()
        try request.body(frameMember: "message", Self.schema, example: Self.example) {
            (name, value) throws(ChatError) in try message.read(name, &value)
        }
        request.pushOptions = message.fields.attributes.push
        submission = try Submission(from: message.fields, limits: request.limits)
        sendAt = try message.sendAt.required("sendAt")
        operation = message.operation
    }

    private static let schema = JSONSchema.component("ScheduledSubmission")
    private static let example = #"""
        {"id":"0198f3c2-7c1e-7000-8000-0123456789ab","type":"text","content":{"text":"hi"},\#
        "sendAt":"2026-12-24T18:00:00Z"}
        """#

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.key("message")
        writer.object { writer in
            ScheduledMessage(conversation: conversation, submission: submission, sendAt: sendAt)
                .writeMessage(to: &writer)
            writer.field("operation", operation)
        }
    }
}
