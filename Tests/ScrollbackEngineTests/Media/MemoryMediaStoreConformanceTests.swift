import ScrollbackEngine
import StoreConformance
import Testing

@Suite struct MemoryMediaStoreConformanceTests {
    @Test(arguments: MediaStoreConformance.cases)
    func `The media store in memory passes every conformance test`(
        _ testCase: MediaStoreConformance.Case
    ) async throws {
        let store = MemoryMediaStore()
        try await MediaStoreConformance { store }.run(testCase)
    }
}
