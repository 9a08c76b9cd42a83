import ScrollbackModel

/// The banned words, and what happens to messages that contain them.
package struct BannedWordsSetting: Hashable, Sendable {
    package enum Action: String, CaseIterable, Sendable {
        /// The message is refused.
        case reject
        /// The letters of banned words are replaced by `*`.
        case replace
    }

    package var words: [String]
    package var action: Action

    static let maximumWords = 10_000
    static let maximumBytes = 128

    package init(words: [String] = [], action: Action = .reject) {
        self.words = words
        self.action = action
    }

    /// Reads changed settings; absent members stay unchanged.
    ///
    /// - Throws: `invalid-parameter` if `words` or `action` is invalid, or for a member that `unknown` refuses.
    mutating func read(_ reader: inout JSONReader, unknown: UnknownSettings) throws(ChatError) {
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "words":
                var words: [String] = []
                try value.array { (word) throws(ChatError) in
                    guard words.count < Self.maximumWords else {
                        throw .invalidParameter(
                            "bannedWords.words", "must have at most \(Self.maximumWords) elements",
                            limit: Self.maximumWords)
                    }
                    let text = try word.string()
                    guard (1...Self.maximumBytes).contains(text.utf8.count) else {
                        throw .invalidParameter(
                            "bannedWords.words", "must each be 1...\(Self.maximumBytes) bytes of UTF-8",
                            limit: Self.maximumBytes)
                    }
                    words.append(text)
                }
                self.words = words
            case "action":
                guard let action = Action(rawValue: try value.string()) else {
                    throw .invalidParameter("bannedWords.action", "must be reject or replace")
                }
                self.action = action
            default: try unknown.read(name, in: "bannedWords", besides: ["words", "action"], &value)
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("words")
            writer.array(words) { $0.value($1) }
            writer.field("action", action.rawValue)
        }
    }
}
