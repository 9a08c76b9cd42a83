import Foundation
import ScrollbackModel
import TestSupport
import Testing

@Suite struct MetricsAccessTests {
    @Test func `Metrics require an administrator's token or the token for metrics`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(component: "metrics-token")
        try Data("only-for-the-metrics\n".utf8).write(to: file)
        let server = try await RunningServer.start(["--metrics-token", file.path], folder: folder)
        func status(_ token: String?) async throws -> Int {
            try await API(server: server.url, token: token).call("GET", "/metrics").status
        }
        #expect(try await status(nil) == 401)
        #expect(try await status("only-for-the-metricz") == 401)
        #expect(try await status(try await server.token("alice")) == 403)
        #expect(try await status("only-for-the-metrics") == 200)
        #expect(try await status(try await server.admin().token) == 200)
        // The token for metrics permits nothing else.
        let other = try await API(server: server.url, token: "only-for-the-metrics").call("GET", "/v1/settings")
        #expect(other.status == 401)
        #expect(try await server.terminate() == 0)
    }

    @Test(arguments: ["short\n", "", nil]) func `A file without a usable token for metrics is refused`(text: String?)
        async throws
    {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(component: "metrics-token")
        if let text { try Data(text.utf8).write(to: file) }
        let ended = try await RunningServer.command([
            "serve", "--port", "0", "--data", folder.url.appending(component: "data").path, "--metrics-token",
            file.path,
        ])
        #expect(ended.code == 1 && ended.errors.contains("metrics-token"), "\(ended)")
    }

    @Test func `Commands take the administrator token from a file or the environment`() async throws {
        let server = try await RunningServer.start()
        let file = server.data.appending(component: "admin.key")
        let command = ["admin", "connections", "--server", server.url.absoluteString, "--data", "/nowhere"]
        let without = try await RunningServer.command(command)
        #expect(without.code == 1 && without.errors.contains("--key-file"), "\(without)")
        let fromFile = try await RunningServer.command(command + ["--key-file", file.path])
        #expect(fromFile.code == 0, "\(fromFile)")
        let process = try RunningServer.run(
            command, shell: "SCROLLBACK_ADMIN_KEY=$(cat '\(file.path)'); export SCROLLBACK_ADMIN_KEY",
            name: "environment", folder: server.folder)
        #expect(try await process.waitForEnd(within: 60) == 0, "\(process.errorText)")
        let missing = try await RunningServer.command(command + ["--key-file", "/nowhere/key"])
        #expect(missing.code == 1 && missing.errors.contains("key-file"), "\(missing)")
        // A token on the command line would be visible to all users of the machine.
        #expect(try await RunningServer.command(command + ["--key", "x"]).code == 64)
    }
}
