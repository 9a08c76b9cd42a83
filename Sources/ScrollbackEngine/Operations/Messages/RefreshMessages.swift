import ScrollbackModel
package import ScrollbackWire

extension RefreshMessages: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        Answer(messages: try engine.refresh(messages, by: caller))
    }
}
