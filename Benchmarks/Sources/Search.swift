import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackSearch
import ScrollbackWords

struct Search: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Index real chat logs, and find common and rare words in one conversation and in all.")

    @Argument(help: "Chat logs: a JSON object a line, with channel, time and text.", completion: .file())
    var logs: [String]
    @Option var queries = 200

    private struct Line: Decodable {
        var channel: String
        var time: String
        var text: String
    }

    func run() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let (lines, largest) = try read()
        let batches = stride(from: 0, to: lines.count, by: 500).map { lines[$0..<min($0 + 500, lines.count)] }
        var words = 0
        let cut = seconds {
            for (_, row) in lines { words += Words(row.text ?? "").body.count }
        }
        let index = try SearchIndex(directory: folder.url)
        let elapsed = try seconds {
            for batch in batches {
                try index.write { writer in for (number, row) in batch { try writer.put([row], in: number) } }
            }
        }
        let size = try FileManager.default.contentsOfDirectory(
            at: folder.url, includingPropertiesForKeys: [.fileSizeKey]
        )
        .reduce(0) { $0 + (try $1.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0) }
        let bytes = lines.reduce(0) { $0 + ($1.row.text?.utf8.count ?? 0) }
        report(
            "search: indexing",
            String(
                format: "%d messages, %.1f MB of text, %d words: %.1f s, %.0f messages/s (words alone %.2f s), %.1f MB",
                lines.count, Double(bytes) / 1e6, words, elapsed, Double(lines.count) / elapsed, cut, Double(size) / 1e6
            ))
        for question in [
            "the", "t", "th", "javascript", "function arr", "ubunt", "\"at the same time\"", "при", "😂", "zzyzx",
        ] {
            for (place, scopes) in [("one", [SearchScope(conversation: largest)]), ("all", nil)] {
                for sort in SearchSort.allCases { try measure(question, index, place, scopes, sort) }
            }
        }
    }

    private func measure(
        _ question: String, _ index: SearchIndex, _ place: String, _ scopes: [SearchScope]?, _ sort: SearchSort
    ) throws {
        let terms = SearchTerms(question)
        var sample = Sample()
        var found = 0
        for _ in 0..<queries {
            let start = now()
            found = try index.read { try $0.find(terms, in: scopes, sort: sort, limit: 21).matches.count }
            sample.add(now() - start)
        }
        report("search: \(question), \(place), \(sort.rawValue)", "\(found) found  \(sample.summary)")
    }

    private func read() throws -> (lines: [(conversation: Int64, row: SearchRow)], largest: Int64) {
        let decoder = JSONDecoder()
        var numbers: [String: Int64] = [:]
        var seqs: [Int64: Seq] = [:]
        var lines: [(conversation: Int64, row: SearchRow)] = []
        for log in logs {
            for bytes in try Data(contentsOf: URL(filePath: log)).split(separator: UInt8(ascii: "\n")) {
                let line = try decoder.decode(Line.self, from: bytes)
                let number = numbers[line.channel] ?? Int64(numbers.count + 1)
                numbers[line.channel] = number
                seqs[number, default: 0] += 1
                let time = Timetoken(rawValue: UInt64(lines.count + 1) * 10_000)
                lines.append((number, SearchRow(seq: seqs[number] ?? 1, time: time, text: line.text)))
            }
        }
        return (lines, seqs.max { $0.value < $1.value }?.key ?? 1)
    }
}
