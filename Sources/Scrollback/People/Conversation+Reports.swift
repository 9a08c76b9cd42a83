public import ScrollbackModel
import ScrollbackWire

extension Conversation {
    /// Reports a message to the server's operators.
    ///
    /// The report includes the message's current content, so a later edit or recall does not hide it. A second report
    /// of the same message replaces the first and reopens it.
    ///
    /// - Parameters:
    ///   - message: A message that this user can see.
    ///   - reason: A predefined reason, or an application-defined name of 1...64 bytes of UTF-8.
    ///   - text: A comment of at most 2,000 bytes of UTF-8.
    /// - Throws: `unknown-message`. `conflict` for a deleted message. `invalid-parameter` if the reason or the text has
    ///   an invalid length. `rate-limited`, `unreachable` or `timeout`.
    public func report(
        _ message: MessageID, reason: ReportReason, text: String? = nil
    ) async throws(ChatError) {
        _ = try ReportReason(reason.rawValue)
        if let text, text.utf8.count > Report.textBytes {
            throw .invalidParameter(
                "text", "must be at most \(Report.textBytes) bytes of UTF-8", limit: Report.textBytes)
        }
        _ = try await core.perform(ReportMessage(conversation: id, id: message, reason: reason, text: text))
    }
}
