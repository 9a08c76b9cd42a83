import Foundation
import ScrollbackModel
import TestSupport
import Testing

@Suite("Erasure of users on the real server")
struct ErasureTests {
    /// Starts a server on which Alice sent messages to many groups and uploaded a file.
    private func fixture(groups: Int, messages: Int) async throws -> (server: RunningServer, admin: API) {
        let server = try await RunningServer.start()
        let admin = try await server.admin()
        let bob = try await server.api("bob")
        for group in 0..<groups {
            let path = "/v1/conversations/group:g\(group)"
            try #require(await admin.call("PUT", path, "{}").status == 201)
            let lines = (0..<messages).map { number in
                """
                {"id":"\(UUID().uuidString.lowercased())","sender":"\(number % 3 == 0 ? "bob" : "alice")",\
                "type":"text","sentAt":"2026-01-01T00:00:00.000Z","content":{"text":"private words \(number)"}}
                """
            }
            let body = #"{"messages":[\#(lines.joined(separator: ","))]}"#
            try #require(await admin.call("POST", path + "/import", body).status == 200)
        }
        let alice = try await server.api("alice")
        let file = try await alice.call(
            "POST", "/v1/media?conversation=group:g0&name=a.txt", bytes: Array("secret".utf8), type: "text/plain")
        try #require(file.status == 201)
        try #require(await bob.send("yes", to: "direct:alice").status == 201)
        return (server, admin)
    }

    /// Returns the sender and text of each message of a group, as an administrator sees them.
    private func messages(of group: Int, _ admin: API) async throws -> [(sender: String, text: String?)] {
        var found: [(String, String?)] = []
        var path = "/v1/conversations/group:g\(group)/messages?limit=100&after=earliest"
        while true {
            let page = try await admin.call("GET", path).json
            for message in page.objects("messages") {
                let content = message["content"] as? [String: Any]
                found.append((message["sender"] as? String ?? "", content?["text"] as? String))
            }
            guard let next = page.string("newer") else { return found }
            path = "/v1/conversations/group:g\(group)/messages?limit=100&cursor=\(next)"
        }
    }

    private func job(_ id: Int, _ admin: API) async throws -> Members {
        try await eventually("the job is done") {
            let job = try await admin.call("GET", "/v1/admin/jobs/\(id)").json
            return job.string("state") == "done" ? job : nil
        }
    }

    private func blobs(_ server: RunningServer) -> Int {
        let root = server.data.appending(path: "media/blobs")
        let all = FileManager.default.enumerator(at: root, includingPropertiesForKeys: [.isRegularFileKey])
        return (all?.allObjects as? [URL] ?? []).count {
            (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) ?? false
        }
    }

    @Test("An erasure that is interrupted by repeated kills completes, and the store stays valid")
    func erasureSurvivesKills() async throws {
        let groups = 30
        let (server, admin) = try await fixture(groups: groups, messages: 300)
        let before = try await messages(of: 5, admin)
        #expect(before.count == 300 && before.count(where: { $0.sender == "alice" }) == 200)
        #expect(blobs(server) == 1)
        let begun = try await admin.call("DELETE", "/v1/users/alice?messages=erase")
        try #require(begun.status == 202)
        let id = try #require(begun.json.int("id"))
        func currentProgress() async throws -> (isDone: Bool, messages: Int) {
            let job = try await server.admin().call("GET", "/v1/admin/jobs/\(id)").json
            return (job.string("state") == "done", (job.all["done"] as? [String: Any])?["messages"] as? Int ?? 0)
        }
        var kills = 0
        // The number of processed messages before each kill that interrupted the job.
        var progress: [Int] = []
        while kills < 12 {
            try await Task.sleep(for: .milliseconds(30 + 20 * kills))
            let before = try await currentProgress()
            if !before.isDone { progress.append(before.messages) }
            server.kill()
            kills += 1
            try await server.start()
            if try await currentProgress().isDone { break }
            let code = try await server.api("alice").call("GET", "/v1/me").code
            let isDone = try await currentProgress().isDone
            #expect(code == "user-deactivated" || isDone, "\(code ?? "no error")")
        }
        print("messages done before each kill: \(progress)")
        #expect(!progress.isEmpty, "No kill interrupted the job.")
        let ended = try await job(id, admin)
        #expect((ended.all["done"] as? [String: Any])?["messages"] as? Int == groups * 200, "\(ended.all)")
        for group in 0..<groups {
            let after = try await messages(of: group, admin)
            #expect(after.count == 300)
            #expect(after.count(where: { $0.text == nil }) == 200)
            #expect(Set(after.map(\.sender)).count == 2 && !after.contains { $0.sender == "alice" })
            #expect(after.filter { $0.sender == "bob" }.allSatisfy { $0.text?.hasPrefix("private words") ?? false })
        }
        // If a kill hits between the removal of a file's row and of its bytes, a cleanup after the start removes the
        // bytes.
        _ = try await eventually("the files are removed", within: 100) { blobs(server) == 0 ? true : nil }
        #expect(try await server.api("bob").call("GET", "/v1/users/alice").status == 404)
        try await server.terminate()
        let verdict = try await RunningServer.verdict(server.data)
        #expect(verdict.isWhole, "\(verdict.text)")
    }

    @Test("A request whose body arrives after its user was erased creates nothing")
    func lateBody() async throws {
        let server = try await RunningServer.start()
        let admin = try await server.admin()
        let token = try await server.token("alice")
        try #require(try await server.api("alice").send("hello", to: "direct:bob").status == 201)
        let connection = try await RawConnection(server)
        connection.write(
            "PUT /v1/conversations/group:late HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n"
                + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{")
        // The server checks the token when the head has arrived.
        try await Task.sleep(for: .milliseconds(500))
        let begun = try await admin.call("DELETE", "/v1/users/alice?messages=erase")
        _ = try await job(try #require(begun.json.int("id")), admin)
        connection.write("}")
        let answer = try await connection.answer()
        #expect(answer.status == 403 && answer.body.contains("user-deactivated"), "\(answer)")
        #expect(try await admin.call("GET", "/v1/conversations/group:late").status == 404)
        try await server.terminate()
    }

    /// Checks that every restore without a list of erasures warns, because the backup's own list has no later erasures.
    private func expectWarning(from backup: URL, _ server: RunningServer) async throws {
        let data = server.folder.appending(component: "again")
        let file = data.appending(component: "erasures.jsonl")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        let secrets = backup.appending(component: "secrets.json")
        let words = try Data(contentsOf: secrets)
        try Data("changed".utf8).write(to: secrets)
        let failed = try await RunningServer.command(["restore", backup.path, "--data", data.path])
        #expect(failed.code == 1 && !FileManager.default.fileExists(atPath: file.path), "\(failed)")
        try words.write(to: secrets)
        let blind = try await RunningServer.command(["restore", backup.path, "--data", data.path])
        #expect(blind.code == 0 && blind.errors.contains("erased after the backup reappear"), "\(blind)")
        #expect(FileManager.default.fileExists(atPath: file.path))
        // A list that was changed is not the list that was backed up.
        try Data().write(to: backup.appending(component: "erasures.jsonl"))
        let refused = try await RunningServer.command(["restore", backup.path, "--data", data.path + "-2"])
        #expect(refused.code == 1 && refused.errors.contains("erasures.jsonl"), "\(refused)")
    }

    @Test("A user who was erased after the backup is erased again when the restored server starts")
    func restoredServerErasesUserAgain() async throws {
        let (server, admin) = try await fixture(groups: 2, messages: 30)
        let (backup, _) = try await server.backUp("before")
        let old = try await server.api("alice")
        let begun = try await admin.call("DELETE", "/v1/users/alice?messages=anonymize")
        let ended = try await job(try #require(begun.json.int("id")), admin)
        let name = try #require(ended.string("replacement"))
        try await server.terminate()

        let fresh = server.folder.appending(component: "fresh")
        // Without the list, the restore warns that erased users return.
        let blind = try await RunningServer.command(["restore", backup.path, "--data", fresh.path])
        #expect(blind.code == 0 && blind.errors.contains("erasures.jsonl"), "\(blind)")
        try FileManager.default.removeItem(at: fresh)
        let list = server.data.appending(component: "erasures.jsonl")
        let result = try await RunningServer.command(
            ["restore", backup.path, "--data", fresh.path, "--erasures", list.path, "--json"])
        #expect(result.code == 0 && !result.errors.contains("erasures.jsonl"), "\(result)")
        #expect(Members(Array(result.output.utf8)).int("erasures") == 1)
        try server.replaceData(with: fresh)
        // A crash has cut off a line that was never acknowledged.
        let file = try FileHandle(forWritingTo: list)
        try file.seekToEnd()
        try file.write(contentsOf: Data(#"{"id":"4a9f4039-3fb3"#.utf8))
        try file.close()
        try await server.start()
        #expect(try await [401, 403].contains(old.call("GET", "/v1/me").status))
        let again = try await server.admin()
        _ = try await job(1, again)
        let messages = try await messages(of: 1, again)
        #expect(messages.count == 30 && Set(messages.map(\.sender)) == ["bob", name])
        let other = try await again.call("DELETE", "/v1/users/bob?messages=keep")
        _ = try await job(try #require(other.json.int("id")), again)
        let lines = try String(contentsOf: list, encoding: .utf8).split(separator: "\n")
        #expect(lines.map { Members(Array($0.utf8)).string("user") } == ["alice", "bob"])
        // A crash has cut off only the end of the last line.
        try await server.terminate()
        let text = try String(contentsOf: list, encoding: .utf8)
        try text.trimmingCharacters(in: .newlines).write(to: list, atomically: true, encoding: .utf8)
        try await server.start()
        try #require(await server.api("carol").send("hi", to: "direct:dora").status == 201)
        let third = try await server.admin().call("DELETE", "/v1/users/carol?messages=keep")
        _ = try await job(try #require(third.json.int("id")), try await server.admin())
        let all = try String(contentsOf: list, encoding: .utf8).split(separator: "\n")
        #expect(all.map { Members(Array($0.utf8)).string("user") } == ["alice", "bob", "carol"])
        // A later backup contains the list.
        let (after, _) = try await server.backUp("after")
        #expect(FileManager.default.fileExists(atPath: after.appending(component: "erasures.jsonl").path))
        try await server.terminate()
        #expect(try await RunningServer.verdict(after).isWhole)
        try await expectWarning(from: after, server)
        #expect(try await RunningServer.verdict(server.data).isWhole)
    }
}
