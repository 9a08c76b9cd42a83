/// The texts of a push by language, with placeholders.
///
/// `{sender}` is the profile name of the sender, `{conversation}` the name of the conversation, and `{text}` the text
/// of the push without the template. `{count}` is the number of unread messages.
package struct PushTemplate: Hashable, Sendable {
    package struct Text: Hashable, Sendable {
        package var title: String?
        package var text: String

        package init(title: String? = nil, text: String) {
            self.title = title
            self.text = text
        }
    }

    /// The texts by lowercase language tag.
    package var texts: [String: Text]
    /// The text for users without a matching language, if neither the message nor its arguments have one.
    package var fallback: Text?

    package init(texts: [String: Text], fallback: Text? = nil) {
        self.texts = texts
        self.fallback = fallback
    }

    /// Returns the text in a language or in one of its fallbacks.
    package func text(in language: String?) -> Text? {
        guard let language else { return nil }
        return PushLanguage.ranges(of: language).lazy.compactMap { texts[$0] }.first
    }
}

/// The placeholders in a text.
package enum PushPlaceholder: String, CaseIterable, Sendable {
    case sender, conversation, text, count

    /// Replaces the placeholders in a text.
    ///
    /// Inserted values are not searched for placeholders, so a user can be named `{text}`.
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
