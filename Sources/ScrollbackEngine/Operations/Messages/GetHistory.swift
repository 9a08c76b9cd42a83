package import ScrollbackModel
package import ScrollbackWire

extension GetHistory: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> LogPage {
        try engine.history(of: conversation, query, by: caller)
    }
}
