import ScrollbackEngine
import ScrollbackModel
import Testing

@testable import ScrollbackServer

@Suite struct BodyBudgetTests {
    private let metrics = ServerMetrics()
    private let alice = WorkOwner(Caller(user: "alice"))
    private let bob = WorkOwner(Caller(user: "bob"))
    private let carol = WorkOwner(Caller(user: "carol"))

    /// Returns the code with which a body of so many bytes is refused.
    private func refusal(_ budget: BodyBudget, _ bytes: Int, _ owner: WorkOwner) async -> ChatError.Code? {
        do {
            try await budget.reserving(bytes, for: owner) { () throws(ChatError) in }
            return nil
        } catch {
            return error.retryAfter == nil ? .internalError : error.code
        }
    }

    @Test func `A user's bodies are bounded, and leave room for those of others`() async throws {
        let budget = BodyBudget(limits: (own: 100, total: 250), metrics: metrics)
        try await budget.reserving(60, for: alice) { () throws(ChatError) in
            #expect(await refusal(budget, 41, alice) == .rateLimited)
            #expect(await refusal(budget, 40, alice) == nil)
            try await budget.reserving(100, for: bob) { () throws(ChatError) in
                #expect(await refusal(budget, 91, carol) == .overloaded)
                #expect(await refusal(budget, 90, carol) == nil)
            }
        }
        #expect(metrics.total("scrollback_refused_bodies_total") == 2)
    }

    @Test func `A body counts until it has arrived or failed`() async throws {
        let budget = BodyBudget(limits: (own: 100, total: 100), metrics: metrics)
        for _ in 0..<3 {
            try await budget.reserving(100, for: alice) { () throws(ChatError) in }
            _ = try? await budget.reserving(100, for: alice) { () throws(ChatError) in
                throw ChatError(.malformed, "The body ended early.")
            }
        }
        #expect(await refusal(budget, 100, bob) == nil)
    }
}
