import ScrollbackModel

/// Random texts that are parsed as IDs of conversations.
enum RecordedConversationID {
    /// Parts of texts, many of which are invalid in an ID.
    private static let parts = [
        "direct:", "group:", "community:", "room:", "system:", "team:", ":", "/", "%2F", "%3a", "%25", "%", "%2", "a",
        "alice", "bob", "B", " ", "é", "e\u{301}", "日本", "\u{FFFD}", "\u{1F600}", "\u{200D}", "\u{FE0F}", "\u{200B}",
        "\u{202E}", "\u{2067}", "\u{0}", "\u{85}", "\u{2028}", "\u{FEFF}", "\u{301}",
        String(repeating: "x", count: 127),
    ]

    static func randomHistory(seed: UInt64) -> VectorHistory? {
        var random = VectorRandom(seed: seed)
        var history = VectorHistory("conversationID", seed: seed, start: ["user": "alice"])
        func name() -> String {
            // Most names are valid, so that IDs with several parts are too.
            random.chance(70)
                ? random.pick(["alice", "bob", "é", "\u{1F600}", "a%2Fb", "default"]) : random.pick(parts)
        }
        for _ in 0..<20 {
            var text = random.chance(90) ? random.pick(Array(parts.prefix(5))) : random.pick(parts)
            for index in 0..<random.below(4) { text += (index > 0 && random.chance(70) ? "/" : "") + name() }
            history.record("parse", ["text": text.vector], returned: parsed(text), state: [:])
        }
        return history
    }

    private static func parsed(_ text: String) -> VectorValue {
        do {
            let id = try ConversationID(text)
            return [
                "id": id.vector, "target": id.target.text.vector, "part": (id.part?.text).vector,
                "isAbsolute": id.isAbsolute.vector, "absolute": id.absolute(for: "alice").vector,
                "relative": id.relative(to: "alice").vector, "log": id.logID.vector,
                "administered": id.administered.vector, "community": id.community.vector,
                "isCommunityRoot": id.isCommunityRoot.vector,
            ]
        } catch {
            return ["error": error.vector]
        }
    }
}
