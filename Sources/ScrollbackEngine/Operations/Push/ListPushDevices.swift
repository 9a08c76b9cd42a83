import ScrollbackModel
package import ScrollbackWire

extension ListPushDevices: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        Answer(devices: try engine.pushDevices(of: caller.user, by: caller))
    }
}
