import ScrollbackModel

extension Engine {
    /// Deletes bans that have ended.
    func deleteExpiredBans() async throws {
        let now = clock()
        while !Task.isCancelled {
            guard try !store.read({ try $0.bans(endedBefore: now, limit: 1) }).isEmpty else { return }
            try await submit { transaction in
                for row in try transaction.store.bans(endedBefore: now, limit: 100) {
                    try transaction.store.dropBan(of: row.ban.id, in: row.conversation)
                    guard row.conversation == BanRow.server, var user = try transaction.store.user(row.ban.id) else {
                        continue
                    }
                    user.isBanned = false
                    try transaction.store.put(user)
                }
            }
        }
    }
}
