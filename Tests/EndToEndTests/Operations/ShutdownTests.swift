import Foundation
import ScrollbackModel
import TestSupport
import Testing

@Suite struct ShutdownTests {
    @Test func `SIGTERM closes WebSockets with 1012, and silent and idle connections too, and the server exits with 0`()
        async throws
    {
        let server = try await RunningServer.start()
        let socket = try await TestSocket.signedIn(server, "alice")
        let unnamed = try await TestSocket.open(server.url)
        let silent = try await RawConnection(server)
        let idle = try await RawConnection(server)
        idle.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await idle.answer().status == 200)
        let start = ContinuousClock.now
        server.signal(SIGTERM)
        #expect(try await socket.closed() == 1012)
        #expect(try await unnamed.closed() == 1012)
        #expect(try await server.waitForEnd() == 0)
        // For a peer that does not answer the close frame, the server waits five seconds.
        #expect(ContinuousClock.now - start < .seconds(5))
        try await eventually("the connections are closed") { silent.isClosed && idle.isClosed ? true : nil }
    }

    @Test func `SIGTERM ends the server without waiting for idle HTTP connections`() async throws {
        let server = try await RunningServer.start()
        var idle: [RawConnection] = []
        for _ in 0..<20 {
            let connection = try await RawConnection(server)
            for _ in 0..<2 {
                connection.write("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n")
                #expect(try await connection.answer().status == 200)
            }
            idle.append(connection)
        }
        let start = ContinuousClock.now
        server.signal(SIGTERM)
        #expect(try await server.waitForEnd() == 0)
        // They would be idle for a minute. A busy machine needs a few seconds for the end.
        #expect(ContinuousClock.now - start < .seconds(20))
        try await eventually("the connections are closed") { idle.allSatisfy(\.isClosed) ? true : nil }
    }

    @Test func `A draining server is not ready and accepts no new WebSockets`() async throws {
        let server = try await RunningServer.start()
        // A peer that does not answer the close frame delays the exit.
        let stubborn = try await RawConnection.webSocket(server)
        #expect(try await API(server: server.url).call("GET", "/readyz").status == 200)
        server.signal(SIGTERM)
        #expect(try await stubborn.closeCode() == 1012)
        let ready = try await API(server: server.url).call("GET", "/readyz")
        #expect(ready.status == 503 && ready.code == "shutting-down", "\(ready)")
        #expect(try await API(server: server.url).call("GET", "/healthz").status == 200)
        let late = try await TestSocket.open(server.url)
        #expect(try await late.closed() == 1012)
        #expect(try await server.waitForEnd() == 0)
    }

    @Test func `Every accepted send is answered before the server exits, over HTTP and the WebSocket`() async throws {
        let server = try await RunningServer.start()
        let admin = try await server.admin()
        _ = try await admin.call("PUT", "/v1/conversations/group:crew", #"{"members":["alice","bob"]}"#)
        let socket = try await TestSocket.signedIn(server, "alice")
        var sent: [String] = []
        for index in 0..<400 {
            let id = UUID().uuidString.lowercased()
            sent.append(id)
            let message = #"{"id":"\#(id)","type":"text","content":{"text":"\#(index)"}}"#
            socket.send(#"{"type":"send","ref":\#(index + 1),"conversation":"group:crew","message":\#(message)}"#)
        }
        let bob = try await server.api("bob")
        async let posted = withTaskGroup(of: String?.self) { group in
            for index in 0..<40 {
                let id = UUID()
                group.addTask {
                    let answer = try? await bob.send("\(index)", to: "group:crew", id: id)
                    return answer?.status == 201 ? id.uuidString.lowercased() : nil
                }
            }
            return await group.reduce(into: Set<String>()) { ids, id in if let id { ids.insert(id) } }
        }
        _ = try await socket.next { $0.string("outcome") == "committed" }
        server.signal(SIGTERM)
        #expect(try await socket.closed() == 1012)
        #expect(try await server.waitForEnd() == 0)
        var answered = Set(socket.frames.filter { $0.string("type") == "result" }.compactMap { $0.string("id") })
        answered.insert(sent[0])
        let answeredPosts = await posted

        try await server.start()
        var stored: Set<String> = []
        var query = "limit=100"
        while true {
            let page = try await admin.call("GET", "/v1/conversations/group:crew/messages?\(query)").json
            stored.formUnion(page.objects("messages").compactMap { $0["id"] as? String })
            guard let older = page.string("older") else { break }
            query = "limit=100&cursor=\(older)"
        }
        #expect(stored == answered.union(answeredPosts))
        #expect(!answered.isEmpty)
    }

    @Test func `A second server on the same directory is refused with the reason`() async throws {
        let server = try await RunningServer.start()
        let second = try await RunningServer.command(["serve", "--port", "0", "--data", server.data.path])
        #expect(second.code == 1)
        #expect(
            second.errors.contains("error: The directory \(server.data.path)")
                && second.errors.contains("is in use: only one server"),
            "\(second)")
        #expect(second.output.isEmpty)
        let socket = try await TestSocket.signedIn(server, "alice")
        #expect(try await socket.request(#""type":"ping""#).string("type") == "result")
    }

    @Test func `Verifying the directory of a running server is refused, and a backup is suggested`() async throws {
        let server = try await RunningServer.start()
        let ended = try await RunningServer.command(["verify", server.data.path])
        #expect(ended.code == 1 && ended.output.isEmpty && ended.errors.contains("(conflict)"), "\(ended)")
        for text in ["is in use, usually by a server.", "scrollback backup NEW --data \(server.data.path)"] {
            #expect(ended.errors.contains(text), "\(ended)")
        }
        #expect(try await server.terminate() == 0)
    }

    @Test func `A killed server continues with its data on the same port`() async throws {
        let server = try await RunningServer.start()
        let alice = try await server.api("alice")
        for text in ["one", "two"] { #expect(try await alice.send(text, to: "direct:bob").status == 201) }
        let port = server.port
        server.kill()
        await #expect(throws: (any Error).self) { try await alice.call("GET", "/healthz") }
        try await server.start()
        #expect(server.port == port)
        let page = try await alice.call("GET", "/v1/conversations/direct:bob/messages").json
        #expect(page.objects("messages").count == 2)
        #expect(try await alice.send("three", to: "direct:bob").json.int("seq") == 3)
    }

    @Test func `A port that is in use is reported with exit code 1`() async throws {
        let server = try await RunningServer.start()
        let folder = try TemporaryFolder()
        let second = try await RunningServer.command(["serve", "--port", "\(server.port)", "--data", folder.url.path])
        #expect(second.code == 1)
        #expect(second.errors.contains("error: ") && second.errors.contains("\(server.port)"), "\(second.errors)")
    }
}
