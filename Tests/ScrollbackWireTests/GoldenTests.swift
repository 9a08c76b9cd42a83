import Foundation
import Testing

/// What was once promised to other programs stays: the files hold every frame and body of version 1 byte for byte.
///
/// `SCROLLBACK_RECORD_GOLDEN=1` writes files that are not there yet. It never changes one: a change is a new version.
@Suite("Golden files of version 1")
struct GoldenTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/v1")

    private static func file(_ name: String) -> URL { folder.appending(path: "\(name).json") }

    private static func contents(_ name: String) throws -> [UInt8] {
        var bytes = Array(try Data(contentsOf: file(name)))
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        return bytes
    }

    @Test("Encoding gives the file's bytes", arguments: Golden.all)
    func encoding(_ golden: Golden) throws {
        let isRecording = ProcessInfo.processInfo.environment["SCROLLBACK_RECORD_GOLDEN"] == "1"
        if isRecording, !FileManager.default.fileExists(atPath: Self.file(golden.name).path) {
            try Data(golden.bytes + [UInt8(ascii: "\n")]).write(to: Self.file(golden.name))
        }
        let expected = try Self.contents(golden.name)
        #expect(String(decoding: golden.bytes, as: UTF8.self) == String(decoding: expected, as: UTF8.self))
        #expect(golden.bytes == expected)
    }

    @Test("The file's bytes are decoded and encoded to the same bytes", arguments: Golden.all)
    func decoding(_ golden: Golden) throws {
        let bytes = try golden.recode(try Self.contents(golden.name))
        #expect(String(decoding: bytes, as: UTF8.self) == String(decoding: golden.bytes, as: UTF8.self))
    }

    @Test("The files are valid JSON to others too", arguments: Golden.all)
    func validity(_ golden: Golden) throws {
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(golden.bytes)) }
    }

    @Test("No file is left without a test")
    func completeness() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter {
            $0.hasSuffix(".json")
        }
        #expect(Set(files) == Set(Golden.all.map { "\($0.name).json" }))
        #expect(Golden.all.count == files.count)
    }
}
