package import ScrollbackModel

/// What a push says to one receiver.
package struct PushText: Hashable, Sendable {
    /// Absent where neither the message nor its conversation has a name to show.
    package var title: String?
    package var body: String

    package init(title: String? = nil, body: String) {
        self.title = title
        self.body = body
    }
}

/// What a push is about, as far as its text goes.
package struct PushSubject: Hashable, Sendable {
    package var kind: ConversationKind
    /// By their profile's name, or that of their account.
    package var sender: String
    /// What the conversation is called; a direct one is called by who is at its other end.
    package var conversation: String
    package var type: MessageType
    /// What a text or a quote says.
    package var words: String?
    /// Whether it says that to who has an app's key alone.
    package var isEncrypted: Bool
    package var mentions: Mentions?
    package var options: PushOptions
    package var isRecalled: Bool

    package init(
        kind: ConversationKind, sender: String, conversation: String, type: MessageType, words: String? = nil,
        isEncrypted: Bool = false, mentions: Mentions? = nil, options: PushOptions = .init(), isRecalled: Bool = false
    ) {
        self.kind = kind
        self.sender = sender
        self.conversation = conversation
        self.type = type
        self.words = words
        self.isEncrypted = isEncrypted
        self.mentions = mentions
        self.options = options
        self.isRecalled = isRecalled
    }
}

/// Who reads it.
package struct PushRecipient: Hashable, Sendable {
    package var user: UserID
    /// The person's, or their device's.
    package var language: String?
    package var showsDetail: Bool
    /// How many messages they have not read.
    package var unread: Int64

    package init(user: UserID, language: String? = nil, showsDetail: Bool = true, unread: Int64 = 0) {
        self.user = user
        self.language = language
        self.showsDetail = showsDetail
        self.unread = unread
    }
}

extension PushTexts {
    /// What a push says to one recipient.
    ///
    /// By contradiction A15: to the mentioned the mention's text; else the template's in the reader's
    /// language; else the message's own, which is its configuration's or its argument's; else the template's for other
    /// languages; else what its type says (row 122), or, of a text that is encrypted, that there is one (row 230). The title is the message's own, else the template's, else the name of
    /// who wrote or of the group (row 128).
    ///
    /// Whoever hides details reads only that there is something, unless the message shows them to everyone.
    ///
    /// - Returns: nothing where there is nothing to say: of a type of an application's own without any of these (row 147).
    package func resolve(_ subject: PushSubject, for reader: PushRecipient) -> PushText? {
        guard let text = detailed(subject, for: reader) else { return nil }
        guard !reader.showsDetail, subject.options.forcesDetail != true else { return text }
        // What said nothing of the message says nothing of its recall.
        return subject.isRecalled ? nil : PushText(body: phrase(.hidden, in: reader.language))
    }

    private func detailed(_ subject: PushSubject, for reader: PushRecipient) -> PushText? {
        let said = subject.options.text ?? words(of: subject, in: reader.language)
        func fill(_ form: String) -> String {
            PushPlaceholder.fill(form) { place in
                switch place {
                case .sender: subject.sender
                case .conversation: subject.conversation
                case .text: said ?? ""
                case .count: String(reader.unread)
                }
            }
        }
        let isOfTwo = subject.kind == .direct || subject.kind == .system
        let standardTitle = isOfTwo ? subject.sender : subject.conversation
        func text(_ body: String, title: String? = nil) -> PushText {
            PushText(title: subject.options.title ?? title.map(fill) ?? standardTitle, body: body)
        }
        if subject.isRecalled { return text(fill(phrase(.recalled, in: reader.language))) }
        let isMentioned = subject.mentions?.includes(reader.user) ?? false
        if isMentioned, let own = subject.mentions?.pushText { return text(own) }
        let template = subject.options.templateID.flatMap { templates[$0] }
        if let match = template?.text(in: reader.language) { return text(fill(match.text), title: match.title) }
        if let own = subject.options.text { return text(own) }
        if let other = template?.fallback { return text(fill(other.text), title: other.title) }
        guard let said else { return nil }
        if isOfTwo { return text(said) }
        return text(fill(phrase(isMentioned ? .mention : .group, in: reader.language)))
    }

    /// What a message says by itself: its text, or its type's phrase; of a text that is encrypted that there is one.
    private func words(of subject: PushSubject, in language: String?) -> String? {
        switch subject.type {
        case .text, .reference: subject.isEncrypted ? phrase(.hidden, in: language) : subject.words
        default: PushPhrase(subject.type).map { phrase($0, in: language) }
        }
    }
}
