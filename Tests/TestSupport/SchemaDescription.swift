package import GRDB

extension Database {
    /// Describes the tables, columns, indexes, checks and rows of a database, one line for each.
    ///
    /// Differences without an effect are left out: the order of tables and of indexes, and white space, comments and
    /// quotation marks in the statements that created them. A column that was added later has the same lines as one
    /// that its table was created with.
    package func schemaDescription() throws -> Set<String> {
        var lines: Set<String> = []
        let tables = try Row.fetchAll(
            self, sql: "SELECT * FROM pragma_table_list WHERE schema = 'main' AND name <> 'sqlite_schema'")
        for properties in tables {
            let table: String = properties["name"]
            func add(_ kind: String, _ sql: String, _ arguments: StatementArguments = []) throws {
                let rows = try Row.fetchAll(self, sql: sql, arguments: arguments)
                lines.formUnion(rows.map { "\(table) \(kind) \($0)" })
            }
            lines.insert("\(table) \(properties)")
            try add("column", "SELECT * FROM pragma_table_xinfo(?)", [table])
            try add("foreign key", "SELECT * FROM pragma_foreign_key_list(?)", [table])
            try add("row", "SELECT * FROM \"\(table)\"")
            for part in try definition(of: table) { lines.insert("\(table) definition \(part)") }
            let indexes = "SELECT name, \"unique\", origin, partial FROM pragma_index_list(?)"
            try add("index", indexes, [table])
            for index in try String.fetchAll(self, sql: indexes, arguments: [table]) {
                try add("index \(index)", "SELECT * FROM pragma_index_xinfo(?)", [index])
                for part in try definition(of: index) { lines.insert("\(table) index \(index) definition \(part)") }
            }
        }
        return lines
    }

    /// Returns the parts of the statement that created a table or an index: what precedes the parentheses, the elements
    /// in them, and what follows.
    private func definition(of name: String) throws -> [String] {
        // Some indexes of keys have no statement.
        let sql = try String.fetchOne(
            self, sql: "SELECT sql FROM sqlite_schema WHERE name = ? AND sql IS NOT NULL", arguments: [name])
        let text = (sql ?? "").replacing(#/--[^\n]*/#, with: "").replacing("\"", with: "")
        var (parts, depth) = ([""], 0)
        for character in text {
            switch character {
            case "(": depth += 1
            case ")": depth -= 1
            default: break
            }
            switch (character, depth) {
            case ("(", 1), (",", 1), (")", 0): parts.append("")
            default: parts[parts.count - 1].append(character)
            }
        }
        return parts.map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
    }
}
