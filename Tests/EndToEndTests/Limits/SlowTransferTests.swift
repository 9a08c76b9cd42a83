import Foundation
import ScrollbackModel
import TestSupport
import Testing

/// Bodies of requests and responses that a client transfers too slowly.
@Suite struct SlowTransferTests {
    private let media: MediaServer
    private var server: RunningServer { media.server }

    init() async throws {
        // The grace is longer than a busy machine keeps this process from sending.
        media = try await MediaServer(shell: "export SCROLLBACK_TRANSFER_GRACE_SECONDS=5")
    }

    private func head(_ request: String, _ length: Int, token: String?) -> String {
        "\(request) HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: \(length)\r\n"
            + (token.map { "Authorization: Bearer \($0)\r\n" } ?? "") + "\r\n"
    }

    @Test func `A request whose body stops arriving gets 408, and the connection is closed`() async throws {
        let connection = try await RawConnection(server)
        connection.write(head("POST /v1/conversations/group:crew/messages", 1000, token: media.alice.token) + "{")
        let answer = try await connection.answer()
        #expect(answer.status == 408 && answer.body.contains(#""code":"timeout""#), "\(answer)")
        #expect(answer.body.contains(#""limit":1024"#), "\(answer)")
        try await connection.waitForEnd()
        #expect(try await server.metric("scrollback_slow_transfers_total") == 1)
    }

    @Test func `The body of a refused request can't keep the connection open`() async throws {
        let connection = try await RawConnection(server)
        connection.write(head("POST /v1/conversations/group:crew/messages", 1_000_000, token: nil) + "{")
        #expect(try await connection.answer().status == 401)
        // At most 200 bytes per second: the connection is never idle.
        try await eventually("the connection ends") { () -> Bool? in
            connection.write("x")
            return connection.isClosed ? true : nil
        }
    }

    @Test func `A file that stops arriving gets 408, and a resumable upload continues from its last byte`() async throws
    {
        let small = try await RawConnection(server)
        media.sendHead(nil, length: 1000, on: small)
        small.write("x")
        #expect(try await small.answer().status == 408)

        let resumable = try await RawConnection(server)
        let upload = try await media.begin(6, length: 500_000, on: resumable)
        resumable.write([UInt8](repeating: 0x61, count: 300_000))
        #expect(try await resumable.answer().status == 408)
        try await resumable.waitForEnd()
        let offset = try #require(try await media.offset(of: upload, 6))
        #expect(offset == 300_000)
        let rest = try await media.append([UInt8](repeating: 0x61, count: 200_000), to: upload, at: offset, 6)
        #expect(rest.status == 201, "\(rest)")
    }

    @Test func `A client that does not read its response is closed, a file or a page`() async throws {
        let bytes = (0..<8 << 20).map { UInt8(truncatingIfNeeded: $0 / 1000) }
        let file = try await media.send(bytes).media
        for _ in 0..<30 {
            let sent = try await media.alice.send(String(repeating: "x", count: 60_000), to: "group:crew")
            try #require(sent.status == 201)
        }
        for path in ["/v1/media/\(file)", "/v1/conversations/group:crew/messages?limit=100"] {
            let closed = try await server.metric("scrollback_slow_transfers_total")
            let connection = try await RawConnection(server)
            try await connection.stopReading()
            // Together, the responses are larger than the buffers of the kernel.
            let get = "GET \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(media.alice.token ?? "")\r\n\r\n"
            connection.write(String(repeating: get, count: 20))
            try await eventually("the server closes the connection") {
                try await server.metric("scrollback_slow_transfers_total") == closed + 1 ? true : nil
            }
            try await connection.startReading()
            try await connection.waitForEnd()
        }
        #expect(try await media.file(file, by: media.bob).bytes == bytes)
    }
}
