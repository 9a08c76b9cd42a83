package import ScrollbackModel

/// The state machine that fetches the heads of conversations.
///
/// At most one request for a conversation is in flight. A conversation that is needed again before the answer is
/// requested again after it, because the answer may lack the latest changes.
package struct HeadFetches: Sendable {
    private var isConnected = false
    /// The conversations to request, including those to request again after their answer.
    private var needed: Set<ConversationID> = []
    private var inFlight: Set<ConversationID> = []
    /// The conversations that are requested at the next ``tick()``.
    private var delayed: Set<ConversationID> = []
    /// The conversations that were requested again because a head left their counts uncertain.
    private var repeated: Set<ConversationID> = []

    package init() {}

    package mutating func connected() {
        self = HeadFetches()
        isConnected = true
    }

    /// Discards everything; the store has the conversations whose heads are needed after the next connection.
    package mutating func disconnected() {
        self = HeadFetches()
    }

    /// Requests heads; has no effect without a connection.
    package mutating func fetch(_ ids: some Sequence<ConversationID>) {
        if isConnected { needed.formUnion(ids) }
    }

    /// Handles a head that left the counts of its conversation uncertain.
    ///
    /// The first request follows immediately, because an update may have arrived in between. Further requests wait for
    /// ``tick()``.
    package mutating func storedUncertain(_ id: ConversationID) {
        guard isConnected else { return }
        if repeated.insert(id).inserted, !delayed.contains(id) {
            needed.insert(id)
        } else {
            delayed.insert(id)
        }
    }

    /// Returns the conversations to request now; report the result with ``answered(_:)`` or ``failed(_:_:)``.
    ///
    /// - Parameter isSubscribed: Returns whether the client is subscribed to a channel or room. Requesting the head of
    ///   a room enters the room, so only rooms with a subscription are requested.
    package mutating func next(isSubscribed: (ConversationID) -> Bool) -> [ConversationID] {
        let due = needed.subtracting(inFlight)
        needed.subtract(due)
        let ids = due.filter {
            !$0.isCommunityRoot && ($0.kind.traits.membership != .subscribers || isSubscribed($0))
        }
        inFlight.formUnion(ids)
        return ids.sorted()
    }

    /// Handles an answer to a request.
    package mutating func answered(_ ids: [ConversationID]) {
        inFlight.subtract(ids)
    }

    /// Handles a failed request.
    ///
    /// After a temporary error, the conversations are requested at the next ``tick()``.
    package mutating func failed(_ ids: [ConversationID], _ error: ChatError) {
        inFlight.subtract(ids)
        if isConnected, error.isTemporary { delayed.formUnion(ids) }
    }

    /// Requests the delayed conversations.
    package mutating func tick() {
        needed.formUnion(delayed)
        delayed = []
        repeated = []
    }

    /// Whether conversations wait for ``tick()``.
    package var isWaiting: Bool { !delayed.isEmpty }

    /// Returns whether a request for a conversation is in flight.
    package func isInFlight(_ id: ConversationID) -> Bool { inFlight.contains(id) }

    /// Returns whether a conversation is needed again since its last request.
    package func isNeeded(_ id: ConversationID) -> Bool { needed.contains(id) }
}
