public import ScrollbackModel

// Drafts, and data that stays on this device.

extension Conversation {
    /// Returns the conversation's draft, or `nil` if it has none.
    ///
    /// - Throws: `local-storage`.
    public func draft() async throws(ChatError) -> Draft? {
        try await core.store.read { [id] in try $0.draft(in: id) }
    }

    /// Stores the conversation's draft, which persists across restarts.
    ///
    /// A draft without a text and without a reply reference deletes the stored draft, as `nil` does. Sending a message
    /// with the draft's text deletes the draft. Empty mentions are removed.
    ///
    /// The user's other devices get the draft, unless ``ChatClient/Configuration/syncsDrafts`` is off. If several
    /// devices change it, the change that the server receives last wins. With a ``MessageCipher`` that encrypts, the
    /// server stores the draft encrypted. It stores drafts of 100 conversations; further ones stay on this device.
    ///
    /// - Throws: `too-large` above 128 KiB of text, or of JSON after encryption. `invalid-parameter` for more than
    ///   ``Mentions/maximumUsers`` mentions. `local-storage`.
    public func setDraft(_ draft: Draft?) async throws(ChatError) {
        let now = core.clock()
        var draft = draft
        if let mentions = draft?.mentions {
            let isEmpty = !mentions.everyone && mentions.users.isEmpty
            draft?.mentions = isEmpty ? nil : try mentions.validated()
        }
        if let draft, draft.text.utf8.count > Limits.standard.contentBytes {
            throw ChatError(
                .tooLarge, "A draft must have at most \(Limits.standard.contentBytes) bytes.", parameter: "draft",
                limit: Limits.standard.contentBytes)
        }
        let kept = draft
        if let kept, core.syncsDrafts {
            let bytes = try core.store.messageEncryption.seal(draft: kept.json, in: id).text.utf8.count
            guard bytes <= Limits.standard.contentBytes else {
                throw ChatError(
                    .tooLarge,
                    "A draft must have at most \(Limits.standard.contentBytes) bytes of JSON, but has \(bytes).",
                    parameter: "draft", limit: Limits.standard.contentBytes)
            }
        }
        try await core.store.write { [id, syncsDrafts = core.syncsDrafts] writer in
            try writer.save(kept, in: id, now: now)
            if syncsDrafts { try writer.recordDraftChange(in: id) }
        }
        core.changes.changed([id])
        if core.syncsDrafts { core.mailbox.post(.draftChanged) }
    }

    /// Returns the app-defined data of a message on this device, or `nil` if it has none.
    ///
    /// - Throws: `local-storage`.
    public func localExtension(of message: MessageID) async throws(ChatError) -> RawJSON? {
        try await core.store.read { [id] in try $0.localExtension(of: message, in: id) }
    }

    /// Stores app-defined data of a message, on this device only.
    ///
    /// The data survives edits, a recall, and a restart of the conversation with a new epoch. It is deleted when the
    /// message is cancelled, hidden from this user or removed by the server, or when the conversation is deleted.
    ///
    /// - Parameters:
    ///   - json: Any JSON of at most 1 KiB. `nil` deletes the data, for stored and unknown messages.
    ///   - message: A message that is stored on this device or queued for sending.
    /// - Throws: `too-large`. `unknown-message` if the message is not on this device. `local-storage`.
    public func setLocalExtension(_ json: RawJSON?, of message: MessageID) async throws(ChatError) {
        if let json, json.text.utf8.count > Self.localExtensionBytes {
            throw ChatError(
                .tooLarge, "A local extension must have at most \(Self.localExtensionBytes) bytes.",
                parameter: "localExtension", limit: Self.localExtensionBytes)
        }
        try await core.store.write { [id] writer in
            guard
                try json == nil || writer.reader.message(message, in: id) != nil
                    || writer.reader.pending(message) != nil
            else {
                throw ChatError(
                    .unknownMessage, "Message \(message) is not stored on this device.", parameter: "message")
            }
            try writer.save(localExtension: json, of: message, in: id)
        }
        core.changes.changed([id])
    }

    static let localExtensionBytes = 1024
}
