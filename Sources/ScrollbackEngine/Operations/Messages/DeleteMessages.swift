import ScrollbackModel
package import ScrollbackWire

extension DeleteMessages: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        guard (1...Self.maximumIDs).contains(ids.count) else {
            throw ChatError.invalidParameter(
                "ids", "must be 1...\(Self.maximumIDs) message IDs", limit: Self.maximumIDs)
        }
        let request = ChangeRequest(toLog: conversation, by: context.caller)
        let count =
            switch audience {
            case .everyone:
                try transaction.delete(
                    ids, request, permissions: context.permissions,
                    lowersUnread: context.engine.settings.recallLowersUnread
                ).deleted
            case .me: try transaction.hide(ids, request, permissions: context.permissions)
            }
        return Answer(count: Int64(count))
    }

    package func footprints(for caller: Caller) -> [Footprint] {
        ChangeRequest(toLog: conversation, by: caller).footprints()
    }
}
