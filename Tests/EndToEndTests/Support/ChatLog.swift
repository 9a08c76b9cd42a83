import Foundation
import TestSupport
import Testing

/// The kind of this test run.
enum Run {
    static let isLong = ProcessInfo.processInfo.environment["SCROLLBACK_LONG"] != nil
}

/// A file of real chat logs, which is not part of the repository.
struct ChatLog: Sendable {
    struct Line: Decodable, Sendable {
        var channel: String
        var sender: String
        var time: String
        var text: String
    }

    let file: URL

    /// Finds a chat log. The test must have the trait `needs(.chatLog(…))`.
    static func find(_ name: String) throws -> ChatLog {
        ChatLog(file: URL(filePath: try Requirement.chatLog(name).path()))
    }

    /// Returns the lines of each channel, or of only one channel, in the order of the file.
    func lines(of channel: String? = nil) throws -> [String: [Line]] {
        let decoder = JSONDecoder()
        let mark = channel.map { Data("\"channel\":\"\($0)\"".utf8) }
        var lines: [String: [Line]] = [:]
        try eachLine(of: Data(contentsOf: file)) { bytes in
            // Searching the bytes first is faster than decoding every line of a large file.
            if let mark, bytes.range(of: mark) == nil { return }
            let line = try decoder.decode(Line.self, from: bytes)
            if channel == nil || line.channel == channel { lines[line.channel, default: []].append(line) }
        }
        return lines
    }

    /// Returns the lines of all channels in the order of the file.
    func everyLine() throws -> [Line] {
        let decoder = JSONDecoder()
        var lines: [Line] = []
        try eachLine(of: Data(contentsOf: file)) { lines.append(try decoder.decode(Line.self, from: $0)) }
        return lines
    }

    /// Writes a file with the lines of some channels, byte by byte the same, and returns it.
    func extract(_ channels: Set<String>, into folder: URL) throws -> ChatLog {
        let decoder = JSONDecoder()
        var kept = Data()
        try eachLine(of: Data(contentsOf: file)) { bytes in
            guard channels.contains(try decoder.decode(Line.self, from: bytes).channel) else { return }
            kept += bytes
            kept.append(0x0A)
        }
        let copy = folder.appending(component: file.lastPathComponent)
        try kept.write(to: copy)
        return ChatLog(file: copy)
    }

    /// Returns every `step`th line with characters outside of ASCII, in the order of the file.
    func linesBeyondASCII(step: Int) throws -> [Line] {
        let decoder = JSONDecoder()
        var lines: [Line] = []
        var number = 0
        try eachLine(of: Data(contentsOf: file)) { bytes in
            guard bytes.withUnsafeBytes({ $0.contains { $0 >= 0x80 } }) else { return }
            if number.isMultiple(of: step) { lines.append(try decoder.decode(Line.self, from: bytes)) }
            number += 1
        }
        return lines
    }

    /// Calls `body` for each line.
    ///
    /// It uses `memchr`, because the file is large and tests are not optimized.
    private func eachLine(of data: Data, _ body: (Data) throws -> Void) throws {
        try data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let line = UnsafeRawBufferPointer(rebasing: rest)
                let end = memchr(line.baseAddress!, 0x0A, line.count).map { line.baseAddress!.distance(to: $0) }
                let length = end ?? line.count
                if length > 0 { try body(Data(line[..<length])) }
                rest = rest.dropFirst(length + 1)
            }
        }
    }
}

/// A message's text, sender and time, compared by bytes.
struct Utterance: Equatable, Sendable, CustomStringConvertible {
    var text: [UInt8]
    var sender: [UInt8]
    var time: String

    init(text: String, sender: String, time: String) {
        self.text = Array(text.utf8)
        self.sender = Array(sender.utf8)
        self.time = time
    }

    init(_ line: ChatLog.Line) {
        self.init(text: line.text, sender: line.sender, time: line.time)
    }

    var description: String { "\(time) \(String(decoding: sender, as: UTF8.self)): \(text)" }
}

/// Checks that the messages that were read equal the lines of the chat log, in the same order.
func expectSame(_ read: [Utterance], _ said: [ChatLog.Line], _ what: String) {
    #expect(read.count == said.count, "\(what)")
    let difference = zip(read, said).enumerated().first { $0.element.0 != Utterance($0.element.1) }
    if let difference {
        Issue.record(
            "\(what), message \(difference.offset + 1): read \(difference.element.0), expected \(difference.element.1)")
    }
}
