import Crypto
import Foundation
package import ScrollbackModel

/// A request to append a message, after all checks that don't need the store.
package struct AppendRequest: Sendable {
    package var conversation: ConversationID
    /// The sender, with the rights of their token.
    package var caller: Caller
    package var submission: Submission
    package var origin: Origin?
    /// The digest of the submission as the client sent it.
    package let digest: Int64
    /// The result of the moderation filters; with changed content, `submission` contains that content.
    let filterResult: FilterResult
    /// The content that the client sent.
    let sent: RawJSON
    /// The content that a filter put in place of `sent`; `nil` if no filter changed it.
    let replacement: RawJSON?

    /// Creates a request to append a message.
    ///
    /// - Parameters:
    ///   - conversation: The absolute name of the conversation.
    ///   - filterResult: The result of the moderation filters; replaced content and attributes are applied to the
    ///     submission.
    package init(
        conversation: ConversationID, caller: Caller, submission: Submission, origin: Origin? = nil,
        filterResult: FilterResult = .allowed
    ) {
        self.conversation = conversation
        self.caller = caller
        self.submission = submission
        self.origin = origin
        digest = submission.digest
        self.filterResult = filterResult
        sent = submission.content.json
        replacement = filterResult.replacement.flatMap { [sent] in $0 == sent ? nil : $0 }
        if let content = replacement {
            self.submission.content = MessageContent(known: submission.content.type, json: content)
        }
        if let attributes = filterResult.attributes { self.submission.attributes = attributes }
    }

    package var sender: UserID { caller.user }

    /// The rows that ``Transaction/append(_:permissions:mentionLimiter:)`` will read.
    var footprint: Footprint {
        let attributes = submission.attributes
        var footprint = Footprint(
            conversation, sender, messages: [submission.id] + (attributes.replyTo.map { [$0] } ?? []))
        // A channel's members are those of its community, so the spans show when the sender joined. A reply needs them
        // in every kind of conversation, because its message can be older than the sender's membership.
        footprint.needsSpans = conversation.kind == .community || attributes.replyTo != nil
        footprint.reply = attributes.replyTo.map { .init(to: $0, mentions: attributes.mentions?.users ?? []) }
        if MessageContent.mayHaveFiles(submission.content.type) { footprint.content = submission.content }
        return footprint
    }
}

extension Submission {
    /// A digest of the submission before any filter changed it, which distinguishes a retry from a different message.
    package var digest: Int64 {
        var fields: [String?] = [
            content.type.rawValue, content.json.text, attributes.metadata?.text, attributes.extra?.text,
            attributes.customType, attributes.push?.text, attributes.replyTo?.description,
            String(attributes.flagBits),
        ]
        if let mentions = attributes.mentions {
            fields += [mentions.everyone ? "everyone" : "users", mentions.pushText]
            fields += mentions.users.map(\.text)
        }
        return Self.digest(of: fields)
    }

    /// Returns a digest of a list of fields, in which an absent field differs from an empty one.
    static func digest(of fields: [String?]) -> Int64 {
        var hash = SHA256()
        for field in fields {
            var length = UInt64(field?.utf8.count ?? 0) + (field == nil ? 0 : 1)
            withUnsafeBytes(of: &length) { hash.update(bufferPointer: $0) }
            if var field { field.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) } }
        }
        return hash.finalize().withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(as: Int64.self)) }
    }
}

extension MessageContent {
    /// Checks that the content is not a notice about an event, which only the server and administrators may send.
    ///
    /// - Throws: `invalid-parameter`.
    func checkIsNotEvent(byAdmin isAdmin: Bool) throws(ChatError) {
        guard isAdmin || notice == nil else {
            throw .invalidParameter(
                "content", "of type notice can't have an event, because only the server sends events")
        }
    }
}
