import ScrollbackModel
package import ScrollbackWire

extension Subscribe: ConnectionOperation {
    package func execute(
        on session: Session, _ context: OperationContext, completion: @escaping Engine.Completion<HeadList>
    ) {
        context.offload {
            let heads = Result { try session.subscribeAll(to: conversations, by: context.caller) }
            completion(heads.map { HeadList(heads: $0) }.mapError(ChatError.init(wrapping:)))
        }
    }
}

extension Session {
    /// A conversation that the caller may subscribe to.
    private struct Candidate {
        var head: ConversationHead
        /// The user sees every message above this place.
        var fullyVisibleAfter: Seq
        /// The most subscribers, or `nil` for no limit.
        var capacity: Int64?
    }

    /// Subscribes to all of the conversations or, after an error, to none of them.
    ///
    /// - Returns: The heads of the conversations. Every later message arrives as an event.
    fileprivate func subscribeAll(to ids: [ConversationID], by caller: Caller) throws -> [ConversationHead] {
        let names = ids.map { $0.logID.absolute(for: caller.user) }
        func candidates() throws -> [Candidate] { try ids.map { try candidate($0, by: caller) } }
        func subscribe(_ candidates: [Candidate], _ version: AccessVersion) throws -> Bool {
            let capacities = zip(names, candidates).compactMap { name, candidate in
                candidate.capacity.map { (name, $0) }
            }
            return try self.subscribe(
                to: Dictionary(zip(names, candidates.map(\.fullyVisibleAfter)), uniquingKeysWith: max),
                capacities: Dictionary(capacities, uniquingKeysWith: min), since: version)
        }
        var isSubscribed = false
        while !isSubscribed {
            let version = accessVersion()
            let found = try candidates()
            // Events from before the check of the permissions must not end the subscription.
            try engine.catchUp()
            isSubscribed = try subscribe(found, version)
        }
        // The heads are read again after the subscription, so that no message falls between heads and events.
        return try candidates().map(\.head)
    }

    /// - Throws: `not-member` for former members, who may only read the messages up to the end of their membership.
    ///   Each error names the conversation, because the request can have several.
    private func candidate(_ id: ConversationID, by caller: Caller) throws -> Candidate {
        let name = id.logID.absolute(for: caller.user)
        do {
            return try engine.withAccess(to: name, for: caller, needsHead: true) { access, store in
                let head = try engine.head(of: access, for: caller.user, in: store)
                guard head.isMember || engine.permissions[.read, id.kind].isMet(by: nil, isAdmin: caller.isAdmin) else {
                    throw ChatError(.notMember, "You are not a member of \(id) any more. Ask a moderator to add you.")
                }
                return Candidate(
                    head: head, fullyVisibleAfter: access.fullyVisibleAfter, capacity: access.conversation.capacity)
            }
        } catch let error as ChatError where error.code == .unknownConversation {
            throw ChatError(error.code, "The conversation \(id) does not exist, or you may not see it.")
        }
    }
}
