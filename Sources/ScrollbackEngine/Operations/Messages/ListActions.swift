package import ScrollbackModel
package import ScrollbackWire

extension ListActions: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ListPage<MessageAction> {
        let (actions, next) = try engine.actions(on: id, in: conversation, after: after, limit: limit, by: caller)
        return ListPage(actions, cursor: next?.description)
    }
}
