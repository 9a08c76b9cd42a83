package import ScrollbackModel

extension Engine {
    /// Sends a message.
    ///
    /// Completes after the message is durable or was refused. Requests complete in the order of the calls.
    ///
    /// - Parameters:
    ///   - origin: The connection that sent the message, which gets the completion instead of an event.
    ///   - shutOuts: The value of ``shutOuts`` when the caller was authenticated, if that was earlier than this call.
    package func send(
        _ submission: Submission, to id: ConversationID, by caller: Caller, origin: Origin? = nil,
        since shutOuts: Int? = nil, completion: @escaping Completion<SendResult>
    ) {
        let log = id.log.absolute(for: caller.user)
        let shutOuts = shutOuts ?? self.shutOuts
        let proposal = Proposal(
            in: log, by: caller.user, id: submission.id, content: submission.content, attributes: submission.attributes)
        screen(proposal, by: caller, origin: origin, refuse: { completion(.failure($0)) }) { [self] judgement in
            let append = Append(
                conversation: log, sender: caller, submission: submission, origin: origin, judgement: judgement)
            self.log.submit(
                { [permissions, erasing] in
                    try erasing.check(caller.user, since: shutOuts)
                    return try $0.append(append, permissions: permissions)
                }, completion: completion)
        }
    }
}
