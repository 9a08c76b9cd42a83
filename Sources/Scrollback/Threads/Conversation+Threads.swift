public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// A page of the threads of a conversation.
public struct ThreadPage: Sendable {
    /// The threads, those with the newest reply first.
    ///
    /// A page can be empty although more pages follow.
    public var threads: [MessageThread]
    /// The value of `after` for the next page; `nil` if there is none.
    public var next: Timetoken?
    /// The error that prevented loading the page from the server.
    ///
    /// The page then has what is stored on this device.
    public var remoteError: ChatError?
    /// The user revision after which this device knows more about followed threads than the page of the server.
    ///
    /// It is -1 without an answer of the server, and `nil` if the page is not limited to followed threads.
    package var followedAfter: Int64?
}

extension Conversation {
    /// Returns a page of the conversation's threads, those with the newest reply first.
    ///
    /// - Parameters:
    ///   - isFollowed: Whether to return only the threads that the user follows.
    ///   - next: The `next` of the previous page.
    ///   - limit: The maximum number of threads, 1...100.
    /// - Returns: The server's page, with the changes that are not sent yet. Without a connection, the threads whose
    ///   first message is stored on this device, with the counts of the stored replies, and the error.
    /// - Throws: `invalid-parameter` for a limit out of range. `unknown-conversation`, or `not-member` for a former
    ///   member. `local-storage`.
    public func threads(
        followed isFollowed: Bool = false, after next: Timetoken? = nil, limit: Int = 20
    ) async throws(ChatError) -> ThreadPage {
        try Self.check(limit)
        var page = ThreadPage(threads: [], next: nil, followedAfter: isFollowed ? -1 : nil)
        do {
            let rev = try await core.store.read { [id] in try $0.threadRev(in: id) }
            let answer = try await core.perform(
                ListThreads(conversation: id, isFollowed: isFollowed, before: next, limit: limit))
            try await core.store.write { [id] writer in
                for thread in answer.threads { try writer.save(thread.state, in: id) }
                if isFollowed, next == nil, answer.next == nil {
                    try writer.unfollow(except: Set(answer.threads.map(\.id)), in: id, through: rev)
                }
            }
            (page.threads, page.next) = (answer.threads, answer.next)
            if isFollowed { page.followedAfter = rev }
        } catch {
            guard error.isTemporary else { throw error }
            page.remoteError = error
        }
        // The additional thread shows whether more exist.
        let threads = try await current(
            page.threads, followedAfter: page.followedAfter, before: next, through: page.next, limit: limit + 1)
        page.threads = Array(threads.prefix(limit))
        if threads.count > limit { page.next = page.threads.last?.parent.replies?.lastReplyAt }
        return page
    }

    /// Returns threads in their current state on this device, together with the threads that only this device has.
    ///
    /// - Parameters:
    ///   - threads: Threads that the server returned before.
    ///   - userRev: ``ThreadPage/followedAfter`` of the page with these threads.
    ///   - before: The time of the newest reply below which to return threads; `nil` for all.
    ///   - through: The time of the newest reply at or above which to return threads; `nil` for all.
    ///   - limit: The maximum number of threads of this device.
    package func current(
        _ threads: [MessageThread], followedAfter userRev: Int64?, before: Timetoken? = nil, through: Timetoken?,
        limit: Int
    ) async throws(ChatError) -> [MessageThread] {
        try await core.store.read { [id] reader in
            try reader.threads(
                in: id, adding: threads, followedAfter: userRev, before: before, through: through, limit: limit)
        }
    }

    /// An element for each change of the conversation on this device, and an initial one.
    package var changes: AsyncStream<Void> { core.changes.changes(of: .conversation(id)) }

    /// Follows a thread.
    ///
    /// The user follows the threads that they begin or reply in, and those in which a reply mentions them by name.
    ///
    /// - Parameter message: The thread's first message, or a reply that is stored on this device.
    /// - Throws: `local-storage`. The server can still refuse it: `unknown-message` if the message has no replies, or
    ///   `not-member`.
    @discardableResult
    public func followThread(of message: MessageID) async throws(ChatError) -> SendHandle {
        try await changeThread(of: message) { _ in ThreadChange(isFollowed: true) }
    }

    /// Stops following a thread, until the user follows it again or replies in it.
    ///
    /// - Parameter message: The thread's first message, or a reply that is stored on this device.
    /// - Throws: As for ``followThread(of:)``.
    @discardableResult
    public func unfollowThread(of message: MessageID) async throws(ChatError) -> SendHandle {
        try await changeThread(of: message) { _ in ThreadChange(isFollowed: false) }
    }

    /// Marks the replies of a thread as read on all devices of the user.
    ///
    /// The unread counts of the conversation stay the same: see ``markRead(upTo:)``, which also reads the threads.
    ///
    /// - Parameters:
    ///   - message: The thread's first message, or a reply that is stored on this device.
    ///   - last: The newest message that the user has seen; by default the newest message of the conversation.
    /// - Throws: `unknown-conversation` or `unknown-message` if this device has no such conversation or message.
    ///   `local-storage`. The server can still refuse it: `unknown-message` if the message has no replies, or
    ///   `not-member`.
    @discardableResult
    public func markThreadRead(
        of message: MessageID, upTo last: MessageID? = nil
    ) async throws(ChatError) -> SendHandle {
        try await changeThread(of: message) { [id] reader in
            guard let log = try reader.log(of: id) else {
                throw ChatError(.unknownConversation, "The conversation is not stored on this device yet.")
            }
            guard let last else { return ThreadChange(read: EpochPosition(seq: log.head, epoch: log.epoch)) }
            guard let message = try reader.asStored.message(last, in: id) else {
                throw ChatError(.unknownMessage, "Message \(last) is not stored on this device.", parameter: "upTo")
            }
            return ThreadChange(read: EpochPosition(seq: message.seq, epoch: log.epoch))
        }
    }

    private func changeThread(
        of message: MessageID, _ change: @escaping @Sendable (LocalReader) throws -> ThreadChange
    ) async throws(ChatError) -> SendHandle {
        let request = try await core.store.read { [id] reader in
            let first = try reader.asStored.message(message, in: id)?.thread ?? message
            return ChangeThread(conversation: id, thread: first, try change(reader))
        }
        return try await core.queue(.changeThread(request), core.newID(), about: request.thread, in: id)
    }
}
