import Observation
import Testing

/// Waits until a condition on a model is true, and checks it only when observation reports a change, as a view does.
@MainActor
func shows(
    within limit: Duration = .seconds(240), at location: SourceLocation = #_sourceLocation,
    _ isRight: @MainActor () -> Bool
) async throws {
    let watch = Watch()
    let timeout = Task {
        try await Task.sleep(for: limit)
        watch.wake()
    }
    defer { timeout.cancel() }
    let deadline = ContinuousClock.now + limit
    while !withObservationTracking({ isRight() }, onChange: { watch.wake() }) {
        guard ContinuousClock.now < deadline else {
            Issue.record("The model did not meet the condition in time.", sourceLocation: location)
            throw CancellationError()
        }
        await watch.next()
    }
}

/// Starts to repeat an action each second, until the caller cancels it.
///
/// A typing signal ends after a few seconds, and a busy machine can miss it.
@MainActor
func repeating(_ action: @escaping @MainActor () -> Void) -> Task<Void, any Error> {
    Task {
        for _ in 1...60 where !Task.isCancelled {
            action()
            try await Task.sleep(for: .seconds(1))
        }
    }
}

/// A signal that a waiting task receives even if it was sent before the task started to wait.
final class Watch: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func wake() { continuation.yield() }

    func next() async {
        for await _ in stream { return }
    }
}

/// Counts the updates of a model, as a view that redraws itself would.
@MainActor
final class Updates {
    private(set) var count = 0
    private let look: @MainActor () -> Void

    init(_ look: @escaping @MainActor () -> Void) {
        self.look = look
        watch()
    }

    private func watch() {
        withObservationTracking(look) { [weak self] in
            // Observation reports the change before it happens, so the new value is read in a later turn.
            Task { @MainActor in
                self?.count += 1
                self?.watch()
            }
        }
    }
}
