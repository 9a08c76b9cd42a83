import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteReader {
    private static let usage = Statement(
        "SELECT day, groups, members, fileBytes, messageBytes FROM usage WHERE userID = ?"
    ) { row in
        var usage = UsageRow(day: row.integer())
        for quota in Quota.allCases { usage.growth[quota] = row.integer() }
        return usage
    }

    func usage(of user: UserID) throws -> UsageRow? {
        try connection.first(Self.usage) { $0.add(user) }
    }
}

extension SQLiteWriter {
    private static let putUsage = Statement(
        """
        INSERT INTO usage (userID, day, groups, members, fileBytes, messageBytes) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (userID) DO UPDATE SET (day, groups, members, fileBytes, messageBytes)
        = (excluded.day, excluded.groups, excluded.members, excluded.fileBytes, excluded.messageBytes)
        """)

    func put(_ usage: UsageRow, of user: UserID) throws {
        try connection.run(Self.putUsage) { parameters in
            parameters.add(user, usage.day)
            for quota in Quota.allCases { parameters.add(usage.growth[quota]) }
        }
    }

    private static let dropUsage = Statement("DELETE FROM usage WHERE day < ?")

    func dropUsage(before day: Int64) throws {
        try connection.run(Self.dropUsage) { $0.add(day) }
    }
}
