import ScrollbackEngine
import ScrollbackModel

extension PostgresReader {
    private static let usage = Statement<UsageRow>("SELECT \(UsageRow.columns) FROM usage WHERE userID = ?")

    func usage(of user: UserID) throws -> UsageRow? {
        if let known = connection.ahead.usage(of: user) { return known }
        return try connection.first(Self.usage) { $0.add(user) }
    }
}

extension PostgresWriter {
    private static let putUsage = Statement(
        insertingInto: "usage", "userID, \(UsageRow.columns)",
        onConflict: "(userID) DO UPDATE SET (\(UsageRow.columns)) = (\(excluded(UsageRow.columns)))")

    func put(_ usage: UsageRow, of user: UserID) throws {
        try connection.gather(Self.putUsage, key: user) { parameters in
            parameters.add(user, usage.day)
            for quota in Quota.allCases { parameters.add(usage.growth[quota]) }
        }
        connection.ahead.put(usage, of: user)
    }

    private static let dropUsage = Statement("DELETE FROM usage WHERE day < ?")

    func dropUsage(before day: Int64) throws {
        try connection.enqueue(Self.dropUsage) { $0.add(day) }
    }
}

extension UsageRow: StoredRow {
    static let columns = "day, groups, members, fileBytes, messageBytes"

    init(_ columns: inout Columns) {
        self.init(day: columns.integer())
        for quota in Quota.allCases { growth[quota] = columns.integer() }
    }
}
