import CoreMetrics
import HTTPTypes
import Hummingbird
import Logging
import ScrollbackEngine
import ScrollbackModel
package import ScrollbackWire

/// A method and a path of HTTP, with its handler.
struct Route: Sendable {
    typealias Handler = @Sendable (RequestScope, Request, BasicRequestContext) async throws(ChatError) -> Response

    let method: HTTPRequest.Method
    /// The path template.
    ///
    /// `{name}` matches one segment.
    let path: String
    /// The name of the operation.
    let name: String
    /// Who may call it.
    let access: AccessRule
    let cost: CostClass
    let handler: Handler

    init(
        _ method: HTTPRequest.Method, _ path: String, name: String, access: AccessRule, cost: CostClass,
        _ handler: @escaping Handler
    ) {
        self.method = method
        self.path = path
        self.name = name
        self.access = access
        self.cost = cost
        self.handler = handler
    }

    init(
        _ method: HTTPRequest.Method, _ path: String, _ rule: CustomRouteRule, _ handler: @escaping Handler
    ) {
        self.init(method, path, name: rule.name, access: rule.access, cost: rule.cost, handler)
    }

    /// The routes that are not operations of the registry.
    static let custom = downloads + (tokens + exports + uploads + media + hooks + probes).map(\.onSwiftExecutor)

    /// The route for requests that hash and copy bodies, which takes too long for an event loop.
    private var onSwiftExecutor: Route {
        Route(method, path, name: name, access: access, cost: cost) { (scope, request, context) throws(ChatError) in
            let handled = await withTaskExecutorPreference(globalConcurrentExecutor) {
                () async -> Result<Response, ChatError> in
                do throws(ChatError) {
                    return .success(try await handler(scope, request, context))
                } catch {
                    return .failure(error)
                }
            }
            return try handled.get()
        }
    }

    /// All operations.
    static let all: [Route] = custom + OperationRegistry.all.compactMap { Route(operation: $0) }
}

/// The name, access rule and cost class of routes that are not operations of the registry.
///
/// These routes stream bodies, or need parts of the server that the engine doesn't have.
struct CustomRouteRule: Sendable {
    let name: String
    let access: AccessRule
    let cost: CostClass

    /// Probes have no token, so there is no user whose limit they could count against.
    static let probe = CustomRouteRule(name: "probe", access: AccessRule(nil, .everyone), cost: .free)
    /// The token for metrics has no user either.
    static let readMetrics = CustomRouteRule(name: "readMetrics", access: .administrator, cost: .free)
    static let makeToken = CustomRouteRule(name: "makeToken", access: .administrator, cost: .write)
    static let exportUser = CustomRouteRule(
        name: "exportUser", access: AccessRule(.read, .selfOrAdministrator), cost: .search)
    static let readMedia = CustomRouteRule(
        name: "readMedia", access: AccessRule(.read, .permission([.read])), cost: .read)
    static let upload = CustomRouteRule(
        name: "upload", access: AccessRule(.write, .permission([.send])), cost: .write)

    /// The secret in the path takes the place of a token.
    static let postToHook = CustomRouteRule(name: "postToHook", access: AccessRule(nil, .everyone), cost: .message)

    static let all = [probe, readMetrics, makeToken, exportUser, readMedia, upload, postToHook]
}

/// The HTTP operations and their OpenAPI document, for tests.
package enum APISurface {
    package static var operations: [(method: String, path: String, name: String, access: AccessRule)] {
        Route.all.map { ($0.method.rawValue, $0.path, $0.name, $0.access) }
    }

    /// The cost class of each HTTP operation, in the order of ``operations``.
    package static var costs: [CostClass] { Route.all.map(\.cost) }

    /// The requests over the WebSocket besides `hello`, and who may call them.
    package static var requests: [String: AccessRule] {
        var rules: [String: AccessRule] = [:]
        for operation in OperationRegistry.all {
            if let type = operation.endpoint.frame { rules[type] = operation.endpoint.access }
        }
        return rules
    }

    package static var document: [UInt8] { OpenAPIDocument.bytes }
}

/// Builds the router with all operations, and with errors for unknown paths and unsupported methods.
func makeRouter(_ routes: [Route], _ scope: RequestScope) -> Router<BasicRequestContext> {
    let router = Router(context: BasicRequestContext.self)
    let files = WebFile.all.filter { scope.acceptsAdministrators || !$0.isForAdministrators }
    router.add(
        middleware: ProblemMiddleware(
            routes: routes, files: files, metrics: scope.metrics, allowedOrigins: scope.allowedOrigins,
            readiness: scope.readiness))
    for route in routes {
        var scope = scope
        scope.access = route.access
        scope.cost = route.cost
        let own = scope
        // Every GET operation also supports HEAD (RFC 9110 section 9.3.2).
        for method in route.method == .get ? [.get, .head] : [route.method] {
            router.on(RouterPath(route.path), method: method) { request, context in
                try await route.handler(own, request, context)
            }
        }
    }
    for file in files {
        for method in WebFile.methods {
            router.on(RouterPath(file.path), method: method) { request, _ in
                file.response(to: request, embeddedBy: scope.allowedOrigins)
            }
        }
    }
    if let demo = scope.demo {
        router.on(RouterPath(DemoSessions.path), method: .get) { request, _ in try await demo.response(to: request) }
    }
    return router
}

extension [Route] {
    /// Returns the methods of a path, or an empty set if the path does not exist.
    func methods(at path: String) -> Set<HTTPRequest.Method> {
        let segments = path.split(separator: "/")
        var found: (literals: Int, methods: Set<HTTPRequest.Method>) = (-1, [])
        for route in self {
            let template = route.path.split(separator: "/")
            guard template.count == segments.count,
                zip(template, segments).allSatisfy({ $0.hasPrefix("{") || $0 == $1 })
            else { continue }
            // As in the router, a literal segment takes precedence over a parameter.
            let literals = template.count { !$0.hasPrefix("{") }
            if literals > found.literals { found = (literals, []) }
            guard literals == found.literals else { continue }
            found.methods.insert(route.method)
            if route.method == .get { found.methods.insert(.head) }
        }
        return found.methods
    }
}

/// Converts errors to problem details and counts requests.
///
/// Log messages contain the route, and never a body, a token or a message text.
private struct ProblemMiddleware: RouterMiddleware {
    let routes: [Route]
    let files: [WebFile]
    let metrics: ServerMetrics
    let allowedOrigins: AllowedOrigins
    let readiness: Readiness

    func handle(
        _ request: Request, context: BasicRequestContext,
        next: @concurrent (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        metrics.requests.increment()
        var response: Response
        do {
            if let preflight = allowedOrigins.preflight(request) {
                response = preflight
            } else {
                response = try await next(request, context)
            }
        } catch let error as ChatError {
            if error.status >= 500 {
                context.logger.error(
                    "Request failed.",
                    metadata: [
                        "route": "\(request.method) \(context.endpointPath ?? "?")", "code": "\(error.code)",
                        "cause": "\(error.cause.map { String(describing: type(of: $0)) } ?? "none")",
                    ])
            }
            response = error.response
        } catch let error as HTTPError where error.status == .notFound {
            response = unknown(request)
        } catch {
            response = ChatError(.malformed, "The request can't be parsed.", cause: error).response
        }
        if response.status.code >= 500 { metrics.failedRequests.increment() }
        // Answers depend on the token, so no cache may store them. Files have their own rule.
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        response.headers[.xContentTypeOptions] = "nosniff"
        allowedOrigins.addFields(to: &response, for: request)
        // A response to HEAD has no body (RFC 9110 section 9.3.2). The client would take one for the next response.
        if request.method == .head {
            let length = response.body.contentLength
            response.body = .init()
            if let length { response.headers[.contentLength] = String(length) }
        }
        if Exchange.current?.mustClose == true || readiness.clientsMove { response.headers[.connection] = "close" }
        if request.headers[.connection]?.lowercased() == "close" { response.headers[.connection] = "close" }
        return response
    }

    /// Answers a request whose path is unknown, or whose path does not support the method.
    private func unknown(_ request: Request) -> Response {
        let isFile = files.contains { $0.path == request.uri.path }
        let allowed = isFile ? Set(WebFile.methods) : routes.methods(at: request.uri.path)
        guard !allowed.isEmpty else { return ChatError(.unknownOperation, "The path does not exist.").response }
        var response = ChatError(.methodNotAllowed, "The path does not support \(request.method).").response
        response.headers[.allow] = allowed.map(\.rawValue).sorted().joined(separator: ", ")
        return response
    }
}
