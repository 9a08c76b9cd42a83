import Foundation
public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

extension Conversation {
    /// Sends a message.
    ///
    /// Returns once it is safe on this device; the rest happens by itself, across restarts. ``Sending/states`` tells
    /// what became of it: the server may refuse it still, for example because the user is not a member.
    ///
    /// - Parameters:
    ///   - content: what it says. What another message said may be sent on as it is, files included.
    ///   - mentions: whom it calls by name.
    ///   - replyTo: the message it answers.
    ///   - metadata: the application's own object, which travels with it.
    ///   - extra: any JSON of the application, which travels with it.
    ///   - customType: a free name to filter by.
    ///   - push: what a push about it should say.
    ///   - traits: what is switched off for this one message.
    ///   - priority: whether a room streams it when there is more than it can; elsewhere it says nothing.
    /// - Throws: `invalid-parameter` or `too-large` when it can't be sent as it is, as a content that can't be read here;
    ///   `local-storage`.
    @discardableResult
    public func send(
        _ content: MessageContent, mentioning mentions: Mentions? = nil, replyingTo replyTo: MessageID? = nil,
        metadata: RawJSON? = nil, extra: RawJSON? = nil, customType: String? = nil, push: PushOptions? = nil,
        traits: MessageTraits = .init(), priority: MessagePriority = .normal
    ) async throws(ChatError) -> Sending {
        try await send(
            PreparedAttachment(content: content),
            MessageAttributes(
                mentions: mentions, metadata: metadata, extra: extra, customType: customType,
                push: try push?.json(), replyTo: replyTo, traits: traits, priority: priority))
    }

    /// Sends a file with a message about it.
    ///
    /// Returns once the file was copied, checked and, a picture, made smaller, and all of it is safe on this device. It
    /// is uploaded when the network allows, goes on where it was after every interruption, and only then the message goes.
    ///
    /// - Parameters:
    ///   - attachment: the file, and what kind of message it makes.
    ///   - mentions: whom it calls by name.
    ///   - replyTo: the message it answers.
    ///   - metadata: the application's own object, which travels with it.
    ///   - extra: any JSON of the application, which travels with it.
    ///   - customType: a free name to filter by.
    ///   - push: what a push about it should say.
    ///   - traits: what is switched off for this one message.
    ///   - priority: whether a room streams it when there is more than it can; elsewhere it says nothing.
    /// - Throws: `media-too-large` above the limit of its kind; `invalid-media` when it is empty, damaged, or not what the
    ///   message needs; `invalid-parameter` or `too-large`; `local-storage`.
    @discardableResult
    public func send(
        _ attachment: MediaAttachment, mentioning mentions: Mentions? = nil, replyingTo replyTo: MessageID? = nil,
        metadata: RawJSON? = nil, extra: RawJSON? = nil, customType: String? = nil, push: PushOptions? = nil,
        traits: MessageTraits = .init(), priority: MessagePriority = .normal
    ) async throws(ChatError) -> Sending {
        var attributes = MessageAttributes(
            mentions: mentions, metadata: metadata, extra: extra, customType: customType, push: try push?.json(),
            replyTo: replyTo, traits: traits, priority: priority)
        if case .custom(_, let own) = attachment.kind { attributes.traits = own.less(traits) }
        return try await send(try await core.workshop.prepare(attachment), attributes)
    }

    /// Sends an application's own content, with the traits of its type.
    ///
    /// - Parameters:
    ///   - content: what it says.
    ///   - mentions: whom it calls by name.
    ///   - replyTo: the message it answers.
    ///   - metadata: the application's own object, which travels with it.
    ///   - extra: any JSON of the application, which travels with it.
    ///   - customType: a free name to filter by.
    ///   - push: what a push about it should say.
    ///   - traits: what is switched off for this one message.
    ///   - priority: whether a room streams it when there is more than it can; elsewhere it says nothing.
    /// - Throws: `invalid-parameter` or `too-large` when it can't be sent as it is; `local-storage`.
    @discardableResult
    public func send<Content: CustomContent>(
        _ content: Content, mentioning mentions: Mentions? = nil, replyingTo replyTo: MessageID? = nil,
        metadata: RawJSON? = nil, extra: RawJSON? = nil, customType: String? = nil, push: PushOptions? = nil,
        traits: MessageTraits = .init(), priority: MessagePriority = .normal
    ) async throws(ChatError) -> Sending {
        try await send(
            .custom(content), mentioning: mentions, replyingTo: replyTo, metadata: metadata, extra: extra,
            customType: customType, push: push, traits: Content.traits.less(traits), priority: priority)
    }

    /// A message that is being sent, found again after a restart; one that was sent long ago is done at once.
    public func sending(_ id: MessageID) -> Sending {
        Sending(id: id, conversation: self.id, core: core)
    }

    private func send(
        _ prepared: PreparedAttachment, _ attributes: MessageAttributes
    ) async throws(ChatError) -> Sending {
        var generator = SystemRandomNumberGenerator()
        let now = core.clock()
        let submission = try Submission(
            id: MessageID(at: now, using: &generator), content: prepared.content, attributes: attributes
        ).validated(limits: .standard)
        // As it is now, so it goes: a retry must be the same message.
        let queued = try core.store.sealing.seal(submission, to: id)
        let item = try await core.store.write { [id] writer in
            for (ordinal, file) in prepared.files.enumerated() {
                try writer.insert(file.upload(of: submission.id), ordinal: ordinal)
                // Whoever sends it need not fetch it.
                let media = Media(.hosted(file.media))
                try writer.save(LocalFile(file.stored), as: media.key, now: now)
                if let thumbnail = file.thumbnail {
                    try writer.save(LocalFile(thumbnail), as: media.thumbnailKey, now: now)
                }
            }
            return try writer.insert(queued, to: id, needsUpload: !prepared.files.isEmpty, now: now)
        }
        // Until here nothing but this keeps their files from being evicted.
        withExtendedLifetime(prepared) {}
        core.changes.changed([id])
        core.mailbox.post(.queued(item))
        if !prepared.files.isEmpty { await core.makeRoom() }
        return Sending(id: submission.id, conversation: id, core: core)
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
