import ScrollbackModel
package import ScrollbackWire

extension CountMessages: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        Answer(counts: try engine.counts(since: since, by: caller))
    }
}
