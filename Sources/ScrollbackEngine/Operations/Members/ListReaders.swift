package import ScrollbackModel
package import ScrollbackWire

extension ListReaders: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ListPage<MessageReader> {
        try engine.readers(of: id, in: conversation, after: page.user(), limit: page.limit, by: caller)
    }
}
