import Foundation
import ScrollbackModel
import ScrollbackPostgres
import TestSupport
import Testing

/// Backups that an administrator starts over HTTP.
@Suite struct StartedBackupTests {
    /// Starts a backup, and waits until it ends.
    ///
    /// - Returns: The name of the backup, and the list afterwards.
    private func backUp(_ admin: API) async throws -> (name: String, list: Members) {
        let start = try await admin.call("POST", "/v1/admin/backups")
        #expect(start.status == 202, "\(start)")
        let name = try #require(start.json.string("name"))
        let list = try await eventually("the backup ends") {
            let answer = try await admin.call("GET", "/v1/admin/backups")
            try #require(answer.status == 200, "\(answer)")
            return answer.json.all["running"] == nil ? answer.json : nil
        }
        return (name, list)
    }

    @Test func `A backup that an administrator starts over HTTP is verified, restored and served`() async throws {
        let temporary = try TemporaryFolder()
        let folder = temporary.url.appending(component: "backups", directoryHint: .isDirectory)
        let server = try await RunningServer.start(
            ["--send-rate", "0"], shell: "export SCROLLBACK_BACKUPS='\(folder.path)'")
        let alice = try await server.api("alice")
        for _ in 0..<5 { #expect(try await alice.send("hello", to: "direct:bob").status == 201) }
        let admin = try await server.admin()
        let (name, list) = try await backUp(admin)
        let backup = folder.appending(component: name)
        let entry = try #require(list.objects("backups").first)
        #expect(entry["name"] as? String == name && entry["messages"] as? Int == 5)
        #expect(entry["conversations"] as? Int == 1 && (entry["bytes"] as? Int ?? 0) > 0)
        #expect(list.all["failure"] == nil && list.all["includesFiles"] as? Bool == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [name])
        #expect(server.log.contains("A backup is complete."), "\(server.log)")
        let acts = try await admin.call("GET", "/v1/audit?action=start-backup").json.objects("acts")
        #expect(acts.map { $0["detail"] as? String } == [name])
        #expect(try await alice.send("on", to: "direct:bob").status == 201)
        #expect(try await RunningServer.verdict(backup).isWhole)

        let other = try TemporaryFolder()
        let restored = try await RunningServer.restore(backup, to: other.url.appending(component: "data"))
        #expect(restored.int("messages") == 5)
        let copy = try await RunningServer.start(folder: other)
        let token = try await server.token("alice")
        let page = try await API(server: copy.url, token: token).call(
            "GET", "/v1/conversations/direct:bob/messages?limit=1")
        #expect(page.json.int("head") == 5)
    }

    @Test func `A server with a folder that it can't create or write does not start`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(component: "file")
        try Data().write(to: file)
        let data = folder.url.appending(component: "data").path
        for path in [file.path, file.path + "/below"] {
            let served = try await RunningServer.command(["serve", "--port", "0", "--data", data, "--backups", path])
            #expect(served.code == 1 && served.errors.contains(path), "\(served)")
        }
    }

    @Test(.needs(.postgres))
    func `A server with a PostgreSQL store refuses backups, and the option`() async throws {
        let database = try PostgresDatabase()
        let store = ["--store", try database.makeSchema().text]
        let server = try await RunningServer.start(store)
        for method in ["GET", "POST"] {
            let answer = try await server.admin().call(method, "/v1/admin/backups")
            #expect(answer.code == "conflict" && answer.text.contains("pg_dump"), "\(answer)")
        }
        #expect(try await server.terminate() == 0)
        let folder = server.folder.appending(component: "backups").path
        let refused = try await RunningServer.command(
            ["serve", "--port", "0", "--data", server.data.path, "--backups", folder] + store)
        #expect(refused.code == 1 && refused.errors.contains("backups can't be used"), "\(refused)")
        #expect(!FileManager.default.fileExists(atPath: folder))
    }
}
