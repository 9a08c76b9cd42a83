import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Fetching heads")
struct HeadFetchesTests {
    private let busy = ChatError(.overloaded, "The server is busy.")
    private let denied = ChatError(.forbidden, "You need the member role.")
    private let room: ConversationID = .room("lobby")
    private let garden: ConversationID = .group("garden")

    private func connected() -> HeadFetches {
        var heads = HeadFetches()
        heads.connected()
        return heads
    }

    @Test("Heads are not requested without a connection")
    func noRequestWithoutConnection() {
        var heads = HeadFetches()
        heads.fetch([swift])
        heads.storedUncertain(swift)
        heads.connected()
        #expect(heads.next { _ in true } == [])
    }

    @Test("A conversation that is needed again before its answer is requested once more after it")
    func neededAgain() {
        var heads = connected()
        heads.fetch([swift, garden, swift])
        #expect(heads.next { _ in true } == [garden, swift])
        heads.fetch([swift])
        heads.fetch([swift])
        #expect(heads.next { _ in true } == [] && heads.isInFlight(swift) && heads.isNeeded(swift))
        heads.answered([garden, swift])
        #expect(heads.next { _ in true } == [swift])
        heads.answered([swift])
        #expect(heads.next { _ in true } == [] && !heads.isInFlight(swift))
    }

    @Test("Rooms are requested only while the client is subscribed, and community roots never are")
    func onlySubscribedRoomsAreRequested() {
        var heads = connected()
        heads.fetch([room, .community("city")])
        #expect(heads.next { _ in false } == [])
        #expect(heads.next { _ in true } == [])
        heads.fetch([room])
        #expect(heads.next { $0 == room } == [room])
        heads.fetch([room])
        heads.answered([room])
        #expect(heads.next { _ in false } == [])
    }

    @Test("An uncertain head is requested again immediately, and later only after a delay")
    func uncertain() {
        var heads = connected()
        heads.storedUncertain(swift)
        #expect(heads.next { _ in true } == [swift] && !heads.isWaiting)
        heads.answered([swift])
        heads.storedUncertain(swift)
        #expect(heads.next { _ in true } == [] && heads.isWaiting)
        heads.tick()
        #expect(heads.next { _ in true } == [swift] && !heads.isWaiting)
        heads.answered([swift])
        heads.storedUncertain(swift)
        #expect(heads.next { _ in true } == [swift])
    }

    @Test("A temporary failure is retried after a delay, and a permanent failure is not retried")
    func failures() {
        var heads = connected()
        heads.fetch([swift, garden])
        _ = heads.next { _ in true }
        heads.failed([garden], busy)
        heads.failed([swift], denied)
        #expect(heads.next { _ in true } == [] && heads.isWaiting)
        heads.tick()
        #expect(heads.next { _ in true } == [garden])
    }

    @Test("A lost connection discards all requests and delays")
    func disconnected() {
        var heads = connected()
        heads.fetch([swift, garden])
        _ = heads.next { _ in true }
        heads.fetch([garden])
        heads.failed([swift], busy)
        heads.disconnected()
        heads.failed([garden], busy)
        heads.connected()
        heads.tick()
        #expect(heads.next { _ in true } == [] && !heads.isWaiting && !heads.isInFlight(garden))
    }

    @Test(
        "After random answers and failures, each needed head was requested after it was last needed", arguments: 1...500
    )
    func randomAnswersFetchEveryHead(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var run = RandomFetches()
        for step in 0..<120 {
            run.time = step
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3: run.fetch(using: &random)
            case 4: run.tick()
            case 5: if Int.random(in: 0..<5, using: &random) == 0 { run.reconnect() }
            default: try run.answer(using: &random)
            }
            try run.send()
        }
        // The server answers everything from now on.
        for step in 120... {
            guard !run.requests.isEmpty || run.heads.isWaiting else { break }
            try #require(step < 400, "The requests do not end.")
            run.time = step
            if run.requests.isEmpty { run.tick() } else { try run.answerAll() }
            try run.send()
        }
        #expect(run.needed.isEmpty)
    }
}

/// A random history of head requests, with the rules that each step must keep.
private struct RandomFetches {
    var heads = HeadFetches()
    var time = 0
    /// The requests in flight, and when they were sent.
    var requests: [(ids: [ConversationID], sent: Int)] = []
    /// When each conversation was last needed, unless a later request was answered.
    var needed: [ConversationID: Int] = [:]
    /// The number of requests that each conversation may still cause before the next tick.
    private var allowance: [ConversationID: Int] = [:]
    private let ids: [ConversationID] = (1...5).map { .group(try! Identifier("g\($0)")) }

    init() {
        heads.connected()
    }

    mutating func fetch(using random: inout SplitMix64) {
        need(ids.filter { _ in Bool.random(using: &random) })
    }

    private mutating func need(_ ids: [ConversationID]) {
        heads.fetch(ids)
        for id in ids {
            needed[id] = time
            allowance[id, default: 0] += 1
        }
    }

    mutating func send() throws {
        let batch = heads.next { _ in true }
        guard !batch.isEmpty else { return }
        for id in batch {
            try #require(!requests.contains { $0.ids.contains(id) }, "\(id) has two requests in flight.")
            allowance[id, default: 0] -= 1
            // One request repeats the first uncertain head.
            try #require(allowance[id, default: 0] >= -1, "\(id) is requested too often without a delay.")
        }
        requests.append((batch, time))
    }

    mutating func tick() {
        heads.tick()
        for id in ids { allowance[id] = max(0, allowance[id, default: 0]) + 1 }
    }

    mutating func reconnect() {
        heads.disconnected()
        heads.connected()
        requests = []
        allowance = [:]
        // The store knows which heads are needed.
        need(needed.keys.sorted())
    }

    /// Answers a random request: completely, partly, with an uncertain head, or with an error.
    mutating func answer(using random: inout SplitMix64) throws {
        guard let index = requests.indices.randomElement(using: &random) else { return }
        let (ids, sent) = requests.remove(at: index)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: heads.failed(ids, ChatError(.overloaded, "The server is busy."))
        case 1:
            heads.failed(ids, ChatError(.forbidden, "You need the member role."))
            settle(ids, sent)
        case 2:
            heads.answered(ids)
            let rest = ids.suffix(ids.count / 2)
            settle(ids.dropLast(rest.count), sent)
            need(Array(rest))
        case 3:
            heads.answered(ids)
            settle(ids, sent)
            heads.storedUncertain(ids[0])
            needed[ids[0]] = time
        default:
            heads.answered(ids)
            settle(ids, sent)
        }
    }

    mutating func answerAll() throws {
        for (ids, sent) in requests {
            heads.answered(ids)
            settle(ids, sent)
        }
        requests = []
    }

    /// Removes the needs that a finished request covers.
    private mutating func settle(_ ids: some Sequence<ConversationID>, _ sent: Int) {
        for id in ids where needed[id].map({ $0 <= sent }) ?? false { needed[id] = nil }
    }
}
