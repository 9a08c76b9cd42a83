import ScrollbackModel
package import ScrollbackWire

extension GetPushPreferences: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        Answer(preferences: try engine.pushPreferences(of: caller.user, by: caller))
    }
}
