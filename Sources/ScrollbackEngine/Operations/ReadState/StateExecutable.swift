package import ScrollbackModel
package import ScrollbackWire

/// A change of the caller's own state in one conversation.
package protocol StateExecutable: StateOperation, WriteOperation {}

extension StateExecutable {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> ReadSummary {
        try transaction.change(
            conversation.logID.absolute(for: context.caller.user), change, by: context.caller,
            permissions: context.permissions)
    }

    package func footprints(for caller: Caller) -> [Footprint] {
        var footprint = Footprint(conversation.logID.absolute(for: caller.user), caller.user, needsAccess: true)
        if case .read(let seq, _, _) = change { footprint.readsThrough = seq }
        return [footprint]
    }
}
