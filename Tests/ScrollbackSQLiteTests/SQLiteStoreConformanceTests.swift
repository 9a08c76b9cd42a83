import ScrollbackSQLite
import StoreConformance
import TestSupport
import Testing

@Suite struct SQLiteStoreConformanceTests {
    @Test(arguments: StoreConformance.cases)
    func `The SQLite store passes every conformance test`(_ testCase: StoreConformance.Case) throws {
        let folder = try TemporaryFolder()
        try StoreConformance { try SQLiteStore(directory: folder.url) }.run(testCase)
    }
}
