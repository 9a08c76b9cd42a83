import ScrollbackModel
package import ScrollbackWire

extension FetchHistory: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        Answer(pages: try engine.fetch(query, by: caller))
    }
}
