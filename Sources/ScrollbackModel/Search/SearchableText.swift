/// The searchable parts of a content: its members `text`, `caption` and `name`, if they are strings.
package enum SearchableText {
    package static let members = ["text", "caption", "name"]

    /// Returns the parts in this order, joined by line breaks; `nil` if the content has none.
    package static func of(_ content: MessageContent?) -> String? {
        guard let content else { return nil }
        if content.type == .text { return content.text }
        let parts = members.compactMap { content.json.string(at: $0) }.filter { !$0.isEmpty }
        return parts.isEmpty ? nil : parts.joined(separator: "\n")
    }
}

extension Message {
    /// The text that search uses; `nil` if the message was recalled or deleted.
    ///
    /// It is the text of a `text` message. For other content, it is the members `text`, `caption` and `name`, joined by
    /// line breaks, if they are strings.
    public var searchableText: String? { SearchableText.of(content) }
}
