package import Foundation
package import ScrollbackModel

/// The state machine that resumes a connection.
///
/// It pulls windows of changed conversations and updates each conversation that is behind. It holds live events back
/// until all earlier messages are stored.
///
/// The input is events and the output is ``ResumeAction``s. Answers to requests of an earlier connection are recognized
/// by their number and ignored. Live events of an earlier connection must not be passed in.
package struct ResumeState: Sendable {
    /// The maximum number of conversations in a `sync` request.
    package static let batchSize = 20
    /// The maximum number of concurrent `sync` requests.
    package static let batchesInFlight = 2
    /// The maximum number of held live events.
    ///
    /// Beyond it, events are dropped, and another sync pass follows.
    package static let maximumHeldEvents = 10_000

    enum Windows: Hashable {
        case offline
        case pulling(request: Int, cursor: String?)
        case storing(cursor: String, isDone: Bool)
        case pausing(until: Date, cursor: String?)
        case done
    }

    var windows = Windows.offline
    /// The heads of the window that is being stored.
    var storing: [ConversationHead] = []
    /// The conversations that wait for a free request, in order.
    var queue: [LogPosition] = []
    var inFlight: [Int: [LogPosition]] = [:]
    /// The conversations to request again after the answer to their current request.
    var repeatPositions: [ConversationID: LogPosition] = [:]
    /// The conversations that are requested after a delay.
    var paused: [LogPosition] = []
    var pausedUntil: Date?
    /// The conversations in `queue`, `inFlight` or `paused`, and those that wait for another sync pass.
    var pending: Set<ConversationID> = []
    /// Whether the device has never received all windows; it has then missed nothing.
    var isNew = false
    /// Whether a new device has received the top of its list.
    ///
    /// From then on it can release live events while the remaining windows arrive.
    var hasFirstWindow = false
    /// The conversations that were synchronized before all windows arrived.
    var synced: Set<ConversationID> = []
    var held: [LiveEvent] = []
    /// The conversations that lost events because too many were held.
    var overflowed: Set<ConversationID> = []
    var backoff = Backoff()
    /// A number that is never reset, so that each answer matches one request.
    private var lastNumber = 0

    package init() {}

    /// Returns whether all missed messages of a conversation are stored, so that live events follow without a gap.
    package func isResumed(_ conversation: ConversationID) -> Bool {
        (windows == .done || hasFirstWindow || synced.contains(conversation)) && !pending.contains(conversation)
    }

    /// Whether windows of changed conversations are still outstanding.
    package var isFetchingWindows: Bool { windows != .offline && windows != .done }

    /// The number of held live events.
    package var heldCount: Int { held.count }

    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }
}

// MARK: The connection

extension ResumeState {
    /// Handles the server's `welcome`.
    ///
    /// - Parameters:
    ///   - cursor: The cursor that was stored with the last window.
    ///   - behind: Conversations that are behind since an earlier connection; the windows don't list them again.
    ///   - isNew: Whether the device has never received all windows.
    package mutating func connected(
        cursor: String?, behind: [LogPosition] = [], isNew: Bool = false
    ) -> [ResumeAction] {
        forget()
        self.isNew = isNew
        for position in behind { enqueue(position) }
        return [pull(cursor)] + sendBatches()
    }

    /// Discards everything except the request numbers; the store has the cursor and the conversations that are behind.
    package mutating func disconnected() {
        forget()
    }

    /// Handles the passing of time.
    package mutating func tick(now: Date) -> [ResumeAction] {
        var actions: [ResumeAction] = []
        if case .pausing(let until, let cursor) = windows, now >= until { actions.append(pull(cursor)) }
        if let until = pausedUntil, now >= until {
            pausedUntil = nil
            queue += paused
            paused = []
            actions += sendBatches()
        }
        return actions
    }

    mutating func pull(_ cursor: String?) -> ResumeAction {
        let request = nextNumber()
        windows = .pulling(request: request, cursor: cursor)
        return .pullWindow(request: request, cursor: cursor)
    }

    private mutating func forget() {
        let number = lastNumber
        self = ResumeState()
        lastNumber = number
    }
}
