import ContractRows
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

/// Tests the text of pushes.
@Suite("Push texts")
struct PushTextTests {
    private func subject(
        _ kind: ConversationKind = .group, type: MessageType = .text, text: String? = "hello",
        mentions: Mentions? = nil, options: PushOptions = .init(), isRecalled: Bool = false
    ) -> PushSubject {
        PushSubject(
            kind: kind, sender: "Bob", conversation: "Swift", type: type, text: text, mentions: mentions,
            options: options, isRecalled: isRecalled)
    }

    /// Enumerates every combination of some choices, one for each number.
    private struct Choice {
        var rest: Int

        mutating func of<Value>(_ values: [Value]) -> Value {
            defer { rest /= values.count }
            return values[rest % values.count]
        }
    }

    /// Compares the text and title of a push with the documented precedence, in every combination of these inputs:
    ///
    /// - whether the reader is mentioned, and the push text of the mention
    /// - text and title of the configuration, and of the argument
    /// - a template with or without a text in the reader's language and for other languages, with or without a title
    /// - a type with or without a default text
    /// - whether the reader hides details, whether the message forces them, and whether only administrators send there
    @Test(
        "Every combination of texts, templates and settings follows the documented precedence",
        .contract("A15"), .rows(118, 126, 128, 129, 131, 132, 144, 145, 147))
    func precedence() {
        var texts = PushTexts()
        texts.templates = [
            "german": PushTemplate(texts: ["de": .init(title: "German", text: "template de")]),
            "german and others": PushTemplate(
                texts: ["de": .init(text: "template de")],
                fallback: .init(title: "Others", text: "template for others")),
            "french": PushTemplate(texts: ["fr": .init(title: "French", text: "template fr")]),
            "others": PushTemplate(texts: [:], fallback: .init(text: "template for others")),
        ]
        let count = 2 * 2 * 4 * 4 * 6 * 2 * 2 * 2 * 3 * 2
        var wrong: [String] = []
        for number in 0..<count {
            var choice = Choice(rest: number)
            let isMentioned = choice.of([true, false])
            let mentionText = choice.of(["mention", nil])
            let configuration = PushOptions(
                title: choice.of(["configured", nil]), text: choice.of(["configuration", nil]))
            let argument = PushOptions(title: choice.of(["argued", nil]), text: choice.of(["argument", nil]))
            let id = choice.of(["german", "german and others", "french", "others", "nothing", nil])
            let language = choice.of(["de-AT", nil])
            let isCustom = choice.of([true, false])
            let showsDetail = choice.of([true, false])
            let forces = choice.of([true, false, nil])
            let kind = choice.of([ConversationKind.group, .system])
            #expect(choice.rest == 0)

            var options = configuration.withDefaults(from: argument)
            options.templateID = id
            options.forcesDetail = forces
            let message = subject(
                kind, type: isCustom ? "app:poll" : .text, text: isCustom ? nil : "hello",
                mentions: .users([isMentioned ? "alice" : "carol"], pushText: mentionText), options: options)
            let hasGerman = id?.hasPrefix("german") == true && language != nil
            let hasOthers = id?.hasSuffix("others") == true
            let standard = kind == .system ? "hello" : isMentioned ? "Bob mentioned you: hello" : "Bob: hello"
            // The documented order. A template's title applies only if the template has a text for the reader.
            let candidates: [(text: String?, title: String?)] = [
                (isMentioned ? mentionText : nil, nil),
                (hasGerman ? "template de" : nil, id == "german" ? "German" : nil),
                (configuration.text, nil), (argument.text, nil),
                (hasOthers ? "template for others" : nil, id == "others" ? nil : "Others"),
                (isCustom ? nil : standard, nil),
            ]
            let first = candidates.first { $0.text != nil }
            let wanted = first.map { text, title in
                // A sender can't override the reader's choice. In system conversations, only administrators send.
                showsDetail || forces == true && kind == .system
                    ? PushText(
                        title: configuration.title ?? argument.title ?? title ?? (kind == .system ? "Bob" : "Swift"),
                        body: text ?? "")
                    : PushText(body: "New message")
            }
            let reader = PushRecipient(user: "alice", language: language, showsDetail: showsDetail)
            let found = texts.resolve(message, for: reader)
            if found != wanted {
                wrong.append("\(String(describing: found)), not \(String(describing: wanted)): \(message), \(reader)")
            }
        }
        #expect(wrong.isEmpty, "\(wrong.count) of \(count): \(wrong.prefix(3))")
    }

    @Test(
        "Without other texts, the type determines the text: the message itself, or a description such as Photo",
        .rows(117, 122, 123, 147))
    func types() {
        let alice = PushRecipient(user: "alice")
        let texts = PushTexts()
        func pushText(_ kind: ConversationKind, _ type: MessageType, _ mentions: Mentions? = nil) -> PushText? {
            texts.resolve(subject(kind, type: type, mentions: mentions), for: alice)
        }
        #expect(pushText(.direct, .text) == PushText(title: "Bob", body: "hello"))
        #expect(pushText(.system, .text) == PushText(title: "Bob", body: "hello"))
        #expect(pushText(.group, .text) == PushText(title: "Swift", body: "Bob: hello"))
        #expect(pushText(.community, .reference) == PushText(title: "Swift", body: "Bob: hello"))
        #expect(pushText(.direct, .image) == PushText(title: "Bob", body: "Photo"))
        #expect(pushText(.group, .voice) == PushText(title: "Swift", body: "Bob: Voice message"))
        #expect(
            pushText(.group, .location, .everyone()) == PushText(title: "Swift", body: "Bob mentioned you: Location"))
        #expect(pushText(.direct, .text, .users(["alice"])) == PushText(title: "Bob", body: "hello"))
        for type in [MessageType.notice, .command, "app:poll"] { #expect(pushText(.direct, type) == nil) }
    }

    @Test(
        "A push for encrypted text says only that there is a message, unless the sender chose a push text",
        .rows(230))
    func encrypted() {
        let texts = PushTexts()
        let alice = PushRecipient(user: "alice")
        func pushText(
            _ kind: ConversationKind, _ type: MessageType = .text, _ mentions: Mentions? = nil,
            _ options: PushOptions = .init(), isRecalled: Bool = false
        ) -> PushText? {
            var subject = subject(
                kind, type: type, text: nil, mentions: mentions, options: options, isRecalled: isRecalled)
            subject.isEncrypted = true
            return texts.resolve(subject, for: alice)
        }
        #expect(pushText(.direct) == PushText(title: "Bob", body: "New message"))
        #expect(pushText(.group) == PushText(title: "Swift", body: "Bob: New message"))
        #expect(pushText(.group, .reference, .everyone())?.body == "Bob mentioned you: New message")
        #expect(pushText(.group, .text, nil, PushOptions(text: "Come and see"))?.body == "Come and see")
        #expect(pushText(.group, .text, .users(["alice"], pushText: "you!"), PushOptions(text: "own"))?.body == "you!")
        #expect(pushText(.direct, .image)?.body == "Photo")
        #expect(pushText(.direct, "app:poll") == nil)
        #expect(pushText(.direct, isRecalled: true)?.body == "Bob recalled a message")
    }

    @Test("The message's title takes precedence over the template's title", .rows(128, 132))
    func titles() {
        var texts = PushTexts()
        texts.templates["t"] = PushTemplate(texts: [
            "en": .init(title: "{conversation} ({count})", text: "{sender}: {text}!")
        ])
        let alice = PushRecipient(user: "alice", language: "en", unread: 7)
        var options = PushOptions(text: "own")
        options.templateID = "t"
        #expect(texts.resolve(subject(options: options), for: alice) == PushText(title: "Swift (7)", body: "Bob: own!"))
        options.title = "mine"
        options.text = nil
        #expect(texts.resolve(subject(options: options), for: alice) == PushText(title: "mine", body: "Bob: hello!"))
    }

    @Test("Placeholders are filled once, and braces without a known name stay")
    func placeholders() {
        let filled = PushPlaceholder.fill("{sender}{{text}} {nothing} {", { $0 == .sender ? "{text}" : "x" })
        #expect(filled == "{text}{x} {nothing} {")
        #expect(PushPlaceholder.fill("", { _ in "x" }) == "")
        #expect(PushPlaceholder.fill("}{", { _ in "x" }) == "}{")
    }

    @Test("A text has the reader's language, a more general one, the server's language, or English", .rows(145))
    func languages() throws {
        var texts = PushTexts()
        var reader = JSONReader(#"{"texts":{"de":{"image":"Foto"},"zh-Hant":{"image":"照片"},"ar":{"image":"صورة 📷"}}}"#)
        try reader.object { (name, value) throws(ChatError) in
            _ = try texts.read(name, &value, unknown: .refuse)
        }
        func image(_ language: String?) -> String? {
            texts.resolve(subject(.direct, type: .image), for: PushRecipient(user: "alice", language: language))?.body
        }
        #expect(image("de") == "Foto")
        #expect(image("de-CH-1996") == "Foto")
        #expect(image("zh-Hant-TW") == "照片")
        #expect(image("zh") == "Photo")
        #expect(image("AR") == "صورة 📷")
        #expect(image(nil) == "Photo")
        texts.language = "de-AT"
        #expect(image(nil) == "Foto")
        #expect(image("fr") == "Foto")
    }

    @Test("The push for a recall says so, unless the reader hides details")
    func recalled() {
        let texts = PushTexts()
        let message = subject(options: PushOptions(text: "own"), isRecalled: true)
        #expect(texts.resolve(message, for: PushRecipient(user: "alice"))?.body == "Bob recalled a message")
        #expect(texts.resolve(message, for: PushRecipient(user: "alice", showsDetail: false)) == nil)
    }

    @Test("Texts and templates survive a round trip, a change keeps omitted members, and errors name the member")
    func settings() throws {
        func change(_ texts: inout PushTexts, _ json: String) throws {
            var reader = JSONReader(json)
            try reader.object { (name, value) throws(ChatError) in
                _ = try texts.read(name, &value, unknown: .refuse)
            }
        }
        func written(_ texts: PushTexts) -> String {
            var writer = JSONWriter()
            writer.object { texts.writeMembers(to: &$0) }
            return writer.text
        }
        var texts = PushTexts()
        try change(
            &texts,
            #"{"language":"de","texts":{"DE":{"image":"Foto"}},"templates":{"a":{"de":{"text":"x"},"default":{"title":"t","text":"y"}}}}"#
        )
        let all =
            #"{"language":"de","texts":{"de":{"image":"Foto"}},"templates":{"a":{"de":{"text":"x"},"default":{"title":"t","text":"y"}}}}"#
        #expect(written(texts) == all)
        try change(&texts, #"{"templates":{"b":{"fr":{"text":"z"}}}}"#)
        try change(&texts, #"{"templates":{"b":null}}"#)
        #expect(written(texts) == all)
        var copy = PushTexts()
        try change(&copy, written(texts))
        #expect(copy == texts)
        for (json, parameter) in [
            (#"{"texts":{"german":{"image":"Foto"}}}"#, "push.texts"),
            (#"{"texts":{"de":{"picture":"Foto"}}}"#, "push.texts"),
            (#"{"texts":{"de":{"image":""}}}"#, "push.texts.image"),
            (#"{"templates":{"a":{"de":{}}}}"#, "push.templates.text"),
            (#"{"templates":{"":{"de":{"text":"x"}}}}"#, "push.templates"), (#"{"language":"-"}"#, "push.language"),
        ] {
            #expect(refusal { try change(&copy, json) }?.parameter == parameter)
        }
    }
}
