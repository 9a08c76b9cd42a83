import Logging

/// Logs when a webhook for events begins to fail and when it works again.
struct WebhookLogger: Sendable {
    let logger: Logger

    /// - Parameter failure: The reason for which the last request failed, or `nil` if the webhook works again.
    func stateChanged(of webhook: String, failure: String?) {
        guard let failure else {
            return logger.notice("A webhook accepts events again.", metadata: ["webhook": "\(webhook)"])
        }
        logger.warning(
            "A webhook does not accept events. The server keeps them and tries again.",
            metadata: ["webhook": "\(webhook)", "reason": "\(failure)"])
    }
}
