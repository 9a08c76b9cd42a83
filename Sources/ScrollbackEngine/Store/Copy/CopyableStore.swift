package import ScrollbackModel

/// A store whose rows can be read table by table, to copy or compare them.
package protocol CopyableStore {
    var storedState: StoredState { get throws }

    /// Returns the tables with the data of users, ordered by name.
    func storedTables() throws -> [StoredTable]

    /// Returns the next rows, ordered by key.
    ///
    /// - Parameter key: The values of the key columns of the row before; `nil` for the first rows.
    func storedRows(of table: StoredTable, after key: [StoredValue]?, limit: Int) throws -> [StoredValues]
}

/// The values of a row, in the order of the table's columns.
package typealias StoredValues = [StoredValue]

/// A table of a store.
package struct StoredTable: Sendable {
    /// The name in lower case, which is the same in all stores.
    package var name: String
    /// All columns, of which the first ones are the primary key.
    package var columns: [StoredColumn]
    /// The number of columns of the primary key.
    package var keyCount: Int

    package init(name: String, key: [StoredColumn], others: [StoredColumn]) {
        self.name = name
        columns = key + others.sorted { $0.name < $1.name }
        keyCount = key.count
    }

    /// Finds the tables of a store in another one.
    ///
    /// - Parameter others: The tables of the other store, whose database can also have tables of other programs.
    package static func pairs(
        _ tables: [StoredTable], with others: [StoredTable]
    ) throws -> [(table: StoredTable, other: StoredTable)] {
        let others = Dictionary(uniqueKeysWithValues: others.map { ($0.name, $0) })
        return try tables.map { table in
            guard let other = others[table.name], other.keyCount == table.keyCount,
                other.columns.map(\.name) == table.columns.map(\.name)
            else { throw ChatError(.internalError, "The tables \(table.name) of the two stores differ.") }
            return (table, other)
        }
    }

    package var key: [StoredColumn] { Array(columns.prefix(keyCount)) }

    /// Returns the key of a row.
    package func key(of row: StoredValues) -> [StoredValue] { Array(row.prefix(keyCount)) }
}

/// A column of a table.
package struct StoredColumn: Sendable {
    /// The name in lower case, which is the same in all stores.
    package var name: String
    /// The type in this store.
    package var type: String

    package init(name: String, type: String) {
        self.name = name
        self.type = type
    }
}

/// A value of a column.
///
/// Texts and UUIDs are their bytes, and a flag is 0 or 1.
package enum StoredValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case number(Double)
    case bytes([UInt8])
}

/// The state of a whole store.
package struct StoredState: Hashable, Sendable {
    package var generation: UInt64
    package var lastCommit: Int64
    /// The newest time of any message.
    package var newest: Timetoken

    package init(generation: UInt64, lastCommit: Int64, newest: Timetoken) {
        self.generation = generation
        self.lastCommit = lastCommit
        self.newest = newest
    }
}
