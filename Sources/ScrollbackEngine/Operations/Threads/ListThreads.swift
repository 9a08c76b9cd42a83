import ScrollbackModel
package import ScrollbackWire

extension ListThreads: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        try engine.threads(of: conversation, isFollowed: isFollowed, before: before, limit: limit, by: caller)
    }
}
