import Foundation
import PictureFixtures
import ScrollbackModel
import ScrollbackPostgres
import TestSupport
import Testing

/// Servers whose files are in an S3-compatible store.
@Suite(.needs(.s3), .serialized) struct S3ServerTests {
    private let bucket: S3Bucket
    private static let file = SampleFile.noise(20_000_000, seed: 7)

    init() throws {
        bucket = try S3Bucket()
    }

    private func start(_ arguments: [String] = [], folder: TemporaryFolder? = nil) async throws -> RunningServer {
        try await RunningServer.start(
            RunningServer.withoutLimits + ["--files", bucket.url] + arguments, shell: bucket.exports, folder: folder)
    }

    /// Runs `serve` until it ends.
    private func serve(
        _ data: URL, _ arguments: [String], shell: String? = nil
    ) async throws -> (code: Int32, errors: String) {
        let process = try RunningServer.run(
            ["serve", "--port", "0", "--data", data.path] + arguments, shell: shell ?? bucket.exports,
            name: "serve-\(UUID().uuidString)", folder: data.deletingLastPathComponent())
        return (try await process.waitForEnd(), process.errorText)
    }

    @Test func `Files are uploaded, resumed after a crash, downloaded in parts, and removed`() async throws {
        let fixture = try await MediaServer(on: try await start())
        let connection = try await RawConnection(fixture.server)
        let upload = try await fixture.begin(6, length: Self.file.count, on: connection)
        connection.write(Array(Self.file[..<19_000_000]))
        try await eventually("the server has received most of the bytes") {
            try await fixture.server.metric("scrollback_media_received_bytes_total") >= 18_000_000 ? true : nil
        }
        fixture.server.kill()
        try await fixture.server.start()
        let offset = try #require(try await fixture.offset(of: upload, 6))
        // The server stores a segment every 8 MiB.
        #expect(offset >= 2 * 8 << 20 && offset <= 19_000_000)
        let end = try await fixture.append(Array(Self.file[offset...]), to: upload, at: offset, 6)
        let media = try #require(end.json.string("media"), "\(end)")
        #expect(try await fixture.file(media, by: fixture.alice).bytes == Self.file)
        let part = try await fixture.file(media, by: fixture.alice, ["Range": "bytes=9999990-10000009"])
        #expect(part.status == 206 && part.bytes == Array(Self.file[9_999_990..<10_000_010]))
        #expect(fixture.filesOnDisk == [])
        let small = try await fixture.send(SampleFile.noise(1000))
        #expect(try await fixture.file(small.media, by: fixture.bob).bytes == SampleFile.noise(1000))
        let metrics = try await fixture.admin.call("GET", "/metrics").text
        #expect(metrics.contains(#"scrollback_file_store_requests_total{operation="put",outcome="success"}"#))
        #expect(try await fixture.server.terminate() == 0)
    }

    @Test func `A server that shuts down stores what it received`() async throws {
        let fixture = try await MediaServer(on: try await start())
        let connection = try await RawConnection(fixture.server)
        let upload = try await fixture.begin(6, length: Self.file.count, on: connection)
        connection.write(Array(Self.file[..<3_000_000]))
        try await eventually("the server has received the bytes") {
            try await fixture.server.metric("scrollback_media_received_bytes_total") >= 2_700_000 ? true : nil
        }
        #expect(try await fixture.server.terminate() == 0)
        try await fixture.server.start()
        let offset = try #require(try await fixture.offset(of: upload, 6))
        #expect(offset >= 2_700_000)
        let end = try await fixture.append(Array(Self.file[offset...]), to: upload, at: offset, 6)
        let media = try #require(end.json.string("media"), "\(end)")
        #expect(try await fixture.file(media, by: fixture.alice).bytes == Self.file)
    }

    @Test func `Files without a row are removed from the bucket`() async throws {
        let fixture = try await MediaServer(on: try await start())
        for number in 0..<3 { _ = try await fixture.send(SampleFile.noise(1000 + number)) }
        #expect(try await fixture.server.terminate() == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.server.data.path)
        for name in names where name.hasPrefix("scrollback.sqlite") {
            try FileManager.default.removeItem(at: fixture.server.data.appending(component: name))
        }
        // Another data directory, or one that had its files elsewhere, has none of the rows and must not remove them.
        let folder = try TemporaryFolder()
        let data = folder.url.appending(component: "data")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        for place in [nil, "http://127.0.0.1:9/other/"] {
            try place?.write(to: data.appending(component: "uses-s3"), atomically: true, encoding: .utf8)
            let other = try await serve(data, ["--files", bucket.url])
            #expect(other.code == 1 && other.errors.contains("files of another server"), "\(other.errors)")
        }
        try await fixture.server.start()
        // A change of a retention setting starts the cleanup.
        #expect(try await fixture.admin.call("PUT", "/v1/settings", #"{"mediaRetentionDays":179}"#).status == 200)
        try await eventually("the files are removed") {
            let metric = #"scrollback_file_store_requests_total{operation="delete",outcome="success"}"#
            return try await fixture.admin.call("GET", "/metrics").text.contains("\(metric) 3\n") ? true : nil
        }
    }

    @Test func `An interrupted upload keeps what the server received, and a cancelled one leaves nothing`() async throws
    {
        let fixture = try await MediaServer(on: try await start())
        let connection = try await RawConnection(fixture.server)
        let upload = try await fixture.begin(6, length: Self.file.count, on: connection)
        connection.write(Array(Self.file[..<3_000_000]))
        try await eventually("the server has received the bytes") {
            try await fixture.server.metric("scrollback_media_received_bytes_total") >= 2_700_000 ? true : nil
        }
        connection.close()
        let offset = try #require(try await fixture.offset(of: upload, 6))
        #expect(offset >= 2_700_000)
        let end = try await fixture.append(Array(Self.file[offset...]), to: upload, at: offset, 6)
        #expect(end.status == 201, "\(end)")
        #expect(fixture.filesOnDisk == [])
        #expect(try await fixture.alice.call("DELETE", upload).status == 204)
    }

    @Test func `Existing files in the bucket are encrypted when the server gets keys`() async throws {
        let folder = try TemporaryFolder()
        let keys = folder.url.appending(component: "keys")
        try Data(repeating: 7, count: 32).base64EncodedString().write(to: keys, atomically: true, encoding: .utf8)
        chmod(keys.path, 0o600)
        let plain = try await MediaServer(on: try await start(folder: folder))
        let before = try await plain.send(Array(Self.file[..<3_000_000]))
        #expect(try await plain.server.terminate() == 0)
        let fixture = try await MediaServer(on: try await start(["--store-keys", keys.path], folder: folder))
        try await eventually("the files are encrypted") {
            fixture.server.log.contains("Changed the storage encryption.") ? true : nil
        }
        #expect(try await fixture.file(before.media, by: fixture.bob).bytes == Array(Self.file[..<3_000_000]))
        let begun = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: Array(Self.file[..<1_000_000]), type: nil,
            headers: MediaServer.fields(6, isEnd: false))
        let upload = try #require(begun.headers["location"])
        let end = try await fixture.append(Array(Self.file[1_000_000...]), to: upload, at: 1_000_000, 6)
        let media = try #require(end.json.string("media"), "\(end)")
        #expect(try await fixture.file(media, by: fixture.alice).bytes == Self.file)
        let part = try await fixture.file(media, by: fixture.alice, ["Range": "bytes=65530-65545"])
        #expect(part.bytes == Array(Self.file[65_530...65_545]))
        #expect(fixture.filesOnDisk == [])
    }

    @Test func `A directory is used with --files from its first file on, or never`() async throws {
        let disk = try await MediaServer()
        _ = try await disk.send(SampleFile.noise(1000))
        #expect(try await disk.server.terminate() == 0)
        let other = try await serve(disk.server.data, ["--files", bucket.url])
        #expect(other.code == 1 && other.errors.contains("which has files"), "\(other.errors)")

        let server = try await start()
        #expect(try await server.terminate() == 0)
        let without = try await serve(server.data, [])
        #expect(without.code == 1 && without.errors.contains("Start the server with its URL"), "\(without.errors)")
    }

    @Test func `Backups, restores and checks say that the files are elsewhere`() async throws {
        let fixture = try await MediaServer(on: try await start())
        let sent = try await fixture.send(SampleFile.noise(1000))
        let folder = fixture.server.folder
        let (backup, restored) = (folder.appending(component: "backup"), folder.appending(component: "restored"))
        let doctor = try await RunningServer.command(["doctor", "--data", fixture.server.data.path, "--json"])
        #expect(doctor.output.contains("The files are in an S3 store"), "\(doctor)")
        #expect(try await fixture.server.terminate() == 0)
        for command in [
            ["backup", backup.path, "--data", fixture.server.data.path], ["verify", backup.path],
            ["verify", fixture.server.data.path], ["restore", backup.path, "--data", restored.path],
        ] {
            let result = try await RunningServer.command(command)
            #expect(result.code == 0, "\(command): \(result)")
            #expect(result.errors.contains("the files are in an S3 store"), "\(command): \(result.errors)")
        }
        let without = try await serve(restored, [])
        #expect(without.code == 1 && without.errors.contains("files is missing"), "\(without.errors)")
        let again = try await RunningServer.start(
            ["--files", bucket.url, "--data", restored.path], shell: bucket.exports)
        let bob = API(server: again.url, token: try await fixture.server.token("bob"))
        #expect(try await bob.call("GET", "/v1/media/\(sent.media)").bytes == SampleFile.noise(1000))
    }

    @Test func `A store that can't be used is one clear line and exit status 1`() async throws {
        let folder = try TemporaryFolder()
        let data = folder.url.appending(component: "data")
        let cases: [(arguments: [String], shell: String, reason: String)] = [
            (["--files", bucket.url], "unset AWS_ACCESS_KEY_ID", "set the environment variable AWS_ACCESS_KEY_ID"),
            (["--files", bucket.url], bucket.exports + " AWS_SECRET_ACCESS_KEY=wrong-1", "AWS_SECRET_ACCESS_KEY"),
            (["--files", "s3://a:wrong-1@files"], bucket.exports, "must not contain credentials"),
            (["--files", "s3://files?endpoint=http://127.0.0.1:9"], bucket.exports, "can't be reached"),
            ([], bucket.exports + "; export SCROLLBACK_FILES_URL=s3://x", "must name a bucket"),
        ]
        for (arguments, shell, reason) in cases {
            let result = try await serve(data, arguments, shell: shell)
            #expect(result.code == 1)
            let lines = result.errors.split(separator: "\n").filter { !$0.contains(" notice ") }
            #expect(lines.count == 1 && result.errors.contains(reason), "\(result.errors)")
            #expect(!result.errors.contains("wrong-1"), "\(result.errors)")
        }
    }

    @Test(.needs(.postgres)) func `A move copies the files to the bucket and reports missing ones`() async throws {
        let folder = try TemporaryFolder()
        let database = try PostgresDatabase()
        let store = try database.makeSchema().text
        let fixture = try await MediaServer(on: try await RunningServer.start(folder: folder))
        let large = try await fixture.send(Self.file)
        let lost = try await fixture.send(SampleFile.noise(1000))
        let connection = try await RawConnection(fixture.server)
        let upload = try await fixture.begin(6, length: 2000, on: connection)
        let data = fixture.server.data
        #expect(try await fixture.server.terminate() == 0)
        for file in FileManager.default.enumerator(at: data, includingPropertiesForKeys: [.fileSizeKey]) ?? .init() {
            guard let file = file as? URL, file.path.contains("/blobs/") else { continue }
            if try file.resourceValues(forKeys: [.fileSizeKey]).fileSize == 1000 {
                try FileManager.default.removeItem(at: file)
            }
        }
        func move() async throws -> ChildProcess {
            let process = try RunningServer.run(
                ["move", "--data", data.path, "--store", store, "--files", bucket.url, "--json"],
                shell: bucket.exports, name: "move-\(UUID().uuidString)", folder: folder.url)
            _ = try await process.waitForEnd(within: 300)
            return process
        }
        let moved = try await move()
        try #require(moved.end == 0, "\(moved.errorText)")
        #expect(moved.errorText.contains("does not have the file"), "\(moved.errorText)")
        let report = Members(Array(moved.outputText.utf8))
        #expect(report.int("files") == 1 && report.int("missingFiles") == 1)
        #expect(report.int("fileBytes") == Self.file.count)
        // As if it had been killed before its last step.
        try FileManager.default.moveItem(
            at: data.appending(component: "scrollback.sqlite.moved"), to: data.appending(component: "scrollback.sqlite")
        )
        let again = try await move()
        #expect(again.end == 0, "\(again.errorText)")
        let server = try await start(["--store", store], folder: folder)
        let after = try await MediaServer(on: server)
        #expect(try await after.file(large.media, by: after.bob).bytes == Self.file)
        #expect(try await after.file(lost.media, by: after.bob).status == 404)
        #expect(try await after.offset(of: upload, 6) == nil)
        let names = try FileManager.default.contentsOfDirectory(atPath: data.path)
        #expect(names.contains("uses-s3") && !names.contains("move.temporary"))
    }
}
