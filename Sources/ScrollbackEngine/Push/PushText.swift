package import ScrollbackModel

/// The text of a push for one recipient.
package struct PushText: Hashable, Sendable {
    /// The title; `nil` if neither the message nor its conversation has a name to show.
    package var title: String?
    package var body: String

    package init(title: String? = nil, body: String) {
        self.title = title
        self.body = body
    }
}

/// The parts of a message that determine the text of its push.
package struct PushSubject: Hashable, Sendable {
    package var kind: ConversationKind
    /// The sender's profile name or user ID.
    package var sender: String
    /// The conversation's name; for a direct conversation, the other user's name.
    package var conversation: String
    package var type: MessageType
    /// The text of a text message or a quote.
    package var text: String?
    /// Whether the text is encrypted end to end.
    package var isEncrypted: Bool
    package var mentions: Mentions?
    package var options: PushOptions
    package var isRecalled: Bool

    package init(
        kind: ConversationKind, sender: String, conversation: String, type: MessageType, text: String? = nil,
        isEncrypted: Bool = false, mentions: Mentions? = nil, options: PushOptions = .init(), isRecalled: Bool = false
    ) {
        self.kind = kind
        self.sender = sender
        self.conversation = conversation
        self.type = type
        self.text = text
        self.isEncrypted = isEncrypted
        self.mentions = mentions
        self.options = options
        self.isRecalled = isRecalled
    }
}

/// The recipient of a push.
package struct PushRecipient: Hashable, Sendable {
    package var user: UserID
    /// The language of the user or their device.
    package var language: String?
    package var showsDetail: Bool
    /// The number of unread messages.
    package var unread: Int64

    package init(user: UserID, language: String? = nil, showsDetail: Bool = true, unread: Int64 = 0) {
        self.user = user
        self.language = language
        self.showsDetail = showsDetail
        self.unread = unread
    }
}

extension PushTexts {
    /// Returns the text of a push for one recipient.
    ///
    /// The first of these texts that exists is used:
    ///
    /// 1. For mentioned users, the mention's push text.
    /// 2. The template's text in the recipient's language.
    /// 3. The text in the message's push options.
    /// 4. The template's text for other languages.
    /// 5. The text of the message's type, or a generic text for an encrypted message.
    ///
    /// The title comes from the message's push options, from the template, or is the name of the sender or the group.
    ///
    /// Recipients who hide details get a generic text. A message of a system conversation, where only administrators
    /// send, can require details. Other senders can't override the recipient's choice.
    ///
    /// - Returns: `nil` if no text exists, as for an application's own type of message without any of these texts.
    package func resolve(_ subject: PushSubject, for reader: PushRecipient) -> PushText? {
        guard let text = detailed(subject, for: reader) else { return nil }
        let forcesDetail = subject.kind == .system && subject.options.forcesDetail == true
        guard !reader.showsDetail, !forcesDetail else { return text }
        // Without details, the notification of the message did not show it, so its recall is not shown either.
        return subject.isRecalled ? nil : PushText(body: phrase(.hidden, in: reader.language))
    }

    private func detailed(_ subject: PushSubject, for reader: PushRecipient) -> PushText? {
        let messageText = subject.options.text ?? standardText(of: subject, in: reader.language)
        func fill(_ form: String) -> String {
            PushPlaceholder.fill(form) { place in
                switch place {
                case .sender: subject.sender
                case .conversation: subject.conversation
                case .text: messageText ?? ""
                case .count: String(reader.unread)
                }
            }
        }
        let isOneToOne = subject.kind == .direct || subject.kind == .system
        let standardTitle = isOneToOne ? subject.sender : subject.conversation
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
        guard let messageText else { return nil }
        if isOneToOne { return text(messageText) }
        return text(fill(phrase(isMentioned ? .mention : .group, in: reader.language)))
    }

    /// Returns the text that a message itself provides: its text or its type's phrase, or a generic phrase if
    /// encrypted.
    private func standardText(of subject: PushSubject, in language: String?) -> String? {
        switch subject.type {
        case .text, .reference: subject.isEncrypted ? phrase(.hidden, in: language) : subject.text
        default: PushPhrase(subject.type).map { phrase($0, in: language) }
        }
    }
}
