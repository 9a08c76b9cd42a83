import ScrollbackModel
package import ScrollbackWire

extension SearchUsers: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        try engine.users(matching: text, cursor: page.cursor, limit: page.limit, by: caller)
    }
}
