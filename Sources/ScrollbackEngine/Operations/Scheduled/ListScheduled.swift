import ScrollbackModel
package import ScrollbackWire

extension ListScheduled: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        try engine.scheduledMessages(of: caller.user, page)
    }
}
