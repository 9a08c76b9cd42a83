import Foundation
import ScrollbackEngine
import ScrollbackModel
import Synchronization
import Testing

@testable import ScrollbackPush

@Suite("Batched pushes")
struct PushBatcherTests {
    private struct Push: BatchablePush {
        var number: Int
        var name: String
        var size = 1
    }

    /// A service that blocks until `open()`, and then answers each push with its number.
    private final class Service: Sendable {
        private struct State {
            var requests: [[Push]] = []
            var underWay = 0
            var mostUnderWay = 0
            var isOpen = false
            var waiting: [CheckedContinuation<Void, Never>] = []
        }

        private let state = Mutex(State())

        var requests: [[Push]] { state.withLock { $0.requests } }
        var mostUnderWay: Int { state.withLock { $0.mostUnderWay } }

        func post(_ pushes: [Push]) async -> [PushOutcome] {
            state.withLock { state in
                state.requests.append(pushes)
                state.underWay += 1
                state.mostUnderWay = max(state.mostUnderWay, state.underWay)
            }
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    if !state.isOpen { state.waiting.append(continuation) }
                    return state.isOpen
                }
                if isOpen { continuation.resume() }
            }
            state.withLock { $0.underWay -= 1 }
            return pushes.map { Task.isCancelled ? .later(after: nil, "") : .refused("\($0.number)") }
        }

        func close() { state.withLock { $0.isOpen = false } }

        func open() {
            let waiting = state.withLock { state in
                defer { (state.isOpen, state.waiting) = (true, []) }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    /// Sends the pushes, waits until all of them are queued or in flight, and then opens the service.
    ///
    /// - Returns: The outcome of each push.
    private func send(
        _ pushes: [Push], to service: Service, over batcher: PushBatcher<Push>
    ) async throws -> [PushOutcome] {
        let outcomes = Shared<[Int: PushOutcome]>([:])
        let begun = Shared(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for push in pushes {
                group.addTask {
                    begun.update { $0 += 1 }
                    let outcome = await batcher.send(push)
                    outcomes.update { $0[push.number] = outcome }
                }
            }
            while begun.value < pushes.count { try await Task.sleep(for: .milliseconds(1)) }
            try await Task.sleep(for: .milliseconds(100))
            service.open()
            try await group.waitForAll()
        }
        return pushes.compactMap { outcomes.value[$0.number] }
    }

    @Test(
        "Pushes that arrive during requests share the next request, and each gets its own outcome",
        .timeLimit(.minutes(2)))
    func concurrentPushesShareTheNextRequest() async throws {
        let service = Service()
        let batcher = PushBatcher(maximumRequests: 3, pushes: 40, bytes: 1000, timeout: .seconds(3600)) {
            await service.post($0)
        }
        let pushes = (0..<200).map { Push(number: $0, name: "\($0)") }
        #expect(try await send(pushes, to: service, over: batcher) == (0..<200).map { .refused("\($0)") })
        let requests = service.requests
        // The first pushes go at once, without waiting for others.
        #expect(requests.prefix(3).map(\.count) == [1, 1, 1])
        #expect(requests.flatMap { $0 }.map(\.number).sorted() == Array(0..<200))
        #expect(requests.allSatisfy { $0.count <= 40 } && requests.count < 40, "\(requests.map(\.count))")
        #expect(service.mostUnderWay == 3)
        // After the load, three pushes again go at once.
        service.close()
        #expect(try await send(Array(pushes.prefix(3)), to: service, over: batcher).count == 3)
        #expect(service.requests.dropFirst(requests.count).map(\.count) == [1, 1, 1])
    }

    @Test("A push whose turn does not come is retried later and does not block other pushes", .timeLimit(.minutes(2)))
    func delayedPushBlocksNoOtherPush() async throws {
        let service = Service()
        let batcher = PushBatcher(maximumRequests: 2, pushes: 10, bytes: 100, timeout: .milliseconds(10)) {
            await service.post($0)
        }
        let pushes = (0..<30).map { Push(number: $0, name: "\($0)") }
        let outcomes = try await send(pushes, to: service, over: batcher)
        let sent = service.requests.flatMap { $0 }.map(\.number)
        #expect(sent.count >= 2 && sent.count < 30)
        for (number, outcome) in outcomes.enumerated() {
            let wanted: PushOutcome =
                sent.contains(number) ? .refused("\(number)") : .later(after: nil, "timed out waiting for a request")
            #expect(outcome == wanted)
        }
        #expect(await batcher.send(pushes[7]) == .refused("7"))
    }

    @Test("A request has unique names and stays below the byte limit")
    func limits() async throws {
        let service = Service()
        let batcher = PushBatcher(maximumRequests: 1, pushes: 100, bytes: 50, timeout: .seconds(3600)) {
            await service.post($0)
        }
        let pushes = (0..<90).map { Push(number: $0, name: "\($0 % 7)", size: $0 == 60 ? 80 : 1 + $0 % 10) }
        #expect(try await send(pushes, to: service, over: batcher) == (0..<90).map { .refused("\($0)") })
        for request in service.requests {
            #expect(Set(request.map(\.name)).count == request.count)
            #expect(request.count == 1 || request.reduce(0) { $0 + $1.size } <= 50)
        }
        #expect(service.requests.contains { $0.map(\.number) == [60] })
        #expect(service.requests.count < 45, "\(service.requests.map(\.count))")
    }

    @Test("Queued pushes continue when the task that sends is cancelled", .timeLimit(.minutes(2)))
    func cancelled() async throws {
        let service = Service()
        let batcher = PushBatcher(maximumRequests: 1, pushes: 10, bytes: 100) { await service.post($0) }
        let first = Task { await batcher.send(Push(number: 1, name: "1")) }
        while service.requests.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        async let second = batcher.send(Push(number: 2, name: "2"))
        try await Task.sleep(for: .milliseconds(50))
        first.cancel()
        service.open()
        #expect(await first.value == .later(after: nil, ""))
        #expect(await second == .refused("2"))
    }
}
