import Foundation
import FuzzTargets
import Testing

/// Repeats the inputs that fuzzing found, and the inputs that once failed.
struct CorpusTests {
    private static let corpus = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(component: "corpus")

    @Test("Every input of the corpus is decoded or refused", arguments: FuzzTarget.all.map(\.name))
    func inputs(of name: String) async throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let folder = Self.corpus.appending(component: name)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty, "The target has no inputs.")
        for file in files.sorted(by: { $0.path < $1.path }) {
            let bytes = Array(try Data(contentsOf: file))
            await #expect(throws: Never.self, "\(file.path)") { try await target.run(bytes) }
        }
    }

    @Test("Every folder of the corpus belongs to a target")
    func folders() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
        #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
    }
}
