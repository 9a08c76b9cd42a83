package import ScrollbackModel
package import ScrollbackWire

extension ListRecipients: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ListPage<MessageRecipient> {
        try engine.recipients(of: id, in: conversation, after: page.user(), limit: page.limit, by: caller)
    }
}
