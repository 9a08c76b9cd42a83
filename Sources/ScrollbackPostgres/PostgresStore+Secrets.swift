import ScrollbackModel

extension PostgresStore {
    private static let insertSecrets = Statement(
        "INSERT INTO setting (name, value) VALUES ('secrets', ?) ON CONFLICT (name) DO NOTHING")
    private static let secrets = Statement("SELECT value FROM setting WHERE name = 'secrets'") { $0.bytes() }
    private static let replaceSecrets = Statement(
        "UPDATE setting SET value = ? WHERE name = 'secrets' AND value = ?")

    /// Returns the secrets that all nodes use, and stores `own` if there are none yet.
    package func secrets(orStore own: [UInt8]) throws -> [UInt8] {
        try translatingErrors("The secrets could not be read.") {
            try readers.transaction(
                begin: { connection in
                    // Usually, the first statement finds them. Every node reads them all the time.
                    if let found = try connection.first(Self.secrets) { return found }
                    try connection.run(Self.insertSecrets) { $0.add(bytes: own) }
                    return try connection.first(Self.secrets) ?? own
                }, { $1 })
        }
    }

    /// Replaces the secrets if they are still `old`.
    ///
    /// - Returns: Whether they were replaced.
    package func replaceSecrets(_ old: [UInt8], by new: [UInt8]) throws -> Bool {
        try translatingErrors("The secrets could not be replaced.") {
            // The first statement finds out whether the connection works.
            try readers.transaction(begin: { try $0.first(Self.secrets) }) { connection, _ in
                try connection.run(Self.replaceSecrets) {
                    $0.add(bytes: new)
                    $0.add(bytes: old)
                } == 1
            }
        }
    }
}
