import CEmbeddedFiles
import Foundation
import HTTPTypes
import ScrollbackEngine
import ScrollbackWire

/// The OpenAPI document of `/openapi.json`.
///
/// The paths and the WebSocket's requests of registered operations are generated from their endpoints and parameters.
/// The file `openapi.json` of this target has the other components, and the paths of routes that are written by hand.
enum OpenAPIDocument {
    static let bytes = encoded(document())

    private static func document() -> [String: Any] {
        let file = embedded_openapi_json
        let base = try? JSONSerialization.jsonObject(with: Data(bytes: file.bytes, count: file.count))
        var document = base as? [String: Any] ?? [:]
        precondition(!document.isEmpty, "openapi.json is not a JSON object")
        var paths = document["paths"] as? [String: [String: Any]] ?? [:]
        for path in OperationRegistry.all.compactMap({ $0.endpoint.http?.path }) { paths[path] = nil }
        for operation in OperationRegistry.all {
            guard let http = operation.endpoint.http else { continue }
            paths[http.path, default: [:]][http.method.rawValue.lowercased()] = item(operation, http)
        }
        for route in Route.custom where route.cost != .free { addRateLimit(to: route, in: &paths) }
        document["paths"] = paths
        var components = document["components"] as? [String: Any] ?? [:]
        components["schemas"] = addingFrames(to: components["schemas"] as? [String: [String: Any]] ?? [:])
        document["components"] = components
        return document
    }

    // MARK: Requests over the WebSocket

    /// Adds a schema for the WebSocket's request of each operation, and lists them as alternatives of `ClientFrame`.
    private static func addingFrames(to schemas: [String: [String: Any]]) -> [String: [String: Any]] {
        var schemas = schemas
        var alternatives = schemas["ClientFrame"]?["oneOf"] as? [Any] ?? []
        for operation in OperationRegistry.all {
            guard let type = operation.endpoint.frame else { continue }
            let name = type.prefix(1).uppercased() + type.dropFirst() + "RequestFrame"
            schemas[name] = frame(operation, type)
            alternatives.append(["$ref": "#/components/schemas/\(name)"])
        }
        schemas["ClientFrame"]?["oneOf"] = alternatives
        return schemas
    }

    private static func frame(_ operation: any Executable.Type, _ type: String) -> [String: Any] {
        let parameters = RequestDocumentation(of: operation).parameters.filter { $0.transport != .http }.map {
            var parameter = $0
            parameter.isRequired = parameter.isRequired || parameter.isRequiredInFrames
            return parameter
        }
        var schema = object(parameters)
        var properties = schema["properties"] as? [String: Any] ?? [:]
        properties["type"] = ["const": type]
        properties["ref"] = [
            "type": "integer", "format": "int64",
            "description": "A number that the client chooses. The response contains the same number.",
        ]
        schema["properties"] = properties
        schema["required"] = ["type", "ref"] + parameters.filter(\.isRequired).map(\.name)
        schema["description"] = "\(operation.endpoint.summary). \(operation.endpoint.details)"
            .trimmingCharacters(in: .whitespaces)
        return schema
    }

    // MARK: HTTP requests

    /// Adds the status 429 to a route that is written by hand, unless the document describes it.
    private static func addRateLimit(to route: Route, in paths: inout [String: [String: Any]]) {
        let method = route.method.rawValue.lowercased()
        guard var item = paths[route.path]?[method] as? [String: Any],
            var responses = item["responses"] as? [String: Any], responses["429"] == nil
        else { return }
        responses["429"] = ["$ref": "#/components/responses/RateLimited"]
        item["responses"] = responses
        paths[route.path]?[method] = item
    }

    private static func encoded(_ document: [String: Any]) -> [UInt8] {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? JSONSerialization.data(withJSONObject: document, options: options) else {
            preconditionFailure("the OpenAPI document has a value that JSON doesn't have")
        }
        return Array(data)
    }

    private static func item<Request: Executable>(_ operation: Request.Type, _ http: Endpoint.Address) -> [String: Any]
    {
        let endpoint = Request.endpoint
        let all = RequestDocumentation(of: operation).parameters.filter { $0.transport != .webSocket }
        let inPath = all.filter { http.path.contains("{\($0.name)}") }
        let others = all.filter { !http.path.contains("{\($0.name)}") }
        var item: [String: Any] = [
            "operationId": Request.name, "tags": [endpoint.tag.rawValue], "summary": endpoint.summary,
        ]
        if !endpoint.details.isEmpty { item["description"] = endpoint.details }
        var parameters = inPath.map { parameter($0, in: "path") }
        if http.method.hasBody {
            if !others.isEmpty { item["requestBody"] = body(others) }
        } else {
            parameters += others.map { parameter($0, in: "query") }
        }
        if !parameters.isEmpty { item["parameters"] = parameters }
        item["responses"] = responses(
            Request.Answer.self, endpoint, hasParameters: !all.isEmpty, hasBody: item["requestBody"] != nil)
        return item
    }

    private static func parameter(_ parameter: RequestDocumentation.Parameter, in place: String) -> [String: Any] {
        var object: [String: Any] = ["name": parameter.name, "in": place, "schema": schema(parameter.schema)]
        if place == "path" {
            object["required"] = true
            object["example"] = value(parameter.example)
        } else if parameter.isRequired {
            object["required"] = true
        }
        if !parameter.description.isEmpty { object["description"] = parameter.description }
        return object
    }

    private static func body(_ parameters: [RequestDocumentation.Parameter]) -> [String: Any] {
        if let whole = parameters.first(where: \.isBody) {
            precondition(parameters.count == 1, "\(whole.name) is the whole body, and there are other parameters")
            let content: [String: Any] = ["schema": schema(whole.schema), "example": value(whole.example)]
            return ["required": true, "content": ["application/json": content]]
        }
        var example: [String: Any] = [:]
        for parameter in parameters where !parameter.example.isEmpty {
            example[parameter.name] = value(parameter.example)
        }
        return ["required": true, "content": ["application/json": ["schema": object(parameters), "example": example]]]
    }

    /// The schema of an object with parameters as its members.
    private static func object(_ parameters: [RequestDocumentation.Parameter]) -> [String: Any] {
        var properties: [String: Any] = [:]
        for parameter in parameters {
            var property = schema(parameter.schema)
            if !parameter.isRequired, parameter.isNullable { property = ["anyOf": [property, ["type": "null"]]] }
            if !parameter.description.isEmpty { property["description"] = parameter.description }
            properties[parameter.name] = property
        }
        var schema: [String: Any] = ["type": "object", "properties": properties]
        let required = parameters.filter(\.isRequired).map(\.name)
        if !required.isEmpty { schema["required"] = required }
        return schema
    }

    private static func responses<Answer: OperationAnswer>(
        _ answer: Answer.Type, _ endpoint: Endpoint, hasParameters: Bool, hasBody: Bool
    ) -> [String: Any] {
        var responses: [String: Any] = [:]
        for status in Answer.statuses {
            var response: [String: Any] = ["description": status == 201 ? "Created." : "Done."]
            if status != 204, let shape = Answer.schema {
                response["content"] = ["application/json": ["schema": schema(shape)]]
            }
            responses["\(status)"] = response
        }
        var errors: Set<Int> = Set(endpoint.errors).union([401, 403, 500, 503])
        if hasParameters { errors.insert(422) }
        if hasBody { errors.formUnion([400, 408, 413, 415, 422]) }
        if endpoint.cost != .free { errors.insert(429) }
        for status in errors {
            guard let name = errorResponses[status] else {
                preconditionFailure("no response describes status \(status)")
            }
            responses["\(status)"] = ["$ref": "#/components/responses/\(name)"]
        }
        return responses
    }

    private static let errorResponses = [
        400: "Malformed", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 408: "BodyTooSlow", 409: "Conflict",
        413: "TooLarge", 415: "UnsupportedMediaType", 422: "Invalid", 429: "RateLimited", 500: "Failed",
        503: "Unavailable",
    ]

    private static func value(_ json: String) -> Any {
        (try? JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)) ?? json
    }

    private static func schema(_ schema: JSONSchema) -> [String: Any] {
        switch schema {
        case .component(let name): return ["$ref": "#/components/schemas/\(name)"]
        case .string(let bytes):
            // JSON Schema counts characters. A text of n bytes has at most n of them.
            var object: [String: Any] = ["type": "string"]
            if let bytes {
                if bytes.lowerBound > 0 { object["minLength"] = 1 }
                object["maxLength"] = bytes.upperBound
            }
            return object
        case .integer(let range):
            var object: [String: Any] = ["type": "integer", "format": "int64"]
            if let range, range.lowerBound > .min { object["minimum"] = range.lowerBound }
            if let range, range.upperBound < .max { object["maximum"] = range.upperBound }
            return object
        case .number(let range):
            var object: [String: Any] = ["type": "number"]
            if let range {
                object["minimum"] = range.lowerBound
                object["maximum"] = range.upperBound
            }
            return object
        case .boolean: return ["type": "boolean"]
        case .choice(let names): return ["type": "string", "enum": names]
        case .array(let element, let count):
            var object: [String: Any] = ["type": "array", "items": self.schema(element)]
            if let count {
                object["minItems"] = count.lowerBound
                object["maxItems"] = count.upperBound
            }
            return object
        case .object(let properties):
            var object: [String: Any] = ["type": "object"]
            object["properties"] = Dictionary(
                uniqueKeysWithValues: properties.map { property in
                    var shape = self.schema(property.schema)
                    if !property.description.isEmpty { shape["description"] = property.description }
                    return (property.name, shape)
                })
            let required = properties.filter(\.isRequired).map(\.name)
            if !required.isEmpty { object["required"] = required }
            return object
        case .map(let value, let count):
            var object: [String: Any] = ["type": "object", "additionalProperties": self.schema(value)]
            if let count {
                object["minProperties"] = count.lowerBound
                object["maxProperties"] = count.upperBound
            }
            return object
        case .anyOf(let schemas): return ["anyOf": schemas.map { self.schema($0) }]
        }
    }
}
