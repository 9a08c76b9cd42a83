/// A condition that was not met in time.
package struct ConditionNotMet: Error, CustomStringConvertible {
    package let description: String
}

/// Polls a condition until it is true. The default time limit is much longer than a loaded machine needs.
///
/// After each call, it pauses for as long as the call took, at least 5 and at most 100 milliseconds. A condition that
/// is expensive to check therefore leaves processor time for the work that it waits for.
///
/// - Returns: Whether the condition became true within the time limit.
package func eventually(within seconds: Double = 90, _ condition: () async throws -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(seconds)
    while true {
        let start = ContinuousClock.now
        if try await condition() { return true }
        let now = ContinuousClock.now
        guard now < end else { return false }
        try await Task.sleep(for: min(max(now - start, .milliseconds(5)), .milliseconds(100)))
    }
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
