import ScrollbackModel
import TextAnalysis

/// Searches for banned words in all text that users see (``FilterRequest/mappingTexts(_:)``).
///
/// Names and reactions with a banned word are refused even if messages are masked, because a masked name helps no user.
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
            let (content, attributes) = try filterRequest.mappingTexts(look)
            if isFound { return .rejected("The message contains a word that this server does not allow.") }
            guard content != nil || attributes != nil else { return .allowed }
            return .replaced(content ?? filterRequest.content.json, attributes: attributes)
        } catch {
            return .refused(error)
        }
    }

    package func allows(_ text: String) -> Bool { !words.hasMatch(in: text) }
}
