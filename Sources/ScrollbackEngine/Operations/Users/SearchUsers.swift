import ScrollbackModel
package import ScrollbackWire

extension SearchUsers: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        try engine.users(matching: text, after: page.user(), limit: page.limit, by: caller)
    }
}
