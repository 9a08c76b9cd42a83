import Observation
import Testing

/// Waits until something that a model says holds, woken by observation alone, as a screen is.
@MainActor
func shows(
    within limit: Duration = .seconds(60), at location: SourceLocation = #_sourceLocation,
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
            Issue.record("the model never showed what was waited for", sourceLocation: location)
            throw CancellationError()
        }
        await watch.next()
    }
}

/// Something that wakes one who waits, also where it came before.
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

/// How often what a model says changed, as a screen that draws itself again would count it.
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
            // Told before the change: looked at again once the turn is over.
            Task { @MainActor in
                self?.count += 1
                self?.watch()
            }
        }
    }
}
