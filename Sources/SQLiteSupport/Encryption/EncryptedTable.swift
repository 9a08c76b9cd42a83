/// A table whose texts are encrypted if the store has keys.
package struct EncryptedTable: Sendable {
    package let name: String
    /// The name to which encrypted values are bound: the table's first name, as values stay bound to it.
    let boundName: String
    /// The primary key, which determines the order of the background encryption.
    package let key: [String]
    /// The columns to which a row's encrypted values are bound.
    let binding: [String]
    package let texts: [String]

    /// Describes a table.
    ///
    /// - Parameters:
    ///   - boundName: The name to which encrypted values are bound; `nil` if the table was never renamed.
    ///   - binding: The columns to which a row's encrypted values are bound; `nil` for the key.
    package init(
        _ name: String, boundAs boundName: String? = nil, key: [String], binding: [String]? = nil, texts: [String]
    ) {
        self.name = name
        self.boundName = boundName ?? name
        self.key = key
        self.binding = binding ?? key
        self.texts = texts
    }

    /// The decrypted texts of a row and their keys.
    struct TextRow {
        var key: [EncryptedRow.Part]
        var encryptedRow: EncryptedRow
        var texts: [(text: String?, key: StoreKey.ID?)]
    }

    /// Reads and decrypts the next rows.
    ///
    /// - Parameter onDecryptionError: Called with the error for a value that can't be decrypted, which is then `nil`.
    ///   Without it, the error is thrown.
    func rows(
        after key: [EncryptedRow.Part]?, limit: Int, _ connection: some EncryptingConnection,
        onDecryptionError: ((any Error) throws -> Void)? = nil
    ) throws -> [TextRow] {
        let columns = (self.key + binding + texts).joined(separator: ", ")
        let order = self.key.joined(separator: ", ")
        let places = self.key.map { _ in "?" }.joined(separator: ", ")
        let after = key.map { _ in "WHERE (\(order)) > (\(places))" } ?? ""
        var rows: [TextRow] = []
        try connection.run(
            uncached: "SELECT \(columns) FROM \(name) \(after) ORDER BY \(order) LIMIT \(limit)",
            bind: { parameters in
                for part in key ?? [] { parameters.add(part) }
            },
            row: { columns in
                let key = self.key.map { _ in columns.keyPart() }
                let encryptedRow = EncryptedRow(boundName, key: binding.map { _ in columns.keyPart() })
                var row = TextRow(key: key, encryptedRow: encryptedRow, texts: [])
                for column in texts {
                    let key = columns.keyIDOfNextValue()
                    do {
                        row.texts.append((try columns.optionalText(column, of: encryptedRow), key))
                    } catch {
                        guard let onDecryptionError else { throw error }
                        try onDecryptionError(error)
                        row.texts.append((nil, key))
                    }
                }
                rows.append(row)
                return true
            })
        return rows
    }

    /// Writes the texts of a row, encrypted with the newest key.
    func write(_ row: TextRow, _ connection: some EncryptingConnection) throws {
        let assignments = texts.map { "\($0) = ?" }.joined(separator: ", ")
        let condition = key.map { "\($0) = ?" }.joined(separator: " AND ")
        try connection.run(
            uncached: "UPDATE \(name) SET \(assignments) WHERE \(condition)",
            bind: { parameters in
                for (column, value) in zip(texts, row.texts) {
                    parameters.add(value.text, column, of: row.encryptedRow)
                }
                for part in row.key { parameters.add(part) }
            }, row: { _ in true })
    }
}

/// A connection to a store's database that encrypts and decrypts with the store's keys.
package protocol EncryptingConnection {
    /// Runs a statement that is not cached, and passes each row to `row`.
    ///
    /// - Parameter row: Returns whether to continue.
    func run(uncached sql: String, bind: (inout Parameters) -> Void, row: (inout Columns) throws -> Bool) throws
}

extension EncryptingConnection {
    func run(uncached sql: String, bind: (inout Parameters) -> Void = { _ in }) throws {
        try run(uncached: sql, bind: bind) { _ in true }
    }

    func run(uncached sql: String, row: (inout Columns) throws -> Bool) throws {
        try run(uncached: sql, bind: { _ in }, row: row)
    }
}
