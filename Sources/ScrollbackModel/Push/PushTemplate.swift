/// Texts of a push by language, with places for what differs from message to message (row 132).
///
/// In a text `{sender}` stands for who wrote, by their profile's name; `{conversation}` for the name of the conversation;
/// `{text}` for what the push would say without the template; `{count}` for how many messages wait unread.
package struct PushTemplate: Hashable, Sendable {
    package struct Text: Hashable, Sendable {
        package var title: String?
        package var text: String

        package init(title: String? = nil, text: String) {
            self.title = title
            self.text = text
        }
    }

    /// By language tag, in lower case.
    package var texts: [String: Text]
    /// For who speaks none of them, where neither the message nor its argument says something.
    package var fallback: Text?

    package init(texts: [String: Text], fallback: Text? = nil) {
        self.texts = texts
        self.fallback = fallback
    }

    /// The text in a language, or in one it falls back on.
    package func text(in language: String?) -> Text? {
        guard let language else { return nil }
        return PushLanguage.ranges(of: language).lazy.compactMap { texts[$0] }.first
    }
}

/// Names of what a text has places for.
package enum PushPlaceholder: String, CaseIterable, Sendable {
    case sender, conversation, text, count

    /// A text with its places filled.
    ///
    /// What is filled in is not looked at again: somebody whose name is `{text}` is called that.
    package static func fill(_ template: String, _ value: (PushPlaceholder) -> String) -> String {
        var filled = ""
        var rest = Substring(template)
        while let open = rest.firstIndex(of: "{") {
            filled += rest[..<open]
            rest = rest[open...]
            guard let close = rest.firstIndex(of: "}"),
                let place = PushPlaceholder(rawValue: String(rest[rest.index(after: open)..<close]))
            else {
                filled.append(rest.removeFirst())
                continue
            }
            filled += value(place)
            rest = rest[rest.index(after: close)...]
        }
        return filled + rest
    }
}
