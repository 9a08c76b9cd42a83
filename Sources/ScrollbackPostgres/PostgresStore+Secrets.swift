import ScrollbackModel

extension PostgresStore {
    private static let insertSecrets = Statement(
        "INSERT INTO setting (name, value) VALUES ('secrets', ?) ON CONFLICT (name) DO NOTHING")
    private static let secrets = Statement("SELECT value FROM setting WHERE name = 'secrets'") { $0.bytes() }

    /// Returns the secrets that all nodes use, and stores `own` if there are none yet.
    package func secrets(orStore own: [UInt8]) throws -> [UInt8] {
        try translatingErrors("The secrets could not be read.") {
            try readers.transaction(
                begin: { connection in
                    try connection.run(Self.insertSecrets) { $0.add(bytes: own) }
                    return try connection.first(Self.secrets) ?? own
                }, { $1 })
        }
    }
}
