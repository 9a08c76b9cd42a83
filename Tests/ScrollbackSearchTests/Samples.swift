import Foundation
import ScrollbackModel
import ScrollbackSearch
import TestSupport
import TextAnalysis
import Testing

/// A line of a real chat log, which the project does not ship.
struct LogLine: Decodable, Sendable {
    var channel: String
    var text: String

    /// Reads a chat log. The test must have the trait `needs(.chatLog(…))`.
    static func all(of name: String) throws -> [LogLine] {
        let file = URL(filePath: try Requirement.chatLog(name).path())
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
