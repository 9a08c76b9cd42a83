package import ScrollbackModel
package import ScrollbackWire

extension ListMembers: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ListPage<Member> {
        try engine.memberList(of: conversation, after: page.user(), limit: page.limit, by: caller)
    }
}
