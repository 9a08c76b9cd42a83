package import ScrollbackModel

/// Reads the parameters of one request by name, wherever the transport puts them.
///
/// Over the WebSocket all parameters are members of the frame. Over HTTP a parameter is a segment of the path when the
/// path names it. Otherwise it is a member of the JSON body or, for methods without a body, part of the query.
///
/// A third kind of reader answers with each parameter's example and records its description. See
/// ``RequestDocumentation``.
package struct RequestReader {
    package enum Transport: Sendable {
        case http, webSocket
    }

    /// The limits of the server, which requests are checked against.
    package let limits: Limits
    let source: Source
    var described: [RequestDocumentation.Parameter] = []
    /// The unknown members of a body that is read as a whole; `nil` if parameters are read by name.
    var ignoredMembers: [String]?
    /// The push options of the message in the body.
    var pushOptions: RawJSON?

    enum Source {
        case frame(JSONMembers)
        case http(path: [String: String], query: [String: [String]], body: JSONMembers)
        case examples
    }

    enum Value {
        case json(JSONReader)
        case text(String)
    }

    /// Reads the members of a WebSocket frame.
    package init(frame members: JSONMembers, limits: Limits) {
        source = .frame(members)
        self.limits = limits
    }

    /// Reads an HTTP request.
    ///
    /// - Parameters:
    ///   - path: The path's parameters, percent-decoded.
    ///   - query: The query's parameters, percent-decoded.
    ///   - body: The members of the JSON body, if the method has one.
    package init(
        path: [String: String], query: [String: [String]], body: JSONMembers = JSONMembers(), limits: Limits
    ) {
        source = .http(path: path, query: query, body: body)
        self.limits = limits
    }

    /// A reader that answers with examples, and the parameters that were asked for.
    static func describing(_ read: (inout RequestReader) throws(ChatError) -> Void) -> [RequestDocumentation.Parameter]
    {
        var reader = RequestReader()
        // Examples of parameters that exclude each other may be refused together. They're recorded by then.
        try? read(&reader)
        return reader.described
    }

    private init() {
        source = .examples
        limits = .standard
    }

    // MARK: Values

    /// Reads a parameter that may be missing or `null`.
    ///
    /// - Parameters:
    ///   - transport: The only transport that has this parameter, or `nil` when both have it.
    package mutating func optional<V: ParameterValue>(
        _ name: String, on transport: Transport? = nil, _ description: String = ""
    ) throws(ChatError) -> V? {
        try value(name, V.schema, V.example, on: transport, isRequired: false, description) {
            (reader) throws(ChatError) in
            try V(from: &reader, parameter: name)
        } text: { (text) throws(ChatError) in
            try V(text: text, parameter: name)
        } ?? nil
    }

    /// Reads a parameter that every request must have.
    ///
    /// - Throws: `invalidParameter` when it is missing.
    package mutating func required<V: ParameterValue>(
        _ name: String, on transport: Transport? = nil, _ description: String = ""
    ) throws(ChatError) -> V {
        let found: V?? = try value(name, V.schema, V.example, on: transport, isRequired: true, description) {
            (reader) throws(ChatError) in
            try V(from: &reader, parameter: name)
        } text: { (text) throws(ChatError) in
            try V(text: text, parameter: name)
        }
        return try (found ?? nil).required(name)
    }

    /// Reads a text whose length in UTF-8 is limited.
    package mutating func optional(
        _ name: String, bytes: ClosedRange<Int>, _ description: String = ""
    ) throws(ChatError) -> String? {
        try nullable(name, bytes: bytes, description) ?? nil
    }

    /// Reads a text whose length in UTF-8 is limited, and tells a missing text from `null`.
    ///
    /// - Returns: `nil` when the parameter is missing, `.some(nil)` when it is `null`.
    package mutating func nullable(
        _ name: String, bytes: ClosedRange<Int>, _ description: String = ""
    ) throws(ChatError) -> String?? {
        func checked(_ text: String) throws(ChatError) -> String {
            guard bytes.contains(text.utf8.count) else {
                let range = bytes.lowerBound == 0 ? "at most \(bytes.upperBound)" : "\(bytes)"
                throw .invalidParameter(name, "must be \(range) bytes of UTF-8", limit: bytes.upperBound)
            }
            return text
        }
        return try value(name, .string(bytes: bytes), #""spam""#, on: nil, isRequired: false, description) {
            (reader) throws(ChatError) in
            try checked(reader.string())
        } text: { (text) throws(ChatError) in
            try checked(text)
        }
    }

    /// Reads a JSON value of a shape that no other request has.
    ///
    /// - Parameters:
    ///   - example: A JSON text.
    ///   - read: Consumes the value.
    package mutating func optional<V>(
        _ name: String, _ schema: JSONSchema, example: String, on transport: Transport? = nil,
        _ description: String = "", read: (inout JSONReader) throws(ChatError) -> V
    ) throws(ChatError) -> V? {
        try nullable(name, schema, example: example, on: transport, description, read: read) ?? nil
    }

    /// Reads a JSON value, and tells a missing value from `null`.
    package mutating func nullable<V>(
        _ name: String, _ schema: JSONSchema, example: String, on transport: Transport? = nil, isRequired: Bool = false,
        _ description: String = "", read: (inout JSONReader) throws(ChatError) -> V
    ) throws(ChatError) -> V?? {
        try value(name, schema, example, on: transport, isRequired: isRequired, description, json: read) {
            (_) throws(ChatError) in throw .invalidParameter(name, "can't stand in a path or a query")
        }
    }

    /// Reads a JSON value that every request must have.
    package mutating func required<V>(
        _ name: String, _ schema: JSONSchema, example: String, on transport: Transport? = nil,
        _ description: String = "", read: (inout JSONReader) throws(ChatError) -> V
    ) throws(ChatError) -> V {
        let found = try nullable(
            name, schema, example: example, on: transport, isRequired: true, description, read: read)
        return try (found ?? nil).required(name)
    }

    /// Reads a parameter that may be missing but not `null`.
    package mutating func omittable<V: ParameterValue>(
        _ name: String, on transport: Transport? = nil, _ description: String = ""
    ) throws(ChatError) -> V? {
        let found: V?? = try value(name, V.schema, V.example, on: transport, isRequired: false, description) {
            (reader) throws(ChatError) in
            try V(from: &reader, parameter: name)
        } text: { (text) throws(ChatError) in
            try V(text: text, parameter: name)
        }
        return try withoutNull(name, found)
    }

    /// Reads a JSON value that may be missing but not `null`.
    package mutating func omittable<V>(
        _ name: String, _ schema: JSONSchema, example: String, on transport: Transport? = nil,
        _ description: String = "", read: (inout JSONReader) throws(ChatError) -> V
    ) throws(ChatError) -> V? {
        let found = try nullable(name, schema, example: example, on: transport, description, read: read)
        return try withoutNull(name, found)
    }

    /// Records that requests over the WebSocket must have the parameter that was read last.
    mutating func recordRequiredInFrames() {
        if case .examples = source { described[described.endIndex - 1].isRequiredInFrames = true }
    }

    private mutating func withoutNull<V>(_ name: String, _ value: V??) throws(ChatError) -> V? {
        if case .examples = source { described[described.endIndex - 1].isNullable = false }
        if case .some(nil) = value { throw .invalidParameter(name, "must not be null: leave it out instead") }
        return value ?? nil
    }

    /// - Returns: `nil` when the parameter is missing, `.some(nil)` when it is `null`.
    mutating func value<V>(
        _ name: String, _ schema: JSONSchema, _ example: String, on transport: Transport?, isRequired: Bool,
        _ description: String, json: (inout JSONReader) throws(ChatError) -> V, text: (String) throws(ChatError) -> V
    ) throws(ChatError) -> V?? {
        if case .examples = source {
            described.append(
                .init(
                    name: name, schema: schema, example: example, transport: transport, isRequired: isRequired,
                    description: description))
            var reader = JSONReader(example, field: name)
            return .some(try json(&reader))
        }
        switch try find(name, on: transport) {
        case nil: return nil
        case .text(let found): return .some(try text(found))
        case .json(var reader): return .some(try reader.null() ? nil : json(&reader))
        }
    }

    func find(_ name: String, on transport: Transport?) throws(ChatError) -> Value? {
        switch source {
        case .examples: return nil
        case .frame(let members):
            guard transport != .http else { return nil }
            return members[name].map { .json($0) }
        case .http(let path, let query, let body):
            guard transport != .webSocket else { return nil }
            if let segment = path[name] { return .text(segment) }
            if let reader = body[name] { return .json(reader) }
            guard let given = query[name] else { return nil }
            guard given.count == 1 else { throw .invalidParameter(name, "must be given once") }
            return .text(given[0])
        }
    }
}

/// The members of a JSON object, each with a reader that stands at its value.
package struct JSONMembers: Sendable {
    private(set) var members: [(name: String, value: JSONReader)] = []

    /// An object without members.
    package init() {}

    /// Reads an object up to its end.
    ///
    /// - Throws: `malformed` when the text is not a JSON object.
    package init(_ reader: inout JSONReader) throws(ChatError) {
        try self.init(nested: &reader)
        try reader.end()
    }

    /// Reads an object that is part of a larger text.
    init(nested reader: inout JSONReader) throws(ChatError) {
        try reader.object { (name, value) throws(ChatError) in
            members.append((name, value))
            try value.skip()
        }
    }

    mutating func append(_ name: String, _ value: JSONReader) {
        members.append((name, value))
    }

    /// The value of a member.
    ///
    /// The last one counts where several have the same name.
    package subscript(name: String) -> JSONReader? {
        members.last { $0.name == name }?.value
    }
}

/// What a request of some operation consists of, for the OpenAPI document.
package struct RequestDocumentation: Sendable {
    package struct Parameter: Sendable {
        package let name: String
        package let schema: JSONSchema
        /// A JSON text.
        package let example: String
        /// The only transport that has this parameter, or `nil` when both have it.
        package var transport: RequestReader.Transport?
        package var isRequired: Bool
        /// Whether only requests over the WebSocket must have it.
        package var isRequiredInFrames = false
        package let description: String
        /// Whether the value is the whole body of an HTTP request.
        package var isBody = false
        /// Whether `null` stands for a missing value in JSON.
        package var isNullable = true
    }

    package let parameters: [Parameter]

    package init<Request: ChatOperation>(of operation: Request.Type) {
        parameters = RequestReader.describing { (reader) throws(ChatError) in _ = try Request(from: &reader) }
    }
}
