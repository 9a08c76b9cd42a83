public import ScrollbackModel

// What stays on this device.

extension Conversation {
    /// What was typed here and not sent; nothing where there is none.
    ///
    /// - Throws: `local-storage`.
    public func draft() async throws(ChatError) -> Draft? {
        try await core.store.read { [id] in try $0.draft(in: id) }
    }

    /// Keeps what was typed until it is sent, across restarts; nothing, or a draft without a text and without a message it
    /// answers, removes it.
    ///
    /// Sending does not remove it: whoever takes the text from the field says so. Mentions that name nobody are none.
    ///
    /// - Throws: `too-large` above 128 KiB; `invalid-parameter` for more than ``Mentions/maximumUsers`` mentions;
    ///   `local-storage`.
    public func setDraft(_ draft: Draft?) async throws(ChatError) {
        let now = core.clock()
        var draft = draft
        if let mentions = draft?.mentions {
            let isEmpty = !mentions.everyone && mentions.users.isEmpty
            draft?.mentions = isEmpty ? nil : try mentions.validated()
        }
        if let draft, draft.text.utf8.count > Limits.standard.contentBytes {
            throw ChatError(
                .tooLarge, "a draft must be at most \(Limits.standard.contentBytes) bytes", parameter: "draft",
                limit: Limits.standard.contentBytes)
        }
        let kept = draft
        try await core.store.write { [id] in try $0.save(kept, in: id, now: now) }
        core.changes.changed([id])
    }

    /// What the app keeps with a message on this device alone; nothing where it keeps nothing.
    ///
    /// - Throws: `local-storage`.
    public func localExtension(of message: MessageID) async throws(ChatError) -> RawJSON? {
        try await core.store.read { [id] in try $0.localExtension(of: message, in: id) }
    }

    /// Keeps something of the app's with a message, on this device alone (row 93).
    ///
    /// It stays when the message is edited or recalled, and when the conversation is started over. It goes with the message:
    /// when that is cancelled, hidden from this user, removed by the server, or its conversation is deleted.
    ///
    /// - Parameters:
    ///   - json: any JSON of at most 1 KiB; nothing removes what is there, of any message.
    ///   - message: one that is on this device, or waits to be sent.
    /// - Throws: `too-large`; `unknown-message` when it is not here; `local-storage`.
    public func setLocalExtension(_ json: RawJSON?, of message: MessageID) async throws(ChatError) {
        if let json, json.text.utf8.count > Self.localExtensionBytes {
            throw ChatError(
                .tooLarge, "a local extension must be at most \(Self.localExtensionBytes) bytes",
                parameter: "localExtension", limit: Self.localExtensionBytes)
        }
        try await core.store.write { [id] writer in
            guard
                try json == nil || writer.reader.message(message, in: id) != nil
                    || writer.reader.pending(message) != nil
            else {
                throw ChatError(.unknownMessage, "message \(message) is not on this device", parameter: "message")
            }
            try writer.save(localExtension: json, of: message, in: id)
        }
        core.changes.changed([id])
    }

    static let localExtensionBytes = 1024
}
