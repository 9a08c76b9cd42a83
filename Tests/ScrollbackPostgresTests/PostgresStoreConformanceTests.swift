import ScrollbackPostgres
import StoreConformance
import TestSupport
import Testing

@Suite(.needs(.postgres)) struct PostgresStoreConformanceTests {
    @Test(arguments: StoreConformance.cases)
    func `The PostgreSQL store passes every conformance test`(_ testCase: StoreConformance.Case) throws {
        let database = try PostgresDatabase()
        try StoreConformance { try database.makeStore() }.run(testCase)
    }

    @Test(arguments: StoreConformance.cases)
    func `Two PostgreSQL stores on one database pass every conformance test`(
        _ testCase: StoreConformance.Case
    ) throws {
        let database = try PostgresDatabase()
        try StoreConformance { try AlternatingStores(in: database) }.run(testCase)
    }
}
