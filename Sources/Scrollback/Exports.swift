// The model's values (messages, conversations, errors) are part of the SDK: an app imports `Scrollback` alone.
@_exported public import ScrollbackModel
