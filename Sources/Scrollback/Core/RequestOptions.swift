import ScrollbackModel

/// How long the server may take to answer a question, and how often the question is asked again.
///
/// It is for what is asked and answered: pages, counts, searches, single messages. What is sent waits in the outbox and
/// needs none of this.
public struct RequestOptions: Hashable, Sendable {
    /// How long the server may take for each answer, 0.1...600 seconds; then the error is `timeout`.
    public var timeout: Duration
    /// How often a question is asked again after an error that is temporary, 0...10 times, with a growing wait between.
    public var retries: Int

    /// Options; what is left out is as without any.
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

/// Asks the server with other options than usual.
///
/// ```swift
/// let page = try await withRequestOptions(.init(timeout: .seconds(60), retries: 3)) {
///     try await chat.history(from: .remote)
/// }
/// ```
///
/// - Parameters:
///   - options: those of everything that is asked within; out of range, that is `invalid-parameter`.
///   - isolation: where the body runs.
///   - body: what asks.
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
    guard let result else { preconditionFailure("withValue runs its operation") }
    return try result.get()
}
