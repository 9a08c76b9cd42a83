package import ScrollbackModel

/// A request that clients make over HTTP, over the WebSocket, or over both.
///
/// The server reads requests with this declaration and checks the caller's token against it. The SDK writes requests
/// with it. The OpenAPI document and `Documentation/permissions.md` are generated from it.
package protocol ChatOperation: Sendable {
    /// What the server answers when the operation succeeds.
    associatedtype Answer: OperationAnswer = EmptyAnswer

    /// The operation's addresses on both transports, and who may call it.
    static var endpoint: Endpoint { get }

    /// How many tokens the request takes from the caller's rate limit, at least 1.
    var tokens: Int { get }

    /// Reads the parameters of a request.
    ///
    /// The OpenAPI document is generated with a reader that returns the example of each parameter and records its
    /// description. Read every parameter on every path through this initializer.
    ///
    /// - Throws: `invalidParameter` with the name of the parameter that is missing or wrong.
    init(from request: inout RequestReader) throws(ChatError)
}

extension ChatOperation {
    /// The operation's name in the OpenAPI document: the type's name, for example `banUser`.
    package static var name: String {
        let type = "\(Self.self)"
        return type.prefix(1).lowercased() + type.dropFirst()
    }

    package var tokens: Int { 1 }
}

/// An operation that the SDK calls over the WebSocket.
package protocol ClientOperation: ChatOperation, FrameRequest where Answer: DecodableAnswer {
    /// Writes the parameters as members of a frame, under the names that ``ChatOperation/init(from:)`` reads.
    func writeMembers(to writer: inout JSONWriter)
}

/// The answer to a successful operation.
package protocol OperationAnswer: Sendable {
    /// The schema of the HTTP body, or `nil` for an answer without a body.
    static var schema: JSONSchema? { get }

    /// The HTTP statuses that ``status`` can return.
    static var statuses: [Int] { get }

    /// The HTTP status of this answer.
    var status: Int { get }

    /// Writes the members of the WebSocket's `result` frame.
    func writeMembers(to writer: inout JSONWriter)

    /// Writes the members of the HTTP body, where they differ from those of the frame.
    func writeBody(to writer: inout JSONWriter)
}

extension OperationAnswer {
    package static var statuses: [Int] { schema == nil ? [204] : [200] }
    package var status: Int { Self.statuses[0] }
    package func writeBody(to writer: inout JSONWriter) { writeMembers(to: &writer) }
}

/// An answer that the SDK reads.
package protocol DecodableAnswer: OperationAnswer {
    /// Reads the `result` frame.
    init(from reader: inout JSONReader) throws(ChatError)
}

/// The answer of an operation that returns nothing: status 204 over HTTP, an empty `result` over the WebSocket.
package struct EmptyAnswer: DecodableAnswer {
    package static let schema: JSONSchema? = nil

    package init() {}

    package init(from reader: inout JSONReader) throws(ChatError) {
        try reader.skip()
    }

    package func writeMembers(to writer: inout JSONWriter) {}
}
