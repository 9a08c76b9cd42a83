/// A condition that was not met in time.
package struct ConditionNotMet: Error, CustomStringConvertible {
    package let description: String
}

/// Polls a condition until it is true. The default time limit is much longer than a loaded machine needs.
///
/// - Returns: Whether the condition became true within the time limit.
package func eventually(within seconds: Double = 90, _ condition: () async throws -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(seconds)
    while try await !condition() {
        guard ContinuousClock.now < end else { return false }
        try await Task.sleep(for: .milliseconds(5))
    }
    return true
}

/// Polls `probe` until it returns a value.
///
/// - Throws: `ConditionNotMet` with the text `what` if the time runs out.
@discardableResult
package func eventually<Answer>(
    _ what: String, within seconds: Double = 90, _ probe: () async throws -> Answer?
) async throws -> Answer {
    var answer: Answer?
    _ = try await eventually(within: seconds) {
        answer = try await probe()
        return answer != nil
    }
    guard let answer else {
        throw ConditionNotMet(description: "The condition was not met within \(seconds) seconds: \(what).")
    }
    return answer
}
