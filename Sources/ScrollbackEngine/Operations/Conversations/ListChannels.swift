import ScrollbackModel
package import ScrollbackWire

extension ListChannels: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        let after = try page.cursor.map { (text) throws(ChatError) in try Identifier(text, parameter: "cursor") }
        let (heads, next) = try engine.channels(of: community, after: after, limit: page.limit, by: caller)
        return Answer(channels: heads, next: next)
    }
}
