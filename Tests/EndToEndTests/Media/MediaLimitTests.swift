import ContractRows
import Foundation
import PictureFixtures
import TestSupport
import Testing

@Suite("Refused files")
struct MediaLimitTests {
    @Test(
        "A GIF of 2,097,152 bytes is accepted but not one byte more, and a file over 100 MiB is refused by its length",
        .rows(106))
    func limits() async throws {
        let fixture = try await MediaServer()
        let gif = 2_097_152
        #expect(try await fixture.upload(SampleFile.gif(bytes: gif), "gif").status == 201)
        let refused = try await fixture.upload(SampleFile.gif(bytes: gif + 1), "gif")
        #expect(refused.status == 413 && refused.code == "media-too-large" && refused.json.int("limit") == gif)
        for version in [nil, 6] {
            // The client sends no byte of the body.
            let connection = try await RawConnection(fixture.server)
            fixture.sendHead(version, length: 104_857_601, on: connection)
            let answer = try await connection.answer()
            #expect(answer.status == 413 && answer.body.contains(#""limit":104857600"#), "\(answer)")
            #expect(answer.head.lowercased().contains("connection: close"))
            try await connection.waitForEnd()
        }
        #expect(fixture.filesOnDisk.count == 1)
    }

    @Test("An upload without a length is refused when it exceeds the limit, and leaves no files")
    func chunked() async throws {
        let fixture = try await MediaServer()
        let set = try await fixture.admin.call("PUT", "/v1/settings", #"{"fileBytes":1000000}"#)
        #expect(set.status == 200 && set.json.int("fileBytes") == 1_000_000)
        for version in [nil, 6] {
            let connection = try await RawConnection(fixture.server)
            fixture.sendHead(version, length: nil, on: connection)
            if version != nil { _ = try await connection.read(through: "\r\n\r\n") }
            for part in 0..<6 {
                connection.write("40000\r\n")
                connection.write(SampleFile.noise(0x40000, seed: UInt64(part)))
                connection.write("\r\n")
            }
            let answer = try await connection.answer()
            #expect(answer.status == 413 && answer.body.contains("media-too-large"), "\(answer)")
            try await connection.waitForEnd()
        }
        #expect(fixture.filesOnDisk == [])
    }

    @Test("An upload without a length whose connection ends early is discarded")
    func interruptedChunkedUploadIsDiscarded() async throws {
        let fixture = try await MediaServer()
        let connection = try await RawConnection(fixture.server)
        fixture.sendHead(nil, length: nil, on: connection)
        connection.write("5\r\nhello\r\n")
        try await Task.sleep(for: .milliseconds(100))
        connection.close()
        try await eventually("no file is left") { fixture.filesOnDisk.isEmpty ? true : nil }
        #expect(try await fixture.server.metric("scrollback_media_files_total") == 0)
    }

    @Test(
        "A file whose bytes do not match its type is refused, regardless of its name", .rows(113),
        arguments: [
            ("voice", "song.mp3", SampleFile.png(1, 1)), ("image", "photo.png", SampleFile.html),
            ("image", "photo.jpg", SampleFile.svg), ("gif", "a.gif", SampleFile.png(1, 1)),
            ("video", "a.mp4", SampleFile.mp3), ("image", "a.png", SampleFile.png(30_000, 30_000)),
            ("image", "cut.jpg", Array(SampleFile.jpeg.dropLast(2))), ("image", "empty.jpg", []),
        ])
    func mismatchedTypeIsRefused(type: String, name: String, bytes: [UInt8]) async throws {
        let fixture = try await MediaServer()
        let answer = try await fixture.upload(bytes, type, name: name)
        #expect(answer.status == 422 && answer.code == "invalid-media", "\(answer)")
        #expect(fixture.filesOnDisk == [])
        #expect(try await fixture.upload(bytes, "file", name: name).status == 201)
    }

    @Test("A picture that no device can decode is refused before most of it has arrived")
    func undecodablePictureIsRefusedEarly() async throws {
        let fixture = try await MediaServer()
        let connection = try await RawConnection(fixture.server)
        fixture.sendHead(6, "image", length: 90_000_000, on: connection)
        _ = try await connection.read(through: "\r\n\r\n")
        connection.write(SampleFile.png(30_000, 30_000, content: 600_000))
        let answer = try await connection.answer()
        #expect(answer.status == 422 && answer.body.contains("30000 x 30000"), "\(answer)")
        try await connection.waitForEnd()
        #expect(fixture.filesOnDisk == [])
    }

    @Test("Errors name the invalid query parameter, and users without access learn nothing")
    func query() async throws {
        let fixture = try await MediaServer()
        func parameter(_ query: String) async throws -> String? {
            try await fixture.alice.call("POST", "/v1/media?\(query)", bytes: [1], type: nil).json.string("parameter")
        }
        #expect(try await parameter("type=file") == "conversation")
        #expect(try await parameter("conversation=group:crew&type=text") == "type")
        #expect(try await parameter("conversation=group:crew&name=\(String(repeating: "a", count: 256))") == "name")
        #expect(try await parameter("conversation=group:crew&name=a%0Ab") == "name")
        #expect(try await fixture.upload([1], by: fixture.carol).code == "unknown-conversation")
        #expect(try await fixture.upload([1], by: API(server: fixture.server.url)).status == 401)
        let noSetting = try await fixture.admin.call("PUT", "/v1/settings", #"{"gifBytes":0}"#)
        #expect(noSetting.status == 422 && noSetting.json.string("parameter") == "gifBytes")
    }

    @Test("The server verifies a digest that the client sends")
    func digest() async throws {
        let fixture = try await MediaServer()
        let right = "sha-256=:6XhCrOA9FEbtcgJMY5M4lWYcPZPVdpxbmHzNcA5WFgk=:"
        let wrong = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: SampleFile.text, type: nil, headers: ["Repr-Digest": right])
        #expect(wrong.status == 422 && wrong.code == "invalid-media")
        #expect(fixture.filesOnDisk == [])
    }
    @Test(
        "A digest that the server can't read is rejected, and one of another algorithm is ignored",
        arguments: [
            ("sha-256=:AAAA:", 422), ("sha-256=AAAA", 422), ("sha-256", 422), ("sha-256=:", 422),
            ("e8ca76104b6437af8ea97ebfa4a7d82a", 422), ("sha-512=AAAA", 422), ("6XhCrOA9FEbtcgJMY5M4lQ==", 422),
            ("sha-512=:AAAA:", 201),
        ])
    func unreadableDigest(_ digest: String, _ status: Int) async throws {
        let fixture = try await MediaServer()
        let answer = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: SampleFile.text, type: nil, headers: ["Repr-Digest": digest])
        #expect(answer.status == status)
        if status == 422 { #expect(answer.json.string("parameter") == "Repr-Digest") }
    }
}
