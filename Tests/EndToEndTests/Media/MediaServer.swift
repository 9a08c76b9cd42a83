import Foundation
import ScrollbackModel
import Testing

/// A server with Alice and Bob in `group:crew`, and the requests of media tests.
struct MediaServer: Sendable {
    let server: RunningServer
    let admin: API
    let alice: API
    let bob: API
    /// The client of a user without conversations.
    let carol: API

    init(_ arguments: [String] = RunningServer.withoutLimits, shell: String? = nil) async throws {
        try await self.init(on: try await RunningServer.start(arguments, shell: shell))
    }

    /// Uses a running server, which can already have the conversation.
    init(on server: RunningServer) async throws {
        self.server = server
        admin = try await server.admin()
        alice = try await server.api("alice")
        bob = try await server.api("bob")
        carol = try await server.api("carol")
        guard try await admin.call("GET", "/v1/conversations/group:crew").status == 404 else { return }
        let made = try await admin.call("PUT", "/v1/conversations/group:crew", #"{"members":["alice","bob"]}"#)
        try #require(made.status == 201, "\(made)")
    }

    static func path(_ type: String = "file", name: String? = nil) -> String {
        "/v1/media?conversation=group:crew&type=\(type)" + (name.map { "&name=\($0)" } ?? "")
    }

    func upload(_ bytes: [UInt8], _ type: String = "file", name: String? = nil, by api: API? = nil) async throws
        -> Answer
    {
        try await (api ?? alice).call(
            "POST", Self.path(type, name: name), bytes: bytes, type: "application/octet-stream")
    }

    /// Uploads a file and sends it in a message.
    ///
    /// - Returns: The IDs of the file and the message.
    func send(_ bytes: [UInt8], _ type: String = "file", name: String? = nil) async throws -> (
        media: String, message: String
    ) {
        let uploaded = try await upload(bytes, type, name: name)
        let media = try #require(uploaded.json.string("media"), "\(uploaded)")
        let message = UUID().uuidString.lowercased()
        let sent = try await alice.call(
            "POST", "/v1/conversations/group:crew/messages",
            #"{"id":"\#(message)","type":"\#(type)","content":{"media":"\#(media)"}}"#)
        try #require(sent.status == 201, "\(sent)")
        return (media, message)
    }

    func file(_ media: String, by api: API, _ headers: [String: String] = [:], method: String = "GET") async throws
        -> Answer
    {
        try await api.call(method, "/v1/media/\(media)", headers: headers)
    }

    /// The names of all blobs and uploads in the data directory.
    var filesOnDisk: [String] {
        let media = server.data.appending(component: "media")
        let found = FileManager.default.enumerator(at: media, includingPropertiesForKeys: [.isRegularFileKey])
        return (found?.allObjects as? [URL] ?? []).filter { url in
            (try? url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) ?? false
        }.map(\.lastPathComponent)
    }

    // MARK: Resumable uploads

    static func fields(_ version: Int, isEnd: Bool, offset: Int? = nil) -> [String: String] {
        var fields = ["Upload-Draft-Interop-Version": String(version)]
        if version == 3 {
            fields["Upload-Incomplete"] = isEnd ? "?0" : "?1"
        } else {
            fields["Upload-Complete"] = isEnd ? "?1" : "?0"
        }
        if let offset { fields["Upload-Offset"] = String(offset) }
        return fields
    }

    /// Returns whether a response reports a complete upload.
    static func isComplete(_ answer: Answer, _ version: Int) -> Bool {
        version == 3 ? answer.headers["upload-incomplete"] == "?0" : answer.headers["upload-complete"] == "?1"
    }

    /// Writes the head of an upload request. The test writes the body.
    func sendHead(_ version: Int?, _ type: String = "file", length: Int?, on connection: RawConnection) {
        var head =
            "POST \(Self.path(type)) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(alice.token ?? "")\r\n"
        head += length.map { "Content-Length: \($0)\r\n" } ?? "Transfer-Encoding: chunked\r\n"
        if let version { for (name, value) in Self.fields(version, isEnd: true) { head += "\(name): \(value)\r\n" } }
        connection.write(head + "\r\n")
    }

    /// Starts an upload and returns its location as soon as the server reports it.
    func begin(_ version: Int, length: Int, on connection: RawConnection) async throws -> String {
        sendHead(version, length: length, on: connection)
        let head = try await connection.read(through: "\r\n\r\n")
        try #require(head.hasPrefix("HTTP/1.1 104 "), "\(head)")
        let location = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("location: ") }
        return String(try #require(location).dropFirst("location: ".count))
    }

    func offset(of upload: String, _ version: Int, by api: API? = nil) async throws -> Int? {
        let answer = try await (api ?? alice).call(
            "HEAD", upload, headers: ["Upload-Draft-Interop-Version": String(version)])
        return answer.status == 204 ? answer.headers["upload-offset"].flatMap { Int($0) } : nil
    }

    /// Appends bytes to an upload.
    func append(
        _ bytes: [UInt8], to upload: String, at offset: Int, _ version: Int, isEnd: Bool = true, by api: API? = nil
    ) async throws -> Answer {
        try await (api ?? alice).call(
            "PATCH", upload, bytes: bytes, type: "application/partial-upload",
            headers: Self.fields(version, isEnd: isEnd, offset: offset))
    }
}
