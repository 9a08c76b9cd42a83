package import Foundation
package import ScrollbackModel

/// Coming online: pull windows of what moved, bring each conversation that is behind up to date, and hold live events
/// back until what was missed before them is there.
///
/// Events go in, ``ResumeAction``s come out. Answers to requests of an earlier connection are recognised by their
/// number and ignored; live events of an earlier connection must not be handed in.
package struct ResumeState: Sendable {
    /// The most conversations one `sync` asks for.
    package static let batchSize = 20
    /// The most `sync` requests in flight.
    package static let batchesInFlight = 2
    /// The most live events that are held; of those beyond, the conversations are asked for again.
    package static let heldEvents = 10_000

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
    /// Conversations that wait for a free request, in order.
    var queue: [LogPosition] = []
    var inFlight: [Int: [LogPosition]] = [:]
    /// Conversations to ask for again once the request they are in was answered.
    var again: [ConversationID: LogPosition] = [:]
    /// Conversations that are asked for after a wait.
    var paused: [LogPosition] = []
    var pausedUntil: Date?
    /// Conversations that are in `queue`, `inFlight` or `paused`, or are to be rechecked.
    var pending: Set<ConversationID> = []
    /// Whether the device has never seen all windows: it has missed nothing, since it was not there.
    var isNew = false
    /// Whether a new device has the top of its list: what is said from then on it may hear, while the rest still comes.
    var hasTop = false
    /// Conversations brought up to date before all windows were done.
    var synced: Set<ConversationID> = []
    var held: [LiveEvent] = []
    /// Conversations that lost events because too many were held.
    var overflowed: Set<ConversationID> = []
    var backoff = Backoff()
    /// Never starts again, so that no answer is taken for another's.
    private var lastNumber = 0

    package init() {}

    /// Whether what a conversation missed is there, so that its live events follow without a hole.
    package func isResumed(_ conversation: ConversationID) -> Bool {
        (windows == .done || hasTop || synced.contains(conversation)) && !pending.contains(conversation)
    }

    /// Whether windows of what moved are still to come.
    package var isPassing: Bool { windows != .offline && windows != .done }

    /// How many live events wait.
    package var heldCount: Int { held.count }

    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }
}

// MARK: The connection

extension ResumeState {
    /// The server said `welcome`.
    ///
    /// - Parameters:
    ///   - cursor: what was stored with the last window.
    ///   - behind: conversations the store knows to be behind since an earlier connection; no window lists them again.
    ///   - isNew: whether the device has never seen all windows.
    package mutating func connected(
        cursor: String?, behind: [LogPosition] = [], isNew: Bool = false
    ) -> [ResumeAction] {
        forget()
        self.isNew = isNew
        for position in behind { enqueue(position) }
        return [pull(cursor)] + sendBatches()
    }

    /// Nothing is remembered but the numbers: the store knows the cursor and who is behind.
    package mutating func disconnected() {
        forget()
    }

    /// Time has passed.
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
