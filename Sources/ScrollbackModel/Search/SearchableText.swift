/// Which parts of a content people look for: its `text`, `caption` and `name`, if they are strings.
package enum SearchableText {
    private static let members = ["text", "caption", "name"]

    /// The parts in this order with a line break between them; nothing where there is none.
    package static func of(_ content: MessageContent?) -> String? {
        guard let content else { return nil }
        if content.type == .text { return content.text }
        let parts = members.compactMap { content.json.string(at: $0) }.filter { !$0.isEmpty }
        return parts.isEmpty ? nil : parts.joined(separator: "\n")
    }
}

extension Message {
    /// What a search looks through: the text of a `text`, and of any other content its `text`, `caption` and `name` if they
    /// are strings, with a line break between them.
    ///
    /// Nothing of a message that was recalled or deleted.
    public var searchableText: String? { SearchableText.of(content) }
}
