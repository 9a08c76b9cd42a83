package import ScrollbackModel

extension ChatError {
    /// Keeps a `ChatError` as it is, and wraps every other error that a store throws.
    package init(wrapping error: any Error) {
        self = error as? ChatError ?? ChatError(.internalError, "The store failed.", cause: error)
    }
}
