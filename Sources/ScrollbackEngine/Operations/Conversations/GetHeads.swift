import ScrollbackModel
package import ScrollbackWire

extension GetHeads: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> HeadList {
        let (heads, rest) = try engine.heads(of: conversations, by: caller)
        return HeadList(heads: heads, rest: rest)
    }
}
