import ScrollbackEngine
import StoreConformance
import Testing

@Suite struct MemoryStoreConformanceTests {
    @Test(arguments: StoreConformance.cases)
    func `The store in memory does what every store must`(_ testCase: StoreConformance.Case) throws {
        try StoreConformance(readsDuringWrites: false) { MemoryStore(generation: 7) }.run(testCase)
    }
}
