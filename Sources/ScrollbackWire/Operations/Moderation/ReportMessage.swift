package import ScrollbackModel

/// Reports a message to the server's administrators.
package struct ReportMessage: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "report", http: .post("/v1/conversations/{conversation}/messages/{id}/reports"),
        scope: .write, callers: .permission([.read]), cost: .message, tag: .messages,
        summary: "Report a message to the administrators",
        details: """
            The server stores a copy of the message as it is now, which neither an edit nor a deletion changes. \
            Reporting the same message again replaces the reason and the text, and opens the report again.
            """,
        errors: [404, 409])

    /// The number of the report.
    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([
            .init("number", .integer(1...Int.max), "The report's number.")
        ])
        package static let statuses = [200, 201]

        package var number: Int64
        /// Whether the server stored a new report, which decides the HTTP status.
        ///
        /// `false` in a decoded answer, because the body does not contain it.
        package var isNew: Bool
        package var status: Int { isNew ? 201 : 200 }

        package init(number: Int64, isNew: Bool) {
            self.number = number
            self.isNew = isNew
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var number: Int64?
            try reader.object { (name, value) throws(ChatError) in
                if name == "number" { number = try value.counter() } else { try value.skip() }
            }
            self.init(number: try number.required("number"), isNew: false)
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("number", number)
        }
    }

    package var conversation: ConversationID
    package var id: MessageID
    package var reason: ReportReason
    /// A comment of the user: at most 2,000 bytes of UTF-8.
    package var text: String?

    package init(conversation: ConversationID, id: MessageID, reason: ReportReason, text: String? = nil) {
        self.conversation = conversation
        self.id = id
        self.reason = reason
        self.text = text
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        id = try request.required("id")
        reason = try request.required(
            "reason", "`spam`, `harassment`, `violence`, `sexual`, `illegal`, or a name that your app defines.")
        text = try request.optional("text", bytes: 0...Report.textBytes, "A comment for the administrators, in UTF-8.")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("id", id)
        writer.field("reason", reason.rawValue)
        writer.field("text", text)
    }
}
