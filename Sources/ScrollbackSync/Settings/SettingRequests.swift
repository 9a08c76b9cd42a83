package import ScrollbackModel

/// The state machine that sends the user's read positions and settings to the server.
///
/// At most one change of a conversation is in flight. The store has all changes that the server has not confirmed, so a
/// lost connection or a restart loses none.
package struct SettingRequests: Sendable {
    /// The maximum number of settings in flight.
    package static let maximumWindow = 16

    package enum Action: Hashable, Sendable {
        /// Send one read position; report the result with ``readsAnswered(_:errors:)``.
        case sendRead(ReadMark)
        /// Send several read positions in one request; report the result with ``readsAnswered(_:errors:)``.
        case sendReads([ReadMark])
        /// Send the setting of a conversation; report the result with ``settingAnswered(_:error:)``.
        case sendSetting(ConversationID)
    }

    private enum Change: Hashable {
        case read(EpochPosition)
        case setting
    }

    private var inFlight: [ConversationID: Change] = [:]
    /// The number of settings that may be in flight.
    ///
    /// It falls to one after a temporary error, and doubles with each accepted setting.
    private var window = SettingRequests.maximumWindow
    /// Whether changes wait for ``retry()``.
    ///
    /// Otherwise the answer to another change would send the refused one again, before the server accepts it.
    package private(set) var isPaused = false

    /// The maximum number of read positions in one request.
    private let limit: Int

    /// Creates the state without a connection.
    ///
    /// - Parameter limit: The maximum number of read positions in one request.
    package init(limit: Int) {
        self.limit = limit
    }

    /// Discards the requests in flight, whose changes are sent again on the next connection.
    package mutating func disconnected() {
        self = SettingRequests(limit: limit)
    }

    /// Returns the requests to send.
    ///
    /// Reads go first, so that each later setting includes their effect.
    ///
    /// - Parameters:
    ///   - reads: The unconfirmed reads.
    ///   - settings: The conversations with unconfirmed settings.
    package mutating func next(reads: [ReadMark], settings: [ConversationID]) -> [Action] {
        guard !isPaused else { return [] }
        let reads = reads.filter { start(.read($0.position), in: $0.conversation) }
        var actions: [Action] =
            reads.count == 1 ? [.sendRead(reads[0])] : reads.chunks(of: limit).map { .sendReads($0) }
        var count = inFlight.values.count { $0 == .setting }
        for id in settings where count < window && start(.setting, in: id) {
            count += 1
            actions.append(.sendSetting(id))
        }
        return actions
    }

    private mutating func start(_ change: Change, in id: ConversationID) -> Bool {
        guard inFlight[id] == nil else { return false }
        inFlight[id] = change
        return true
    }

    /// Handles the answer to one or several reads.
    ///
    /// - Parameter errors: The errors of the request, or of single reads in the answer.
    /// - Returns: The positions that were in flight.
    package mutating func readsAnswered(_ ids: [ConversationID], errors: [ChatError]) -> [DeliveryMark] {
        if errors.contains(where: \.isTemporary) { pause() }
        return ids.compactMap { id in
            guard case .read(let position)? = inFlight.removeValue(forKey: id) else { return nil }
            return DeliveryMark(conversation: id, position: position)
        }
    }

    /// Handles the answer to a setting.
    package mutating func settingAnswered(_ id: ConversationID, error: ChatError?) {
        inFlight[id] = nil
        guard let error else {
            window = min(window * 2, Self.maximumWindow)
            return
        }
        if error.isTemporary { pause() }
    }

    /// Continues after the delay of a temporary error.
    package mutating func retry() {
        isPaused = false
    }

    private mutating func pause() {
        isPaused = true
        window = 1
    }
}
