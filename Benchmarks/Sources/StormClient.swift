import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// A client of one group that reconnects with its cursor after a restart and requests missed messages.
///
/// It stores only up to which sequence number it has the log without gaps.
final class StormClient: Sendable {
    let user: UserID
    private let group: ConversationID
    private let token: String
    private let state = Mutex(State())

    private struct State {
        var connection: (any TransportConnection)?
        var replies: [Int64: @Sendable (Result<[UInt8], BenchError>) -> Void] = [:]
        var welcome: (@Sendable (Bool) -> Void)?
        var lastRef: Int64 = 0
        var cursor: String?
        /// The highest sequence number up to which the log has no gaps.
        var seq: Seq = 0
        /// Received sequence numbers above a gap that is being filled.
        var outOfOrder: Set<Seq> = []
        var epoch: Epoch?
        var rev: Int64 = 0
        var missed = 0

        mutating func insert(_ place: Seq) {
            guard place > seq else { return }
            outOfOrder.insert(place)
            follow()
        }

        mutating func advance(_ place: Seq) {
            seq = max(seq, place)
            outOfOrder = outOfOrder.filter { $0 > seq }
            follow()
        }

        private mutating func follow() {
            while outOfOrder.remove(seq + 1) != nil { seq += 1 }
        }
    }

    init(_ user: UserID, in group: ConversationID, token: String) {
        self.user = user
        self.group = group
        self.token = token
    }

    /// The number of messages requested since the last connection.
    var missed: Int { state.withLock { $0.missed } }
    /// The highest sequence number up to which the log has no gaps.
    var seq: Seq { state.withLock { $0.seq } }

    // MARK: Connecting

    /// Connects and synchronizes: the heads that changed since the cursor, then the group's log.
    ///
    /// - Throws: If no server is reachable, or if the connection ends before the synchronization is complete.
    func connect(to address: URL) async throws {
        let relay = Relay()
        let connection = try await NIOTransport().open(address) { relay.handle($0) }
        relay.attach(self, connection)
        state.withLock { state in
            state.connection = connection
            state.missed = 0
            state.outOfOrder = []
        }
        let isWelcome = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            state.withLock { $0.welcome = { continuation.resume(returning: $0) } }
            connection.send(HelloFrame(token: token, device: "storm").encoded())
            if relay.isClosed { ended(connection) }
        }
        guard isWelcome else { throw BenchError("The connection ended before the welcome frame.") }
        try await catchUp()
    }

    private func catchUp() async throws {
        var cursor = state.withLock { $0.cursor }
        var target: Seq = 0
        while true {
            var reader = try JSONReader(try await request(SyncConversations.window(cursor: cursor, limit: 100)))
            let window = try HeadWindow(from: &reader)
            for head in window.heads where head.conversation == group {
                target = head.head
                state.withLock { $0.epoch = head.state.epoch }
            }
            cursor = window.cursor
            if window.isDone { break }
        }
        state.withLock { $0.cursor = cursor }
        while let position = state.withLock({ nextPosition($0, target) }) {
            var reader = try JSONReader(try await request(SyncConversations.logs([position])))
            var answers: [LogSyncResult] = []
            try reader.object { (name, value) throws(ChatError) in
                guard name == "logs" else { return try value.skip() }
                answers = try value.list("logs", limit: 1) { (answer) throws(ChatError) in
                    try LogSyncResult(from: &answer)
                }
            }
            guard let sync = try answers.first?.result.get() else { throw BenchError("The sync response is empty.") }
            state.withLock { state in
                state.missed += sync.page.messages.count
                state.advance(sync.page.coverage.upper)
                state.rev = max(state.rev, sync.changedThrough)
            }
        }
    }

    private func nextPosition(_ state: State, _ target: Seq) -> LogPosition? {
        guard state.seq < target, let epoch = state.epoch else { return nil }
        return LogPosition(conversation: group, epoch: epoch, view: 0, seq: state.seq, rev: state.rev)
    }

    func close() {
        let connection = state.withLock { state in
            defer { state.connection = nil }
            return state.connection
        }
        connection?.close()
    }

    // MARK: Requests

    /// Sends a message to the group.
    ///
    /// The response contains its sequence number, and the sender gets no event.
    func send(_ submission: Submission) async throws {
        let answer = try await request(SendMessage(conversation: group, submission: submission))
        guard let seq = Self.seq(in: answer) else { throw BenchError("The response to a send has no sequence number.") }
        state.withLock { $0.insert(seq) }
    }

    /// Sends a request and waits for the response.
    ///
    /// - Throws: If the connection ends before the response, or if the server returns an error.
    func request(_ request: any FrameRequest) async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<[UInt8], any Error>) in
            let (connection, ref) = state.withLock { state -> ((any TransportConnection)?, Int64) in
                state.lastRef += 1
                if state.connection != nil {
                    state.replies[state.lastRef] = { continuation.resume(with: $0.mapError { $0 as any Error }) }
                }
                return (state.connection, state.lastRef)
            }
            guard let connection else { return continuation.resume(throwing: BenchError("Not connected.")) }
            connection.send(request.frame(ref: ref))
        }
    }

    fileprivate func received(_ frame: [UInt8]) {
        // Parse only the beginning of the frame. The server writes the required members first.
        if frame.starts(with: Self.message) {
            guard let seq = Self.seq(in: frame) else { return }
            state.withLock { $0.insert(seq) }
        } else if frame.starts(with: Self.result) {
            reply(to: Self.number(in: frame[Self.result.count...]), .success(frame))
        } else if frame.starts(with: Self.error) {
            let reason = BenchError(String(decoding: frame, as: UTF8.self))
            reply(to: Self.number(in: frame[Self.error.count...]), .failure(reason))
        } else if frame.starts(with: Self.welcome) {
            welcomed(true)
        }
    }

    private func reply(to ref: Int64, _ result: Result<[UInt8], BenchError>) {
        let reply = state.withLock { $0.replies.removeValue(forKey: ref) }
        reply?(result)
    }

    private func welcomed(_ isWelcome: Bool) {
        let welcome = state.withLock { state in
            defer { state.welcome = nil }
            return state.welcome
        }
        welcome?(isWelcome)
    }

    /// Handles a closed connection: all pending requests fail.
    fileprivate func ended(_ connection: any TransportConnection) {
        let replies = state.withLock { state -> [@Sendable (Result<[UInt8], BenchError>) -> Void] in
            guard state.connection === connection else { return [] }
            state.connection = nil
            defer { state.replies = [:] }
            return Array(state.replies.values)
        }
        for reply in replies { reply(.failure(BenchError("The connection ended."))) }
        welcomed(false)
    }

    private static let message = Array(#"{"type":"message""#.utf8)
    private static let result = Array(#"{"type":"result","ref":"#.utf8)
    private static let error = Array(#"{"type":"error","ref":"#.utf8)
    private static let welcome = Array(#"{"type":"welcome""#.utf8)
    private static let seq = Array(#""seq":"#.utf8)

    private static func number(in bytes: ArraySlice<UInt8>) -> Int64 {
        bytes.prefix { (0x30...0x39).contains($0) }.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// Returns the first sequence number in a frame.
    ///
    /// The server writes the message's own one before any user content.
    private static func seq(in frame: [UInt8]) -> Seq? {
        frame.prefix(400).firstRange(of: seq).map { number(in: frame[$0.upperBound...]) }
    }
}

/// Passes frames to the client and reports a closed connection, even if it closes before the client is attached.
private final class Relay: Sendable {
    private let state = Mutex<(client: StormClient?, connection: (any TransportConnection)?, isClosed: Bool)>(
        (nil, nil, false))

    var isClosed: Bool { state.withLock { $0.isClosed } }

    func attach(_ client: StormClient, _ connection: any TransportConnection) {
        state.withLock { ($0.client, $0.connection) = (client, connection) }
    }

    func handle(_ event: TransportEvent) {
        switch event {
        case .frame(let frame): state.withLock { $0.client }?.received(frame)
        case .closed:
            let (client, connection) = state.withLock { state in
                state.isClosed = true
                return (state.client, state.connection)
            }
            if let client, let connection { client.ended(connection) }
        }
    }
}
