import Foundation
import ScrollbackModel
import TestSupport
import Testing

@Suite struct DoctorTests {
    /// The output of `doctor --json` for each check.
    private struct Report {
        var code: Int32
        var outcomes: [String: String] = [:]
        var details: [String: String] = [:]
        var fixes: [String: String] = [:]

        init(_ arguments: [String], shell: String? = nil, folder: URL) async throws {
            let process = try RunningServer.run(
                ["doctor", "--json"] + arguments, shell: shell, name: "doctor", folder: folder)
            code = try await process.waitForEnd(within: 60)
            for line in process.outputText.split(separator: "\n") {
                let members = Members(Array(line.utf8))
                guard let check = members.string("check") else { continue }
                outcomes[check] = members.string("outcome")
                details[check] = members.string("detail")
                fixes[check] = members.string("fix")
            }
        }

        subscript(check: String) -> String? { outcomes[check] }
        /// The checks with a warning or a failure.
        var troubles: Set<String> { Set(outcomes.filter { ["warning", "failed"].contains($0.value) }.keys) }
    }

    private let server: RunningServer

    init() async throws {
        server = try await RunningServer.start()
    }

    /// Runs the doctor with enough file descriptors, regardless of the limit of the tests.
    private func examine(_ arguments: [String] = [], descriptors: Int = 4096) async throws -> Report {
        try await Report(
            ["--data", server.data.path, "--server", server.url.absoluteString] + arguments,
            shell: "ulimit -n \(descriptors)", folder: server.folder)
    }

    @Test func `The doctor reports ok for a healthy server and causes no error in its log`()
        async throws
    {
        let report = try await examine()
        #expect(report.code == 0)
        #expect(Set(report.outcomes.values) == ["ok"], "\(report)")
        #expect(
            Set(report.outcomes.keys) == [
                "file descriptors", "SQLite", "data directory", "secrets.json", "admin.key", "schema", "encryption",
                "in use",
                "disk space", "write-ahead log", "server", "ready", "clock", "version", "admin key", "WebSocket",
            ])
        #expect(report.details["in use"]?.contains("Another process") == true)
        #expect(!server.log.contains(" error "))
    }

    @Test func `Readable secrets and a missing admin key fail with the command that fixes them`() async throws {
        let secrets = server.data.appending(component: "secrets.json")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: secrets.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: server.data.path)
        try FileManager.default.removeItem(at: server.data.appending(component: "admin.key"))
        let report = try await examine()
        #expect(report.code == 1)
        #expect(report.troubles == ["secrets.json", "data directory", "admin.key"], "\(report)")
        #expect(report.fixes["secrets.json"]?.hasPrefix("Run chmod 600 \(secrets.path)") == true)
        #expect(report.fixes["data directory"]?.hasPrefix("Run chmod 700") == true)
        #expect(report["admin key"] == "skipped")
        #expect(report["WebSocket"] == "ok")
    }

    @Test func `A server that does not answer fails, and checks that need it are skipped`() async throws {
        try await server.terminate()
        let report = try await examine()
        #expect(report.code == 1)
        #expect(report.troubles == ["server"], "\(report)")
        for check in ["ready", "clock", "version", "admin key", "WebSocket"] { #expect(report[check] == "skipped") }
        #expect(report.details["in use"]?.contains("No process") == true)
        try await server.start()
        #expect(try await examine().code == 0)
    }

    @Test func `Another server's key fails, and a key is enough without a data directory`() async throws {
        let other = try await RunningServer.start()
        let wrong = try await Report(
            ["--data", other.data.path, "--server", server.url.absoluteString], folder: server.folder)
        #expect(wrong.code == 1 && wrong["admin key"] == "failed", "\(wrong)")
        let report = try await examine(["--key-file", server.data.appending(component: "admin.key").path])
        #expect(report.code == 0)
        #expect(report["data directory"] == "skipped" && report["admin key"] == "ok", "\(report)")
    }

    @Test func `A token that does not permit what administrators do fails with the reason`() async throws {
        let file = server.folder.appending(component: "user.key")
        try Data(try await server.token("alice").utf8).write(to: file)
        let report = try await examine(["--key-file", file.path])
        #expect(report.code == 1 && report.troubles == ["admin key"], "\(report)")
        #expect(report.details["admin key"]?.contains("Only administrators can do this.") == true, "\(report)")

        let apart = try await RunningServer.start(["--admin-address", "127.0.0.1:0"])
        let first = try await Report(
            ["--data", apart.data.path, "--server", apart.url.absoluteString], folder: apart.folder)
        #expect(first.code == 1 && first["admin key"] == "failed", "\(first)")
        #expect(first.fixes["admin key"]?.contains("--admin-address") == true, "\(first)")
    }

    @Test func `A missing directory, one without a store, a backup and an unreadable store each fail with a reason`()
        async throws
    {
        let nowhere = try await examine(["--data", "/nowhere"])
        #expect(nowhere.code == 1 && nowhere["data directory"] == "failed")
        let (backup, _) = try await server.backUp("backup")
        let report = try await examine(["--data", backup.path])
        #expect(report.fixes["data directory"]?.contains("scrollback restore") == true, "\(report)")
        let folder = try TemporaryFolder()
        let empty = try await examine(["--data", folder.url.path])
        #expect(empty["store"] == "failed" && empty["secrets.json"] == "failed", "\(empty)")
        try await server.terminate()
        let store = server.data.appending(component: "scrollback.sqlite")
        try Data("no database, but long enough to be taken for one".utf8).write(to: store)
        let broken = try await examine()
        #expect(broken["store"] == "failed" && broken.fixes["store"]?.contains("verify") == true, "\(broken)")
    }

    #if os(Linux)
        @Test func `A data directory or a store of another user fails with the user to run the command as`()
            async throws
        {
            try await server.terminate()
            func examine(_ directory: URL) async throws -> Report {
                try await Report(
                    ["--data", directory.path, "--server", server.url.absoluteString],
                    shell: RunningServer.underPermissions, folder: server.folder)
            }
            let fix = "Run this command as the server's user."
            chmod(server.data.path, 0)
            for directory in [server.data, server.data.appending(component: "below")] {
                let closed = try await examine(directory)
                #expect(closed.code == 1 && closed.fixes["data directory"] == fix, "\(closed)")
                #expect(closed.details["data directory"] == "The current user can't read \(directory.path).")
            }
            chmod(server.data.path, 0o700)
            let store = server.data.appending(component: "scrollback.sqlite")
            chmod(store.path, 0)
            let closed = try await examine(server.data)
            chmod(store.path, 0o600)
            #expect(closed["data directory"] == "ok" && closed.fixes["store"] == fix, "\(closed)")
            #expect(closed.details["store"] == "The current user can't read \(store.path).")
        }
    #endif

    @Test func `A low descriptor limit and a large write-ahead log are warnings and not failures`() async throws {
        let few = try await examine(descriptors: 512)
        #expect(few.code == 0 && few.troubles == ["file descriptors"], "\(few)")
        #expect(few.fixes["file descriptors"]?.contains("ulimit -n") == true)
        try await server.terminate()
        // A sparse file has the length without using disk space.
        let wal = server.data.appending(component: "scrollback.sqlite-wal")
        #expect(FileManager.default.createFile(atPath: wal.path, contents: nil))
        let handle = try FileHandle(forWritingTo: wal)
        try handle.truncate(atOffset: 300 << 20)
        try handle.close()
        let grown = try await examine()
        #expect(grown["write-ahead log"] == "warning", "\(grown)")
    }

    @Test func `The doctor detects another server, a server that is not ready, a wrong clock and missing upgrades`()
        async throws
    {
        let page = try await StubServer { _ in .init(status: 200, body: "<html>welcome</html>") }
        let other = try await examine(["--server", page.address])
        #expect(other["server"] == "failed" && other["ready"] == "skipped", "\(other)")
        for (hours, outcome) in [(-1.0, "failed"), (1.0, "failed"), (1.0 / 360, "warning")] {
            let sick = try await StubServer { path in
                switch path {
                case "/healthz":
                    let formatter = DateFormatter()
                    formatter.locale = Locale(identifier: "en_US_POSIX")
                    formatter.timeZone = TimeZone(secondsFromGMT: 0)
                    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
                    let date = formatter.string(from: Date().addingTimeInterval(hours * 3600))
                    return .init(
                        status: 200, body: #"{"status":"ok","version":"9.9.9"}"#, headers: ["Date": date])
                case "/readyz": return .init(status: 503, body: "draining")
                case "/v1/conversations": return .init(status: 200, body: "{}")
                default: return nil
                }
            }
            let report = try await examine(["--server", sick.address])
            #expect(report["server"] == "ok" && report["ready"] == "failed" && report["version"] == "warning")
            #expect(report["clock"] == outcome, "\(report.details)")
            #expect(report["WebSocket"] == "failed" && report.fixes["WebSocket"]?.contains("nginx") == true)
            #expect(report.code == 1)
        }
    }

    @Test(arguments: [(-1, "failed"), (5, "warning"), (90, "ok")])
    func `An expired certificate is a failure, and one that expires soon is a warning`(days: Int, outcome: String)
        async throws
    {
        let folder = try TemporaryFolder()
        func file(_ name: String) -> String { folder.url.appending(component: name).path }
        try openssl([
            "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
            "/CN=localhost", "-keyout", file("key.pem"), "-out", file("request.pem"),
        ])
        try openssl([
            "x509", "-req", "-in", file("request.pem"), "-signkey", file("key.pem"), "-days", String(days), "-out",
            file("chain.pem"),
        ])
        let secure = try await RunningServer.start(
            ["--tls-certificate", file("chain.pem"), "--tls-key", file("key.pem")], folder: folder)
        let report = try await Report(
            ["--data", secure.data.path, "--server", secure.url.absoluteString], folder: secure.folder)
        #expect(report["certificate"] == outcome, "\(report)")
        // The certificate is self-signed, which is a separate finding.
        #expect(report.details["server"]?.contains("does not trust the certificate") == true, "\(report)")
    }

    private func openssl(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(
            process.terminationStatus == 0, "This test requires the program openssl (apt-get install openssl).")
    }
}
