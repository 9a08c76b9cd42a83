import Foundation

/// Waits for an answer no longer than it may take, all of it.
///
/// A client's own deadline ends with the answer's head: a body may drip for ever after it.
package func withDeadline<Answer: Sendable>(
    _ time: Duration, _ body: @escaping @Sendable () async throws -> Answer
) async throws -> Answer {
    try await withThrowingTaskGroup(of: Answer?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: time)
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next(), let answer = first else { throw URLError(.timedOut) }
        return answer
    }
}
