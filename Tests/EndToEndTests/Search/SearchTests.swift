import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

@Suite struct SearchTests {
    private func texts(_ page: SearchPage) -> [String] { page.hits.map(\.text) }

    /// Percent-encodes a text with Foundation and not with the code under test.
    private func encoded(_ text: String) throws -> String {
        try #require(text.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
    }

    @Test func `Messages in all scripts are found over HTTP and the WebSocket as soon as they are acknowledged`()
        async throws
    {
        let server = try await RunningServer.start()
        let (alice, bob) = (try await server.api("alice"), try await server.api("bob"))
        let socket = try await TestSocket.signedIn(server, "bob")
        for (said, asked) in [
            ("今日は東京タワーへ", "東京"), ("صباحُ الخير يا عمر", "الخير"), ("well done 👍🏽!", "👍"), ("a+b & c=d", "a+b"),
            ("naïve Ångström", "angstrom"), ("100% sure", "100%"),
        ] {
            #expect(try await alice.send(said, to: "direct:bob").status == 201)
            let path = "/v1/search?limit=1&text=\(try encoded(asked))"
            for answer in [
                try await bob.call("GET", path),
                try await bob.call("GET", path.replacing("/v1/", with: "/v1/conversations/direct%3Aalice/")),
            ] {
                #expect(answer.status == 200 && answer.json.all["indexing"] == nil, "\(answer)")
                let hit = try #require(answer.json.objects("hits").first, "\(asked): \(answer)")
                let message = try #require(hit["message"] as? [String: Any])
                #expect((message["content"] as? [String: Any])?["text"] as? String == said)
                #expect(message["conversation"] as? String == "direct:alice")
                let ranges = try #require(hit["ranges"] as? [[Int]])
                #expect(ranges.allSatisfy { $0.count == 2 && $0[0] < $0[1] && $0[1] <= said.utf8.count })
            }
            let framed = try await socket.request(#""type":"search","limit":1,"text":"\#(asked)""#)
            let hits = try await bob.call("GET", path).json.objects("hits")
            #expect(framed.objects("hits") as NSArray == hits as NSArray, "\(asked)")
        }
        #expect(try await server.api("carol").call("GET", "/v1/search?text=done").json.objects("hits").isEmpty)
        try await server.terminate()
    }

    @Test func `Search results are the same after kill -9 and after damage to the index`() async throws {
        let server = try await RunningServer.start()
        let (alice, bob) = (try await server.api("alice"), try await server.api("bob"))
        for number in 1...30 { _ = try await alice.send("tide \(number)", to: "direct:bob") }
        let path = "/v1/search?text=tide&limit=100"
        let before = try await bob.call("GET", path)
        #expect(before.json.objects("hits").count == 30)
        let file = server.data.appending(component: "search.sqlite")
        for accident in ["none", "drop", "truncate", "fill"] {
            server.kill()
            switch accident {
            case "drop":
                for suffix in ["", "-wal", "-shm"] {
                    try? FileManager.default.removeItem(atPath: file.path + suffix)
                }
            case "truncate": try Data(contentsOf: file).prefix(5_000).write(to: file)
            case "fill": try Data(repeating: 0x55, count: 50_000).write(to: file)
            default: break
            }
            try await server.start()
            // The messages that were acknowledged before the kill are found. A busy machine can take longer for the new
            // index than a search waits.
            let after = try await eventually("the index is complete") {
                let answer = try await bob.call("GET", path)
                return answer.json.all["indexing"] == nil ? answer : nil
            }
            #expect(after.bytes == before.bytes, "\(accident)")
        }
        let code = try await server.terminate()
        #expect(code == 0)
        #expect(try await RunningServer.command(["verify", server.data.path]).code == 0)
    }

    @Test func `A device searches on the server and finds the messages in its store afterwards`() async throws {
        let server = try await RunningServer.start()
        let proxy = try await TestProxy(to: server)
        let alice = try await server.api("alice")
        for number in 1...60 { _ = try await alice.send("tide \(number)", to: "direct:bob") }
        for number in 1...60 { _ = try await alice.send("other \(number)", to: "direct:bob") }
        let bob = try await Device.open(server, "bob", over: proxy)
        let chat = bob.conversation(.direct("alice"))

        let first = try await bob.search("tide", limit: 25, from: .remote)
        #expect(texts(first) == (36...60).reversed().map { "tide \($0)" } && first.remoteError == nil)
        let second = try await bob.search("tide", limit: 25, after: first.next)
        #expect(texts(second) == (11...35).reversed().map { "tide \($0)" } && second.remoteError == nil)
        #expect(try await bob.verifyIntegrity() == [])
        let kept = try await chat.search("tide", limit: 100, from: .local)
        #expect(texts(kept).count >= 50)
        let best = try await chat.search("tide 7", sort: .bestFirst)
        #expect(texts(best) == ["tide 7"])
        #expect(try await bob.search("tide 7", from: .remote(excludingLocal: true)).hits.isEmpty)
        await bob.close()

        // Without the server, the search returns local results and reports why the server's results are missing.
        let offline = try await Device.disconnected(server, "bob")
        let none = try await offline.search("tide")
        #expect(none.hits.isEmpty && none.remoteError?.code == .unreachable)
        await #expect(throws: ChatError.self) { try await offline.search("tide", from: .remote) }
        // A page from the server can be continued only on the server.
        await #expect(throws: ChatError.self) { try await offline.search("tide", limit: 25, after: first.next) }
        await offline.close()
        try await server.terminate()
    }

    @Test func `The search command prints results as text and as JSON`() async throws {
        let server = try await RunningServer.start()
        let alice = try await server.api("alice")
        for number in 1...3 { _ = try await alice.send("tide \(number)", to: "direct:bob") }
        let connection = ["--server", server.url.absoluteString, "--data", server.data.path]
        let plain = try await RunningServer.command(["search", "tide", "--as", "bob", "--limit", "2"] + connection)
        #expect(plain.code == 0 && plain.output.split(separator: "\n").count == 2, "\(plain)")
        #expect(plain.output.contains("direct:alice  3") && !plain.output.contains("\u{1B}"), "\(plain)")
        let next = try #require(plain.errors.firstRange(of: "more results: --cursor "))
        let cursor = plain.errors[next.upperBound...].prefix { !$0.isWhitespace }
        let rest = try await RunningServer.command(
            ["search", "tide", "--as", "bob", "--limit", "2", "--cursor", String(cursor)] + connection)
        #expect(rest.code == 0 && rest.output.contains("tide 1") && rest.errors.isEmpty, "\(rest)")
        #expect(rest.output.split(separator: "\n").count == 1, "\(rest)")
        let store = server.folder.appending(component: "client").path
        let json = try await RunningServer.command(
            ["search", "tide 2", "--as", "bob", "--in", "direct:alice", "--sort", "best", "--json"] + connection)
        let hit = Members(Array(json.output.utf8)).all
        #expect(hit["ranges"] as? [[Int]] == [[0, 4], [5, 6]], "\(json)")
        for source in ["merged", "local"] {
            let found = try await RunningServer.command(
                ["search", "tide", "--as", "bob", "--source", source, "--store", store] + connection)
            #expect(found.code == 0 && found.output.split(separator: "\n").count == 3, "\(source): \(found)")
        }
        #expect(try await RunningServer.command(["search", "", "--as", "bob"] + connection).code == 1)
        #expect(try await RunningServer.command(["search", "x", "--as", "bob", "--source", "local"]).code == 64)
        try await server.terminate()
        let gone = try await RunningServer.command(["search", "tide", "--as", "bob"] + connection)
        #expect(gone.code == 69, "\(gone)")
        let merged = try await RunningServer.command(
            ["search", "tide", "--as", "bob", "--source", "merged", "--store", store] + connection)
        #expect(merged.code == 0 && merged.errors.contains("incomplete"), "\(merged)")
    }
}
