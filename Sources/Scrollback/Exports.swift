// Re-exports the model types (messages, conversations, errors), so that an app only needs to import `Scrollback`.
@_exported public import ScrollbackModel
