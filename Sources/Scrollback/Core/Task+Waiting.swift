extension Task where Failure == Never {
    /// What it comes to; nothing where whoever waits is cancelled before, and then the task goes on.
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
