import Foundation
import ScrollbackEngine
import ScrollbackServer
import ScrollbackWire
import Testing

@Suite struct OpenAPITests {
    private static let methods: Set<String> = ["get", "put", "post", "delete", "patch", "head", "options", "trace"]
    private let document: [String: Any]
    private let paths: [String: [String: Any]]

    init() throws {
        document = try #require(try JSONSerialization.jsonObject(with: Data(APISurface.document)) as? [String: Any])
        paths = try #require(document["paths"] as? [String: [String: Any]])
    }

    private var operations: [(name: String, path: String, item: [String: Any], operation: [String: Any])] {
        paths.flatMap { path, item in
            item.compactMap { method, operation in
                guard Self.methods.contains(method), let operation = operation as? [String: Any] else { return nil }
                return (method.uppercased() + " " + path, path, item, operation)
            }
        }
    }

    @Test func `The document has every operation and no other`() {
        let served = APISurface.operations.map { "\($0.method) \($0.path)" }.sorted()
        #expect(operations.map(\.name).sorted() == served)
        #expect(Set(served).count == served.count)
        #expect(document["openapi"] as? String == "3.1.0")
    }

    @Test func `Every path parameter is declared, and every reference resolves`() throws {
        for (name, path, item, operation) in operations {
            let parameters = (item["parameters"] as? [Any] ?? []) + (operation["parameters"] as? [Any] ?? [])
            let names = try parameters.compactMap { parameter -> String? in
                let parameter = try resolve(parameter)
                return parameter["in"] as? String == "path" ? parameter["name"] as? String : nil
            }
            let wanted = path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
                String($0.dropFirst().dropLast())
            }
            #expect(names.sorted() == wanted.sorted(), "\(name)")
        }
        walk(document) { object in
            if let reference = object["$ref"] as? String { #expect(throws: Never.self) { try self.find(reference) } }
        }
    }

    @Test func `Operations with a token document 401 and 403, and operations with a body document its errors`()
        throws
    {
        // The URL of an incoming webhook has a secret instead of a token, and its answers are those of Slack.
        let hook = "POST /v1/hooks/{hook}"
        for (name, _, _, operation) in operations {
            let responses = try #require(operation["responses"] as? [String: Any], "\(name)")
            let isOpen = (operation["security"] as? [Any])?.isEmpty ?? false
            #expect(isOpen == (responses["401"] == nil), "\(name)")
            // A user with a valid token can be banned from the server or deactivated.
            #expect(responses["401"] == nil || responses["403"] != nil, "\(name)")
            let isProbe = !name.contains(" /v1/") && name != "GET /metrics"
            #expect(isOpen == isProbe || ["GET /v1/connect", hook].contains(name), "\(name)")
            if name == hook { continue }
            for status in ["400", "413", "415", "422"] where operation["requestBody"] != nil {
                #expect(responses[status] != nil, "\(name) \(status)")
            }
            for (status, response) in responses where status >= "400" {
                let content = try #require(try resolve(response)["content"] as? [String: Any], "\(name) \(status)")
                #expect(Array(content.keys) == ["application/problem+json"], "\(name) \(status)")
            }
        }
    }

    @Test func `Operations that count against the send rate document 429`() throws {
        let message = "/v1/conversations/{conversation}/messages/{id}"
        for name in [
            "POST /v1/conversations/{conversation}/messages", "PATCH \(message)", "POST \(message)/actions",
            "DELETE \(message)/actions/{timetoken}", "POST \(message)/reports",
            "PUT /v1/conversations/{conversation}/invitations/{user}",
        ] {
            let operation = try #require(operations.first { $0.name == name }, "\(name)").operation
            #expect((operation["responses"] as? [String: Any])?["429"] != nil, "\(name)")
        }
    }

    @Test func `The document has the request of every WebSocket operation`() throws {
        let known = try #require(try find("#/components/schemas/ClientFrame")["oneOf"] as? [[String: String]])
        for frame in OperationRegistry.all.compactMap({ $0.endpoint.frame }) {
            let schema = "#/components/schemas/\(frame.prefix(1).uppercased())\(frame.dropFirst())RequestFrame"
            #expect(known.contains(["$ref": schema]), "openapi.json: ClientFrame does not list \(schema).")
        }
    }

    /// Compares the members of the frames in the wire module's golden files with the schemas.
    @Test func `The document has every member of every frame`() throws {
        let package = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let golden = package.appending(path: "Tests/ScrollbackWireTests/Golden/v1")
        let files = try FileManager.default.contentsOfDirectory(atPath: golden.path).filter { $0.hasSuffix(".json") }
        #expect(files.count > 40)
        for file in files {
            let names = Self.schemas(of: file)
            guard !names.isEmpty else { continue }
            let data = try Data(contentsOf: golden.appending(component: file))
            let members = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            let schemas = try names.map { try find("#/components/schemas/\($0)") }
            let fits = try schemas.contains { schema in
                let known = try properties(schema)
                let required = schema["required"] as? [String] ?? []
                return members.keys.allSatisfy { known.contains($0) } && required.allSatisfy { members[$0] != nil }
            }
            #expect(fits, "\(file) matches none of \(names)")
        }
    }

    private static func schemas(of file: String) -> [String] {
        let parts = file.dropLast(".json".count).split(separator: "-").map(String.init)
        func capital(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
        switch (parts[0], parts.count > 1 ? parts[1] : "") {
        case ("client", "hello"): return ["Hello"]
        case ("client", let name): return [capital(name) + "RequestFrame"]
        case ("event", "peer"): return ["PeerReadEvent"]
        case ("event", "transient"): return ["MessageEvent"]
        case ("event", let name): return [capital(name) + "Event"]
        case ("server", "welcome"): return ["Welcome"]
        case ("server", "moving"): return ["MovingFrame"]
        case ("server", "error"): return ["ErrorFrame"]
        case ("result", "send"): return ["SendResultFrame"]
        case ("result", "history"): return ["PageFrame"]
        case ("result", "read"): return ["ReadResultFrame"]
        case ("result", "readMany"): return ["ReadManyFrame"]
        case ("result", "delivered"): return ["DeliveredResultFrame"]
        case ("result", "refresh"): return ["RefreshedFrame"]
        case ("result", "counts"): return ["CountsFrame"]
        case ("result", "blocks"): return ["BlocksFrame"]
        case ("result", "members"), ("result", "readers"), ("result", "recipients"), ("result", "invitations"),
            ("result", "presence"):
            return [capital(parts[1]) + "Frame"]
        case ("result", "bans"): return ["BansFrame"]
        case ("result", "search"): return ["SearchFrame"]
        case ("result", "sync"): return ["SyncWindowFrame", "SyncLogsFrame"]
        case ("head", _): return ["Head"]
        case ("log", _): return ["LogSync"]
        case ("invitation", _): return ["Invitation"]
        case ("message", _): return ["Message"]
        case ("page", _): return ["Page"]
        case ("position", _): return ["Position"]
        case ("problem", _): return ["Problem"]
        case ("profile", _): return ["Profile"]
        case ("pushMessage", _): return ["PushMessage"]
        case ("submission", _): return ["Submission"]
        default:
            Issue.record("\(file) has no schema. Add a case for it to this switch.")
            return []
        }
    }

    // MARK: The document

    private func properties(_ schema: [String: Any]) throws -> Set<String> {
        Set((schema["properties"] as? [String: Any] ?? [:]).keys)
    }

    private func resolve(_ value: Any) throws -> [String: Any] {
        let object = try #require(value as? [String: Any])
        return try (object["$ref"] as? String).map { try find($0) } ?? object
    }

    private func find(_ reference: String) throws -> [String: Any] {
        var found: Any = document
        for part in reference.dropFirst(2).split(separator: "/") {
            found = try #require((found as? [String: Any])?[String(part)], "\(reference)")
        }
        return try #require(found as? [String: Any])
    }

    private func walk(_ value: Any, _ visit: ([String: Any]) throws -> Void) rethrows {
        if let object = value as? [String: Any] {
            try visit(object)
            for member in object.values { try walk(member, visit) }
        } else if let array = value as? [Any] {
            for element in array { try walk(element, visit) }
        }
    }
}
