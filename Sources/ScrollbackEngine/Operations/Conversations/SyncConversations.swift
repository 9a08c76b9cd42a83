import ScrollbackModel
package import ScrollbackWire

extension SyncConversations: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        switch scope {
        case .window(let cursor, let limit): .window(try engine.syncWindow(cursor: cursor, limit: limit, by: caller))
        case .logs(let positions): .logs(try engine.syncLogs(positions, by: caller))
        }
    }
}
