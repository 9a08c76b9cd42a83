package import ScrollbackModel
import ScrollbackWire

/// The standard texts of pushes.
package enum PushPhrase: String, CaseIterable, Sendable {
    case image, gif, file, voice, video, location
    /// A message in a group, with `{sender}` and `{text}`.
    case group
    /// A message in a group, for a mentioned user.
    case mention
    /// The recall of a message, with `{sender}`.
    case recalled
    /// The generic text for recipients who hide details, and for encrypted messages.
    case hidden

    init?(_ type: MessageType) {
        guard type.isMedia || type == .location else { return nil }
        self.init(rawValue: type.rawValue)
    }

    /// The English text, for all languages without their own.
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

/// The administrators' phrases and templates.
package struct PushTexts: Hashable, Sendable {
    /// The phrases by language tag in lower case.
    package var phrases: [String: [PushPhrase: String]] = [:]
    /// The templates by ID.
    package var templates: [String: PushTemplate] = [:]
    /// The language for recipients without a language, or whose language has no texts.
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
    /// The names of the settings that ``read(_:_:unknown:)`` reads.
    static let settings = ["language", "texts", "templates"]

    private static let maximumTemplates = 1000
    private static let maximumLanguages = 200
    private static let maximumTextBytes = 4096

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("language", language)
        writer.key("texts")
        writer.object { writer in
            for (language, texts) in phrases.sorted(by: { $0.key < $1.key }) {
                writer.key(escaping: language)
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
                writer.key(escaping: id)
                writer.object { writer in
                    let texts = template.texts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
                    for (language, text) in texts + (template.fallback.map { [("default", $0)] } ?? []) {
                        writer.key(escaping: language)
                        writer.object { writer in
                            writer.field("title", text.title)
                            writer.field("text", text.text)
                        }
                    }
                }
            }
        }
    }

    /// Reads one JSON member.
    ///
    /// A language or template in the change replaces the existing one, and `null` removes it.
    ///
    /// - Parameter unknown: What happens to members of a template that it doesn't have.
    /// - Returns: Whether `name` is one of these settings.
    package mutating func read(
        _ name: String, _ value: inout JSONReader, unknown: UnknownSettings
    ) throws(ChatError) -> Bool {
        switch name {
        case "language":
            language = try value.null() ? nil : value.string()
            if let language { try PushLanguage.check(language, "push.language") }
        case "texts":
            try value.object { (language, value) throws(ChatError) in
                try PushLanguage.check(language, "push.texts")
                phrases[language.lowercased()] = try value.null() ? nil : Self.phrases(&value)
            }
            try Self.check(phrases.count, Self.maximumLanguages, "push.texts")
        case "templates":
            try value.object { (id, value) throws(ChatError) in
                guard (1...128).contains(id.utf8.count) else {
                    throw .invalidParameter("push.templates", "must have IDs of 1...128 bytes", limit: 128)
                }
                templates[id] = try value.null() ? nil : Self.template(&value, unknown: unknown)
            }
            try Self.check(templates.count, Self.maximumTemplates, "push.templates")
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
                throw .invalidParameter("push.texts", "has the unknown member \(name); must be one of \(names)")
            }
            phrases[phrase] = try text(&value, "push.texts.\(name)")
        }
        return phrases
    }

    private static func template(
        _ value: inout JSONReader, unknown: UnknownSettings
    ) throws(ChatError) -> PushTemplate {
        var template = PushTemplate(texts: [:])
        try value.object { (language, value) throws(ChatError) in
            var title: String?
            var text: String?
            try value.object { (name, value) throws(ChatError) in
                switch name {
                case "title": title = try value.null() ? nil : Self.text(&value, "push.templates.title")
                case "text": text = try Self.text(&value, "push.templates.text")
                default: try unknown.read(name, in: "push.templates", besides: ["title", "text"], &value)
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
        guard (1...maximumTextBytes).contains(text.utf8.count) else {
            throw .invalidParameter(parameter, "must be 1...\(maximumTextBytes) bytes", limit: maximumTextBytes)
        }
        return text
    }
}
