package import ScrollbackModel
package import ScrollbackWire

// Operations that change the caller's own state in one conversation.

extension MarkRead: StateExecutable {}
extension MarkUnread: StateExecutable {}
extension SetOwnSettings: StateExecutable {}
extension SetNotifications: StateExecutable {}
extension RemoveRecent: StateExecutable {}
extension AddRecent: StateExecutable {}
extension ExcludeFromNewDevices: StateExecutable {}

/// An operation whose execution is one ``StateChange``.
package protocol StateExecutable: StateOperation, Executable {}

extension StateExecutable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<ReadSummary>) {
        context.engine.change(conversation, change, by: context.caller, completion: completion)
    }
}
