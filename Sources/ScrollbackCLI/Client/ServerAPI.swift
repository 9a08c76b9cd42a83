import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Scrollback
import ScrollbackModel
import ScrollbackWire

/// Sends requests to the server's HTTP API.
struct ServerAPI: Sendable {
    let address: URL
    let token: String

    /// Fail immediately if the server is unreachable, instead of retrying for a minute.
    static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration(timeout: .init(connect: .seconds(5)))
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.tlsConfiguration = .client()
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Percent-encodes a path segment.
    static func escape(_ text: some CustomStringConvertible) -> String {
        text.description.addingPercentEncoding(withAllowedCharacters: .urlPathSegment) ?? ""
    }

    static func path(_ conversation: ConversationID, _ rest: String = "") -> String {
        "/v1/conversations/\(escape(conversation))\(rest)"
    }

    static func query(_ parameters: HistoryParameters) -> String {
        parameters.values.sorted { $0.key < $1.key }
            .flatMap { name, values in values.map { "\(name)=\(escape($0))" } }
            .joined(separator: "&")
    }

    /// Sends a request and reads the response.
    ///
    /// - Throws: The server's error, or `unreachable` if there was no response.
    func object<Answer>(
        _ method: String, _ path: String, body: ((inout JSONWriter) -> Void)? = nil,
        read: (inout JSONReader) throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        let bytes = try await send(method, path, body)
        var reader = try JSONReader(bytes)
        return try read(&reader)
    }

    /// Streams all data of a user to standard output.
    ///
    /// - Throws: The server's error, `unreachable`, or `internal-error` if the export is incomplete.
    func writeExport(about user: UserID) async throws(ChatError) {
        var request = HTTPClientRequest(url: base + "/v1/users/\(Self.escape(user))/export")
        request.headers.add(name: "Authorization", value: "Bearer \(token)")
        // The beginning of an incomplete line. A part of the body may end within a character.
        var rest: [UInt8] = []
        var last = ""
        do {
            let response = try await Self.client.execute(request, timeout: .hours(1))
            guard response.status == .ok else {
                var reader = try JSONReader(Array(buffer: try await response.body.collect(upTo: 1 << 20)))
                throw try ChatError(problem: &reader)
            }
            for try await part in response.body {
                rest += part.readableBytesView
                guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { continue }
                let lines = String(decoding: rest[...end], as: UTF8.self)
                rest.removeSubrange(...end)
                last = String(lines.split(separator: "\n").last ?? "")
                Output.write(lines, to: STDOUT_FILENO)
            }
        } catch let error as ChatError {
            throw error
        } catch {
            throw ChatError(.unreachable, "Can't reach the server at \(address.absoluteString).", cause: error)
        }
        guard last.hasPrefix(#"{"record":"end""#) else {
            throw ChatError(.internalError, "The export is incomplete. Run the command again.")
        }
    }

    private var base: String {
        address.absoluteString.hasSuffix("/") ? String(address.absoluteString.dropLast()) : address.absoluteString
    }

    /// Sends a request and ignores the content of a successful response.
    func perform(_ method: String, _ path: String, body: ((inout JSONWriter) -> Void)? = nil) async throws(ChatError) {
        _ = try await send(method, path, body)
    }

    private func send(
        _ method: String, _ path: String, _ members: ((inout JSONWriter) -> Void)?
    ) async throws(ChatError) -> [UInt8] {
        var request = HTTPClientRequest(url: base + path)
        request.method = HTTPMethod(rawValue: method)
        request.headers.add(name: "Authorization", value: "Bearer \(token)")
        if let members {
            var writer = JSONWriter(reserving: 4096)
            writer.object(members)
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: writer.bytes))
        }
        let response: HTTPClientResponse
        let bytes: [UInt8]
        do {
            response = try await Self.client.execute(request, timeout: .seconds(60))
            bytes = Array(buffer: try await response.body.collect(upTo: 64 << 20))
        } catch {
            throw ChatError(.unreachable, "Can't reach the server at \(address.absoluteString).", cause: error)
        }
        guard (200..<300).contains(response.status.code) else {
            var reader = try JSONReader(bytes)
            throw try ChatError(problem: &reader)
        }
        return bytes
    }
}

extension CharacterSet {
    /// The unreserved characters of RFC 3986.
    ///
    /// Everything else in a segment is percent-encoded.
    fileprivate static let urlPathSegment = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:")
}
