import Foundation
import ScrollbackModel
import TestSupport
import Testing

/// The backup and restore commands, including their errors.
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

    @Test func `A backup of a running server is restored, verified and served with its keys and a new generation`()
        async throws
    {
        let (backup, report) = try await server.backUp("new/backup")
        #expect(try names(backup) == Self.files)
        #expect(try permissions(backup) == 0o700)
        for name in Self.files { #expect(try permissions(backup.appending(component: name)) == 0o600) }
        #expect(report.int("messages") == 40 && report.int("conversations") == 1)
        #expect(try await RunningServer.verdict(backup).isWhole)
        #expect(try names(backup) == Self.files, "Verifying the backup does not change it.")

        let folder = try TemporaryFolder()
        let restored = try await RunningServer.restore(backup, to: folder.url.appending(component: "data"))
        #expect(restored.int("messages") == 40)
        let generation = try #require(restored.string("generation"))
        #expect(generation != report.string("generation"))
        #expect(try await RunningServer.verdict(folder.url.appending(component: "data")).isWhole)
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

    @Test func `A backup of a killed server includes commits that are only in the write-ahead log`() async throws {
        server.kill()
        let wal = server.data.appending(component: "scrollback.sqlite-wal")
        let size = try FileManager.default.attributesOfItem(atPath: wal.path)[.size] as? Int
        #expect((size ?? 0) > 1_000_000, "The write-ahead log contains too little.")
        let (_, report) = try await server.backUp("backup")
        #expect(report.int("messages") == 40)
        try await server.start()
        #expect(try await server.backUp("again").report.int("messages") == 40)
    }

    @Test func `A backup needs an empty directory, and a server does not start from a backup`()
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

    @Test func `A restore is refused if the directory has a running server, a store or a part of a store`() async throws
    {
        let (backup, _) = try await server.backUp("backup")
        func restore(_ data: URL) async throws -> (code: Int32, output: String, errors: String) {
            try await RunningServer.command(["restore", backup.path, "--data", data.path])
        }
        let running = try await restore(server.data)
        #expect(running.code == 1 && running.errors.contains("stop the server"), "\(running)")
        try await server.terminate()
        let taken = try await restore(server.data)
        #expect(taken.code == 1 && taken.errors.contains("Move the directory away"), "\(taken)")
        // SQLite would apply a leftover write-ahead log to the restored store.
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

    @Test func `A backup with a changed byte or a truncated file is refused with an error that names the file`()
        async throws
    {
        let (backup, _) = try await server.backUp("backup")
        for name in Self.files {
            let file = backup.appending(component: name)
            let whole = try Data(contentsOf: file)
            var changed = whole
            // In the manifest, the changed byte is a digit of a digest or a letter of a name. Any change is detected.
            changed[whole.count / 2] ^= 0x01
            for bytes in [changed, whole.dropLast(1), Data()] {
                try bytes.write(to: file)
                // Whitespace at the end of the manifest has no meaning.
                if name == "backup.json", bytes.count == whole.count - 1 { continue }
                let refused = try await RunningServer.command(["restore", backup.path, "--data", path("data2").path])
                #expect(refused.code == 1 && refused.errors.contains(name), "\(name), \(bytes.count) bytes: \(refused)")
                #expect(try await !RunningServer.verdict(backup).isWhole, "\(name)")
                #expect(!FileManager.default.fileExists(atPath: path("data2").path), "The restore left files behind.")
            }
            try FileManager.default.removeItem(at: file)
            let missing = try await RunningServer.command(["restore", backup.path, "--data", path("data2").path])
            #expect(missing.code == 1 && missing.errors.contains(name), "\(missing)")
            try whole.write(to: file)
        }
        try await RunningServer.restore(backup, to: path("data2"))
    }

    @Test func `A backup or restore killed at any moment can be repeated, and partial results are never accepted`()
        async throws
    {
        var generator = SplitMix64(printingSeedFor: "a killed backup")
        var left = 0
        for attempt in 0..<(Run.isLong ? 25 : 8) {
            let backup = path("backup-\(attempt)")
            let partial = path("backup-\(attempt).partial")
            try await Self.kill(
                ["backup", backup.path, "--data", server.data.path], in: server.folder, &generator,
                once: { FileManager.default.fileExists(atPath: partial.path) })
            if FileManager.default.fileExists(atPath: partial.path) { left += 1 }
            // The backup exists and is intact, or it does not exist.
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
        #expect(left > 0, "No command was killed halfway.")
    }

    /// Runs a command and kills it shortly after it has started to write.
    private static func kill(
        _ arguments: [String], in folder: URL, _ generator: inout SplitMix64, once hasBegun: () -> Bool
    ) async throws {
        let process = try RunningServer.run(arguments, name: "killed", folder: folder)
        while process.end == nil, !hasBegun() { usleep(200) }
        usleep(UInt32.random(in: 0...30_000, using: &generator))
        process.kill()
    }

    @Test func `Neither a server nor a verification accepts an interrupted backup`() async throws {
        let partial = path("monday.partial")
        try FileManager.default.createDirectory(at: partial, withIntermediateDirectories: true)
        // SQLite opens an empty file as a new database.
        try Data().write(to: partial.appending(component: "scrollback.sqlite"))
        for arguments in [["serve", "--port", "0", "--data", partial.path], ["verify", partial.path]] {
            let result = try await RunningServer.command(arguments)
            #expect(result.code == 1 && result.errors.contains("is an interrupted backup"), "\(result)")
        }
        #expect(try names(partial) == ["scrollback.sqlite"])
    }

    @Test func `A server does not start from an interrupted restore, and the restore can be repeated`() async throws {
        let (backup, _) = try await server.backUp("backup")
        let data = path("half")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        // The restore was interrupted between renaming two files.
        for (name, new) in [("secrets.json", "secrets.json"), ("scrollback.sqlite", "scrollback.sqlite.restoring")] {
            try FileManager.default.copyItem(
                at: backup.appending(component: name), to: data.appending(component: new))
        }
        let served = try await RunningServer.command(["serve", "--port", "0", "--data", data.path])
        #expect(served.code == 1 && served.errors.contains("run `scrollback restore` again"), "\(served)")
        try await RunningServer.restore(backup, to: data)
        #expect(try await RunningServer.verdict(data).isWhole)
    }

    /// Simulates a full disk with a limit on the size of files.
    @Test(arguments: ["backup", "restore"])
    func `A command on a full disk fails with an error and leaves no files`(command: String) async throws {
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
                process.errorText.contains("No space is left. (storage-full)")
                    || limit == 1, "\(process.errorText)")
            #expect(try names(server.folder).filter { $0.hasPrefix("target") } == [], "at \(limit)")
        }
    }
}
