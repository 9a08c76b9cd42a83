import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Gap filling")
struct GapFillTests {
    private let request = GapRequest(gap: 1...50, anchor: 51, direction: .older, limit: 50)
    private let other = GapRequest(gap: 1...20, anchor: 21, direction: .older, limit: 20)
    private var random = SplitMix64(seed: 1)
    private let busy = ChatError(.overloaded, "The server is busy.")

    @Test("At most one gap request is in flight")
    func oneInFlight() {
        var fill = GapFill()
        #expect(fill.next(request, now: noon) == .ask(request))
        #expect(fill.next(other, now: noon) == .idle)
        fill.answered(request, changedGaps: true)
        #expect(fill.next(other, now: noon) == .ask(other))
        #expect(fill.next(nil, now: noon) == .idle)
    }

    @Test("A failed gap request is followed by a wait")
    mutating func waits() {
        var fill = GapFill()
        _ = fill.next(request, now: noon)
        fill.failed(request, busy, now: noon, using: &random)
        guard case .wait(let until) = fill.next(request, now: noon) else {
            Issue.record("The gap request was not delayed.")
            return
        }
        #expect((0.25...0.5).contains(until.timeIntervalSince(noon)))
        #expect(fill.next(request, now: until) == .ask(request))
    }

    @Test("A gap request waits for the retry time that the server names")
    mutating func retryAfter() {
        var fill = GapFill()
        _ = fill.next(request, now: noon)
        fill.failed(request, ChatError(.rateLimited, "Too many requests.", retryAfter: 7), now: noon, using: &random)
        #expect(fill.next(request, now: noon) == .wait(until: noon + 7))
    }

    @Test("Two answers without progress stop the gap requests until something else changes")
    func noProgress() {
        var fill = GapFill()
        for _ in 1...2 {
            #expect(fill.next(request, now: noon) == .ask(request))
            fill.answered(request, changedGaps: false)
        }
        #expect(fill.isStuck)
        #expect(fill.next(request, now: noon) == .idle)
        fill.allowRequests()
        #expect(fill.next(request, now: noon) == .ask(request))
    }

    @Test("A gap request is not repeated after a permanent failure")
    mutating func permanentFailure() {
        var fill = GapFill()
        _ = fill.next(request, now: noon)
        fill.failed(request, ChatError(.forbidden, "The request is refused."), now: noon, using: &random)
        #expect(fill.next(request, now: noon + 100) == .idle)
    }

    @Test("A late answer to an abandoned gap request does not end the current one")
    func lateAnswer() {
        var fill = GapFill()
        _ = fill.next(request, now: noon)
        fill.disconnected()
        #expect(fill.next(other, now: noon) == .ask(other))
        fill.answered(request, changedGaps: true)
        #expect(fill.inFlight == other)
    }
}
