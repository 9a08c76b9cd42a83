import Foundation
public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

extension Conversation {
    /// Sends a message.
    ///
    /// Returns once the message is stored durably on this device. The client then sends it automatically, across
    /// restarts. ``SendHandle/states`` reports the result: the server can still reject the message, for example if the
    /// user is not a member.
    ///
    /// Sending the text of the conversation's ``draft()`` deletes the draft.
    ///
    /// - Parameters:
    ///   - content: The content. The content of a received message can be forwarded unchanged, including files.
    ///   - mentions: The users who are mentioned.
    ///   - replyTo: The message that this one replies to.
    ///   - metadata: An application-defined JSON object that is sent with the message.
    ///   - extra: Any application-defined JSON that is sent with the message.
    ///   - customType: An application-defined type to filter by.
    ///   - push: The options of push notifications for the message.
    ///   - traits: The features to turn off for this message.
    ///   - priority: Whether a room delivers the message immediately under load; ignored in other conversations.
    /// - Throws: `invalid-parameter` or `too-large` if the message is invalid, for example because its content could
    ///   not be decrypted. `local-storage`.
    @discardableResult
    public func send(
        _ content: MessageContent, mentioning mentions: Mentions? = nil, replyingTo replyTo: MessageID? = nil,
        metadata: RawJSON? = nil, extra: RawJSON? = nil, customType: String? = nil, push: PushOptions? = nil,
        traits: MessageTraits = .init(), priority: MessagePriority = .normal
    ) async throws(ChatError) -> SendHandle {
        try await send(
            PreparedAttachment(content: content),
            MessageAttributes(
                mentions: mentions, metadata: metadata, extra: extra, customType: customType,
                push: try push?.json(), replyTo: replyTo, traits: traits, priority: priority))
    }

    /// Sends a message with a file.
    ///
    /// Returns once the file is copied, checked, scaled down if it is an image, and stored durably on this device. The
    /// client then uploads the file, resuming after interruptions, and sends the message after the upload.
    ///
    /// - Parameters:
    ///   - attachment: The file and the kind of message.
    ///   - mentions: The users who are mentioned.
    ///   - replyTo: The message that this one replies to.
    ///   - metadata: An application-defined JSON object that is sent with the message.
    ///   - extra: Any application-defined JSON that is sent with the message.
    ///   - customType: An application-defined type to filter by.
    ///   - push: The options of push notifications for the message.
    ///   - traits: The features to turn off for this message.
    ///   - priority: Whether a room delivers the message immediately under load; ignored in other conversations.
    /// - Throws: `media-too-large` if the file exceeds the limit of its kind. `invalid-media` if the file is empty,
    ///   damaged, or of the wrong type. `invalid-parameter` or `too-large` if the message is invalid. `local-storage`.
    @discardableResult
    public func send(
        _ attachment: MediaAttachment, mentioning mentions: Mentions? = nil, replyingTo replyTo: MessageID? = nil,
        metadata: RawJSON? = nil, extra: RawJSON? = nil, customType: String? = nil, push: PushOptions? = nil,
        traits: MessageTraits = .init(), priority: MessagePriority = .normal
    ) async throws(ChatError) -> SendHandle {
        var attributes = MessageAttributes(
            mentions: mentions, metadata: metadata, extra: extra, customType: customType, push: try push?.json(),
            replyTo: replyTo, traits: traits, priority: priority)
        if case .custom(_, let own) = attachment.kind { attributes.traits = own.restricted(by: traits) }
        return try await send(try await core.attachmentProcessor.prepare(attachment), attributes)
    }

    /// Sends a message with custom content, with the traits of its type.
    ///
    /// - Parameters:
    ///   - content: The custom content.
    ///   - mentions: The users who are mentioned.
    ///   - replyTo: The message that this one replies to.
    ///   - metadata: An application-defined JSON object that is sent with the message.
    ///   - extra: Any application-defined JSON that is sent with the message.
    ///   - customType: An application-defined type to filter by.
    ///   - push: The options of push notifications for the message.
    ///   - traits: The features to turn off for this message.
    ///   - priority: Whether a room delivers the message immediately under load; ignored in other conversations.
    /// - Throws: `invalid-parameter` or `too-large` if the message is invalid. `local-storage`.
    @discardableResult
    public func send<Content: CustomContent>(
        _ content: Content, mentioning mentions: Mentions? = nil, replyingTo replyTo: MessageID? = nil,
        metadata: RawJSON? = nil, extra: RawJSON? = nil, customType: String? = nil, push: PushOptions? = nil,
        traits: MessageTraits = .init(), priority: MessagePriority = .normal
    ) async throws(ChatError) -> SendHandle {
        try await send(
            .custom(content), mentioning: mentions, replyingTo: replyTo, metadata: metadata, extra: extra,
            customType: customType, push: push, traits: Content.traits.restricted(by: traits), priority: priority)
    }

    /// Returns a handle for a message, for example after a restart.
    ///
    /// Its state is final if the message was already sent.
    public func sendHandle(for id: MessageID) -> SendHandle {
        SendHandle(id: id, conversation: self.id, core: core)
    }

    private func send(
        _ prepared: PreparedAttachment, _ attributes: MessageAttributes
    ) async throws(ChatError) -> SendHandle {
        var generator = SystemRandomNumberGenerator()
        let now = core.clock()
        let submission = try Submission(
            id: MessageID(at: now, using: &generator), content: prepared.content, attributes: attributes
        ).validated(limits: .standard)
        // Encrypt once, when queueing: a retry must send the same bytes.
        let queued = try core.store.messageEncryption.seal(submission, to: id)
        let text = submission.content.type == .text ? submission.content.text : nil
        let (item, hadDraft) = try await core.store.write { [id, syncsDrafts = core.syncsDrafts] writer in
            let isDraft = try text != nil && writer.reader.draft(in: id)?.text == text
            if isDraft {
                try writer.save(nil as Draft?, in: id, now: now)
                if syncsDrafts { try writer.recordDraftChange(in: id) }
            }
            for (ordinal, file) in prepared.files.enumerated() {
                try writer.insert(file.upload(of: submission.id), ordinal: ordinal)
                // Register the file under its media key, so that the sender does not download it.
                let media = Media(.hosted(file.media))
                try writer.save(LocalFile(file.stored), as: media.key, now: now)
                if let thumbnail = file.thumbnail {
                    try writer.save(LocalFile(thumbnail), as: media.thumbnailKey, now: now)
                }
            }
            let item = try writer.insert(queued, to: id, needsUpload: !prepared.files.isEmpty, now: now)
            return (item, isDraft)
        }
        // Until here, only `prepared` protects its files from eviction.
        withExtendedLifetime(prepared) {}
        core.changes.changed([id])
        core.mailbox.post(.queued(item))
        if hadDraft, core.syncsDrafts { core.mailbox.post(.draftChanged) }
        if !prepared.files.isEmpty { await core.evictFiles() }
        return SendHandle(id: submission.id, conversation: id, core: core)
    }
}

extension PreparedAttachment.File {
    fileprivate func upload(of message: MessageID) -> LocalUpload {
        LocalUpload(
            media: media, message: message, type: type, name: name, mediaType: stored.type.mediaType,
            hash: stored.hash, size: stored.size, thumbnail: thumbnail?.hash)
    }
}

extension LocalFile {
    fileprivate init(_ stored: LocalFiles.Stored) {
        self.init(hash: stored.hash, size: stored.size)
    }
}
