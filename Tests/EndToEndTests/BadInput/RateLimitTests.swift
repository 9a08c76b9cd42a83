import Foundation
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire
import Testing

@Suite("Rate limits of the server")
struct RateLimitTests {
    /// A server whose users have one token of each class, and a hundred for users that they request by name.
    private func start() async throws -> RunningServer {
        try await RunningServer.start(
            ["send", "write", "read", "search"].flatMap { ["--\($0)-rate", "0.001", "--\($0)-burst", "1"] }
                + ["--lookup-rate", "0.001", "--lookup-burst", "100"])
    }

    /// Returns a path of a route, whose segments need not exist.
    private static func path(_ template: String) -> String {
        template.split(separator: "/").map { segment in
            switch segment {
            case "{conversation}": "group:none"
            case "{id}" where template.hasPrefix("/v1/media"), "{upload}": "019a0000-0000-7000-8000-000000000001"
            case _ where segment.hasPrefix("{"): "x"
            default: String(segment)
            }
        }.reduce("") { $0 + "/" + $1 }
    }

    @Test("Each HTTP route counts against the limit of its class, and against no other")
    func everyRoute() async throws {
        let server = try await start()
        let routes = zip(APISurface.operations, APISurface.costs).filter { $0.0.access.callers != .everyone }
        #expect(routes.count > 70)
        for (number, (route, cost)) in routes.enumerated() {
            guard route.access.callers != .administrator else {
                #expect(route.access.scope == .admin, "administrators have no limit")
                continue
            }
            let name = "\(route.method) \(route.path)"
            #expect(cost != .free, "\(name)")
            let api = try await server.api(UserID("user-\(number)"))
            func call() async throws -> Answer {
                try await api.call(
                    route.method, Self.path(route.path), ["PUT", "POST", "PATCH"].contains(route.method) ? "{}" : nil)
            }
            if cost == .lookup {
                let names = (0..<99).map { "\"invented-\($0)\"" }.joined(separator: ",")
                let answer = try await api.call("POST", "/v1/users/fetch", "{\"users\":[\(names)]}")
                #expect(answer.status == 200, "\(name): \(answer)")
            }
            let (first, second) = (try await call(), try await call())
            #expect(first.status != 429, "\(name): \(first)")
            #expect(second.status == 429, "\(name): \(second)")
            #expect(second.headers["retry-after"] != nil, "\(name)")
            let other = cost == .read ? ("PUT", "/v1/blocks/x") : ("GET", "/v1/me")
            #expect(try await api.call(other.0, other.1).status != 429, "\(name)")
        }
        #expect(try await server.metric(#"scrollback_rate_limited_total{class="write"}"#) > 10)
        try await server.terminate()
    }

    @Test("A request takes a token for each user that it names, over HTTP too")
    func lookups() async throws {
        let server = try await start()
        let api = try await server.api("alice")
        func fetch(_ count: Int) async throws -> Answer {
            let names = (0..<count).map { "\"invented-\($0)\"" }.joined(separator: ",")
            return try await api.call("POST", "/v1/users/fetch", "{\"users\":[\(names)]}")
        }
        #expect(try await fetch(60).status == 200)
        let refused = try await fetch(60)
        #expect(refused.status == 429 && refused.code == "rate-limited", "\(refused)")
        #expect(refused.text.contains("this request counts as 60 of them"), "\(refused)")
        #expect(try await fetch(30).status == 200)
        try await server.terminate()
    }

    @Test("A deletion takes a token for each message, over HTTP and the WebSocket")
    func deletions() async throws {
        let server = try await RunningServer.start(["--write-rate", "0.001", "--write-burst", "100"])
        _ = try await server.admin().call("PUT", "/v1/conversations/group:g", #"{"members":["alice"]}"#)
        let api = try await server.api("alice")
        func ids(_ count: Int) -> String { "[" + (0..<count).map { _ in "\"\(UUID())\"" }.joined(separator: ",") + "]" }
        func delete(_ count: Int) async throws -> Answer {
            try await api.call("POST", "/v1/conversations/group:g/messages/delete", "{\"ids\":\(ids(count))}")
        }
        #expect(try await delete(60).status == 200)
        let refused = try await delete(60)
        #expect(refused.status == 429 && refused.code == "rate-limited", "\(refused)")
        #expect(refused.text.contains("this request counts as 60 of them"), "\(refused)")
        let socket = try await TestSocket.signedIn(server, "alice")
        func frame(_ count: Int) -> String { #""type":"delete","conversation":"group:g","ids":\#(ids(count))"# }
        #expect(try await socket.request(frame(60)).string("code") == "rate-limited")
        #expect(try await socket.request(frame(30)).int("deleted") == 0)
        try await server.terminate()
    }

    @Test("The holder of a link to a file can't use up the limit of the user who made it")
    func links() async throws {
        let server = try await RunningServer.start(["--read-rate", "0.001", "--read-burst", "3"])
        _ = try await server.admin().call("PUT", "/v1/conversations/group:g", #"{"members":["alice"]}"#)
        let alice = try await server.api("alice")
        let file = try await alice.call("POST", "/v1/media?conversation=group:g&type=file&name=a.txt", "hello")
        let id = try #require(file.json.string("media"), "\(file)")
        let link = try await alice.call("POST", "/v1/media/\(id)/link")
        let url = try #require(link.json.string("url"), "\(link)")
        let stranger = API(server: server.url)
        for _ in 0..<3 { #expect(try await stranger.call("GET", url).status == 200) }
        #expect(try await stranger.call("GET", url).status == 429)
        for _ in 0..<2 { #expect(try await alice.call("GET", "/v1/me").status == 200) }
        #expect(try await alice.call("GET", "/v1/me").status == 429)
        try await server.terminate()
    }

    @Test("Each kind of work runs on the threads of its pool, and each part of an export in a turn of its own")
    func pools() async throws {
        let server = try await RunningServer.start()
        _ = try await server.admin().call("PUT", "/v1/conversations/group:g", #"{"members":["alice"]}"#)
        let alice = try await server.api("alice")
        func counts() async throws -> [Int] {
            var counts: [Int] = []
            for pool in ["admission", "read", "search"] {
                counts.append(try await server.metric("scrollback_\(pool)_wait_seconds_count"))
            }
            return counts
        }
        func difference(by body: () async throws -> Void) async throws -> [Int] {
            let before = try await counts()
            try await body()
            return zip(try await counts(), before).map { $0 - $1 }
        }
        // The requests for the metrics need threads too.
        let own = try await difference {}
        func added(by body: () async throws -> Void) async throws -> [Int] {
            zip(try await difference(by: body), own).map { $0 - $1 }
        }
        // A read checks its user on the thread that reads, and a write on one for admission.
        #expect(try await added { _ = try await alice.call("GET", "/v1/conversations/group:g") } == [0, 1, 0])
        let path = "/v1/conversations/group:g/settings"
        #expect(try await added { _ = try await alice.call("PUT", path, #"{"pinned":true}"#) } == [1, 0, 0])
        let found = try await added { _ = try await alice.call("GET", "/v1/search?text=tide") }
        #expect(found[0] == 1 && found[1] == 0 && found[2] >= 1)
        let export = try await added { _ = try await alice.call("GET", "/v1/users/alice/export") }
        // Each kind of data is a part.
        #expect(export[0] == 1 && export[1] == 0 && export[2] >= 10)
        // The check of the token, and the subscription to the user's conversations.
        let hello = try await added { _ = try await TestSocket.signedIn(server, "alice") }
        #expect(hello[0] == 2 && hello[2] == 0)
        let turns = "scrollback_file_wait_seconds_count"
        let before = try await server.metric(turns)
        let file = try await alice.call(
            "POST", "/v1/media?conversation=group:g&name=a.txt", bytes: Array("hello".utf8), type: "text/plain")
        #expect(file.status == 201)
        #expect(try await server.metric(turns) > before)
        try await server.terminate()
    }
}
