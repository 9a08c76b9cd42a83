package import Foundation

/// A file in `Tests/Fixtures/Pictures` and its expected properties from the manifest, `pictures.json`.
package struct PictureFixture: Decodable, Sendable, CustomStringConvertible {
    package var name = ""
    /// The expected result: `ok`, `corrupt`, `too large` or `unknown`.
    package var verdict: String
    /// `decoder` if only decoding reveals the damage.
    package var by: String?
    package var type: String?
    package var width: Int?
    package var height: Int?
    package var orientation: Int?
    package var frames: Int?
    /// The length of the color profile in bytes.
    package var icc: Int?
    package var isPrivate: Bool?
    package var cleanedLength: Int?

    private enum CodingKeys: String, CodingKey {
        case verdict, by, type, width, height, orientation, frames, icc
        case isPrivate = "private"
        case cleanedLength = "cleaned_length"
    }

    package var description: String { name }

    package var data: Data {
        get throws { try Data(contentsOf: Self.directory.appending(path: name)) }
    }

    package static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/Pictures")

    /// All fixtures, sorted by name.
    package static let all: [PictureFixture] = {
        do {
            let manifest = try Data(contentsOf: directory.appending(path: "pictures.json"))
            return try JSONDecoder().decode([String: PictureFixture].self, from: manifest).map { name, fixture in
                var fixture = fixture
                fixture.name = name
                return fixture
            }
            .sorted { $0.name < $1.name }
        } catch {
            fatalError("\(directory.path): \(error)")
        }
    }()

    /// The fixtures that are valid pictures.
    package static let good = all.filter { $0.verdict == "ok" }

    package static func named(_ name: String) throws -> Data {
        try Data(contentsOf: directory.appending(path: name))
    }
}
