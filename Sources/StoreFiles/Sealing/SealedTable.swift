/// A table whose texts are encrypted if the store has keys.
package struct SealedTable: Sendable {
    package let name: String
    /// The primary key, which determines the order of the background encryption.
    package let key: [String]
    /// The columns to which a row's encrypted values are bound.
    let binding: [String]
    package let texts: [String]

    package init(_ name: String, key: [String], binding: [String]? = nil, texts: [String]) {
        self.name = name
        self.key = key
        self.binding = binding ?? key
        self.texts = texts
    }

    /// The decrypted texts of a row and their keys.
    struct TextRow {
        var key: [SealedRow.Part]
        var sealed: SealedRow
        var texts: [(text: String?, key: StoreKey.ID?)]
    }

    /// Reads and decrypts the next rows.
    ///
    /// - Parameter unopened: Called with the error for a value that can't be decrypted, which is then `nil`. Without
    ///   it, the error is thrown.
    func rows(
        after key: [SealedRow.Part]?, limit: Int, _ connection: some SealingConnection,
        unopened: ((any Error) throws -> Void)? = nil
    ) throws -> [TextRow] {
        let columns = (self.key + binding + texts).joined(separator: ", ")
        let order = self.key.joined(separator: ", ")
        let places = self.key.map { _ in "?" }.joined(separator: ", ")
        let after = key.map { _ in "WHERE (\(order)) > (\(places))" } ?? ""
        var rows: [TextRow] = []
        try connection.run(
            once: "SELECT \(columns) FROM \(name) \(after) ORDER BY \(order) LIMIT \(limit)",
            bind: { parameters in
                for part in key ?? [] { parameters.add(part) }
            },
            row: { columns in
                let key = self.key.map { _ in columns.part() }
                let sealed = SealedRow(name, key: binding.map { _ in columns.part() })
                var row = TextRow(key: key, sealed: sealed, texts: [])
                for column in texts {
                    let key = columns.keyOfNext()
                    do {
                        row.texts.append((try columns.optionalText(column, of: sealed), key))
                    } catch {
                        guard let unopened else { throw error }
                        try unopened(error)
                        row.texts.append((nil, key))
                    }
                }
                rows.append(row)
                return true
            })
        return rows
    }

    /// Writes the texts of a row, encrypted with the newest key.
    func write(_ row: TextRow, _ connection: some SealingConnection) throws {
        let assignments = texts.map { "\($0) = ?" }.joined(separator: ", ")
        let condition = key.map { "\($0) = ?" }.joined(separator: " AND ")
        try connection.run(
            once: "UPDATE \(name) SET \(assignments) WHERE \(condition)",
            bind: { parameters in
                for (column, value) in zip(texts, row.texts) { parameters.add(value.text, column, of: row.sealed) }
                for part in row.key { parameters.add(part) }
            }, row: { _ in true })
    }
}

/// A connection to a store's database that encrypts and decrypts with the store's keys.
package protocol SealingConnection {
    /// Runs a statement that is not cached, and passes each row to `row`.
    ///
    /// - Parameter row: Returns whether to continue.
    func run(once sql: String, bind: (inout Parameters) -> Void, row: (inout Columns) throws -> Bool) throws
}

extension SealingConnection {
    func run(once sql: String, bind: (inout Parameters) -> Void = { _ in }) throws {
        try run(once: sql, bind: bind) { _ in true }
    }

    func run(once sql: String, row: (inout Columns) throws -> Bool) throws {
        try run(once: sql, bind: { _ in }, row: row)
    }
}
