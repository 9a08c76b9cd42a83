import Foundation
import Testing

/// Checks that `Documentation/threat-model.md` names an existing test for each promise.
///
/// The page names a test by its suite and by its name in quotes.
@Suite struct ThreatModelTests {
    private static let package = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

    private static func page() throws -> String {
        try String(contentsOf: package.appending(path: "Documentation/threat-model.md"), encoding: .utf8)
    }

    private static func named(in text: String) -> [(suite: String, name: String)] {
        text.matches(of: /`(\w+Tests)` "([^"]+)"/).map { (String($0.output.1), String($0.output.2)) }
    }

    /// Returns the sources of each suite by the suite's name.
    ///
    /// A suite with extensions, or a name that several suites share, has several sources.
    private static func sources() throws -> [String: [String]] {
        let found = FileManager.default.enumerator(
            at: package.appending(component: "Tests"), includingPropertiesForKeys: nil)
        var sources: [String: [String]] = [:]
        for file in found?.allObjects as? [URL] ?? [] where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for line in text.components(separatedBy: "\n")
            where ["struct ", "final class ", "extension ", "@Suite"].contains(where: { line.hasPrefix($0) }) {
                let words = line.components(separatedBy: CharacterSet(charactersIn: " :{"))
                for word in words where word.hasSuffix("Tests") { sources[word, default: []].append(text) }
            }
        }
        return sources
    }

    @Test func `Every test that the threat model names exists`() throws {
        // A name can continue on the next line.
        let page = try Self.page().replacing("\n", with: " ")
        let named = Self.named(in: page)
        #expect(named.count > 50)
        let sources = try Self.sources()
        for (suite, name) in named {
            let isThere = sources[suite]?.contains { $0.contains("\"\(name)\"") || $0.contains("func `\(name)`") }
            #expect(isThere == true, "\(suite) \"\(name)\"")
        }
        // No suite is named without a test, except this one.
        let suites = Set(page.matches(of: /`(\w+Tests)`/).map { String($0.output.1) })
        #expect(suites == Set(named.map(\.suite)).union(["ThreatModelTests"]))
    }

    @Test func `Every promise of the threat model has a test`() throws {
        var isPromise = false
        var count = 0
        for line in try Self.page().components(separatedBy: "\n") {
            if !line.hasPrefix("|") { isPromise = false }
            if isPromise, !line.hasPrefix("|---") {
                count += 1
                #expect(!Self.named(in: line).isEmpty, "\(line)")
            }
            if line == "| promise | test |" { isPromise = true }
        }
        #expect(count > 30)
    }
}
