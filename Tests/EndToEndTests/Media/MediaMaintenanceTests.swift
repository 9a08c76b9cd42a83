import ContractRows
import Foundation
import PictureFixtures
import ScrollbackModel
import TestSupport
import Testing

@Suite("Maintenance of media files")
struct MediaMaintenanceTests {
    private func inode(_ url: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: url.path)[.systemFileNumber] as? Int
    }

    private func blobs(of data: URL) -> [URL] {
        let folder = data.appending(path: "media/blobs")
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
        return (found?.allObjects as? [URL] ?? []).filter { $0.lastPathComponent.count == 62 }
    }

    @Test("A backup hard-links files on the same volume, and a restore includes files and thumbnails")
    func backup() async throws {
        let fixture = try await MediaServer()
        let (media, _) = try await fixture.send(SampleFile.png(40, 30, content: 500_000), "image")
        let thumbnail = try await fixture.alice.call(
            "PUT", "/v1/media/\(media)/thumbnail", bytes: SampleFile.jpeg, type: "image/jpeg")
        #expect(thumbnail.status == 200)
        // Blobs without a row and unfinished uploads are not part of the backup.
        let orphan = fixture.server.data.appending(path: "media/blobs/ff")
        try FileManager.default.createDirectory(at: orphan, withIntermediateDirectories: true)
        let name = String(repeating: "f", count: 62)
        try Data([1]).write(to: orphan.appending(component: name))
        let begun = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: [1], type: nil, headers: MediaServer.fields(6, isEnd: false))
        let (backup, _) = try await fixture.server.backUp("backup")
        let (there, here) = (blobs(of: backup), blobs(of: fixture.server.data))
        #expect(there.count == 2 && here.count >= 2)
        #expect(try Set(there.map(inode)).isSubset(of: Set(here.map(inode))))
        #expect(try await RunningServer.verdict(backup).isWhole)

        let folder = try TemporaryFolder()
        try await RunningServer.restore(backup, to: folder.url.appending(component: "data"))
        #expect(try await RunningServer.verdict(folder.url.appending(component: "data")).isWhole)
        let other = try await RunningServer.start(folder: folder)
        let bob = try await other.api("bob")
        #expect(try await bob.call("GET", "/v1/media/\(media)").bytes == SampleFile.png(40, 30, content: 500_000))
        #expect(try await bob.call("GET", "/v1/media/\(media)/thumbnail").bytes == SampleFile.jpeg)
        let upload = try #require(begun.headers["location"])
        #expect(try await other.api("alice").call("HEAD", upload).status == 404)

        // Verification detects a changed byte.
        let damaged = try #require(there.first)
        var bytes = try Data(contentsOf: damaged)
        bytes[bytes.startIndex] ^= 1
        try FileManager.default.removeItem(at: damaged)
        try bytes.write(to: damaged)
        let verdict = try await RunningServer.verdict(backup)
        #expect(!verdict.isWhole && verdict.text.contains("changed after the backup"), "\(verdict)")
    }

    @Test("A restore over existing media files, possibly the backup's own, is refused and changes none")
    func restoreOverExistingMediaIsRefused() async throws {
        let fixture = try await MediaServer()
        let (media, _) = try await fixture.send(SampleFile.mp3)
        let (backup, _) = try await fixture.server.backUp("backup")
        #expect(try await fixture.server.terminate() == 0)
        let data = fixture.server.data
        for name in try FileManager.default.contentsOfDirectory(atPath: data.path) where name != "media" {
            try FileManager.default.removeItem(at: data.appending(component: name))
        }
        let refused = try await RunningServer.command(["restore", backup.path, "--data", data.path])
        #expect(refused.code != 0 && refused.errors.contains("media"), "\(refused)")
        // An interrupted restore continues, beside files that it has copied and files that it has yet to copy.
        try Data().write(to: data.appending(component: "scrollback.sqlite.restoring"))
        let again = try await RunningServer.command(["restore", backup.path, "--data", data.path])
        #expect(again.code == 0, "\(again)")
        #expect(try await RunningServer.verdict(backup).isWhole)
        try await fixture.server.start()
        #expect(try await fixture.file(media, by: fixture.bob).bytes == SampleFile.mp3)
    }

    @Test("Verification reports missing and truncated files")
    func verify() async throws {
        let fixture = try await MediaServer()
        _ = try await fixture.send(SampleFile.text)
        _ = try await fixture.send(SampleFile.mp3)
        #expect(try await fixture.server.terminate() == 0)
        #expect(try await RunningServer.verdict(fixture.server.data).isWhole)
        let files = blobs(of: fixture.server.data)
        try #require(files.count == 2)
        try FileManager.default.removeItem(at: files[0])
        try Data([1]).write(to: files[1])
        let verdict = try await RunningServer.verdict(fixture.server.data)
        #expect(
            !verdict.isWhole && verdict.text.contains("missing") && verdict.text.contains("but 1 exist"), "\(verdict)")
    }

    @Test("After a crash the server removes leftover files and keeps all files that a row refers to")
    func cleanupAfterCrashKeepsReferencedFiles() async throws {
        let fixture = try await MediaServer()
        let (media, _) = try await fixture.send(SampleFile.text)
        let begun = try await fixture.alice.call(
            "POST", MediaServer.path(), bytes: [1, 2], type: nil, headers: MediaServer.fields(6, isEnd: false))
        let upload = try #require(begun.headers["location"])
        fixture.server.kill()
        let folder = fixture.server.data.appending(path: "media")
        let orphan = folder.appending(path: "blobs/ff")
        try FileManager.default.createDirectory(at: orphan, withIntermediateDirectories: true)
        try Data([1]).write(to: orphan.appending(component: String(repeating: "f", count: 62)))
        try Data([1]).write(to: folder.appending(path: "uploads/AAAAAAAAAAAAAAAAAAAAAAAA"))
        try await fixture.server.start()
        // Changing a retention setting starts the cleanup immediately instead of within a minute.
        #expect(try await fixture.admin.call("PUT", "/v1/settings", #"{"mediaRetentionDays":180}"#).status == 200)
        try await eventually("the leftover files are removed") { fixture.filesOnDisk.count == 2 ? true : nil }
        #expect(try await fixture.file(media, by: fixture.bob).bytes == SampleFile.text)
        #expect(try await fixture.append([3], to: upload, at: 2, 6).status == 201)
    }

    @Test("An upload on a full disk gets 503 storage-full and continues once there is space")
    func fullDisk() async throws {
        let fixture = try await MediaServer(shell: "trap '' XFSZ; ulimit -S -f \(3 * 1024 * 2)")
        let file = SampleFile.noise(5_000_000, seed: 3)
        let connection = try await RawConnection(fixture.server)
        let upload = try await fixture.begin(6, length: file.count, on: connection)
        connection.write(file)
        let refused = try await connection.answer()
        #expect(refused.status == 503 && refused.body.contains("storage-full"), "\(refused)")
        let lifted = Process()
        lifted.executableURL = URL(filePath: "/usr/bin/env")
        lifted.arguments = ["prlimit", "--pid", "\(fixture.server.pid)", "--fsize=unlimited:"]
        try lifted.run()
        lifted.waitUntilExit()
        try #require(lifted.terminationStatus == 0, "This test requires the program prlimit (package util-linux).")
        let offset = try #require(try await fixture.offset(of: upload, 6))
        #expect(offset <= 3 * 1024 * 1024)
        let end = try await fixture.append(Array(file[offset...]), to: upload, at: offset, 6)
        let media = try #require(end.json.string("media"), "\(end)")
        #expect(try await fixture.file(media, by: fixture.alice).bytes == file)
    }
}
