import Foundation

/// A token that a service is shown: made when it is needed, kept until it is nearly over, and made once however many ask.
actor TokenCache {
    struct Token: Sendable {
        var text: String
        /// From when on another one is shown.
        var renewAt: Date
    }

    private let clock: @Sendable () -> Date
    /// How old one must be before another is made in its place because the service would not take it.
    private let leastAge: TimeInterval
    private let make: @Sendable () async throws -> Token
    private var current: (madeAt: Date, task: Task<Token, any Error>)?

    init(
        leastAge: TimeInterval, clock: @escaping @Sendable () -> Date,
        make: @escaping @Sendable () async throws -> Token
    ) {
        self.leastAge = leastAge
        self.clock = clock
        self.make = make
    }

    func token() async throws -> String {
        while let known = current {
            let token: Token
            do {
                token = try await known.task.value
            } catch {
                // Who asks next tries again.
                if current?.task == known.task { current = nil }
                throw error
            }
            if clock() < token.renewAt { return token.text }
            if current?.task == known.task { current = nil }
        }
        return try await begin()
    }

    /// Another one than one that the service would not take, unless that was made a moment ago.
    func token(after refused: String) async throws -> String {
        if let known = current, let token = try? await known.task.value, token.text == refused,
            clock().timeIntervalSince(known.madeAt) >= leastAge, current?.task == known.task
        {
            current = nil
        }
        return try await token()
    }

    private func begin() async throws -> String {
        let task = Task { [make] in try await make() }
        current = (clock(), task)
        do {
            // Shown though it may be nearly over: another one would be no better.
            return try await task.value.text
        } catch {
            if current?.task == task { current = nil }
            throw error
        }
    }
}
