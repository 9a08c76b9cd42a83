import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Carries out the requests of ``HeadFetches``, and stores the heads.
extension Driver {
    /// Fetches the heads of unknown or changed conversations.
    ///
    /// The server announces messages only of conversations that stream to all members.
    func fetchHeads(_ ids: [ConversationID]) {
        heads.fetch(ids)
        sendHeadRequests()
    }

    /// Fetches the head of a conversation that an event mentions but this device doesn't know.
    ///
    /// A conversation that changed during a sync pass may be missing from all windows of that pass.
    func fetchHeadIfUnknown(_ id: ConversationID) async throws(ChatError) {
        let isUnknown = try await core.store.read { try $0.log(of: id) == nil }
        if isUnknown { fetchHeads([id]) }
    }

    /// Fetches the head of a conversation whose peer has read or received messages, if this device may lack it.
    ///
    /// An earlier head that is still to come can have a new epoch. It then discards the stored position of the peer.
    func fetchHeadAfterPeerEvent(_ id: ConversationID) async throws(ChatError) {
        if resume.isFetchingWindows || heads.isInFlight(id) { return fetchHeads([id]) }
        try await fetchHeadIfUnknown(id)
    }

    func sendHeadRequests() {
        for batch in heads.next(isSubscribed: isSubscribed).chunks(of: GetHeads.maximum) {
            send(GetHeads(batch), .heads(batch))
        }
        if heads.isWaiting { retry(in: 5) }
    }

    func headsAnswered(_ ids: [ConversationID], to ref: Int64, _ result: Result<[UInt8], ChatError>) async {
        switch result {
        case .success(let body):
            heads.answered(ids)
            await headsReceived(body, to: ref, asked: ids)
        case .failure(let error):
            heads.failed(ids, error)
            retry(after: error)
            sendHeadRequests()
        }
    }

    /// Stores the heads of an answer, and deletes the conversations that are gone.
    ///
    /// - Parameters:
    ///   - ref: The number of the request. Heads of conversations that were deleted since are requested again.
    ///   - asked: The conversations that were requested. Those that the answer neither includes nor defers are gone.
    ///   - isSubscriptionAnswer: Whether the heads answer a subscription.
    func headsReceived(
        _ body: [UInt8], to ref: Int64, asked: [ConversationID] = [], isSubscriptionAnswer: Bool = false
    ) async {
        do {
            var reader = try JSONReader(body)
            let list = try HeadList(from: &reader)
            let outdated = list.heads.map(\.conversation).filter { wasDeleted($0, after: ref) }
            let heads = list.heads.filter { !outdated.contains($0.conversation) }
            let rest = list.rest + outdated
            if isSubscriptionAnswer { recordEntries(heads) }
            let gone = missing(from: heads.map(\.conversation) + rest, of: asked)
            let outcomes = try await core.store.write { writer in
                for id in gone { try writer.deleteIfGone(id) }
                try writer.deletePushedRecords(asked.filter { !rest.contains($0) })
                return try writer.store(heads, totals: nil, isLastWindow: false)
            }
            core.changes.changed(Set(heads.map(\.conversation) + gone))
            core.reportDelivered(after: outcomes)
            await removeStored(heads.compactMap(\.lastMessage))
            for outcome in outcomes { requestMissing(after: outcome) }
            fetchHeads(rest)
        } catch {
            await storeFailed(error)
        }
    }

    /// Returns whether a conversation was deleted on this connection after a request was sent.
    func wasDeleted(_ id: ConversationID, after ref: Int64) -> Bool {
        ref <= deletions[id.absolute(for: core.user)] ?? 0
    }

    /// Returns the requested conversations that an answer omits, except those that changed since the request.
    private func missing(from reported: [ConversationID], of asked: [ConversationID]) -> [ConversationID] {
        // The answer may use a different name for the same conversation.
        let reported = Set(reported.map { $0.absolute(for: core.user) })
        return asked.filter { !heads.isNeeded($0) && !reported.contains($0.absolute(for: core.user)) }
    }
}
