import ScrollbackModel
import ScrollbackWords

/// Looks for banned words in what a content shows: its text, the text it quotes, the name of a place or a file.
package struct WordFilter: ContentFilter {
    /// What it was made of.
    let setting: BannedWordsSetting
    private let words: BannedWords

    /// Takes some milliseconds where there are thousands of words.
    package init(_ setting: BannedWordsSetting) {
        self.setting = setting
        words = BannedWords(setting.words)
    }

    package func judge(_ proposal: Proposal) -> Judgement {
        guard !words.isEmpty else { return .allowed }
        do {
            var isFound = false
            let masked = try proposal.content.json.mapTexts(Self.paths) { text in
                switch setting.action {
                case .reject:
                    isFound = isFound || words.occur(in: text)
                    return nil
                case .replace: return words.masked(text)
                }
            }
            if isFound { return .rejected("the content has a word that this server does not let pass") }
            return masked.map { .replaced($0) } ?? .allowed
        } catch {
            return .refused(error)
        }
    }

    /// Where texts stand that people read: of any type, a type of an application's own too.
    private static let paths: Set<[String]> = [
        ["text"], ["name"], ["message", "content", "text"], ["message", "content", "name"],
    ]
}

extension RawJSON {
    /// The same object with some of its strings changed, everything else byte for byte; nothing where none is.
    func mapTexts(
        _ paths: Set<[String]>, _ change: (String) -> String?
    ) throws(ChatError) -> RawJSON? {
        var isChanged = false
        let mapped = try Self.map(self, [], paths, &isChanged, change)
        return isChanged ? mapped : nil
    }

    private static func map(
        _ json: RawJSON, _ path: [String], _ paths: Set<[String]>, _ isChanged: inout Bool,
        _ change: (String) -> String?
    ) throws(ChatError) -> RawJSON {
        var reader = JSONReader(json.text)
        var members: [(name: String, value: RawJSON)] = []
        try reader.object { (name, value) throws(ChatError) in
            let isText = value.nextIsString
            let raw = try value.raw()
            let place = path + [name]
            var member = raw
            if isText, paths.contains(place) {
                var text = JSONReader(raw.text)
                if let changed = change(try text.string()) {
                    var writer = JSONWriter()
                    writer.value(changed)
                    member = writer.json
                    isChanged = true
                }
            } else if raw.isObject, paths.contains(where: { $0.count > place.count && $0.starts(with: place) }) {
                member = try map(raw, place, paths, &isChanged, change)
            }
            members.append((name, member))
        }
        guard isChanged else { return json }
        var writer = JSONWriter()
        writer.object { writer in for (name, value) in members { writer.field(name, value) } }
        return writer.json
    }
}
