import HTTPTypes
import Hummingbird
import NIOCore
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    /// The route of a registered operation, or `nil` for one that only the WebSocket has.
    init?(operation: any Executable.Type) {
        guard let address = operation.endpoint.http else { return nil }
        if let read = operation as? any ReadOperation.Type {
            self.init(read: read, HTTPParameters(of: read, at: address))
        } else {
            self.init(operation, HTTPParameters(of: operation, at: address))
        }
    }

    private init(_ operation: (some Executable).Type, _ address: Endpoint.Address, _ handler: @escaping Handler) {
        let endpoint = operation.endpoint
        self.init(
            HTTPRequest.Method(rawValue: address.method.rawValue) ?? .get, address.path, name: operation.name,
            access: endpoint.access, cost: endpoint.cost, handler)
    }

    /// An operation that reads: the work of a request is done in one go, on a thread that may wait for the disk.
    private init<Operation: ReadOperation>(read operation: Operation.Type, _ parameters: HTTPParameters) {
        self.init(operation, parameters.address) { scope, request, context throws(ChatError) in
            let verified = try await scope.tokens.verify(try scope.bearer(request))
            let owner = WorkOwner(verified.caller)
            // A body may take long to arrive, so the user is checked before it.
            if parameters.hasBody { _ = try await scope.authorize(verified) }
            let body = try await parameters.body(of: request, from: owner, scope)
            let path = context.parameters
            return try await scope.read(for: owner) { engine in
                if !parameters.hasBody { try scope.authorize(verified, owner, engine) }
                let operation: Operation = try parameters.operation(of: request, path, body, scope)
                try scope.takeTokens(operation.tokens, taken: 1, of: owner)
                return respond(try operation.run(engine, verified.caller))
            }
        }
    }

    private init<Operation: Executable>(_ operation: Operation.Type, _ parameters: HTTPParameters) {
        self.init(operation, parameters.address) { scope, request, context throws(ChatError) in
            // A body may take long to arrive. The operation refuses users who are erased in the meantime.
            let erasureCount = scope.engine.erasureCount
            let caller = try await scope.caller(request)
            let body = try await parameters.body(of: request, from: WorkOwner(caller), scope)
            let operation: Operation = try parameters.operation(of: request, context.parameters, body, scope)
            // The first token was taken before the body was read.
            try scope.takeTokens(operation.tokens, taken: 1, of: WorkOwner(caller))
            return respond(try await scope.execute(operation, by: caller, erasureCount: erasureCount))
        }
    }
}

/// Where the parameters of an operation are in its HTTP request.
private struct HTTPParameters {
    let address: Endpoint.Address
    /// The names of the parameters in the path.
    let names: [String]
    /// The names of the parameters in the query or the body.
    let known: [String]
    let hasBody: Bool
    /// Whether unknown members of the body are always refused.
    let isStrict: Bool

    init(of operation: (some Executable).Type, at address: Endpoint.Address) {
        self.address = address
        let names = address.path.split(separator: "/").compactMap { segment in
            segment.hasPrefix("{") ? String(segment.dropFirst().dropLast()) : nil
        }
        self.names = names
        known = RequestDocumentation(of: operation).parameters
            .filter { $0.transport != .webSocket && !names.contains($0.name) }.map(\.name)
        hasBody = address.method.hasBody && !known.isEmpty
        isStrict = operation.endpoint.isStrict
    }

    func body(
        of request: Request, from owner: WorkOwner, _ scope: RequestScope
    ) async throws(ChatError) -> JSONMembers {
        guard hasBody else { return JSONMembers() }
        var reader = try await scope.json(request, from: owner)
        return try JSONMembers(&reader)
    }

    /// Reads an operation from its request.
    ///
    /// - Throws: `invalid-parameter` if a parameter is invalid, missing or unknown.
    func operation<Operation: Executable>(
        of request: Request, _ path: Parameters, _ body: JSONMembers, _ scope: RequestScope
    ) throws(ChatError) -> Operation {
        var segments: [String: String] = [:]
        for name in names { segments[name] = try scope.segment(name, path) }
        if address.method.hasBody { try scope.refuseQuery(of: request) }
        let query = try scope.query(request)
        var reader = RequestReader(path: segments, query: query, body: body, limits: scope.engine.limits)
        let operation = try Operation(from: &reader)
        try reader.refuseUnknownNames(
            besides: known, includingBody: isStrict || request.prefersStrictHandling)
        return operation
    }
}

/// Creates the response with an operation's answer.
private func respond<Answer: OperationAnswer>(_ answer: Answer) -> Response {
    guard Answer.schema != nil, answer.status != 204 else { return Response(status: .init(code: answer.status)) }
    return respond(.init(code: answer.status)) { answer.writeBody(to: &$0) }
}

extension RequestScope {
    fileprivate func execute<Request: Executable>(
        _ operation: Request, by caller: Caller, erasureCount: Int
    ) async throws(ChatError) -> Request.Answer {
        let pool = pools[cost.pool]
        return try await write { _, completion in
            let context = OperationContext(
                engine: engine, caller: caller, erasureCount: erasureCount,
                offload: { work in
                    // Work that is refused doesn't run, so it doesn't complete the request either.
                    pool.submit(for: WorkOwner(caller), work) { completion(.failure($0)) }
                }, startCleanup: { [tidy] in tidy.runNow() })
            operation.execute(context, completion: completion)
        }
    }
}
