package import ScrollbackModel
package import ScrollbackWire

extension ListInvitations: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ListPage<Invitation> {
        try engine.invitations(to: conversation, cursor: page.cursor, limit: page.limit, by: caller)
    }
}
