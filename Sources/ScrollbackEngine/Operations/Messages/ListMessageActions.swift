package import ScrollbackModel
package import ScrollbackWire

/// Lists the actions on one message.
package struct ListMessageActions: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/conversations/{conversation}/messages/{id}/actions"), scope: .read,
        callers: .permission([.read]), cost: .read, tag: .messages,
        summary: "List the actions on a message", details: "Oldest first.", errors: [404])

    package typealias Answer = ListPage<MessageAction>

    private let list: ListActions

    package init(from request: inout RequestReader) throws(ChatError) {
        list = ListActions(
            conversation: try request.required("conversation"), id: try request.required("id"),
            after: try request.actionCursor(), limit: try request.pageSize())
    }
}

extension ListMessageActions: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ListPage<MessageAction> {
        try list.run(engine, caller)
    }
}
