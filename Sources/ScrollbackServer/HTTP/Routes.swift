import HTTPTypes
import Hummingbird
import Logging
package import ScrollbackEngine
import ScrollbackModel

/// One operation over HTTP.
struct Route: Sendable {
    typealias Handler = @Sendable (RequestScope, Request, BasicRequestContext) async throws(ChatError) -> Response

    let method: HTTPRequest.Method
    /// With `{name}` for a segment.
    let path: String
    /// Says who may.
    let operation: ServerOperation
    let handler: Handler

    init(
        _ method: HTTPRequest.Method, _ path: String, _ operation: ServerOperation, _ handler: @escaping Handler
    ) {
        self.method = method
        self.path = path
        self.operation = operation
        self.handler = handler
    }

    /// Every operation there is.
    static let all: [Route] =
        people + departures + lists + blocks + bans + reports + conversations + state + members + readers + invitations
        + presence + push + messages + changes + actions + history + uploads + media
        + operations
}

/// What there is over HTTP, and the document that says so.
package enum Surface {
    package static var operations: [(method: String, path: String, operation: ServerOperation)] {
        Route.all.map { ($0.method.rawValue, $0.path, $0.operation) }
    }
    package static var document: [UInt8] { PackageResources.openapi_json }
}

/// Builds the router: the operations, one answer for methods a path does not have, one for paths that are not there.
func makeRouter(_ routes: [Route], _ scope: RequestScope) -> Router<BasicRequestContext> {
    let router = Router(context: BasicRequestContext.self)
    router.add(middleware: ProblemMiddleware(routes: routes, metrics: scope.metrics))
    for route in routes {
        var scope = scope
        scope.operation = route.operation
        let own = scope
        // Whatever can be got has a HEAD (RFC 9110 section 9.3.2).
        for method in route.method == .get ? [.get, .head] : [route.method] {
            router.on(RouterPath(route.path), method: method) { request, context in
                try await route.handler(own, request, context)
            }
        }
    }
    return router
}

extension [Route] {
    /// The methods a path has; none where there is no such path.
    func methods(at path: String) -> Set<HTTPRequest.Method> {
        let segments = path.split(separator: "/")
        var found: (literals: Int, methods: Set<HTTPRequest.Method>) = (-1, [])
        for route in self {
            let template = route.path.split(separator: "/")
            guard template.count == segments.count,
                zip(template, segments).allSatisfy({ $0.hasPrefix("{") || $0 == $1 })
            else { continue }
            // A path with a word where another has a name stands before it, as in the router.
            let literals = template.count { !$0.hasPrefix("{") }
            if literals > found.literals { found = (literals, []) }
            guard literals == found.literals else { continue }
            found.methods.insert(route.method)
            if route.method == .get { found.methods.insert(.head) }
        }
        return found.methods
    }
}

/// Turns errors into problem details, and counts.
///
/// What it logs names the route and never the body, a token or a text.
private struct ProblemMiddleware: RouterMiddleware {
    let routes: [Route]
    let metrics: ServerMetrics

    func handle(
        _ request: Request, context: BasicRequestContext,
        next: @concurrent (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        metrics.requests.add(1)
        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as ChatError {
            if error.status >= 500 {
                context.logger.error(
                    "request failed",
                    metadata: [
                        "route": "\(request.method) \(context.endpointPath ?? "?")", "code": "\(error.code)",
                        "cause": "\(error.cause.map { String(describing: type(of: $0)) } ?? "none")",
                    ])
            }
            response = error.response
        } catch let error as HTTPError where error.status == .notFound {
            response = unknown(request)
        } catch {
            response = ChatError(.malformed, "the request can't be read", cause: error).response
        }
        if response.status.code >= 500 { metrics.failedRequests.add(1) }
        // What answers HEAD has no body (RFC 9110 section 9.3.2): the next answer would be taken to begin with it.
        if request.method == .head {
            let length = response.body.contentLength
            response.body = .init()
            if let length { response.headers[.contentLength] = String(length) }
        }
        if Exchange.current?.isAbandoned == true { response.headers[.connection] = "close" }
        if request.headers[.connection]?.lowercased() == "close" { response.headers[.connection] = "close" }
        return response
    }

    /// No route has the path, or none has it with the method.
    private func unknown(_ request: Request) -> Response {
        let allowed = routes.methods(at: request.uri.path)
        guard !allowed.isEmpty else { return ChatError(.unknownOperation, "there is nothing at this path").response }
        var response = ChatError(.methodNotAllowed, "this path does not have \(request.method)").response
        response.headers[.allow] = allowed.map(\.rawValue).sorted().joined(separator: ", ")
        return response
    }
}
