package import ScrollbackModel

// The types of parameters that requests about messages have, and ways to read them.

extension MessageType: TextParameterValue {
    package static let schema = JSONSchema.component("MessageType")
    package static let example = #""text""#
    package init(text: String, parameter: String) throws(ChatError) {
        self = try MessageType(text, parameter: parameter)
    }
}

extension SearchSort: ChoiceParameterValue {
    package static let schema = JSONSchema.component("SearchSort")
}

/// Whose copies of messages a request deletes.
package enum DeletionAudience: String, ChoiceParameterValue {
    case everyone, me
}

/// The type and value of an action.
package struct ActionContent: Hashable, Sendable {
    /// 1 to 64 bytes of UTF-8.
    package var type: String
    /// 1 to 128 bytes of UTF-8.
    package var value: String

    package init(type: String, value: String) {
        self.type = type
        self.value = value
    }

    init(from request: inout RequestReader) throws(ChatError) {
        type = try request.required(
            "type", .component("ActionType"), example: #""reaction""#, "Such as `reaction`: 1 to 64 bytes of UTF-8."
        ) { (value) throws(ChatError) in try value.string() }
        value = try request.required(
            "value", .component("ActionValue"), example: #""👍""#, "Such as an emoji: 1 to 128 bytes of UTF-8."
        ) { (value) throws(ChatError) in try value.string() }
        try MessageAction.check(type: type, value: value)
    }

    /// Reads an object that is a member of a frame.
    init(from reader: inout JSONReader, limits: Limits) throws(ChatError) {
        var members = RequestReader(frame: try JSONMembers(nested: &reader), limits: limits)
        try self.init(from: &members)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("type", type)
            writer.field("value", value)
        }
    }

    /// A JSON text.
    static let example = #"{"type":"reaction","value":"👍"}"#
    static let schema = JSONSchema.object([
        .init("type", .component("ActionType")), .init("value", .component("ActionValue")),
    ])
}

extension RequestReader {
    /// The transport of the request, or `nil` for a reader that describes parameters.
    var transport: Transport? {
        switch source {
        case .frame: .webSocket
        case .http: .http
        case .examples: nil
        }
    }

    /// Reads the key that makes a retry harmless.
    ///
    /// WebSocket requests must have it.
    mutating func operation(on transport: Transport? = nil) throws(ChatError) -> MessageID? {
        let operation: MessageID? = try optional(
            "operation", on: transport,
            "A UUID of your choice. A retry with the same one returns the first answer and changes nothing.")
        recordRequiredInFrames()
        return self.transport == .webSocket ? try operation.required("operation") : operation
    }

    /// Reads the size of a page.
    ///
    /// The engine checks its range.
    package mutating func pageSize() throws(ChatError) -> Int {
        let limit: Int64? = try omittable("limit", "How many elements to return at most: 1 to 100. The default is 20.")
        guard let limit = Int(exactly: limit ?? 20) else { throw .invalidParameter("limit", "must be in range") }
        return limit
    }

    /// Reads a JSON value that sets an attribute.
    ///
    /// `null` removes the attribute, and without a value it stays the same.
    mutating func change<V>(
        _ name: String, _ schema: JSONSchema, example: String, _ description: String = "",
        read: (inout JSONReader) throws(ChatError) -> V
    ) throws(ChatError) -> MessageEdit.Change<V> {
        switch try nullable(name, schema, example: example, description, read: read) {
        case nil: .keep
        case .some(nil): .remove
        case .some(let value?): .set(value)
        }
    }

    /// Reads a parameter that a query may repeat.
    ///
    /// - Parameter read: Consumes the value of a JSON member.
    /// - Returns: The values in their order, or `nil` when the parameter is missing or `null`.
    mutating func texts(
        _ name: String, _ schema: JSONSchema, _ description: String,
        json read: (inout JSONReader) throws(ChatError) -> [String]
    ) throws(ChatError) -> [String]? {
        var member: JSONReader?
        switch source {
        case .examples:
            described.append(
                .init(
                    name: name, schema: schema, example: "", transport: nil, isRequired: false,
                    description: description))
        case .frame(let members): member = members[name]
        case .http(_, let query, let body):
            if let texts = query[name] { return texts }
            member = body[name]
        }
        guard var member, try !member.null() else { return nil }
        return try read(&member)
    }

    /// Refuses a parameter that similar requests have.
    ///
    /// - Parameter transport: The only transport whose requests don't have the parameter, or `nil` for both.
    func refuse(_ name: String, on transport: Transport? = nil, _ reason: String) throws(ChatError) {
        if try find(name, on: transport) != nil { throw .invalidParameter(name, reason) }
    }

    // MARK: Objects

    /// Reads parameters that a frame has in an object of their own and an HTTP request in its body.
    mutating func nested<V>(
        _ name: String, _ schema: JSONSchema, _ read: (inout RequestReader) throws(ChatError) -> V
    ) throws(ChatError) -> V {
        switch source {
        case .http: return try read(&self)
        case .frame(let members):
            guard var object = members[name] else { throw .invalidParameter(name, "is missing") }
            var reader = RequestReader(frame: try JSONMembers(nested: &object), limits: limits)
            return try read(&reader)
        case .examples:
            described.append(
                .init(
                    name: name, schema: schema, example: "{}", transport: .webSocket, isRequired: true, description: "")
            )
            let first = described.count
            defer { for index in first..<described.count { described[index].transport = .http } }
            return try read(&self)
        }
    }

    /// Reads an object in one pass: over HTTP the whole body, over the WebSocket a member of the frame.
    ///
    /// - Parameters:
    ///   - example: A JSON text.
    ///   - read: Consumes the value of a member and returns `true`, or returns `false` for an unknown member.
    mutating func body(
        frameMember name: String, _ schema: JSONSchema, example: String,
        _ read: (_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool
    ) throws(ChatError) {
        var object: JSONReader
        switch source {
        case .http(_, _, let body):
            var ignored: [String] = []
            for (name, value) in body.members {
                var value = value
                if try !read(name, &value) { ignored.append(name) }
            }
            ignoredMembers = ignored
            return
        case .frame(let members):
            guard let member = members[name] else { throw .invalidParameter(name, "is missing") }
            object = member
        case .examples:
            described.append(
                .init(
                    name: name, schema: schema, example: example, transport: nil, isRequired: true, description: "",
                    isBody: true))
            object = JSONReader(example, field: name)
        }
        try object.object { (name, value) throws(ChatError) in
            if try !read(name, &value) { try value.skip() }
        }
    }
}
