package import ScrollbackModel

/// Deletes a range of a conversation's history for everyone.
package struct DeleteHistory: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "deleteHistory", http: .delete("/v1/conversations/{conversation}/messages"),
        scope: .write, callers: .permission([.deleteHistory]), cost: .write, tag: .messages,
        summary: "Delete a range of history for everyone",
        details: """
            Give `from`, `to` or both, or `all` to delete the whole history. No tombstones stay. The setting \
            `allowsHistoryDelete` turns this operation off.
            """,
        errors: [404, 409])

    package typealias Answer = DeleteMessages.Answer

    package var conversation: ConversationID
    package var range: DeleteRange
    /// The key that makes a retry harmless.
    ///
    /// WebSocket requests must have it.
    package var operation: MessageID?

    package init(conversation: ConversationID, range: DeleteRange, operation: MessageID?) {
        self.conversation = conversation
        self.range = range
        self.operation = operation
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        operation = try request.operation()
        let from: HistoryPointText? = try request.optional("from", "The older end of the range, included.")
        let to: HistoryPointText? = try request.optional("to", "The newer end of the range, excluded.")
        let all: WholeHistory? = try request.omittable("all", "Deletes the whole history.")
        let isAll = all?.isOn ?? false
        guard !isAll || (from == nil && to == nil) else {
            throw .invalidParameter("all", "can't be used together with from or to")
        }
        guard isAll || from != nil || to != nil else {
            throw .invalidParameter("all", "is missing: give from, to or both, or all=true to delete the whole history")
        }
        range = DeleteRange(
            from: try from.map { (point) throws(ChatError) in try HistoryParameters.point(point.text, "from") },
            to: try to.map { (point) throws(ChatError) in try HistoryParameters.point(point.text, "to") })
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("from", range.from?.text)
        writer.field("to", range.to?.text)
        if range == .all { writer.field("all", true) }
        writer.field("operation", operation)
    }
}

/// The text of a point in the history.
private struct HistoryPointText: TextParameterValue {
    static let schema = JSONSchema.component("HistoryPoint")
    static let example = #""seq:12""#
    let text: String
    init(text: String, parameter: String) { self.text = text }
}

/// A flag that a query can only turn on: `all=true`.
private struct WholeHistory: ParameterValue {
    static let schema = JSONSchema.choice(["true"])
    static let example = "true"

    let isOn: Bool

    init(from reader: inout JSONReader, parameter: String) throws(ChatError) {
        isOn = try reader.bool()
    }

    init(text: String, parameter: String) throws(ChatError) {
        guard text == "true" else { throw .invalidParameter(parameter, "must be true, or left out") }
        isOn = true
    }
}
