import Foundation
import GRDB
import ScrollbackModel
import ScrollbackSearch
import TextAnalysis
import TestSupport
import Testing

@Suite("The index file")
struct SearchFileTests {
    private let folder: TemporaryFolder
    private var file: URL { folder.url.appending(path: SearchIndex.fileName) }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func fill(_ index: SearchIndex, count: Seq = 500) throws {
        let rows = (1...count).map { row($0, "message number \($0) hello") }
        try index.write { try $0.put(rows, in: 1) }
    }

    private func count(_ index: SearchIndex, _ query: String = "hello") throws -> Int {
        try index.all(query, page: 100).count
    }

    @Test("Indexed messages are found after reopening")
    func indexIsFoundAfterReopening() throws {
        let first = try SearchIndex(directory: folder.url)
        try fill(first)
        let identity = first.identity
        try first.close()
        let second = try SearchIndex(directory: folder.url)
        #expect(second.identity == identity)
        #expect(try count(second) == 500)
    }

    @Test("A truncated, overwritten or foreign file is recreated", arguments: 0..<7)
    func damaged(how: Int) throws {
        let first = try SearchIndex(directory: folder.url)
        try fill(first)
        try first.close()
        var bytes = try Data(contentsOf: file)
        switch how {
        case 0: bytes = Data()
        case 1: bytes = bytes.prefix(bytes.count / 2)
        case 2: bytes = bytes.prefix(100)
        case 3: bytes = Data((0..<bytes.count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        case 4: bytes.replaceSubrange(4096..<bytes.count, with: Data(repeating: 0x5A, count: bytes.count - 4096))
        case 5: bytes.replaceSubrange(8192..<bytes.count, with: Data(repeating: 0, count: bytes.count - 8192))
        default: bytes = Data("not a database".utf8)
        }
        try bytes.write(to: file)
        let second = try SearchIndex(directory: folder.url)
        // Some damage appears only when the damaged page is read.
        for _ in 0..<3 {
            do {
                try fill(second)
                #expect(try count(second) == 500)
                #expect(try second.write { try $0.violations() } == [])
                return
            } catch is SearchIndexReset {}
        }
        Issue.record("The index stays damaged.")
    }

    @Test("A file of another format or of another program is recreated")
    func otherFormat() throws {
        let first = try SearchIndex(directory: folder.url)
        try fill(first)
        try first.close()
        try DatabaseQueue(path: file.path).write { try $0.execute(sql: "PRAGMA user_version = 99") }
        let second = try SearchIndex(directory: folder.url)
        #expect(second.identity != first.identity)
        #expect(try count(second) == 0)
        try second.close()
        try FileManager.default.removeItem(at: file)
        try DatabaseQueue(path: file.path).write { try $0.execute(sql: "CREATE TABLE other (a)") }
        let third = try SearchIndex(directory: folder.url)
        try fill(third)
        #expect(try count(third) == 500)
    }

    @Test("Two open indexes of the same file write one after the other")
    func twoOpeners() async throws {
        let one = try SearchIndex(directory: folder.url)
        let two = try SearchIndex(directory: folder.url)
        #expect(one.identity == two.identity)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, index) in [(Int64(1), one), (2, two)] {
                group.addTask {
                    for seq in 1...100 as SeqRange { try index.write { try $0.put([row(seq, "hello")], in: number) } }
                }
            }
            try await group.waitForAll()
        }
        #expect(try count(one) == 200)
        #expect(try count(two) == 200)
    }
}
