import ScrollbackPostgres
import StoreConformance
import TestSupport
import Testing

@Suite struct PostgresStoreConformanceTests {
    @Test(.needs(.postgres), arguments: StoreConformance.cases)
    func `The PostgreSQL store passes every conformance test`(_ testCase: StoreConformance.Case) throws {
        let database = try PostgresDatabase()
        try StoreConformance { try database.makeStore() }.run(testCase)
    }
}
