import ScrollbackModel
package import ScrollbackWire

extension ListPins: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        try engine.pinnedMessages(of: conversation, below: below, limit: limit, by: caller)
    }
}
