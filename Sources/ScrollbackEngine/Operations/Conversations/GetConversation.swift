import ScrollbackModel
package import ScrollbackWire

extension GetConversation: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        let (head, settings) = try engine.conversation(conversation, by: caller)
        return Answer(head: head, settings: settings)
    }
}
