import ScrollbackEngine
import ScrollbackModel

/// The threads for media files, on which one owner's work is done in the owner's turns.
struct FileThreads: Sendable {
    private let pool: ReaderPool
    private let owner: WorkOwner

    init(_ pool: ReaderPool, for owner: WorkOwner = .server) {
        self.pool = pool
        self.owner = owner
    }

    /// Returns the same threads for the work of another owner.
    func serving(_ owner: WorkOwner) -> FileThreads { FileThreads(pool, for: owner) }

    /// Runs blocking file operations.
    ///
    /// Internal errors are replaced by an error without paths. The original error is the new error's `cause`.
    func blocking<Answer: Sendable>(
        _ body: @escaping @Sendable () throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        try await run(body) { work, _ in pool.submit(for: owner, work) }
    }

    /// Runs the first file operations of a transfer.
    ///
    /// - Throws: `rate-limited` if too much work of the owner is waiting, and the errors of ``blocking(_:)``.
    func begin<Answer: Sendable>(
        _ body: @escaping @Sendable () throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        try await run(body) { work, refused in pool.submit(for: owner, work, refused: refused) }
    }

    private func run<Answer: Sendable>(
        _ body: @escaping @Sendable () throws(ChatError) -> Answer,
        submit: (_ work: @escaping @Sendable () -> Void, _ refused: @escaping @Sendable (ChatError) -> Void) -> Void
    ) async throws(ChatError) -> Answer {
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            submit(
                { continuation.resume(returning: Result(catching: body).mapError(\.withoutPaths)) },
                { continuation.resume(returning: .failure($0)) })
        }
        return try result.get()
    }
}

extension ChatError {
    /// The error for clients: an internal error is the cause of an error without paths.
    var withoutPaths: ChatError {
        guard code == .internalError else { return self }
        return ChatError(.internalError, "The file can't be read or written.", cause: self)
    }
}
