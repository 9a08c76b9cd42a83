extension Task where Failure == Never {
    /// The task's value, or `nil` if the waiting task is cancelled first.
    ///
    /// In that case this task continues.
    var valueUnlessCancelled: Success? {
        get async {
            let (stream, continuation) = AsyncStream.makeStream(of: Success.self)
            Task<Void, Never> {
                continuation.yield(await value)
                continuation.finish()
            }
            return await stream.first { _ in true }
        }
    }
}
