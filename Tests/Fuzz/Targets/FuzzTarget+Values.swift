import Foundation
import ScrollbackModel
import ScrollbackWire
import TextAnalysis

// Values: JSON, names, contents and texts.

extension FuzzTarget {
    static let json = FuzzTarget("json", "JSON texts") { bytes in
        guard
            let raw = accepted({ () throws(ChatError) in
                try whole(bytes) { (value) throws(ChatError) in try value.raw() }
            })
        else { return }
        let again = accepted { () throws(ChatError) in try RawJSON(raw.text) }
        try check(again == raw, "The value \(raw) is refused or read differently on its own.")
        let tree = try JSONTree(Array(raw.text.utf8))
        var writer = JSONWriter()
        tree.write(to: &writer)
        try check(try JSONTree(writer.bytes) == tree, "\(raw) is read differently after it was written.")
    }

    static let identifiers = FuzzTarget(
        "identifiers", "IDs, times, points and other short texts", maximumBytes: 512
    ) { bytes in
        let text = bytes.text
        func check<Value: Equatable & CustomStringConvertible>(
            _ parse: (String) throws(ChatError) -> Value
        ) throws {
            guard let value = accepted({ () throws(ChatError) in try parse(text) }) else { return }
            let again = accepted { () throws(ChatError) in try parse(value.description) }
            try FuzzTargets.check(again == value, "\(value) is not what its description \(value.description) means.")
        }
        try check { (text) throws(ChatError) in try ConversationID(text) }
        try check { (text) throws(ChatError) in try UserID(text) }
        try check { (text) throws(ChatError) in try MessageID(text) }
        try check { (text) throws(ChatError) in try MediaID(text, parameter: "id") }
        try check { (text) throws(ChatError) in try Identifier(text, parameter: "id") }
        try check { (text) throws(ChatError) in try MessageType(text) }
        try check { (text) throws(ChatError) in try Epoch(text) }
        try check { (text) throws(ChatError) in try Timetoken(text) }
        if let date = accepted({ () throws(ChatError) in try Date(iso8601: text, parameter: "time") }) {
            let again = accepted { () throws(ChatError) in try Date(iso8601: date.iso8601, parameter: "time") }
            try FuzzTargets.check(again == date, "\(text) is \(date.iso8601), which is another time.")
            _ = Timetoken.millisecond(of: date)
        }
        if let time = accepted({ () throws(ChatError) in try QuietHours.Time(text) }) {
            try FuzzTargets.check((0..<1440).contains(time.minute), "\(text) is no time of a day.")
        }
        _ = accepted { () throws(ChatError) in try HistoryParameters.point(text, "before") }
        _ = accepted { () throws(ChatError) in try Media.name(text) }
        _ = accepted { () throws(ChatError) in try Media.url(text) }
        _ = accepted { () throws(ChatError) in try Media.mediaType(text) }
        _ = FileType(text)
        _ = FileType(of: bytes)
        _ = Media.shortened(text)
        // Foundation's parser is slow, so it gets only texts that look like dates.
        if text.hasSuffix(" GMT") { _ = Date(http: text) }
        if let data = Data(base64URL: text) {
            try FuzzTargets.check(Data(base64URL: data.base64URL) == data, "\(text) is not what its data encodes to.")
        }
    }

    /// The type of a message in the first line, then its content.
    static let content = FuzzTarget("content", "contents of messages") { bytes in
        let (line, rest) = bytes.firstLine
        let parsed = accepted { () throws(ChatError) in
            try MessageContent(type: try MessageType(line.text), json: try RawJSON(rest.text))
        }
        guard let parsed else { return }
        _ = (parsed.text, parsed.quote, parsed.location, parsed.command, parsed.notice, parsed.encrypted)
        _ = (parsed.media, parsed.files, parsed.fileReferences)
        if let quote = parsed.quote {
            try check(MessageContent.reference(quote).quote == quote, "The quote \(quote) is not preserved.")
        }
        if let value = parsed.json.encrypted {
            try check(value.json.encrypted == value, "The encrypted value \(value) is not preserved.")
        }
        _ = accepted { () throws(ChatError) in try PushOptions(parsed.json) }
    }

    static let importLine = FuzzTarget("import-line", "lines of chat logs") { bytes in
        guard let line = accepted({ () throws(ChatError) in try ImportLine(Data(bytes), number: 1) }) else { return }
        _ = accepted { () throws(ChatError) in try line.requiredChannel(line: 1) }
        var writer = JSONWriter()
        line.write(to: &writer, id: MessageID(high: 0x7000, low: 0x8000_0000_0000_0001))
        let sent = accepted { () throws(ChatError) in
            try whole(writer.bytes) { (value) throws(ChatError) in try ImportedSubmission(from: &value) }
        }
        try check(sent?.sender == line.sender, "The import can't send \(writer.text).")
    }

    /// A query or banned words in the first line, then a text.
    static let text = FuzzTarget("text", "texts that are split into words, searched and filtered") { bytes in
        let (first, rest) = bytes.firstLine
        // Longer queries are refused before they are parsed.
        let line = Array(first.prefix(SearchQuery.maximumBytes))
        let text = rest.text
        let words = TokenizedText(text)
        let count = text.utf8.count
        var last = 0
        for word in words.tokens {
            try check(word.range.lowerBound >= last, "The words of \(text) are not in its order.")
            try check(word.range.upperBound <= count, "A word of \(text) ends after the text.")
            try check(word.range.contains(word.firstCharacterEnd - 1), "A word of \(text) has no first character.")
            last = word.range.lowerBound
        }
        let stored = TokenizedText(serialized: words.serialized)
        try check(
            stored.tokens.map(stored.text) == words.tokens.map(words.text), "The words of \(text) are not preserved.")
        let terms = SearchTerms(line.text)
        _ = terms.score(of: words)
        var end = 0
        for range in terms.ranges(in: text) ?? [] {
            try check(range.lowerBound >= end && range.upperBound <= count, "A match in \(text) is at \(range).")
            end = range.upperBound
        }
        let banned = BannedWords(line.text.split(separator: ",").map(String.init))
        try check(
            banned.hasMatch(in: text) == (banned.masked(text) != nil), "A banned word in \(text) is not replaced.")
    }
}

/// Reads a text that is one value.
func whole<Value>(
    _ bytes: [UInt8], _ read: (inout JSONReader) throws(ChatError) -> Value
) throws(ChatError) -> Value {
    var reader = try JSONReader(bytes)
    let value = try read(&reader)
    try reader.end()
    return value
}

/// A JSON value, with numbers as their texts.
indirect enum JSONTree: Equatable {
    case null, bool(Bool), number(String), string(String)
    case array([JSONTree])

    init(_ bytes: [UInt8]) throws {
        self = try whole(bytes) { (reader) throws(ChatError) in try JSONTree(from: &reader) }
    }

    private init(from reader: inout JSONReader) throws(ChatError) {
        var copy = reader
        let text = try copy.raw().text
        switch text.utf8.first {
        case UInt8(ascii: "n"): self = try reader.null() ? .null : .string("The reader finds no null.")
        case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .bool(try reader.bool())
        case UInt8(ascii: "\""): self = .string(try reader.string())
        case UInt8(ascii: "["):
            var elements: [JSONTree] = []
            try reader.array { (value) throws(ChatError) in elements.append(try JSONTree(from: &value)) }
            self = .array(elements)
        case UInt8(ascii: "{"):
            // As a list of names and values, because the writer does not escape names.
            var members: [JSONTree] = []
            try reader.object { (name, value) throws(ChatError) in
                members.append(.string(name))
                members.append(try JSONTree(from: &value))
            }
            self = .array(members)
        default:
            var number = reader
            _ = try? number.integer()
            number = reader
            _ = try? number.double()
            try reader.skip()
            self = .number(text)
        }
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.value(RawJSON(known: "null"))
        case .bool(let flag): writer.value(flag)
        case .number(let text): writer.value(RawJSON(known: text))
        case .string(let text): writer.value(text)
        case .array(let elements): writer.array(elements) { $1.write(to: &$0) }
        }
    }
}
