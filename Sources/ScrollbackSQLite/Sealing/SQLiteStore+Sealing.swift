import GRDB
package import StoreFiles

/// The walk that seals what is there with the newest key, or takes its seals off.
extension SQLiteStore {
    /// How far the walk has come; nothing for a store that was never sealed.
    package func sealingProgress() throws -> SealingProgress? {
        try readConnection { try $0.seals.progress() }
    }

    /// Seals the next rows, in one commit.
    ///
    /// - Returns: whether there are more; when there are not, the files are next, and then ``finishSealing()``.
    package func sealSome(rows limit: Int = 500) throws -> Bool {
        try changingSeals { try $0.sealSome(rows: limit) }
    }

    /// Ends a walk that is done, here and over the files: forgets the keys that nothing is sealed with any more, and lets
    /// nothing of what was overwritten lie beside the file.
    package func finishSealing() throws {
        try changingSeals { try $0.finish() }
        pool.writeWithoutTransaction { database in _ = try? database.checkpoint(.truncate) }
    }

    private func changingSeals<Answer>(_ body: (StoreSeals<Connection>) throws -> Answer) throws -> Answer {
        try checkOpen()
        return try translatingErrors {
            try pool.writeWithoutTransaction { database in
                let connection = self.connection(database)
                defer { connection.rollBack() }
                return try translatingErrors(on: database, "the store could not be written") {
                    try connection.run(.beginWrite)
                    let answer = try body(connection.seals)
                    try connection.run(.commit)
                    return answer
                }
            }
        }
    }
}
