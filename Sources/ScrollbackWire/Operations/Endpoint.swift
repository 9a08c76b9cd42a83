/// Where clients reach an operation, which users may call it, and how the documentation describes it.
package struct Endpoint: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case put = "PUT"
        case post = "POST"
        case patch = "PATCH"
        case delete = "DELETE"

        /// Whether requests have a body.
        ///
        /// The parameters of other methods stand in the query.
        package var hasBody: Bool { self != .get && self != .delete }
    }

    /// The method and path of an HTTP request; the path has `{name}` for a segment that is a parameter.
    package struct Address: Sendable {
        package let method: Method
        package let path: String

        package static func get(_ path: String) -> Address { Address(method: .get, path: path) }
        package static func put(_ path: String) -> Address { Address(method: .put, path: path) }
        package static func post(_ path: String) -> Address { Address(method: .post, path: path) }
        package static func patch(_ path: String) -> Address { Address(method: .patch, path: path) }
        package static func delete(_ path: String) -> Address { Address(method: .delete, path: path) }
    }

    /// A section of the OpenAPI document.
    package enum Tag: String, Sendable {
        case users, messages, conversations, members, media, server
    }

    /// The `type` of the WebSocket's request, or `nil` for an operation that only HTTP has.
    package let frame: String?
    /// The HTTP request, or `nil` for an operation that only the WebSocket has.
    package let http: Address?
    package let access: AccessRule
    /// The kind of work that the operation causes, which decides the rate limit that it counts against.
    package let cost: CostClass
    package let tag: Tag
    /// One imperative phrase without a period.
    package let summary: String
    /// Sentences that a caller needs to know beyond the summary and the parameters' descriptions.
    package let details: String
    /// The HTTP statuses of errors that only some operations have: 404, 409.
    package let errors: [Int]
    /// Whether unknown members of the body are refused even if the client does not ask for it.
    package let isStrict: Bool

    package init(
        frame: String? = nil, http: Address? = nil, scope: Scope, callers: AccessRule.Callers, cost: CostClass,
        tag: Tag, summary: String, details: String = "", errors: [Int] = [], isStrict: Bool = false
    ) {
        self.frame = frame
        self.http = http
        access = AccessRule(scope, callers)
        self.cost = cost
        self.tag = tag
        self.summary = summary
        self.details = details
        self.errors = errors
        self.isStrict = isStrict
    }
}
