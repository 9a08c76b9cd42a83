package import ScrollbackModel

/// Sends a message.
package struct SendMessage: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "send", http: .post("/v1/conversations/{conversation}/messages"), scope: .write,
        callers: .permission([.send, .sendHigh]), cost: .message, tag: .messages,
        summary: "Send a message",
        details: """
            The answer comes when the message is on disk. The server delivers messages of type `command` to \
            connected users and doesn't store them. A retry with the same ID and content returns the first result \
            with status 200. The same ID with other content is a conflict.
            """,
        errors: [404, 409])

    package typealias Answer = SendResult

    package var conversation: ConversationID
    package var submission: Submission

    package init(conversation: ConversationID, submission: Submission) {
        self.conversation = conversation
        self.submission = submission
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        var fields = SubmissionFields()
        try request.body(frameMember: "message", Self.schema, example: Self.example) {
            (name, value) throws(ChatError) in try fields.read(name, &value)
        }
        request.pushOptions = fields.attributes.push
        submission = try Submission(from: fields, limits: request.limits)
    }

    private static let schema = JSONSchema.component("Submission")
    private static let example =
        #"{"id":"0198f3c2-7c1e-7000-8000-0123456789ab","type":"text","content":{"text":"hi"}}"#

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.key("message")
        writer.object { submission.writeMembers(to: &$0) }
    }
}

extension SendResult: DecodableAnswer {
    package static let schema: JSONSchema? = .component("SendResult")
    package static let statuses = [200, 201]
    package var status: Int { outcome == .duplicate ? 200 : 201 }
}
