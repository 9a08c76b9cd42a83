import Foundation

/// Runs an operation with a deadline for its complete result.
///
/// AsyncHTTPClient's own deadline covers only the response head, but a slow body could take forever.
///
/// - Throws: `URLError.timedOut` after `time`, or the operation's error.
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
