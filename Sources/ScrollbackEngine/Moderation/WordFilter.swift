import ScrollbackModel
import TextAnalysis

/// Searches for banned words in all text that users see: message text, quotes, names of locations and files, and push
/// texts.
///
/// Command messages are for programs and are not examined.
package struct WordFilter: ContentFilter {
    /// The setting that the filter was created from.
    let setting: BannedWordsSetting
    private let words: BannedWords

    /// Creates a filter, which takes some milliseconds for thousands of words.
    package init(_ setting: BannedWordsSetting) {
        self.setting = setting
        words = BannedWords(setting.words)
    }

    package var acceptsEverything: Bool { words.isEmpty }

    package func evaluate(_ filterRequest: FilterRequest) -> FilterResult {
        guard !acceptsEverything, filterRequest.content.type != .command else { return .allowed }
        do {
            var isFound = false
            func look(_ text: String) -> String? {
                if setting.action == .replace { return words.masked(text) }
                isFound = isFound || words.hasMatch(in: text)
                return nil
            }
            let content = try filterRequest.content.json.mapTexts(Self.paths, look)
            var attributes = filterRequest.attributes
            attributes.push = try attributes.push.map { (push) throws(ChatError) in
                try push.mapTexts(Self.pushPaths, look) ?? push
            }
            if let mentions = attributes.mentions, let text = mentions.pushText.flatMap(look) {
                attributes.mentions = Mentions(everyone: mentions.everyone, users: mentions.users, pushText: text)
            }
            if isFound { return .rejected("The message contains a word that this server does not allow.") }
            let isOther = attributes != filterRequest.attributes
            guard content != nil || isOther else { return .allowed }
            return .replaced(content ?? filterRequest.content.json, attributes: isOther ? attributes : nil)
        } catch {
            return .refused(error)
        }
    }

    /// The JSON paths of text that users see, for all types of messages including custom types.
    private static let paths: Set<[String]> = [
        ["text"], ["name"], ["message", "content", "text"], ["message", "content", "name"],
    ]
    private static let pushPaths: Set<[String]> = [["title"], ["text"]]
}

extension RawJSON {
    /// Returns the object with some of its strings changed and all else identical, or `nil` if no string changes.
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
