import ContractRows
import Foundation
import PictureFixtures
import ScrollbackModel
import TestSupport
import Testing

@Suite("Uploads")
struct UploadTests {
    private static let file = SampleFile.noise(3_000_000)

    @Test("A whole file is uploaded in one request, with each version of resumable uploads and with none", .rows(109))
    func fileIsUploadedInOneRequest() async throws {
        let fixture = try await MediaServer()
        for version in [nil, 3, 4, 5, 6, 7, 99] {
            let headers = version.map { MediaServer.fields($0, isEnd: true) } ?? [:]
            let answer = try await fixture.alice.call(
                "POST", MediaServer.path(name: "a%20b%C3%A9.bin"), bytes: Self.file, type: "text/plain",
                headers: headers)
            #expect(answer.status == 201 && answer.json.int("size") == Self.file.count, "\(answer)")
            #expect(
                answer.json.string("name") == "a bé.bin"
                    && answer.json.string("mediaType") == "application/octet-stream")
            let isKnown = version.map { (3...6).contains($0) } ?? false
            #expect(answer.headers["upload-offset"] == (isKnown ? String(Self.file.count) : nil))
            #expect((answer.headers["location"] != nil) == isKnown)
            let media = try #require(answer.json.string("media"))
            let got = try await fixture.file(media, by: fixture.alice)
            #expect(got.status == 200 && got.bytes == Self.file)
        }
        // All uploads have the same bytes, so a single blob remains.
        #expect(fixture.filesOnDisk.count == 1)
    }

    @Test("A file is uploaded in several requests, some of which are empty", arguments: [3, 4, 5, 6])
    func fileIsUploadedInSeveralRequests(_ version: Int) async throws {
        let fixture = try await MediaServer()
        let begun = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: [], type: nil, headers: MediaServer.fields(version, isEnd: false))
        #expect(begun.status == 201 && begun.headers["upload-offset"] == "0" && !MediaServer.isComplete(begun, version))
        let upload = try #require(begun.headers["location"])
        var offset = 0
        for size in [1, 1_000_000, 0, 700_000] {
            let part = Array(Self.file[offset..<offset + size])
            let answer = try await fixture.append(part, to: upload, at: offset, version, isEnd: false)
            offset += size
            #expect(answer.status == 201 && answer.headers["upload-offset"] == String(offset), "\(answer)")
            #expect(!MediaServer.isComplete(answer, version) && answer.bytes.isEmpty)
            #expect(try await fixture.offset(of: upload, version) == offset)
        }
        let end = try await fixture.append(Array(Self.file[offset...]), to: upload, at: offset, version)
        #expect(end.status == 201 && MediaServer.isComplete(end, version))
        let media = try #require(end.json.string("media"))
        #expect(try await fixture.file(media, by: fixture.alice).bytes == Self.file)
        let empty = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: [], type: nil, headers: MediaServer.fields(version, isEnd: true))
        #expect(empty.status == 201 && empty.json.int("size") == 0)
    }

    @Test("An upload that was cut anywhere resumes at the server's offset", arguments: [3, 4, 5, 6])
    func interruptedUploadResumes(_ version: Int) async throws {
        let fixture = try await MediaServer()
        for place in [0, 1, 65_536, 1_500_000, Self.file.count - 1] {
            let connection = try await RawConnection(fixture.server)
            let upload = try await fixture.begin(version, length: Self.file.count, on: connection)
            connection.write(Array(Self.file[..<place]))
            try await eventually("the server has received the bytes") {
                try await fixture.server.metric("scrollback_media_received_bytes_total") >= place - 300_000 ? true : nil
            }
            connection.close()
            let offset = try #require(try await fixture.offset(of: upload, version))
            #expect(offset <= place)
            let end = try await fixture.append(Array(Self.file[offset...]), to: upload, at: offset, version)
            #expect(end.status == 201 && MediaServer.isComplete(end, version), "\(end)")
            let media = try #require(end.json.string("media"))
            #expect(try await fixture.file(media, by: fixture.alice).bytes == Self.file)
        }
    }

    @Test("Invalid lengths and an upload that does not declare its completeness are refused")
    func lengths() async throws {
        let fixture = try await MediaServer()
        let begun = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: [1], type: nil, headers: MediaServer.fields(6, isEnd: false))
        let upload = try #require(begun.headers["location"])
        let connection = try await RawConnection(fixture.server)
        var head = "PATCH \(upload) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(fixture.alice.token ?? "")\r\n"
        head += "Upload-Draft-Interop-Version: 6\r\nUpload-Offset: 1\r\nUpload-Complete: ?1\r\n"
        head += "Content-Type: application/partial-upload\r\n"
        connection.write(head + "Content-Length: \(Int64.max)\r\n\r\n")
        #expect(try await connection.answer().status == 413)
        for version in 4...6 {
            var fields = MediaServer.fields(version, isEnd: true, offset: 1)
            fields["Upload-Complete"] = nil
            let answer = try await fixture.alice.call(
                "PATCH", upload, bytes: [2], type: "application/partial-upload", headers: fields)
            #expect(answer.status == 400 && answer.json.string("parameter") == "Upload-Complete", "\(answer)")
        }
        let more = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: [1, 2, 3], type: nil, headers: MediaServer.fields(6, isEnd: false))
        var fields = MediaServer.fields(6, isEnd: false, offset: 3)
        fields["Upload-Length"] = "2"
        let short = try await fixture.alice.call(
            "PATCH", try #require(more.headers["location"]), bytes: [], type: "application/partial-upload",
            headers: fields)
        #expect(short.status == 400 && short.json.string("parameter") == "Upload-Length", "\(short)")
    }

    @Test("Resuming an upload never changes bytes that a crashed server had already stored as a file")
    func resumingNeverChangesStoredBytes() async throws {
        let fixture = try await MediaServer()
        let begun = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: Array(Self.file[..<1_000_000]), type: nil,
            headers: MediaServer.fields(6, isEnd: false))
        let upload = try #require(begun.headers["location"])
        fixture.server.kill()
        let folder = fixture.server.data.appending(path: "media/uploads")
        let name = try #require(upload.split(separator: "/").last)
        let kept = fixture.server.data.appending(component: "kept")
        try FileManager.default.linkItem(at: folder.appending(component: String(name)), to: kept)
        try await fixture.server.start()
        let end = try await fixture.append(Array(Self.file[1_000_000...]), to: upload, at: 1_000_000, 6)
        #expect(end.status == 201, "\(end)")
        let media = try #require(end.json.string("media"))
        #expect(try await fixture.file(media, by: fixture.alice).bytes == Self.file)
        #expect(try Data(contentsOf: kept) == Data(Self.file[..<1_000_000]))
    }

    @Test("A client that resumes takes over from a hanging connection, and no received byte is lost")
    func takeover() async throws {
        let fixture = try await MediaServer()
        let connection = try await RawConnection(fixture.server)
        let upload = try await fixture.begin(6, length: Self.file.count, on: connection)
        connection.write(Array(Self.file[..<2_000_000]))
        try await eventually("the server has received the bytes") {
            try await fixture.server.metric("scrollback_media_received_bytes_total") >= 1_700_000 ? true : nil
        }
        let offset = try #require(try await fixture.offset(of: upload, 6))
        #expect(offset > 1_700_000 && offset <= 2_000_000)
        let end = try await fixture.append(Array(Self.file[offset...]), to: upload, at: offset, 6)
        #expect(end.status == 201)
    }

    @Test("After a crash, an upload resumes at the offset that is on disk")
    func uploadResumesAfterCrash() async throws {
        let fixture = try await MediaServer()
        let file = SampleFile.noise(20_000_000, seed: 7)
        let connection = try await RawConnection(fixture.server)
        let upload = try await fixture.begin(6, length: file.count, on: connection)
        connection.write(Array(file[..<19_000_000]))
        try await eventually("the server has received most of the bytes") {
            try await fixture.server.metric("scrollback_media_received_bytes_total") >= 18_000_000 ? true : nil
        }
        fixture.server.kill()
        try await fixture.server.start()
        let offset = try #require(try await fixture.offset(of: upload, 6))
        // The server synchronizes the file with the disk every 8 MiB.
        #expect(offset >= 2 * 8 << 20 && offset <= 19_000_000)
        let end = try await fixture.append(Array(file[offset...]), to: upload, at: offset, 6)
        let media = try #require(end.json.string("media"), "\(end)")
        #expect(try await fixture.file(media, by: fixture.alice).bytes == file)
        #expect(fixture.filesOnDisk.count == 1)
    }

    @Test("A client that lost the final response gets it again, even after a restart, and there is one file")
    func lostFinalResponseIsRepeated() async throws {
        let fixture = try await MediaServer()
        let connection = try await RawConnection(fixture.server)
        let upload = try await fixture.begin(6, length: Self.file.count, on: connection)
        connection.write(Self.file)
        let first = try await connection.answer()
        #expect(first.status == 201)
        for restarts in [false, true] {
            if restarts {
                try await fixture.server.terminate()
                try await fixture.server.start()
            }
            #expect(try await fixture.offset(of: upload, 6) == Self.file.count)
            let again = try await fixture.append([], to: upload, at: Self.file.count, 6)
            #expect(again.status == 201 && again.text == first.body && MediaServer.isComplete(again, 6), "\(again)")
        }
        #expect(try await fixture.append([1], to: upload, at: Self.file.count, 6).status == 400)
        #expect(try await fixture.append([1], to: upload, at: 5, 6).status == 409)
        #expect(try await fixture.alice.call("DELETE", upload).status == 204)
        #expect(try await fixture.offset(of: upload, 6) == nil)
        let media = try #require(Members(Array(first.body.utf8)).string("media"))
        #expect(try await fixture.file(media, by: fixture.alice).status == 200)
    }

    @Test("A wrong offset gets the correct offset, and the upload continues", arguments: [3, 4, 5, 6])
    func wrongOffset(_ version: Int) async throws {
        let fixture = try await MediaServer()
        let begun = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: Array(Self.file[..<1000]), type: nil,
            headers: MediaServer.fields(version, isEnd: false))
        let upload = try #require(begun.headers["location"])
        for offset in [0, 999, 1001, 2_000_000] {
            let answer = try await fixture.append([1, 2, 3], to: upload, at: offset, version)
            #expect(answer.status == 409 && answer.headers["upload-offset"] == "1000", "\(answer)")
            #expect(!MediaServer.isComplete(answer, version))
        }
        let end = try await fixture.append(Array(Self.file[1000...]), to: upload, at: 1000, version)
        let media = try #require(end.json.string("media"))
        #expect(try await fixture.file(media, by: fixture.alice).bytes == Self.file)
    }

    @Test("A bad request for an upload gets an error and does not affect the upload")
    func badRequestsDoNotAffectUpload() async throws {
        let fixture = try await MediaServer()
        let begun = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: [1, 2], type: nil,
            headers: MediaServer.fields(6, isEnd: false).merging(["Upload-Length": "10"]) { $1 })
        let upload = try #require(begun.headers["location"])
        #expect(begun.headers["upload-limit"]?.contains("max-size=104857600") == true)
        func patch(_ headers: [String: String], _ bytes: [UInt8], type: String = "application/partial-upload")
            async throws -> Int
        {
            try await fixture.alice.call("PATCH", upload, bytes: bytes, type: type, headers: headers).status
        }
        let end = MediaServer.fields(6, isEnd: true, offset: 2)
        #expect(try await patch(end, [3], type: "text/plain") == 415)
        #expect(try await patch(MediaServer.fields(6, isEnd: true), [3]) == 400)
        // Fewer bytes and more bytes than the declared length.
        #expect(try await patch(end, [3]) == 400)
        #expect(try await patch(end, SampleFile.noise(9)) == 400)
        #expect(try await fixture.alice.call("HEAD", upload, headers: ["Upload-Offset": "2"]).status == 400)
        #expect(try await fixture.alice.call("DELETE", upload, headers: ["Upload-Complete": "?1"]).status == 400)
        #expect(try await fixture.offset(of: upload, 6, by: fixture.bob) == nil)
        #expect(try await fixture.append([3], to: upload, at: 2, 6, by: fixture.bob).status == 404)
        #expect(try await fixture.alice.call("HEAD", "/v1/uploads/AAAAAAAAAAAAAAAAAAAAAAAA").status == 404)
        #expect(try await patch(end, SampleFile.noise(8)) == 201)
        let created = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: [1], type: nil, headers: MediaServer.fields(6, isEnd: true, offset: 0))
        #expect(created.status == 400)
        for path in ["/v1/media", MediaServer.path()] {
            let options = try await fixture.alice.call("OPTIONS", path)
            #expect(options.status == 204 && options.headers["upload-limit"] != nil)
        }
    }

    @Test("An expired token can resume its own upload but can't start one")
    func expiredTokenResumesOnlyItsOwnUpload() async throws {
        let fixture = try await MediaServer()
        let begun = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: [1, 2], type: nil, headers: MediaServer.fields(6, isEnd: false))
        let upload = try #require(begun.headers["location"])
        let old = Date(timeIntervalSinceNow: -7200)
        let alice = API(
            server: fixture.server.url, token: try await fixture.server.token("alice", lifetime: 60, madeAt: old))
        let bob = API(
            server: fixture.server.url, token: try await fixture.server.token("bob", lifetime: 60, madeAt: old))
        #expect(try await fixture.upload([1], by: alice).code == "token-expired")
        #expect(try await fixture.offset(of: upload, 6, by: bob) == nil)
        #expect(try await fixture.offset(of: upload, 6, by: alice) == 2)
        #expect(try await fixture.append([3], to: upload, at: 2, 6, by: alice).status == 201)
        // A revoked token can't.
        #expect(try await fixture.admin.call("DELETE", "/v1/users/alice/tokens").status == 204)
        #expect(try await fixture.alice.call("HEAD", upload).status == 401)
    }

    @Test("A client of a supported version gets the exact 104 response, followed by the final response")
    func interimResponseIsExact() async throws {
        let fixture = try await MediaServer()
        let connection = try await RawConnection(fixture.server)
        for version in [3, 4, 5, 6] {
            fixture.sendHead(version, length: 3, on: connection)
            let head = try await connection.read(through: "\r\n\r\n")
            #expect(head.hasPrefix("HTTP/1.1 104 Upload Resumption Supported\r\n"), "\(head)")
            #expect(head.lowercased().contains("upload-draft-interop-version: \(version)\r\n"))
            #expect(head.lowercased().contains("\r\nlocation: /v1/uploads/"))
            #expect(!head.lowercased().contains("transfer-encoding") && !head.lowercased().contains("content-length"))
            connection.write([1, 2, 3])
            #expect(try await connection.answer().status == 201)
        }
        fixture.sendHead(nil, length: 3, on: connection)
        connection.write([1, 2, 3])
        #expect(try await connection.answer().status == 201)
    }

    @Test("A server that stops ends uploads without a response, and the uploads resume after its restart")
    func shutdown() async throws {
        let fixture = try await MediaServer()
        let connection = try await RawConnection(fixture.server)
        let upload = try await fixture.begin(6, length: Self.file.count, on: connection)
        connection.write(Array(Self.file[..<2_000_000]))
        try await eventually("the server has received the bytes") {
            try await fixture.server.metric("scrollback_media_received_bytes_total") >= 1_700_000 ? true : nil
        }
        #expect(try await fixture.server.terminate() == 0)
        try await fixture.server.start()
        let offset = try #require(try await fixture.offset(of: upload, 6))
        #expect(offset > 1_700_000)
        #expect(try await fixture.append(Array(Self.file[offset...]), to: upload, at: offset, 6).status == 201)
    }

    @Test("A file has the ID that its client chose, and is uploaded only once by this ID")
    func clientChoosesFileID() async throws {
        let fixture = try await MediaServer()
        let id = UUID().uuidString.lowercased()
        let path = MediaServer.path(name: "a+b.txt") + "&id=\(id)"
        let first = try await fixture.alice.call("POST", path, bytes: SampleFile.text, type: nil)
        #expect(first.status == 201 && first.json.string("media") == id && first.json.string("name") == "a+b.txt")
        let again = try await fixture.alice.call(
            "POST", path, bytes: [], type: nil, headers: MediaServer.fields(6, isEnd: false))
        #expect(again.status == 200 && again.text == first.text && again.headers["location"] == nil)
        #expect(try await fixture.bob.call("POST", path, bytes: [1], type: nil).status == 409)
        #expect(try await fixture.file(id, by: fixture.alice).bytes == SampleFile.text)
    }
}
