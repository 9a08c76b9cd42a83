import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import Synchronization
import TestSupport

/// A client of Bob without a clock, a network or threads. Events, requests and answers are processed only when a
/// scenario says so.
///
/// The local store and the events are real. The handling of outcomes repeats what the driver does, in its simplest
/// form.
final class SteppedClient {
    static let bob = Caller(user: "bob")

    let store: LocalStore
    private let engine: Engine
    private let transport = SteppedTransport()
    private let session: Session
    private var resume = ResumeState()
    private var released: [LiveEvent] = []
    private var pendingRequests: [PendingRequest] = []
    private var answers: [Answer] = []
    private var asked: Set<ConversationID> = []
    private var askedAgain: Set<ConversationID> = []
    private var requestedReads: Set<ConversationID> = []

    private enum PendingRequest {
        case heads([ConversationID])
        case logs(batch: Int, [LogPosition])
        case read(ReadMark)
    }

    private struct Answer {
        /// The number of events that precede the answer. The client processes these events first.
        var after: Int
        var body: Body

        enum Body {
            case heads([ConversationHead], of: [ConversationID])
            case logs(batch: Int, [LogPosition], [LogSyncResult])
            case read(ConversationID, ReadSummary)
        }
    }

    init(_ engine: Engine) async throws {
        self.engine = engine
        store = try LocalStore(directory: nil, user: "bob")
        let services = SessionServices(
            engine: engine, verify: { _, completion in completion(.success((caller: Self.bob, expiresAt: nil))) },
            offload: { $2() })
        session = Session(services: services, lane: transport, transport: transport)
        session.receive(HelloFrame(token: "bob", device: "stepped").encoded())
        let window = try engine.syncWindow(cursor: nil, limit: 100, by: Self.bob)
        try await store.write { writer in
            _ = try writer.store(window.heads, totals: window.totals, isLastWindow: true)
            try writer.saveCursor(window.cursor, isLastWindow: true)
        }
        for case .pullWindow(let request, _) in resume.connected(cursor: nil) {
            _ = resume.windowAnswered(request, heads: [], cursor: window.cursor, isDone: true)
            _ = resume.windowStored { _ in nil }
        }
    }

    func close() throws {
        session.disconnected()
        try store.close()
    }

    /// Whether no event, request or answer is left.
    var isQuiet: Bool { transport.pendingCount == 0 && pendingRequests.isEmpty && answers.isEmpty }

    /// Performs one random step.
    func step(using random: inout SplitMix64) async throws {
        switch random.next() % 4 {
        case 0: try await processEvents(Int.random(in: 1...4, using: &random))
        case 1 where !pendingRequests.isEmpty:
            try answer(pendingRequests.remove(at: Int.random(in: 0..<pendingRequests.count, using: &random)))
        case 2 where !answers.isEmpty:
            let answer = answers.remove(at: Int.random(in: 0..<answers.count, using: &random))
            try await processEvents(answer.after - transport.processedCount)
            try await take(answer)
        default: break
        }
    }

    /// Marks messages as read locally and queues the request to the server.
    func read(_ id: ConversationID, upTo seq: Seq?) async throws {
        _ = try await store.write { try $0.markRead(id, upTo: seq) }
        try await requestPendingReads()
    }

    // MARK: Events

    /// Processes the next events as if they arrived at once.
    private func processEvents(_ count: Int) async throws {
        for event in try transport.take(count) {
            if let live = event.live {
                perform(resume.live(live))
                continue
            }
            try await applyReleased()
            switch event {
            case .read(let id, let summary): try await take(summary, in: id)
            case .reads(let reads): for read in reads { try await take(read.summary, in: read.conversation) }
            case .conversation(let id, isDeleted: false): requestHeads([id])
            default: break
            }
        }
        try await applyReleased()
    }

    private func perform(_ actions: [ResumeAction]) {
        for action in actions {
            switch action {
            case .sync(let batch, let positions): pendingRequests.append(.logs(batch: batch, positions))
            case .release(let events): released += events
            case .wake(let date): perform(resume.tick(now: date))
            case .pullWindow, .storeHeads, .recheck: break
            }
        }
    }

    private func applyReleased() async throws {
        guard !released.isEmpty else { return }
        let inputs = released.map { LogInput.live($0) }
        released = []
        follow(try await store.write { try $0.apply(inputs) })
    }

    private func follow(_ outcomes: [LogOutcome]) {
        requestHeads(outcomes.filter(\.needsHead).map(\.conversation))
        for behind in outcomes.compactMap(\.behind) where behind.conversation.kind.traits.replaysMissed {
            perform(resume.needsSync(behind))
        }
    }

    private func take(
        _ summary: ReadSummary, in id: ConversationID, answers request: LocalWriter.AnsweredRequest? = nil
    ) async throws {
        if try await store.write({ try $0.apply(summary, in: id, answers: request) }) { requestHeads([id]) }
    }

    // MARK: Requests and answers

    private func requestHeads(_ ids: [ConversationID]) {
        askedAgain.formUnion(ids.filter(asked.contains))
        let new = Set(ids).subtracting(asked).sorted()
        guard !new.isEmpty else { return }
        asked.formUnion(new)
        pendingRequests.append(.heads(new))
    }

    private func requestPendingReads() async throws {
        let marks = try await store.read { try $0.pendingReads() }
        for mark in marks where requestedReads.insert(mark.conversation).inserted {
            pendingRequests.append(.read(mark))
        }
    }

    private func answer(_ pendingRequest: PendingRequest) throws {
        let body: Answer.Body
        switch pendingRequest {
        case .heads(let ids): body = .heads(try engine.heads(of: ids, by: Self.bob).heads, of: ids)
        case .logs(let batch, let positions):
            body = .logs(batch: batch, positions, try engine.syncLogs(positions, by: Self.bob))
        case .read(let mark):
            let change = StateChange.read(seq: mark.position.seq, epoch: mark.position.epoch, userRev: mark.userRev)
            body = .read(
                mark.conversation,
                try engine.done { $0.change(mark.conversation, change, by: Self.bob, completion: $1) })
        }
        answers.append(Answer(after: transport.sentCount, body: body))
    }

    private func take(_ answer: Answer) async throws {
        switch answer.body {
        case .heads(let heads, let ids):
            asked.subtract(ids)
            let outcomes = try await store.write { try $0.store(heads, totals: nil, isLastWindow: false) }
            let again = askedAgain.intersection(ids)
            askedAgain.subtract(again)
            follow(outcomes)
            requestHeads(again.sorted())
        case .logs(let batch, let positions, let answers):
            let inputs = answers.compactMap { answer -> LogInput? in
                guard case .success(let sync) = answer.result,
                    let asked = positions.first(where: { $0.conversation == answer.conversation })
                else { return nil }
                return .sync(sync, asked: asked)
            }
            let outcomes = try await store.write { try $0.apply(inputs) }
            var generator = SplitMix64(seed: UInt64(batch))
            perform(
                resume.syncAnswered(
                    batch, behind: outcomes.compactMap(\.behind), now: .distantPast, using: &generator))
            requestHeads(outcomes.filter(\.needsHead).map(\.conversation))
            try await applyReleased()
        case .read(let id, let summary):
            requestedReads.remove(id)
            try await take(summary, in: id, answers: .read)
            try await requestPendingReads()
        }
    }
}

extension Engine {
    /// The result of a write that completes before the call returns.
    func done<Value: Sendable>(
        _ body: (Engine, @escaping Engine.Completion<Value>) -> Void
    ) throws -> Value {
        let answer = Mutex<Result<Value, ChatError>>(
            .failure(ChatError(.timeout, "The write did not complete before the call returned.")))
        body(self) { result in answer.withLock { $0 = result } }
        return try answer.withLock { $0 }.get()
    }
}

extension ServerEvent {
    fileprivate var live: LiveEvent? {
        switch self {
        case .message(let message): .message(message)
        case .changed(let id, let epoch, let change): .changed(id, epoch, change)
        case .head(let id, let update):
            .head(
                id,
                LogHead(
                    epoch: update.epoch, view: 0, head: update.seq, firstSeq: update.firstSeq ?? 1,
                    countedIndex: update.countedIndex, rev: update.rev),
                last: update.last, altersCounts: update.altersCounts)
        case .hidden(let id, let epoch, let places): .hidden(id, epoch, places)
        default: nil
        }
    }
}

/// The frames that the server sent to a client, and how many of them the client processed.
private final class SteppedTransport: SessionTransport, ConnectionLane {
    private let frames = Mutex<(all: [[UInt8]], taken: Int)>(([], 0))

    var sentCount: Int { frames.withLock { $0.all.count } }
    var processedCount: Int { frames.withLock { $0.taken } }
    var pendingCount: Int { frames.withLock { $0.all.count - $0.taken } }

    func send(_ frame: [UInt8]) { frames.withLock { $0.all.append(frame) } }
    func close(_ reason: CloseReason, _ text: String) {}

    func deliver(_ frame: [UInt8], to connections: [any Connection], except origin: Origin?) { send(frame) }

    /// The events of the next frames.
    func take(_ count: Int) throws -> [ServerEvent] {
        let next = frames.withLock { frames in
            let upper = min(frames.all.count, frames.taken + max(0, count))
            defer { frames.taken = upper }
            return frames.all[frames.taken..<upper]
        }
        return try next.compactMap { frame in
            guard case .event(let event) = try ServerFrame.decode(frame) else { return nil }
            return event
        }
    }
}
