import ScrollbackModel
package import ScrollbackWire

extension FetchUsers: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        Answer(users: try engine.users(users))
    }
}
