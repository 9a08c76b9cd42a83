package import ScrollbackModel

/// The result of looking up the incoming webhook of a URL.
package enum IncomingWebhookLookup: Hashable, Sendable {
    case found(IncomingWebhookRow)
    /// The webhook does not exist or was deleted.
    case unknown
    /// The webhook exists, but has another secret.
    case wrongSecret
}

extension Engine {
    /// Finds the incoming webhook of a URL.
    ///
    /// It reads the store, so it may wait for the disk.
    package func incomingWebhook(_ token: IncomingWebhookToken) throws -> IncomingWebhookLookup {
        guard let row = try store.read({ try $0.incomingWebhook(token.id) }) else { return .unknown }
        return row.hasSecret(of: token) ? .found(row) : .wrongSecret
    }

    /// Sends a text as a message of an incoming webhook's user, with the rights that the user then has.
    ///
    /// The message mentions no users. The caller must have checked that the user may connect.
    ///
    /// - Parameters:
    ///   - text: The text, which must fit into the content of one message.
    ///   - erasureCount: The value of ``erasureCount`` when the webhook was looked up.
    /// - Throws: `too-large` through `completion`, or any error of ``send(_:to:by:origin:since:completion:)``.
    package func post(
        _ text: String, through webhook: IncomingWebhookRow, since erasureCount: Int,
        completion: @escaping Completion<SendResult>
    ) {
        var generator = SystemRandomNumberGenerator()
        let content = MessageContent.text(text)
        let bytes = content.json.text.utf8.count
        guard bytes <= limits.contentBytes else {
            return completion(
                .failure(
                    ChatError(
                        .tooLarge,
                        "The content must be at most \(limits.contentBytes) bytes of JSON but has \(bytes).",
                        parameter: "text", limit: limits.contentBytes)))
        }
        let submission = Submission(id: MessageID(at: clock(), using: &generator), content: content)
        send(
            submission, to: webhook.conversation, by: Caller(user: webhook.user), since: erasureCount,
            completion: completion)
    }
}
