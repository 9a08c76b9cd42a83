import HTTPTypes
import Hummingbird
import Logging
import ScrollbackModel

/// One operation over HTTP.
struct Route: Sendable {
    typealias Handler = @Sendable (RequestScope, Request, BasicRequestContext) async throws(ChatError) -> Response

    let method: HTTPRequest.Method
    /// With `{name}` for a segment.
    let path: String
    let handler: Handler

    init(_ method: HTTPRequest.Method, _ path: String, _ handler: @escaping Handler) {
        self.method = method
        self.path = path
        self.handler = handler
    }

    /// Every operation there is.
    static let all: [Route] = people + conversations + members + messages
}

/// Builds the router: the operations, one answer for methods a path does not have, one for paths that are not there.
func makeRouter(_ routes: [Route], _ scope: RequestScope, logger: Logger) -> Router<BasicRequestContext> {
    let router = Router(context: BasicRequestContext.self)
    router.add(middleware: ProblemMiddleware(metrics: scope.metrics))
    for (path, routes) in Dictionary(grouping: routes, by: \.path) {
        for route in routes {
            router.on(RouterPath(route.path), method: route.method) { request, context in
                try await route.handler(scope, request, context)
            }
        }
        let allowed = Set(routes.map(\.method))
        for method in knownMethods where !allowed.contains(method) {
            router.on(RouterPath(path), method: method) { _, _ in
                var response = ChatError(.methodNotAllowed, "\(path) does not have \(method)").response
                response.headers[.allow] = allowed.map(\.rawValue).sorted().joined(separator: ", ")
                return response
            }
        }
    }
    return router
}

private let knownMethods: [HTTPRequest.Method] = [.get, .put, .post, .patch, .delete, .head, .options, .trace]

/// Turns errors into problem details, and counts.
///
/// What it logs names the route and never the body, a token or a text.
private struct ProblemMiddleware: RouterMiddleware {
    let metrics: ServerMetrics

    func handle(
        _ request: Request, context: BasicRequestContext,
        next: @concurrent (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        metrics.requests.add(1)
        let response: Response
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
        } catch let error as HTTPError {
            response =
                error.status == .notFound
                ? ChatError(.unknownOperation, "there is nothing at this path").response
                : ChatError(.malformed, "the request can't be read").response
        }
        if response.status.code >= 500 { metrics.failedRequests.add(1) }
        return response
    }
}
