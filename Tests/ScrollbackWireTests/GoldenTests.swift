import Foundation
import Testing

/// Tests that every frame and body of protocol version 1 has the bytes of its golden file.
///
/// Other programs rely on these bytes, so a change needs a new protocol version. `SCROLLBACK_RECORD_GOLDEN=1` writes
/// missing files and never changes an existing one.
@Suite("Golden files of version 1")
struct GoldenTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/v1")

    private static func file(_ name: String) -> URL { folder.appending(path: "\(name).json") }

    private static func contents(_ name: String) throws -> [UInt8] {
        var bytes = Array(try Data(contentsOf: file(name)))
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        return bytes
    }

    @Test("Encoding produces the bytes of the golden file", arguments: Golden.all)
    func encoding(_ golden: Golden) throws {
        let isRecording = ProcessInfo.processInfo.environment["SCROLLBACK_RECORD_GOLDEN"] == "1"
        if isRecording, !FileManager.default.fileExists(atPath: Self.file(golden.name).path) {
            try Data(golden.bytes + [UInt8(ascii: "\n")]).write(to: Self.file(golden.name))
        }
        let expected = try Self.contents(golden.name)
        #expect(String(decoding: golden.bytes, as: UTF8.self) == String(decoding: expected, as: UTF8.self))
        #expect(golden.bytes == expected)
    }

    @Test("Decoding and encoding a golden file reproduces its bytes", arguments: Golden.all)
    func decoding(_ golden: Golden) throws {
        let bytes = try golden.recode(try Self.contents(golden.name))
        #expect(String(decoding: bytes, as: UTF8.self) == String(decoding: golden.bytes, as: UTF8.self))
    }

    @Test("Foundation reads the golden files as valid JSON", arguments: Golden.all)
    func validity(_ golden: Golden) throws {
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(golden.bytes)) }
    }

    @Test("Every golden file has a test")
    func completeness() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter {
            $0.hasSuffix(".json")
        }
        #expect(Set(files) == Set(Golden.all.map { "\($0.name).json" }))
        #expect(Golden.all.count == files.count)
    }
}
