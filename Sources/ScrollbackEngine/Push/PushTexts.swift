package import ScrollbackModel
import ScrollbackWire

/// What pushes say where no message does.
package enum PushPhrase: String, CaseIterable, Sendable {
    case image, gif, file, voice, video, location
    /// What somebody said in a group: `{sender}` and `{text}`.
    case group
    /// The same to who is mentioned there.
    case mention
    /// That a message was recalled: `{sender}`.
    case recalled
    /// All that somebody reads who hides details, and the text of what is encrypted.
    case hidden

    init?(_ type: MessageType) {
        guard type.isMedia || type == .location else { return nil }
        self.init(rawValue: type.rawValue)
    }

    /// In English, for every language without words of its own.
    var english: String {
        switch self {
        case .image: "Photo"
        case .gif: "GIF"
        case .file: "File"
        case .voice: "Voice message"
        case .video: "Video"
        case .location: "Location"
        case .group: "{sender}: {text}"
        case .mention: "{sender} mentioned you: {text}"
        case .recalled: "{sender} recalled a message"
        case .hidden: "New message"
        }
    }
}

/// The operator's phrases and templates.
package struct PushTexts: Hashable, Sendable {
    /// By language tag in lower case, and then by phrase.
    package var phrases: [String: [PushPhrase: String]] = [:]
    /// By id.
    package var templates: [String: PushTemplate] = [:]
    /// What people read who said no language, and whose language has no words.
    package var language: String?

    package init() {}

    func phrase(_ phrase: PushPhrase, in language: String?) -> String {
        for tag in [language, self.language].compactMap(\.self) {
            if let text = PushLanguage.ranges(of: tag).lazy.compactMap({ phrases[$0]?[phrase] }).first { return text }
        }
        return phrase.english
    }
}

extension PushTexts {
    private static let mostTemplates = 1000
    private static let mostLanguages = 200
    private static let longestText = 4096

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("language", language)
        writer.key("texts")
        writer.object { writer in
            for (language, texts) in phrases.sorted(by: { $0.key < $1.key }) {
                writer.key(language)
                writer.object { writer in
                    for (phrase, text) in texts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                        writer.field(phrase.rawValue, text)
                    }
                }
            }
        }
        writer.key("templates")
        writer.object { writer in
            for (id, template) in templates.sorted(by: { $0.key < $1.key }) {
                writer.key(id)
                writer.object { writer in
                    let texts = template.texts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
                    for (language, text) in texts + (template.fallback.map { [("default", $0)] } ?? []) {
                        writer.key(language)
                        writer.object { writer in
                            writer.field("title", text.title)
                            writer.field("text", text.text)
                        }
                    }
                }
            }
        }
    }

    /// Takes over one member; what a template or language is given replaces what it had, and null takes it away.
    ///
    /// - Returns: whether it is one.
    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "language":
            language = try value.null() ? nil : value.string()
            if let language { try PushLanguage.check(language, "push.language") }
        case "texts":
            try value.object { (language, value) throws(ChatError) in
                try PushLanguage.check(language, "push.texts")
                phrases[language.lowercased()] = try value.null() ? nil : Self.phrases(&value)
            }
            try Self.check(phrases.count, Self.mostLanguages, "push.texts")
        case "templates":
            try value.object { (id, value) throws(ChatError) in
                guard (1...128).contains(id.utf8.count) else {
                    throw .invalidParameter("push.templates", "must have ids of 1...128 bytes", limit: 128)
                }
                templates[id] = try value.null() ? nil : Self.template(&value)
            }
            try Self.check(templates.count, Self.mostTemplates, "push.templates")
        default: return false
        }
        return true
    }

    private static func check(_ count: Int, _ limit: Int, _ parameter: String) throws(ChatError) {
        guard count <= limit else {
            throw .invalidParameter(parameter, "must have at most \(limit) members", limit: limit)
        }
    }

    private static func phrases(_ value: inout JSONReader) throws(ChatError) -> [PushPhrase: String] {
        var phrases: [PushPhrase: String] = [:]
        try value.object { (name, value) throws(ChatError) in
            guard let phrase = PushPhrase(rawValue: name) else {
                let names = PushPhrase.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidParameter("push.texts", "has \(name), which is none of \(names)")
            }
            phrases[phrase] = try text(&value, "push.texts.\(name)")
        }
        return phrases
    }

    private static func template(_ value: inout JSONReader) throws(ChatError) -> PushTemplate {
        var template = PushTemplate(texts: [:])
        try value.object { (language, value) throws(ChatError) in
            var title: String?
            var text: String?
            try value.object { (name, value) throws(ChatError) in
                switch name {
                case "title": title = try value.null() ? nil : Self.text(&value, "push.templates.title")
                case "text": text = try Self.text(&value, "push.templates.text")
                default: try value.skip()
                }
            }
            let both = PushTemplate.Text(title: title, text: try text.required("push.templates.text"))
            if language == "default" { return template.fallback = both }
            try PushLanguage.check(language, "push.templates")
            template.texts[language.lowercased()] = both
        }
        return template
    }

    private static func text(_ value: inout JSONReader, _ parameter: String) throws(ChatError) -> String {
        let text = try value.string()
        guard (1...longestText).contains(text.utf8.count) else {
            throw .invalidParameter(parameter, "must be 1...\(longestText) bytes", limit: longestText)
        }
        return text
    }
}
