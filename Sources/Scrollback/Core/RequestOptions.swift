import ScrollbackModel

/// The timeout and the number of retries of requests.
///
/// The options apply to requests that are answered immediately, such as pages of history, counts, searches and single
/// messages. They don't apply to messages and changes, which the outbox sends.
public struct RequestOptions: Hashable, Sendable {
    /// The timeout for each attempt, 0.1...600 seconds.
    ///
    /// After it the request fails with `timeout`.
    public var timeout: Duration
    /// The number of retries after a temporary error, 0...10, with exponential backoff.
    public var retries: Int

    /// Creates options with the given values; the defaults are those of requests without options.
    public init(timeout: Duration = .seconds(20), retries: Int = 0) {
        self.timeout = timeout
        self.retries = retries
    }

    static let standard = RequestOptions()

    @TaskLocal static var current = RequestOptions.standard

    func validated() throws(ChatError) -> RequestOptions {
        guard (.milliseconds(100)...Duration.seconds(600)).contains(timeout) else {
            throw .invalidParameter("timeout", "must be in 0.1...600 seconds")
        }
        guard (0...10).contains(retries) else { throw .invalidParameter("retries", "must be in 0...10", limit: 10) }
        return self
    }
}

/// Runs `body` with other request options.
///
/// ```swift
/// let page = try await withRequestOptions(.init(timeout: .seconds(60), retries: 3)) {
///     try await chat.history(from: .remote)
/// }
/// ```
///
/// - Parameters:
///   - options: The options of every request that `body` sends. Requests fail with `invalid-parameter` if a value is
///     out of range.
///   - isolation: The actor that `body` runs on.
///   - body: The operation that sends the requests.
public func withRequestOptions<Value, Failure>(
    _ options: RequestOptions, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws(Failure) -> Value
) async throws(Failure) -> Value {
    var result: Result<Value, Failure>?
    await RequestOptions.$current.withValue(
        options,
        operation: {
            do throws(Failure) {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
        }, isolation: isolation)
    guard let result else { preconditionFailure("TaskLocal.withValue didn't run its operation.") }
    return try result.get()
}
