package import ScrollbackModel

extension Engine {
    /// Sends a message.
    ///
    /// Completes after the message is durable or was refused. Requests complete in the order of the calls.
    ///
    /// - Parameters:
    ///   - origin: The connection that sent the message, which gets the completion instead of an event.
    ///   - erasureCount: The value of ``erasureCount`` when the caller was authenticated, if that was earlier than
    ///     this call.
    package func send(
        _ submission: Submission, to id: ConversationID, by caller: Caller, origin: Origin? = nil,
        since erasureCount: Int? = nil, completion: @escaping Completion<SendResult>
    ) {
        let log = id.logID.absolute(for: caller.user)
        let erasureCount = erasureCount ?? self.erasureCount
        let filterRequest = FilterRequest(
            in: log, by: caller.user, id: submission.id, content: submission.content, attributes: submission.attributes)
        moderate(filterRequest, by: caller, origin: origin, refuse: { completion(.failure($0)) }) {
            [self] filterResult in
            let append = AppendRequest(
                conversation: log, caller: caller, submission: submission, origin: origin, filterResult: filterResult)
            self.commits.submit(
                for: WorkOwner(caller), about: [append.footprint],
                { [permissions, erasing, mentionLimiter] in
                    try erasing.check(caller.user, since: erasureCount)
                    return try $0.append(append, permissions: permissions, mentionLimiter: mentionLimiter)
                }, completion: completion)
        }
    }
}
