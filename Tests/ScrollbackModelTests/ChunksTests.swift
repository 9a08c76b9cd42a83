import ScrollbackModel
import Testing

@Suite("Chunks of arrays")
struct ChunksTests {
    @Test("Chunks have all elements in order, and only the last one can be smaller")
    func chunks() {
        #expect(Array(1...5).chunks(of: 2) == [[1, 2], [3, 4], [5]])
        #expect(Array(1...4).chunks(of: 2) == [[1, 2], [3, 4]])
        #expect([Int]().chunks(of: 2) == [])
    }
}
