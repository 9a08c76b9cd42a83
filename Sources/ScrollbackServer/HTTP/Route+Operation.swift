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
        self.init(operation, address)
    }

    private init<Request: Executable>(_ operation: Request.Type, _ address: Endpoint.Address) {
        let endpoint = Request.endpoint
        let names = address.path.split(separator: "/").compactMap { segment in
            segment.hasPrefix("{") ? String(segment.dropFirst().dropLast()) : nil
        }
        let hasBody =
            address.method.hasBody
            && RequestDocumentation(of: operation).parameters.contains {
                $0.transport != .webSocket && !names.contains($0.name)
            }
        self.init(
            HTTPRequest.Method(rawValue: address.method.rawValue) ?? .get, address.path, name: endpoint.name,
            access: endpoint.access, cost: endpoint.cost
        ) { scope, request, context throws(ChatError) in
            // A body may take long to arrive. Users who are erased in the meantime are refused.
            let erasureCount = scope.engine.erasureCount
            let caller = try await scope.caller(request)
            var path: [String: String] = [:]
            for name in names { path[name] = try scope.segment(name, context) }
            var body = JSONMembers()
            if hasBody {
                var reader = try await scope.json(request)
                body = try JSONMembers(&reader)
            }
            var reader = RequestReader(
                path: path, query: address.method.hasBody ? [:] : try scope.query(request), body: body,
                limits: scope.engine.limits)
            let operation = try Request(from: &reader)
            // The first token was taken before the body was read.
            try scope.takeTokens(operation.tokens - 1, of: WorkOwner(caller))
            let answer = try await scope.perform(operation, by: caller, erasureCount: erasureCount)
            guard Request.Answer.schema != nil, answer.status != 204 else {
                return Response(status: .init(code: answer.status))
            }
            return respond(.init(code: answer.status)) { answer.writeBody(to: &$0) }
        }
    }
}

extension RequestScope {
    fileprivate func perform<Request: Executable>(
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
