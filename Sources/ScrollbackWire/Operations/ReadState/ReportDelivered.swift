package import ScrollbackModel

/// Reports the sequence numbers through which the caller's device has stored several conversations.
package struct ReportDelivered: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "delivered", http: .post("/v1/delivered"), scope: .account, callers: .anyUser,
        cost: .write, tag: .conversations,
        summary: "Report that messages arrived on your device",
        details: """
            Each sequence number covers all earlier messages of the conversation, and a lower one has no effect. Call \
            it only after the messages are stored. Each element gets an answer of its own, with an `error` if the \
            server refuses it. Heads of conversations with delivery receipts have `deliveryReceipts`.
            """)

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([
            .init("delivered", .array(.component("DeliveryAnswer")), "One result for each element of `conversations`.")
        ])

        package var results: [DeliveryResult]

        package init(_ results: [DeliveryResult]) {
            self.results = results
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var results: [DeliveryResult]?
            try reader.object { (name, value) throws(ChatError) in
                guard name == "delivered" else { return try value.skip() }
                results = try value.list("delivered", limit: DeliveryMark.maximum) { (result) throws(ChatError) in
                    try DeliveryResult(from: &result)
                }
            }
            self.results = try results.required("delivered")
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("delivered")
            writer.array(results) { $1.write(to: &$0) }
        }
    }

    package var marks: [DeliveryMark]

    package init(_ marks: [DeliveryMark]) {
        self.marks = marks
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        marks = try request.required(
            "conversations", .array(.component("DeliveryMark"), count: 0...DeliveryMark.maximum),
            example: #"[{"conversation":"group:swift","seq":12,"epoch":"8134902211640721931"}]"#,
            "The conversations, each with the sequence number through which the device has stored the messages."
        ) { (value) throws(ChatError) in
            try value.list("conversations", limit: DeliveryMark.maximum) { (mark) throws(ChatError) in
                try DeliveryMark(from: &mark)
            }
        }
    }

    /// One token, and another one for each ten conversations.
    package var tokens: Int { 1 + marks.count / 10 }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("conversations")
        writer.array(marks) { $1.write(to: &$0) }
    }
}
