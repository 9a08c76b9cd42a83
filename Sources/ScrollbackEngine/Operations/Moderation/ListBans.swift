import Foundation
package import ScrollbackModel
package import ScrollbackWire

extension ListBans: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ListPage<Ban> {
        let id = conversation.absolute(for: caller.user)
        return try engine.bans(page) { store in
            let access = try engine.access(to: id, for: caller, in: store)
            try engine.permissions.require(.ban, in: id, as: access.role, by: caller, to: "list the bans")
            return access.conversation.number
        }
    }
}

extension Engine {
    /// One page of bans that have not ended.
    ///
    /// - Parameter conversation: Checks the caller, and returns the number of the conversation, or ``BanRow/server``.
    func bans(_ page: Paging, in conversation: (any StoreReader) throws -> Int64) throws -> ListPage<Ban> {
        try checkLimit(page.limit)
        let now = clock()
        return try store.read { store in
            let rows = try store.bans(in: try conversation(store), after: try page.user(), limit: page.limit + 1)
            let bans = rows.prefix(page.limit).map(\.ban).filter { $0.isActive(at: now) }
            return ListPage(bans, after: rows.count > page.limit ? rows[page.limit - 1].ban.id : nil)
        }
    }
}
