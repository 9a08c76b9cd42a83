import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Filling gaps")
struct GapFillTests {
    private let request = GapRequest(gap: 1...50, anchor: 51, direction: .older, limit: 50)
    private let other = GapRequest(gap: 1...20, anchor: 21, direction: .older, limit: 20)
    private var random = SplitMix64(seed: 1)
    private let busy = ChatError(.overloaded, "is busy")

    @Test("One request is in flight at a time")
    func oneInFlight() {
        var fill = GapFill()
        #expect(fill.next(request, now: noon) == .ask(request))
        #expect(fill.next(other, now: noon) == .rest)
        fill.answered(request, changedGaps: true)
        #expect(fill.next(other, now: noon) == .ask(other))
        #expect(fill.next(nil, now: noon) == .rest)
    }

    @Test("A failure is followed by a wait")
    mutating func waits() {
        var fill = GapFill()
        _ = fill.next(request, now: noon)
        fill.failed(request, busy, now: noon, using: &random)
        guard case .wait(let until) = fill.next(request, now: noon) else {
            Issue.record("does not wait")
            return
        }
        #expect((0.25...0.5).contains(until.timeIntervalSince(noon)))
        #expect(fill.next(request, now: until) == .ask(request))
    }

    @Test("A server that says when is taken at its word")
    mutating func retryAfter() {
        var fill = GapFill()
        _ = fill.next(request, now: noon)
        fill.failed(request, ChatError(.rateLimited, "too many", retryAfter: 7), now: noon, using: &random)
        #expect(fill.next(request, now: noon) == .wait(until: noon + 7))
    }

    @Test("Two answers in a row that change nothing end the asking until something else changes")
    func noProgress() {
        var fill = GapFill()
        for _ in 1...2 {
            #expect(fill.next(request, now: noon) == .ask(request))
            fill.answered(request, changedGaps: false)
        }
        #expect(fill.isStuck)
        #expect(fill.next(request, now: noon) == .rest)
        fill.somethingChanged()
        #expect(fill.next(request, now: noon) == .ask(request))
    }

    @Test("What trying again can't mend is not tried again")
    mutating func permanentFailure() {
        var fill = GapFill()
        _ = fill.next(request, now: noon)
        fill.failed(request, ChatError(.forbidden, "no"), now: noon, using: &random)
        #expect(fill.next(request, now: noon + 100) == .rest)
    }

    @Test("An answer nobody waits for any more frees nothing")
    func lateAnswer() {
        var fill = GapFill()
        _ = fill.next(request, now: noon)
        fill.disconnected()
        #expect(fill.next(other, now: noon) == .ask(other))
        fill.answered(request, changedGaps: true)
        #expect(fill.inFlight == other)
    }
}
