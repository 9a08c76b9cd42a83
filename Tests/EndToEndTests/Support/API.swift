import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL

/// Sends HTTP requests exactly as the test writes them.
struct API: Sendable {
    let server: URL
    var token: String?

    /// An HTTP client that fails immediately if the server is down, instead of retrying.
    static let client = HTTPClient(configuration: configuration(.makeClientConfiguration()))

    static func configuration(_ tls: TLSConfiguration) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.connectionPool.retryConnectionEstablishment = false
        // The server closes idle connections after a minute. A request that starts at that moment would fail.
        configuration.connectionPool.idleTimeout = .seconds(20)
        return configuration
    }

    func call(
        _ method: String, _ path: String, _ body: String? = nil, type: String? = "application/json",
        headers: [String: String] = [:], client: HTTPClient = API.client
    ) async throws -> Answer {
        try await call(method, path, bytes: body.map { Array($0.utf8) }, type: type, headers: headers, client: client)
    }

    func call(
        _ method: String, _ path: String, bytes: [UInt8]?, type: String? = "application/json",
        headers: [String: String] = [:], client: HTTPClient = API.client, within seconds: Int64 = 20
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: server.absoluteString + path)
        request.method = HTTPMethod(rawValue: method)
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
        if let bytes {
            if let type { request.headers.replaceOrAdd(name: "Content-Type", value: type) }
            request.body = .bytes(ByteBuffer(bytes: bytes))
        }
        let response = try await client.execute(request, timeout: .seconds(seconds))
        let content = try await response.body.collect(upTo: 64 << 20)
        let fields = response.headers.map { ($0.name.lowercased(), $0.value) }
        return Answer(
            status: Int(response.status.code), headers: Dictionary(fields, uniquingKeysWith: { "\($0), \($1)" }),
            bytes: Array(buffer: content))
    }

    /// Sends a text message.
    func send(_ text: String, to conversation: String, id: UUID = UUID()) async throws -> Answer {
        try await call(
            "POST", "/v1/conversations/\(conversation)/messages", API.message(text, id: id))
    }

    static func message(_ text: String, id: UUID = UUID()) -> String {
        #"{"id":"\#(id.uuidString.lowercased())","type":"text","content":{"text":"\#(text)"}}"#
    }
}

struct Answer: Sendable, CustomStringConvertible {
    let status: Int
    /// The header fields by their names in lower case.
    let headers: [String: String]
    let bytes: [UInt8]

    var text: String { String(decoding: bytes, as: UTF8.self) }
    var json: Members { Members(bytes) }
    var code: String? { json.string("code") }
    var description: String { "\(status) \(text.prefix(300))" }
}

/// A JSON object, parsed by Foundation and not by the code under test.
struct Members: Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var all: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]) ?? [:]
    }

    func string(_ name: String) -> String? { all[name] as? String }
    func int(_ name: String) -> Int? { all[name] as? Int }
    func objects(_ name: String) -> [[String: Any]] { all[name] as? [[String: Any]] ?? [] }
}
