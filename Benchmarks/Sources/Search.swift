import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ScrollbackModel
import ScrollbackSearch
import TextAnalysis

struct Search: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Measure indexing real chat logs, and searching common and rare words in one and in all conversations.")

    @Argument(help: "Chat logs with one JSON object per line: channel, time and text.", completion: .file())
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
            for (_, row) in lines { words += TokenizedText(row.text ?? "").tokens.count }
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
                format:
                    "%d messages, %.1f MB of text, %d words: %.1f s, %.0f messages/s (tokenizing %.2f s), %.1f MB",
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

struct SearchHTTP: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search-http",
        abstract: "Measure importing real chat logs as channels of a community, and searching them over HTTP.")

    @Argument(help: "Chat logs with one JSON object per line: channel, sender, time and text.", completion: .file())
    var logs: [String]
    @Option var queries = 300

    private struct Line: Decodable {
        var channel: String
        var sender: String
    }

    func run() async throws {
        let server = try ServerProcess()
        defer { server.stop() }
        let lines = try logs.flatMap { try Data(contentsOf: URL(filePath: $0)).split(separator: UInt8(ascii: "\n")) }
        let file = server.directory.appending(path: "logs.jsonl")
        try Data(lines.joined(separator: [UInt8(ascii: "\n")])).write(to: file)
        let elapsed = try seconds {
            try server.command(["import", file.path, "--kind", "community", "--target", "logs"])
        }
        report("search-http: import", String(format: "%d messages in %.1f s", lines.count, elapsed))
        var counts: [String: Int] = [:]
        for line in lines { counts[try JSONDecoder().decode(Line.self, from: line).channel, default: 0] += 1 }
        // Every sender is a member of the community and can see every channel.
        let reader = try JSONDecoder().decode(Line.self, from: lines[0]).sender
        let token = try await Tokens(server.directory).token(try UserID(reader))
        let largest = counts.max { $0.value < $1.value }?.key ?? ""
        while try await isIndexing(server.address, token) { try await Task.sleep(for: .milliseconds(200)) }

        for word in ["the", "javascript", "\"at the same time\"", "при", "😂", "zzyzx"] {
            for (place, channel) in [("one", largest), ("all", nil)] {
                for sort in ["newestFirst", "bestFirst"] {
                    try await measure(word, sort, channel, place, server.address, token)
                }
            }
        }
    }

    private func measure(
        _ word: String, _ sort: String, _ channel: String?, _ place: String, _ address: URL, _ token: String
    ) async throws {
        var sample = Sample()
        var found = 0
        for query in 0..<(queries + 20) {
            let start = now()
            let body = try await search(word, sort, channel, address, token)
            if query >= 20 { sample.add(now() - start) }
            found = body.ranges(of: #""timetoken":"#).count
        }
        report("search-http: \(word), \(place), \(sort)", "\(found) found  \(sample.summary)")
    }

    private func isIndexing(_ address: URL, _ token: String) async throws -> Bool {
        try await search("the", "newestFirst", nil, address, token).contains(#""indexing":true"#)
    }

    private func search(
        _ word: String, _ sort: String, _ channel: String?, _ address: URL, _ token: String
    ) async throws -> String {
        func encoded(_ text: String) -> String {
            text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
        }
        let place = channel.map { "/v1/conversations/\(encoded("community:logs/" + $0))/search" } ?? "/v1/search"
        var request = HTTPClientRequest(
            url: "\(address.absoluteString)\(place)?text=\(encoded(word))&sort=\(sort)&limit=20")
        request.headers.add(name: "Authorization", value: "Bearer \(token)")
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let body = String(buffer: try await response.body.collect(upTo: 4 << 20))
        guard response.status == .ok else { throw BenchError("\(response.status): \(body)") }
        return body
    }
}
