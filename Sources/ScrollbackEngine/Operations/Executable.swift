package import Foundation
package import ScrollbackModel
package import ScrollbackWire

/// An operation that the engine can carry out.
///
/// Conform to ``ReadOperation`` or ``WriteOperation`` where one of them fits, and to this protocol otherwise.
package protocol Executable: ChatOperation {
    /// Begins the operation, and completes with its answer.
    ///
    /// Never blocks. Writes that one caller begins one after the other on the same thread are carried out in that
    /// order.
    ///
    /// - Parameter completion: Called once, on any thread.
    func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>)
}

/// An operation that only reads.
///
/// It runs on a thread that may wait for the disk. Over the WebSocket, `execute` moves the work to such a thread. Over
/// HTTP, the route calls `run` on the thread that authorized the request. A custom `execute` therefore has no effect
/// over HTTP: conform to ``Executable`` instead.
package protocol ReadOperation: Executable {
    /// Reads the answer from one snapshot of the store.
    func run(_ engine: Engine, _ caller: Caller) throws -> Answer
}

extension ReadOperation {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        context.offload {
            completion(Result { try run(context.engine, context.caller) }.mapError(ChatError.init(wrapping:)))
        }
    }
}

/// An operation that changes the store.
///
/// It runs inside the transaction of the writer thread, together with other requests.
package protocol WriteOperation: Executable {
    /// Checks the request, then changes rows and publishes events.
    ///
    /// All checks come before the first change: an operation that throws must have changed nothing, because
    /// the other requests of the transaction are committed.
    func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer

    /// The rows that the operation will probably read, so that PostgreSQL reads them ahead.
    ///
    /// The default is an empty list, for rare operations.
    func footprints(for caller: Caller) -> [Footprint]

    /// Called on the writer thread when the transaction is on disk, before the caller gets the answer.
    func didCommit(_ context: OperationContext)
}

extension WriteOperation {
    package func footprints(for caller: Caller) -> [Footprint] { [] }

    package func didCommit(_ context: OperationContext) {}

    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        context.engine.commits.submit(
            for: WorkOwner(context.caller), about: footprints(for: context.caller),
            { transaction in
                try context.engine.checkNotErased(context.caller.user, since: context.erasureCount)
                return try run(transaction, context)
            }
        ) { result in
            if case .success = result { didCommit(context) }
            completion(result)
        }
    }
}

/// The circumstances of a request, besides its parameters: the caller, the time of arrival and the connection.
package struct OperationContext: Sendable {
    package let engine: Engine
    package let caller: Caller
    /// When the request arrived.
    package let arrival: Date
    /// The value of ``Engine/erasureCount`` when the server began with the request.
    ///
    /// A ``WriteOperation`` from before the caller's erasure is refused. Another operation that stores data of the
    /// caller passes the value to `erasing.check`.
    package let erasureCount: Int
    /// The connection the request came over, or `nil` for HTTP.
    package let session: Session?
    /// Runs a closure on a thread that may wait for the disk.
    let offload: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// Starts removing expired messages and files in the background.
    package let startCleanup: @Sendable () -> Void

    package init(
        engine: Engine, caller: Caller, erasureCount: Int? = nil, session: Session? = nil,
        offload: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        startCleanup: @escaping @Sendable () -> Void = {}
    ) {
        self.engine = engine
        self.caller = caller
        arrival = engine.clock()
        self.erasureCount = erasureCount ?? engine.erasureCount
        self.session = session
        self.offload = offload
        self.startCleanup = startCleanup
    }

    var permissions: Permissions { engine.permissions }
}

extension Executable {
    /// Executes the operation, and completes with an answer whose type the caller doesn't know.
    package func executeErased(
        _ context: OperationContext,
        completion: @escaping @Sendable (Result<any OperationAnswer, ChatError>) -> Void
    ) {
        execute(context) { completion($0.map { $0 as any OperationAnswer }) }
    }
}

extension Engine {
    /// Checks the caller's token and executes an operation.
    ///
    /// A ``ReadOperation`` runs on the calling thread, and completes before the call returns. Tools and tests use this
    /// method, because they have no transport.
    package func execute<Request: Executable>(
        _ operation: Request, by caller: Caller, completion: @escaping Completion<Request.Answer>
    ) {
        do {
            try Request.endpoint.access.check(caller)
        } catch {
            return completion(.failure(error))
        }
        operation.execute(OperationContext(engine: self, caller: caller, offload: { $0() }), completion: completion)
    }
}
