/// A task that updates a model from a sequence and ends when the model is deallocated.
final class ModelTask: Sendable {
    let task: Task<Void, Never>

    /// Starts a loop that passes each value of a sequence to a model, and yields the main actor after each value.
    ///
    /// - Parameters:
    ///   - model: The model, which the task references weakly.
    ///   - values: A sequence that buffers only the newest value, so that several changes become one update.
    ///   - update: Updates the model with a value.
    @MainActor
    init<Model: AnyObject & Sendable, Values: AsyncSequence & Sendable>(
        of model: Model, following values: Values, update: @escaping @MainActor (Model, Values.Element) -> Void
    ) where Values.Failure == Never, Values.Element: Sendable {
        // The task must not hold a strong reference to the model while it waits.
        let deliver: @MainActor (Values.Element) -> Bool = { [weak model] value in
            guard let model else { return false }
            update(model, value)
            return true
        }
        task = Task { @MainActor in
            for await value in values {
                // After cancellation, the model follows another sequence, and this value is outdated.
                guard !Task.isCancelled, deliver(value) else { return }
                await Task.yield()
            }
        }
    }

    deinit { task.cancel() }
}
