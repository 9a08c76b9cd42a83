import Foundation

/// Caches the access token of a push service. Concurrent callers share one token request.
actor TokenCache {
    struct Token: Sendable {
        var text: String
        /// The time from which a new token is used.
        var renewAt: Date
    }

    private let clock: @Sendable () -> Date
    /// The minimum age in seconds of a rejected token before it is replaced.
    private let minimumAge: TimeInterval
    private let make: @Sendable () async throws -> Token
    private var current: (madeAt: Date, task: Task<Token, any Error>)?

    init(
        minimumAge: TimeInterval, clock: @escaping @Sendable () -> Date,
        make: @escaping @Sendable () async throws -> Token
    ) {
        self.minimumAge = minimumAge
        self.clock = clock
        self.make = make
    }

    func token() async throws -> String {
        while let known = current {
            let token: Token
            do {
                token = try await known.task.value
            } catch {
                // The next caller tries again.
                if current?.task == known.task { current = nil }
                throw error
            }
            if clock() < token.renewAt { return token.text }
            if current?.task == known.task { current = nil }
        }
        return try await begin()
    }

    /// Returns a token after the service rejected one.
    ///
    /// A token that was just created is not replaced.
    func token(after refused: String) async throws -> String {
        if let known = current, let token = try? await known.task.value, token.text == refused,
            clock().timeIntervalSince(known.madeAt) >= minimumAge, current?.task == known.task
        {
            current = nil
        }
        return try await token()
    }

    private func begin() async throws -> String {
        let task = Task { [make] in try await make() }
        current = (clock(), task)
        do {
            // Use the token even if it is about to expire, because a new one would not last longer.
            return try await task.value.text
        } catch {
            if current?.task == task { current = nil }
            throw error
        }
    }
}
