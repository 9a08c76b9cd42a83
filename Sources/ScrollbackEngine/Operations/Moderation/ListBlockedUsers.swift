package import ScrollbackModel
package import ScrollbackWire

extension ListBlockedUsers: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ListPage<UserID> {
        try engine.checkLimit(page.limit)
        let after = try page.user()
        let users = try engine.store.read { try $0.blocked(by: caller.user, after: after, limit: page.limit + 1) }
        return ListPage(Array(users.prefix(page.limit)), after: users.count > page.limit ? users[page.limit - 1] : nil)
    }
}
