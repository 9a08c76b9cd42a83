import Foundation
import ScrollbackModel
import ScrollbackSearch
import TextAnalysis
import Testing

/// A line of a real chat log, which the project does not ship.
struct LogLine: Decodable, Sendable {
    var channel: String
    var text: String

    /// Reads a chat log.
    ///
    /// - Returns: The lines, or an empty array if the file is missing. In CI, a missing file fails the test.
    static func all(of name: String) throws -> [LogLine] {
        let package = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let files = [package.deletingLastPathComponent(), package].map {
            $0.appending(path: "shared/data/chatlogs/\(name)")
        }
        guard let file = files.first(where: { FileManager.default.fileExists(atPath: $0.path) }) else {
            try #require(ProcessInfo.processInfo.environment["CI"] == nil, "The chat log \(name) is missing.")
            print("Skipped: the chat log \(name) is not on this machine.")
            return []
        }
        let decoder = JSONDecoder()
        return try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")).map {
            try decoder.decode(LogLine.self, from: $0)
        }
    }
}

func row(_ seq: Seq, _ text: String?, time: UInt64? = nil) -> SearchRow {
    SearchRow(seq: seq, time: Timetoken(rawValue: time ?? UInt64(seq) * 10), text: text)
}

extension SearchIndex {
    /// Returns every match of a query, page by page.
    func all(
        _ query: String, in scopes: [SearchScope]? = nil, sort: SearchSort = .newestFirst, page limit: Int = 7
    ) throws -> [SearchMatch] {
        let terms = SearchTerms(query)
        var found: [SearchMatch] = []
        var position: SearchPosition?
        while true {
            let page = try read { try $0.find(terms, in: scopes, sort: sort, after: position, limit: limit) }
            found += page.matches
            guard page.isFull, let last = page.matches.last else { return found }
            position = page.position(after: last)
        }
    }
}
