import ScrollbackModel
package import ScrollbackWire

extension ListDrafts: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        try engine.drafts(since: cursor, by: caller)
    }
}
