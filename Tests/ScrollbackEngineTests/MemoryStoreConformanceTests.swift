import ScrollbackEngine
import StoreConformance
import Testing

@Suite struct MemoryStoreConformanceTests {
    @Test(arguments: StoreConformance.cases)
    func `The memory store passes every conformance test`(_ testCase: StoreConformance.Case) throws {
        try StoreConformance(readsDuringWrites: false) { MemoryStore(generation: 7) }.run(testCase)
    }
}
