import ScrollbackSQLite
import StoreConformance
import Testing

@Suite struct SQLiteStoreConformanceTests {
    @Test(arguments: StoreConformance.cases)
    func `The store in SQLite does what every store must`(_ testCase: StoreConformance.Case) throws {
        let folder = try TemporaryFolder()
        try StoreConformance { try SQLiteStore(directory: folder.url) }.run(testCase)
    }
}
