import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

/// The context of a request: the engine, authentication, and conversions between HTTP and values.
struct RequestScope: Sendable {
    let engine: Engine
    let tokens: TokenService
    let limiter: RateLimiter
    let pools: ReaderPools
    let metrics: ServerMetrics
    let bodies: BodyBudget
    let store: any ServerStore
    let readiness: Readiness
    let tidy: CleanupService
    /// Whether to announce resumable uploads with the informational status 104.
    let announcesUploads: Bool
    /// A token that allows reading the metrics, besides those of administrators.
    let metricsToken: String?
    let allowedOrigins: AllowedOrigins
    /// The tokens of a demonstration.
    let demo: DemoSessions?
    /// Whether the address of the request accepts administrators' tokens.
    var acceptsAdministrators = true
    /// The access rule of the operation.
    ///
    /// The router sets the rule of the route. A WebSocket session checks the rule of each of its requests itself.
    var access = AccessRule.connect
    /// The cost class of the operation, set by the router too.
    var cost = CostClass.free

    // MARK: Authentication

    /// Authenticates the request and checks that the token's scopes allow the operation.
    func caller(_ request: Request) async throws(ChatError) -> Caller {
        try await authorize(try await tokens.verify(try bearer(request)))
    }

    /// Checks that the user may connect, that the token's scopes allow the operation, and that the rate limit does.
    ///
    /// - Throws: The reason why the user, the token or the request is rejected.
    func authorize(_ verified: VerifiedToken) async throws(ChatError) -> Caller {
        let owner = WorkOwner(verified.caller)
        try await read(for: owner, in: .admission) { try authorize(verified, owner, $0) }
        return verified.caller
    }

    /// Authorizes a request on a thread that may wait for the disk.
    func authorize(_ verified: VerifiedToken, _ owner: WorkOwner, _ engine: Engine) throws {
        try checkAcceptsOwner(owner)
        try engine.checkToken(of: verified.caller.user, issuedAt: verified.issuedAt)
        try access.check(verified.caller)
        try takeTokens(of: owner)
    }

    /// Counts a request against a rate limit.
    ///
    /// - Parameters:
    ///   - tokens: How many tokens the request costs.
    ///   - taken: How many of them it took before.
    /// - Throws: `rate-limited`.
    func takeTokens(_ tokens: Int = 1, taken: Int = 0, of owner: WorkOwner) throws(ChatError) {
        if let refusal = limiter.take(owner, cost, tokens: tokens, taken: taken, now: engine.clock()) { throw refusal }
    }

    /// Checks that the address of the request accepts the token's owner.
    private func checkAcceptsOwner(_ owner: WorkOwner) throws(ChatError) {
        guard case .administrator = owner, !acceptsAdministrators else { return }
        throw ChatError(
            .forbidden,
            "This address does not accept tokens of administrators. Use the address of serve --admin-address.",
            parameter: "token")
    }

    func bearer(_ request: Request) throws(ChatError) -> String {
        guard let header = request.headers[.authorization] else {
            throw ChatError(.invalidToken, "The request has no token. Add the header Authorization: Bearer TOKEN.")
        }
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw ChatError(.invalidToken, "The Authorization header must have the form Bearer TOKEN.")
        }
        return String(parts[1])
    }

    /// Checks that the request has the token for metrics or one of an administrator.
    func checkMayReadMetrics(_ request: Request) async throws(ChatError) {
        if let metricsToken, Self.isEqual(try bearer(request), metricsToken) { return }
        _ = try await caller(request)
    }

    /// Compares secrets in a time that does not depend on their content.
    private static func isEqual(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        return left.count == right.count && zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Verifies a token and checks that its user may connect.
    func verify(_ token: String) async throws(ChatError) -> VerifiedToken {
        let verified = try await tokens.verify(token)
        try checkAcceptsOwner(WorkOwner(verified.caller))
        try await read(for: WorkOwner(verified.caller), in: .admission) {
            try $0.checkToken(of: verified.caller.user, issuedAt: verified.issuedAt)
        }
        return verified
    }

    // MARK: The engine

    /// Reads from the store on a thread that may block on disk access.
    ///
    /// - Parameters:
    ///   - owner: The user on whose behalf the server reads.
    ///   - pool: The threads; `nil` for those of the operation's cost class.
    func read<Answer: Sendable>(
        for owner: WorkOwner, in pool: WorkPool? = nil, _ body: @escaping @Sendable (Engine) throws -> Answer
    ) async throws(ChatError) -> Answer {
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            pools[pool ?? cost.pool].submit(for: owner) {
                continuation.resume(returning: Result { try body(engine) }.mapError(ChatError.init(wrapping:)))
            } refused: { error in
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    /// Submits a write and waits for its commit.
    func write<Answer: Sendable>(
        _ body: (Engine, @escaping Engine.Completion<Answer>) -> Void
    ) async throws(ChatError) -> Answer {
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            body(engine) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    // MARK: Bodies

    /// Reads the request's body as JSON.
    ///
    /// - Parameter owner: The user whose memory the body counts against.
    /// - Throws: `unsupported-media-type`, `too-large`, `malformed`, `rate-limited` or `overloaded`.
    func json(_ request: Request, from owner: WorkOwner) async throws(ChatError) -> JSONReader {
        let reader = try JSONReader(try await bytes(request, from: owner))
        // Report invalid JSON before any other error in the body.
        var whole = reader
        try whole.skip()
        try whole.end()
        return reader
    }

    /// Reads the members of a JSON object in the request's body.
    ///
    /// - Parameters:
    ///   - known: The names of the members. Others are ignored, unless the client prefers strict handling.
    ///   - member: Reads the value of a member that is known.
    /// - Throws: Errors of ``json(_:from:)``, and `invalid-parameter` for a name that is unknown or in the query.
    func object(
        _ request: Request, from caller: Caller, known: [String],
        _ member: (String, inout JSONReader) throws(ChatError) -> Void
    ) async throws(ChatError) {
        var reader = try await json(request, from: WorkOwner(caller))
        var whole = reader
        try refuseQuery(of: request)
        try reader.object { (name, value) throws(ChatError) in
            if known.contains(name) { try member(name, &value) } else { try value.skip() }
        }
        guard request.prefersStrictHandling else { return }
        try RequestReader(path: [:], query: [:], body: try JSONMembers(&whole), limits: engine.limits)
            .refuseUnknownNames(besides: known, includingBody: true)
    }

    private func bytes(_ request: Request, from owner: WorkOwner) async throws(ChatError) -> [UInt8] {
        if let type = request.headers[.contentType] {
            let name = type.split(separator: ";").first?.trimmingCharacters(in: .whitespaces).lowercased()
            guard name == "application/json" else {
                throw ChatError(
                    .unsupportedMediaType, "The body must have the type application/json.", parameter: "Content-Type")
            }
        }
        return try await body(request, from: owner)
    }

    /// Reads the request's body, and sends `100 Continue` if the client waits for it.
    ///
    /// - Parameters:
    ///   - owner: The user whose memory the body counts against.
    ///   - limit: The maximum number of bytes; `nil` for that of a frame.
    /// - Throws: `too-large`, `malformed`, `timeout`, `rate-limited` or `overloaded`.
    func body(_ request: Request, from owner: WorkOwner, upTo limit: Int? = nil) async throws(ChatError) -> [UInt8] {
        let limit = limit ?? engine.limits.frameBytes
        let expected = request.headers[.contentLength].flatMap { Int($0) } ?? limit
        return try await bodies.reserving(min(max(expected, 0), limit), for: owner) { () throws(ChatError) in
            await Exchange.continueIfExpected(request)
            do {
                return Array(buffer: try await request.body.collect(upTo: limit))
            } catch is NIOTooManyBytesError {
                throw ChatError(.tooLarge, "The body must have at most \(limit) bytes.", limit: limit)
            } catch {
                throw ChatError.bodyEndedEarly(error)
            }
        }
    }

    // MARK: Paths and queries

    /// Returns a percent-decoded path segment.
    func segment(_ name: String, _ path: Parameters) throws(ChatError) -> String {
        guard let text = path.get(name)?.removingPercentEncoding else {
            throw .invalidParameter(name, "must be percent-encoded UTF-8")
        }
        return text
    }

    /// Parses the query.
    ///
    /// - Parameter plusIsSpace: Whether `+` means a space, as in HTML forms. File names may contain a `+`.
    func query(_ request: Request, plusIsSpace: Bool = true) throws(ChatError) -> [String: [String]] {
        try request.uri.query.map { (query) throws(ChatError) in
            try QueryParameters.parse(query, plusIsSpace: plusIsSpace)
        } ?? [:]
    }

    /// Refuses a query in a request whose parameters are members of the body.
    func refuseQuery(of request: Request) throws(ChatError) {
        guard let name = try query(request).keys.min() else { return }
        throw .invalidParameter(name, "can't be in the query of this request: put it into the JSON body")
    }

    /// Refuses a query with names that the request doesn't have.
    ///
    /// - Parameter known: The names of the request's parameters.
    func checkNames(of query: [String: [String]], known: [String] = []) throws(ChatError) {
        try RequestReader(path: [:], query: query, limits: engine.limits)
            .refuseUnknownNames(besides: known, includingBody: false)
    }
}

extension Request {
    /// Whether the client asks to refuse what the server would ignore: `Prefer: handling=strict` (RFC 7240).
    var prefersStrictHandling: Bool {
        guard let name = HTTPField.Name("Prefer") else { return false }
        return headers[values: name].contains { value in
            value.split(separator: ",").contains { $0.filter { $0 != " " }.lowercased() == "handling=strict" }
        }
    }
}

/// Creates a JSON response.
func respond(_ status: HTTPResponse.Status = .ok, _ members: (inout JSONWriter) -> Void) -> Response {
    var writer = JSONWriter(reserving: 1024)
    writer.object(members)
    return Response(
        status: status, headers: [.contentType: "application/json"],
        body: .init(byteBuffer: ByteBuffer(bytes: writer.bytes)))
}

extension ChatError {
    /// The error as problem details (RFC 9457).
    var response: Response {
        var writer = JSONWriter()
        writeProblem(to: &writer)
        var headers: HTTPFields = [.contentType: "application/problem+json"]
        if let retryAfter { headers[.retryAfter] = String(Int(retryAfter.rounded(.up))) }
        if status == 401 { headers[.wwwAuthenticate] = "Bearer" }
        return Response(
            status: .init(code: status), headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: writer.bytes)))
    }
}
