package import ScrollbackModel

/// Encrypts a client's outgoing messages and decrypts messages for which it has keys.
///
/// The store, frames and the server contain messages as they are transmitted. Messages are decrypted when they are
/// handed to the app.
package struct MessageEncryption: Sendable {
    let user: UserID
    let cipher: MessageCipher?

    package init(user: UserID, cipher: MessageCipher?) {
        self.user = user
        self.cipher = cipher
    }

    // MARK: Encrypting

    /// Returns the submission in the form in which it is queued, which retries don't change.
    ///
    /// - Throws: `too-large` if it exceeds a limit after encryption. `invalid-parameter` for encrypted content that was
    ///   not decrypted, which is only readable in its original message.
    package func seal(_ submission: Submission, to conversation: ConversationID) throws(ChatError) -> Submission {
        try checkIsDecrypted(submission.content)
        guard let cipher, cipher.encrypts else { return submission }
        var sealed = submission
        let envelope = Envelope(cipher, submission.content.type, in: name(conversation), submission.id, by: user)
        sealed.content = try envelope.seal(submission.content)
        sealed.attributes.metadata = try envelope.seal(submission.attributes.metadata, .metadata)
        sealed.attributes.extra = try envelope.seal(submission.attributes.extra, .extra)
        return sealed
    }

    /// Returns the edit in the form in which it is queued.
    ///
    /// - Parameter sender: The sender of the message.
    /// - Throws: The errors of ``seal(_:to:)``.
    package func seal(
        _ edit: MessageEdit, of id: MessageID, by sender: UserID, in conversation: ConversationID
    ) throws(ChatError) -> MessageEdit {
        try checkIsDecrypted(edit.content)
        guard let cipher, cipher.encrypts else { return edit }
        var sealed = edit
        let envelope = Envelope(cipher, edit.content.type, in: name(conversation), id, by: sender)
        sealed.content = try envelope.seal(edit.content)
        if case .set(let json) = edit.metadata, let value = try envelope.seal(json, .metadata) {
            sealed.metadata = .set(value)
        }
        if case .set(let json) = edit.extra, let value = try envelope.seal(json, .extra) {
            sealed.extra = .set(value)
        }
        return sealed
    }

    /// Returns a draft in the form in which the server stores it.
    package func seal(draft json: RawJSON, in conversation: ConversationID) throws(ChatError) -> RawJSON {
        guard let cipher, cipher.encrypts else { return json }
        return try cipher.seal(json, by: user, binding(ofDraftIn: conversation)).json
    }

    /// Returns a draft of the server, decrypted.
    ///
    /// - Throws: `decryption-failed` also for an unencrypted draft if this client encrypts. The server could have
    ///   written it.
    package func open(draft json: RawJSON, in conversation: ConversationID) throws(ChatError) -> RawJSON {
        guard let value = json.encrypted else {
            guard cipher?.encrypts != true else {
                throw ChatError(.decryptionFailed, "The draft is not encrypted.", parameter: "draft")
            }
            return json
        }
        guard let cipher else { throw MessageCipher.missing(value.key, []) }
        return try cipher.open(value, by: user, binding(ofDraftIn: conversation))
    }

    /// The binding of a draft, whose type no message has.
    private func binding(ofDraftIn conversation: ConversationID) -> MessageCipher.Binding {
        MessageCipher.Binding(
            part: .content, type: MessageType(rawValue: "draft"), conversation: name(conversation),
            message: MessageID(high: 0, low: 0))
    }

    private func checkIsDecrypted(_ content: MessageContent) throws(ChatError) {
        guard content.encrypted == nil else {
            throw .invalidParameter(
                "content", "is encrypted and can only be decrypted in its original message: it can't be forwarded")
        }
    }

    /// The conversation's absolute ID, which is the same for all members.
    private func name(_ conversation: ConversationID) -> ConversationID { conversation.logID.absolute(for: user) }

    // MARK: Decrypting

    /// Returns the message, decrypted if possible.
    package func open(_ message: Message) -> Message {
        var opened = message
        decrypt(&opened)
        return opened
    }

    /// Decrypts the message, if possible.
    func decrypt(_ message: inout Message) {
        guard let content = message.content,
            content.json.mayBeEncrypted || message.attributes.metadata?.mayBeEncrypted ?? false
                || message.attributes.extra?.mayBeEncrypted ?? false
        else { return }
        var decrypted = DecryptedValues(content, message.attributes)
        guard decrypted.hasEncrypted else { return }
        decrypted.open(cipher, in: name(message.conversation), message.id, by: message.sender)
        message.content = decrypted.content
        message.attributes = decrypted.attributes
        message.isEncrypted = decrypted.isEncrypted
        message.decryptionError = decrypted.error
    }

    /// Returns the transient message, decrypted if possible.
    func open(_ message: TransientMessage) -> TransientMessage {
        var opened = message
        var decrypted = DecryptedValues(message.content, message.attributes)
        guard decrypted.hasEncrypted else { return message }
        decrypted.open(cipher, in: name(message.conversation), message.id, by: message.sender)
        opened.content = decrypted.content
        opened.attributes = decrypted.attributes
        opened.isEncrypted = decrypted.isEncrypted
        opened.decryptionError = decrypted.error
        return opened
    }

    /// Returns a queued message of this user, decrypted if possible.
    package func open(_ submission: Submission, to conversation: ConversationID) -> (Submission, ChatError?) {
        var opened = submission
        var decrypted = DecryptedValues(submission.content, submission.attributes)
        guard decrypted.hasEncrypted else { return (submission, nil) }
        decrypted.open(cipher, in: name(conversation), submission.id, by: user)
        opened.content = decrypted.content
        opened.attributes = decrypted.attributes
        return (opened, decrypted.error)
    }

    /// Returns the content of a stored row, or `nil` if it can't be decrypted.
    func open(
        _ content: MessageContent, in conversation: ConversationID, _ id: MessageID, by sender: UserID
    ) -> MessageContent? {
        var decrypted = DecryptedValues(content, MessageAttributes())
        guard decrypted.hasEncrypted else { return content }
        decrypted.open(cipher, in: name(conversation), id, by: sender)
        return decrypted.error == nil ? decrypted.content : nil
    }
}

/// Encrypts the values of an outgoing message.
private struct Envelope {
    let cipher: MessageCipher
    let type: MessageType
    let conversation: ConversationID
    let message: MessageID
    let sender: UserID

    init(
        _ cipher: MessageCipher, _ type: MessageType, in conversation: ConversationID, _ message: MessageID,
        by sender: UserID
    ) {
        self.cipher = cipher
        self.type = type
        self.conversation = conversation
        self.message = message
        self.sender = sender
    }

    private func value(_ json: RawJSON, _ part: MessageCipher.Binding.Part) throws(ChatError) -> EncryptedValue {
        try cipher.seal(
            json, by: sender, .init(part: part, type: type, conversation: conversation, message: message))
    }

    func seal(_ content: MessageContent) throws(ChatError) -> MessageContent {
        guard content.notice == nil else { throw MessageContent.forgedNotice }
        let sealed = MessageContent.encrypted(
            type, try value(content.json, .content), files: content.fileReferences.map(\.id))
        try Self.check(sealed.json, of: content.json, "content", Limits.standard.contentBytes)
        return sealed
    }

    func seal(_ json: RawJSON?, _ part: MessageCipher.Binding.Part) throws(ChatError) -> RawJSON? {
        guard let json else { return nil }
        let sealed = try value(json, part).json
        try Self.check(sealed, of: json, part.rawValue, Limits.standard.attributeBytes)
        return sealed
    }

    private static func check(
        _ sealed: RawJSON, of json: RawJSON, _ name: String, _ limit: Int
    ) throws(ChatError) {
        let bytes = sealed.text.utf8.count
        guard bytes > limit else { return }
        throw ChatError(
            .tooLarge,
            "\(name) must have at most \(limit) bytes of JSON after encryption, but has \(bytes): "
                + "\(json.text.utf8.count) bytes of its own, and about a third more for the encryption.",
            parameter: name, limit: limit)
    }
}

/// Decrypts the values of an incoming message.
private struct DecryptedValues {
    var content: MessageContent
    var attributes: MessageAttributes
    private(set) var error: ChatError?
    private let values: (content: EncryptedValue?, metadata: EncryptedValue?, extra: EncryptedValue?)

    init(_ content: MessageContent, _ attributes: MessageAttributes) {
        self.content = content
        self.attributes = attributes
        values = (content.encrypted, attributes.metadata?.encrypted, attributes.extra?.encrypted)
    }

    var hasEncrypted: Bool { values.content != nil || values.metadata != nil || values.extra != nil }

    /// Whether all values of the message were encrypted, as a client with a key sends them.
    var isEncrypted: Bool {
        values.content != nil && (values.metadata != nil || attributes.metadata == nil)
            && (values.extra != nil || attributes.extra == nil)
    }

    mutating func open(
        _ cipher: MessageCipher?, in conversation: ConversationID, _ message: MessageID, by sender: UserID
    ) {
        let type = content.type
        func read(_ value: EncryptedValue, _ part: MessageCipher.Binding.Part) throws(ChatError) -> RawJSON {
            guard let cipher else { throw MessageCipher.missing(value.key, []) }
            return try cipher.open(
                value, by: sender, .init(part: part, type: type, conversation: conversation, message: message))
        }
        if let value = values.content {
            let opened = take { () throws(ChatError) in
                let opened = try MessageContent(anyType: type, json: try read(value, .content))
                // Only the server creates notices, and it doesn't encrypt them.
                guard opened.notice == nil else { throw MessageContent.forgedNotice }
                return opened
            }
            content = opened ?? content
        }
        if let value = values.metadata {
            attributes.metadata = take { () throws(ChatError) in try read(value, .metadata) } ?? attributes.metadata
        }
        if let value = values.extra {
            attributes.extra = take { () throws(ChatError) in try read(value, .extra) } ?? attributes.extra
        }
    }

    /// Values that can't be decrypted stay encrypted; the first error is reported.
    private mutating func take<Value>(_ read: () throws(ChatError) -> Value) -> Value? {
        do {
            return try read()
        } catch {
            let failure =
                error.code == .decryptionFailed
                ? error
                : ChatError(.decryptionFailed, "The decrypted message is invalid: \(error.message)", cause: error)
            self.error = self.error ?? failure
            return nil
        }
    }
}

extension MessageContent {
    fileprivate static var forgedNotice: ChatError {
        .invalidParameter("content", "of type notice can't have an event: only the server creates notices")
    }
}
