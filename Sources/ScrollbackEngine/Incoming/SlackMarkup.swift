/// Slack's markup of messages, which is converted to plain text.
///
/// Bold, italic, code and lists stay as they are written. Links in angle brackets become readable, and the three
/// entities that Slack requires become characters.
enum SlackMarkup {
    /// Returns a text without Slack's links and entities.
    ///
    /// The cost is linear in the length of the text.
    static func plainText(_ text: String) -> String {
        let bytes = Array(text.utf8)
        return String(decoding: plainText(bytes[...]), as: UTF8.self)
    }

    /// Returns a text in which only the entities are replaced, as in Slack's objects of type `plain_text`.
    static func unescaped(_ text: String) -> String {
        String(decoding: unescaped(Array(text.utf8)[...]), as: UTF8.self)
    }

    private static func plainText(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var start = bytes.startIndex
        while let open = bytes[start...].firstIndex(of: UInt8(ascii: "<")) {
            result += unescaped(bytes[start..<open])
            let inner = bytes[(open + 1)...]
            guard let end = inner.firstIndex(where: { ends.contains($0) }), bytes[end] == UInt8(ascii: ">"),
                let replacement = reference(inner[..<end])
            else {
                result.append(bytes[open])
                start = open + 1
                continue
            }
            result += replacement
            start = end + 1
        }
        return result + unescaped(bytes[start...])
    }

    /// The bytes at which the search for the end of a reference stops.
    private static let ends: [UInt8] = [UInt8(ascii: ">"), UInt8(ascii: "<"), UInt8(ascii: "\n")]

    /// Returns the text for a reference in angle brackets, or `nil` if the bytes are not a reference.
    private static func reference(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        let parts = bytes.split(separator: UInt8(ascii: "|"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = bytes.first, let target = parts.first, !target.isEmpty else { return nil }
        let label = parts.count == 2 ? unescaped(parts[1]) : []
        switch first {
        case UInt8(ascii: "@"), UInt8(ascii: "#"): return name(target.dropFirst(), label, after: first)
        case UInt8(ascii: "!"): return special(target.dropFirst(), label)
        default: return isURL(target) ? link(unescaped(target), label) : nil
        }
    }

    /// The name of a user or channel, as text that mentions no user.
    private static func name(_ id: ArraySlice<UInt8>, _ label: [UInt8], after sign: UInt8) -> [UInt8]? {
        let name = label.isEmpty ? unescaped(id) : label
        guard !name.isEmpty else { return nil }
        return name.first == sign ? name : [sign] + name
    }

    /// `<!here>`, `<!subteam^ID|@name>` and `<!date^time^format|text>`.
    private static func special(_ command: ArraySlice<UInt8>, _ label: [UInt8]) -> [UInt8]? {
        let parts = command.split(separator: UInt8(ascii: "^"), omittingEmptySubsequences: false)
        guard let kind = parts.first, !kind.isEmpty else { return nil }
        // Without the label that Slack requires, the date stays as it is written.
        if kind.elementsEqual("date".utf8) { return label.isEmpty ? nil : label }
        return name(parts.count > 1 ? parts[1] : kind, label, after: UInt8(ascii: "@"))
    }

    /// Returns whether bytes begin with the scheme of a URL.
    private static func isURL(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > bytes.startIndex,
            colon + 1 < bytes.endIndex
        else { return false }
        return bytes[..<colon].allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
    }

    private static func link(_ url: [UInt8], _ label: [UInt8]) -> [UInt8] {
        let address = url.starts(with: "mailto:".utf8) ? Array(url.dropFirst(7)) : url
        guard !label.isEmpty, label != address, label != url else { return address }
        return label + Array(" (".utf8) + address + Array(")".utf8)
    }

    private static let entities: [(name: [UInt8], character: UInt8)] = [
        (Array("&amp;".utf8), UInt8(ascii: "&")), (Array("&lt;".utf8), UInt8(ascii: "<")),
        (Array("&gt;".utf8), UInt8(ascii: ">")),
    ]

    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var start = bytes.startIndex
        while let entity = bytes[start...].firstIndex(of: UInt8(ascii: "&")) {
            result += bytes[start..<entity]
            if let known = entities.first(where: { bytes[entity...].starts(with: $0.name) }) {
                result.append(known.character)
                start = entity + known.name.count
            } else {
                result.append(bytes[entity])
                start = entity + 1
            }
        }
        return result + bytes[start...]
    }
}
