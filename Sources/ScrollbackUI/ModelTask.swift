/// The loop that keeps a model current: it ends with the model.
final class ModelTask: Sendable {
    let task: Task<Void, Never>

    /// Hands a model every value of a sequence, and what else is to be drawn its turn after each.
    ///
    /// - Parameters:
    ///   - model: not kept: when nobody has it any more, the loop ends.
    ///   - values: which keeps only the newest value while nobody takes it, so that many changes are one.
    ///   - take: what the model does with one.
    @MainActor
    init<Model: AnyObject & Sendable, Values: AsyncSequence & Sendable>(
        of model: Model, following values: Values, take: @escaping @MainActor (Model, Values.Element) -> Void
    ) where Values.Failure == Never, Values.Element: Sendable {
        // Nothing here has the model while it waits.
        let isTaken: @MainActor (Values.Element) -> Bool = { [weak model] value in
            guard let model else { return false }
            take(model, value)
            return true
        }
        task = Task { @MainActor in
            for await value in values {
                // What was on its way when the model began to follow something else is late.
                guard !Task.isCancelled, isTaken(value) else { return }
                await Task.yield()
            }
        }
    }

    deinit { task.cancel() }
}
