import Foundation
import ScrollbackModel
import Testing

/// Backups that go wrong, as they are met by whoever types the commands.
@Suite(.serialized) struct BackupTests {
    private let server: RunningServer
    private let text = String(repeating: "x", count: 100_000)

    init() async throws {
        server = try await RunningServer.start()
        let alice = try await server.api("alice")
        for _ in 0..<40 { #expect(try await alice.send(text, to: "direct:bob").status == 201) }
    }

    private func path(_ name: String) -> URL { server.folder.appending(component: name) }

    private func names(_ directory: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    private func permissions(_ url: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
    }

    private static let files = ["admin.key", "backup.json", "scrollback.sqlite", "secrets.json"]

    @Test func `A backup of a running server is restored, verified and served, with its keys, under a new generation`()
        async throws
    {
        let (backup, report) = try await server.backUp("new/backup")
        #expect(try names(backup) == Self.files)
        #expect(try permissions(backup) == 0o700)
        for name in Self.files { #expect(try permissions(backup.appending(component: name)) == 0o600) }
        #expect(report.int("messages") == 40 && report.int("conversations") == 1)
        #expect(try await RunningServer.verdict(backup).isWhole)
        #expect(try names(backup) == Self.files, "to look at it leaves it as it is")

        let folder = try RunningServer.makeFolder()
        let restored = try await RunningServer.restore(backup, to: folder.appending(component: "data"))
        #expect(restored.int("messages") == 40)
        let generation = try #require(restored.string("generation"))
        #expect(generation != report.string("generation"))
        #expect(try await RunningServer.verdict(folder.appending(component: "data")).isWhole)
        let key = try String(contentsOf: server.data.appending(component: "admin.key"), encoding: .utf8)
        let token = try await server.token("alice")
        let other = try await RunningServer.start(folder: folder)
        let admin = API(server: other.url, token: key.trimmingCharacters(in: .whitespacesAndNewlines))
        #expect(try await admin.call("GET", "/v1/me").status == 200)
        let alice = API(server: other.url, token: token)
        let page = try await alice.call("GET", "/v1/conversations/direct:bob/messages?limit=1")
        #expect(page.json.int("head") == 40)
        let before = try await server.api("alice").call("GET", "/v1/conversations/direct:bob/messages?limit=1")
        #expect(page.json.string("epoch") != before.json.string("epoch"))
        #expect(try await alice.send("on", to: "direct:bob").json.int("seq") == 41)
    }

    @Test func `A server that was killed is backed up with what is only in its log of commits`() async throws {
        server.kill()
        let wal = server.data.appending(component: "scrollback.sqlite-wal")
        let size = try FileManager.default.attributesOfItem(atPath: wal.path)[.size] as? Int
        #expect((size ?? 0) > 1_000_000, "there is nothing in it that is not in the file")
        let (_, report) = try await server.backUp("backup")
        #expect(report.int("messages") == 40)
        try await server.start()
        #expect(try await server.backUp("again").report.int("messages") == 40)
    }

    @Test func `A directory with something in it is no place for a backup, and a backup is no data directory`()
        async throws
    {
        let (backup, _) = try await server.backUp("backup")
        let again = try await RunningServer.command(["backup", backup.path, "--data", server.data.path])
        #expect(again.code == 1 && again.errors.contains("is not empty"), "\(again)")
        #expect(try names(backup) == Self.files)
        let nowhere = try await RunningServer.command(["backup", path("b").path, "--data", path("nowhere").path])
        #expect(nowhere.code == 1 && nowhere.errors.contains("has no store"), "\(nowhere)")
        #expect(try names(server.folder).filter { $0.hasPrefix("b.") || $0 == "b" || $0 == "nowhere" } == [])
        let served = try await RunningServer.command(["serve", "--port", "0", "--data", backup.path])
        #expect(served.code == 1 && served.errors.contains("scrollback restore"), "\(served)")
        #expect(try names(backup) == Self.files)
    }

    @Test func `A restore goes nowhere where a server runs, or a store is, or a part of one`() async throws {
        let (backup, _) = try await server.backUp("backup")
        func restore(_ data: URL) async throws -> (code: Int32, output: String, errors: String) {
            try await RunningServer.command(["restore", backup.path, "--data", data.path])
        }
        let running = try await restore(server.data)
        #expect(running.code == 1 && running.errors.contains("stop the server"), "\(running)")
        try await server.terminate()
        let taken = try await restore(server.data)
        #expect(taken.code == 1 && taken.errors.contains("Move the directory away"), "\(taken)")
        // The log of a store that was moved away would be taken for the restored one's.
        let stale = path("stale")
        try FileManager.default.createDirectory(at: stale, withIntermediateDirectories: true)
        try Data("old".utf8).write(to: stale.appending(component: "scrollback.sqlite-wal"))
        let refused = try await restore(stale)
        #expect(refused.code == 1 && refused.errors.contains("scrollback.sqlite-wal"), "\(refused)")
        try FileManager.default.removeItem(at: stale.appending(component: "scrollback.sqlite-wal"))
        try Data("mine".utf8).write(to: stale.appending(component: "settings.json"))
        #expect(try await restore(stale).code == 0)
        #expect(try await RunningServer.verdict(stale).isWhole)
        #expect(try await restore(stale).code == 1)
    }

    @Test func `A backup of which a byte was changed, or that was cut short, is refused by the name of the file`()
        async throws
    {
        let (backup, _) = try await server.backUp("backup")
        for name in Self.files {
            let file = backup.appending(component: name)
            let whole = try Data(contentsOf: file)
            var changed = whole
            // Of the manifest, a digit of its form or a letter of a name: whatever it is, it is noticed.
            changed[whole.count / 2] ^= 0x01
            for bytes in [changed, whole.dropLast(1), Data()] {
                try bytes.write(to: file)
                // Spaces and line ends of the manifest say nothing.
                if name == "backup.json", bytes.count == whole.count - 1 { continue }
                let refused = try await RunningServer.command(["restore", backup.path, "--data", path("data2").path])
                #expect(refused.code == 1 && refused.errors.contains(name), "\(name), \(bytes.count) bytes: \(refused)")
                #expect(try await !RunningServer.verdict(backup).isWhole, "\(name)")
                #expect(!FileManager.default.fileExists(atPath: path("data2").path), "something was left")
            }
            try FileManager.default.removeItem(at: file)
            let missing = try await RunningServer.command(["restore", backup.path, "--data", path("data2").path])
            #expect(missing.code == 1 && missing.errors.contains(name), "\(missing)")
            try whole.write(to: file)
        }
        try await RunningServer.restore(backup, to: path("data2"))
    }

    @Test func `Killed at any moment, a backup and a restore can be run again, and nothing half is taken for whole`()
        async throws
    {
        var generator = SeededGenerator("a killed backup")
        var left = 0
        for attempt in 0..<(Run.isLong ? 25 : 8) {
            let backup = path("backup-\(attempt)")
            let partial = path("backup-\(attempt).partial")
            try await Self.kill(
                ["backup", backup.path, "--data", server.data.path], in: server.folder, &generator,
                once: { FileManager.default.fileExists(atPath: partial.path) })
            if FileManager.default.fileExists(atPath: partial.path) { left += 1 }
            // It is there and whole, or not there.
            if !FileManager.default.fileExists(atPath: backup.path) {
                try await server.backUp(backup.lastPathComponent)
            }
            #expect(try await RunningServer.verdict(backup).isWhole)
            #expect(!FileManager.default.fileExists(atPath: partial.path))

            let data = path("data-\(attempt)")
            let store = data.appending(component: "scrollback.sqlite")
            let restoring = data.appending(component: "scrollback.sqlite.restoring")
            try await Self.kill(
                ["restore", backup.path, "--data", data.path], in: server.folder, &generator,
                once: { FileManager.default.fileExists(atPath: restoring.path) })
            if FileManager.default.fileExists(atPath: restoring.path) { left += 1 }
            if !FileManager.default.fileExists(atPath: store.path) { try await RunningServer.restore(backup, to: data) }
            #expect(try await RunningServer.verdict(data).isWhole)
            #expect(try names(data).allSatisfy { !$0.contains("restoring") })
        }
        #expect(left > 0, "nobody was killed half way")
    }

    /// Runs a command and kills it a moment after it has begun to write.
    private static func kill(
        _ arguments: [String], in folder: URL, _ generator: inout SeededGenerator, once hasBegun: () -> Bool
    ) async throws {
        let process = try RunningServer.run(arguments, name: "killed", folder: folder)
        while process.end == nil, !hasBegun() { usleep(200) }
        usleep(UInt32.random(in: 0...30_000, using: &generator))
        process.kill()
    }

    @Test func `Where a restore was stopped half way no server starts, and it can be run again`() async throws {
        let (backup, _) = try await server.backUp("backup")
        let data = path("half")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        // As it is between the names of its files.
        for (name, new) in [("secrets.json", "secrets.json"), ("scrollback.sqlite", "scrollback.sqlite.restoring")] {
            try FileManager.default.copyItem(
                at: backup.appending(component: name), to: data.appending(component: new))
        }
        let served = try await RunningServer.command(["serve", "--port", "0", "--data", data.path])
        #expect(served.code == 1 && served.errors.contains("run `scrollback restore` again"), "\(served)")
        try await RunningServer.restore(backup, to: data)
        #expect(try await RunningServer.verdict(data).isWhole)
    }

    /// A limit on the size of files stands for a disk without room.
    @Test(arguments: ["backup", "restore"])
    func `On a full disk it says so, and leaves nothing behind`(command: String) async throws {
        let (backup, _) = try await server.backUp("backup")
        let target = path("target")
        let arguments =
            command == "backup"
            ? ["backup", target.path, "--data", server.data.path] : ["restore", backup.path, "--data", target.path]
        for limit in [1, 1024, 4 * 1024] {
            let process = try RunningServer.run(
                arguments, shell: "trap '' XFSZ; ulimit -S -f \(limit)", name: "full", folder: server.folder)
            #expect(try await process.waitForEnd() == 1)
            #expect(
                process.errorText.contains("there is no room left (storage-full)")
                    || limit == 1, "\(process.errorText)")
            #expect(try names(server.folder).filter { $0.hasPrefix("target") } == [], "at \(limit)")
        }
    }
}
