import Foundation
import ScrollbackModel
import ScrollbackServer
import Testing

@Suite(.serverFixture) struct HTTPInputTests {
    let fixture: ServerFixture
    let id = UUID()

    init() throws {
        fixture = try ServerFixture.shared
    }

    // MARK: Methods and bodies

    @Test(arguments: [
        ("/v1/me", "GET, HEAD"), ("/v1/users/fetch", "POST"), ("/v1/users/bob", "DELETE, GET, HEAD, PUT"),
        ("/v1/users/bob/state", "PUT"), ("/v1/bans", "GET, HEAD"), ("/v1/bans/bob", "DELETE, PUT"),
        ("/v1/admin/connections", "GET, HEAD"), ("/v1/admin/connections/bob", "DELETE"),
        ("/v1/conversations/group:crew/bans/bob", "DELETE, PUT"), ("/v1/reports/1", "GET, HEAD, PUT"),
        ("/v1/users/bob/tokens", "DELETE"),
        ("/v1/conversations", "GET, HEAD"), ("/v1/conversations/group:crew", "DELETE, GET, HEAD, PUT"),
        ("/v1/conversations/group:crew/messages", "DELETE, GET, HEAD, POST"),
        ("/v1/conversations/group:crew/messages/delete", "POST"), ("/v1/conversations/group:crew/clear", "PUT"),
        ("/v1/conversations/group:crew/messages/x/actions", "GET, HEAD, POST"), ("/v1/history/fetch", "POST"),
        ("/v1/settings", "GET, HEAD, PUT"), ("/v1/connect", "GET, HEAD"),
        ("/healthz", "GET, HEAD"),
        ("/v1/search", "GET, HEAD"), ("/v1/conversations/group:crew/search", "GET, HEAD"),
    ])
    func `A method that a path does not support gets 405 and the list of supported methods`(
        path: String, allowed: String
    )
        async throws
    {
        for method in ["PATCH", "OPTIONS", "TRACE", "PROPFIND", "DELETE", "POST", "PUT", "GET"] {
            guard !allowed.contains(method) else { continue }
            let answer = try await fixture.alice.call(method, path)
            #expect(answer.status == 405, "\(method) \(answer)")
            #expect(answer.code == "method-not-allowed")
            #expect(answer.headers["allow"] == allowed)
        }
    }

    @Test func `Responses to HEAD have no body and keep the connection open`() async throws {
        let connection = try await RawConnection(fixture.server)
        let body = #"{"status":"ok","version":"\#(Server.version)"}"#
        for (path, status) in [("/v1/users/fetch", 405), ("/v1/me", 401), ("/healthz", 200)] {
            connection.write("HEAD \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
            let head = try await connection.read(through: "\r\n\r\n")
            #expect(head.hasPrefix("HTTP/1.1 \(status)"), "\(path) \(head)")
            #expect(status != 200 || head.lowercased().contains("content-length: \(body.utf8.count)\r\n"), "\(head)")
        }
        connection.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await connection.answer().body == body)
    }

    @Test func `Answers and errors may not be cached, and browsers may not guess their type`() async throws {
        for path in ["/v1/me", "/v1/users/nobody-here", "/nothing", "/healthz"] {
            let answer = try await fixture.alice.call("GET", path)
            #expect(answer.headers["cache-control"] == "no-store", "\(path): \(answer)")
            #expect(answer.headers["x-content-type-options"] == "nosniff", "\(path): \(answer)")
        }
    }

    @Test func `A body of another content type gets 415, and a body without a content type is read as JSON`()
        async throws
    {
        let path = "/v1/conversations/group:crew/messages"
        for type in [
            "text/plain", "application/x-www-form-urlencoded", "application/jsonx", "multipart/form-data", "x", "",
        ] {
            let answer = try await fixture.alice.call("POST", path, API.message("x", id: id), type: type)
            #expect(answer.status == 415, "\(type): \(answer)")
            #expect(answer.code == "unsupported-media-type")
            #expect(answer.json.string("parameter") == "Content-Type")
        }
        for type in [nil, "application/json", "Application/JSON ; charset=utf-8"] {
            let answer = try await fixture.alice.call("PUT", "/v1/users/alice", #"{"name":"Alice"}"#, type: type)
            #expect(answer.status == 200, "\(type ?? "none"): \(answer)")
        }
    }

    @Test func `A body or member above its limit gets 413 with the limit, with and without a Content-Length`()
        async throws
    {
        let path = "/v1/conversations/group:crew/messages"
        let whole = try await fixture.alice.call("POST", path, API.message(String(repeating: "x", count: 524_288)))
        #expect(whole.status == 413 && whole.code == "too-large" && whole.json.int("limit") == 524_288, "\(whole)")
        #expect(whole.json.string("parameter") == nil)
        let content = try await fixture.alice.call(
            "POST", path, API.message(String(repeating: "x", count: 131_072 - 10)))
        #expect(content.status == 413 && content.json.int("limit") == 131_072, "\(content)")
        #expect(content.json.string("parameter") == "content")
        for name in ["metadata", "push", "extra"] {
            let body = #"{"id":"\#(id)","type":"text","content":{"text":"x"},"\#(name)":{"x":"\#(pad(32_768))"}}"#
            let answer = try await fixture.alice.call("POST", path, body)
            #expect(answer.status == 413 && answer.json.int("limit") == 32_768, "\(answer)")
            #expect(answer.json.string("parameter") == name)
        }
        for (path, api) in [("/v1/users/alice", fixture.alice), ("/v1/conversations/group:crew", fixture.admin)] {
            let answer = try await api.call("PUT", path, #"{"metadata":{"x":"\#(pad(32_768))"}}"#)
            #expect(answer.status == 413 && answer.json.int("limit") == 32_768, "\(answer)")
            #expect(answer.json.string("parameter") == "metadata")
        }

        let connection = try await RawConnection(fixture.server)
        connection.write(
            "PUT /v1/users/alice HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(fixture.alice.token ?? "")\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<9 { connection.write("10000\r\n\(pad(65_536))\r\n") }
        connection.write("0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await connection.answer().status == 413)
        #expect(try await connection.answer().status == 200)
    }

    private func pad(_ count: Int) -> String { String(repeating: "x", count: count) }

    @Test func `A body of exactly the maximum size is accepted`() async throws {
        let head = #"{"id":"\#(id)","type":"command","content":{"name":"knock"},"future":""#
        let body = head + pad(524_288 - head.utf8.count - 2) + #""}"#
        #expect(body.utf8.count == 524_288)
        let answer = try await fixture.alice.call("POST", "/v1/conversations/group:crew/messages", body)
        #expect(answer.status == 201, "\(answer)")
    }

    @Test func `Content of the maximum size is accepted, and unknown members are ignored`() async throws {
        let answer = try await fixture.admin.call("PUT", "/v1/conversations/group:large", "{}")
        #expect(answer.status == 201)
        let text = pad(131_072 - #"{"text":""}"#.utf8.count)
        let body =
            #"{"future":{"a":[1,{}]},"id":"\#(id)","type":"text","content":{"text":"\#(text)"},"n":7,"seq":99,"#
            + #""metadata":{"x":"\#(pad(32_760))"},"sender":"dora","sentAt":"2001-01-01T00:00:00Z"}"#
        let sent = try await fixture.admin.call("POST", "/v1/conversations/group:large/messages", body)
        #expect(sent.status == 201, "\(sent)")
        let read = try await fixture.admin.call("GET", "/v1/conversations/group:large/messages/\(id)")
        #expect(read.json.string("sender") == "admin")
        #expect((read.json.all["content"] as? [String: String])?["text"] == text)
        #expect(read.json.int("seq") == 1)
    }

    @Test func `An application's JSON can be nested 32 levels deep, and a body 64 levels`() async throws {
        let path = "/v1/conversations/direct:carol/messages"
        func body(_ depth: Int) -> String {
            let nested = String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1)
            return #"{"id":"\#(UUID())","type":"app:deep","content":{"x":\#(nested)}}"#
        }
        let taken = try await fixture.alice.call("POST", path, body(32))
        #expect(taken.status == 201)
        // Responses that contain the message can be decoded.
        let seq = try #require(taken.json.int("seq"))
        #expect(
            try await fixture.carol.call("GET", "/v1/conversations/direct:alice/messages?around=seq:\(seq)").status
                == 200
        )
        for depth in [33, 63] {
            let refused = try await fixture.alice.call("POST", path, body(depth))
            #expect(refused.status == 422 && refused.json.string("parameter") == "content", "\(refused)")
        }
        let malformed = try await fixture.alice.call("POST", path, body(64))
        #expect(malformed.status == 400 && malformed.code == "malformed", "\(malformed)")
    }

    @Test func `Bytes that are not UTF-8 get the error malformed`() async throws {
        for bytes: [UInt8] in [
            [0xFF], [0x22, 0xC3, 0x28, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC0, 0x80, 0x22],
        ] {
            let answer = try await fixture.alice.call(
                "PUT", "/v1/users/alice", bytes: Array(#"{"name":"#.utf8) + bytes + [0x7D])
            #expect(answer.status == 400 && answer.code == "malformed", "\(answer)")
        }
    }

    // MARK: Valid page sizes

    @Test
    func `A limit of 0 gives an empty page, 100 is accepted, and an empty custom type matches messages without one`()
        async throws
    {
        let path = "/v1/conversations/group:crew/messages"
        for (query, count) in [
            ("limit=0", 0), ("limit=100", 3), ("customTypes=", 3), ("types=notice", 0), ("senders=bob", 1),
        ] {
            let answer = try await fixture.alice.call("GET", "\(path)?\(query)")
            #expect(answer.status == 200, "\(answer)")
            #expect(answer.json.objects("messages").count == count, "\(query)")
        }
    }

    @Test(arguments: ["4", "99", "9007199254740993", "9223372036854775807"])
    func `A sequence number above the head selects the existing messages, over HTTP and the WebSocket`(seq: String)
        async throws
    {
        let socket = try await TestSocket.signedIn(fixture.server, "alice")
        for (query, seqs) in [
            (["before": "seq:\(seq)"], [3, 2, 1]), (["after": "seq:\(seq)"], []),
            (["around": "seq:\(seq)"], [3, 2, 1]),
            (["from": "seq:2", "to": "seq:\(seq)"], [3, 2]), (["from": "seq:\(seq)", "to": "latest"], []),
        ] {
            let parameters = query.map { "\($0)=\($1)" }.joined(separator: "&")
            let answer = try await fixture.alice.call("GET", "/v1/conversations/group:crew/messages?\(parameters)")
            #expect(answer.status == 200, "\(answer)")
            let members = query.map { #""\#($0)":"\#($1)""# }.joined(separator: ",")
            let frame = try await socket.request(#""type":"history","conversation":"group:crew",\#(members)"#)
            for page in [answer.json, frame] {
                #expect(page.objects("messages").map { $0["seq"] as? Int } == seqs, "\(query): \(page.all)")
                #expect(page.int("head") == 3 && page.string("newer") == nil, "\(query): \(page.all)")
            }
        }
    }

    @Test func `A cursor of a recreated conversation's old log gets the error epoch-changed`() async throws {
        let group = "/v1/conversations/group:again"
        for _ in 0..<2 {
            #expect(try await fixture.alice.call("PUT", group, "{}").status == 201)
            _ = try await fixture.alice.send("a", to: "group:again")
            _ = try await fixture.alice.send("b", to: "group:again")
            let page = try await fixture.alice.call("GET", group + "/messages?limit=1")
            let cursor = try #require(page.json.string("older"))
            #expect(try await fixture.alice.call("GET", group + "/messages?cursor=\(cursor)").status == 200)
            #expect(try await fixture.alice.call("DELETE", group).status == 204)
            #expect(try await fixture.alice.call("GET", group + "/messages?cursor=\(cursor)").status == 404)
            #expect(try await fixture.alice.call("PUT", group, "{}").status == 201)
            let answer = try await fixture.alice.call("GET", group + "/messages?cursor=\(cursor)")
            #expect(answer.status == 409 && answer.code == "epoch-changed", "\(answer)")
            #expect(try await fixture.alice.call("DELETE", group).status == 204)
        }
    }

    // MARK: Message IDs

    @Test func `Repeating an ID and body gives the first answer, and another body or sender is a conflict`()
        async throws
    {
        let path = "/v1/conversations/group:reused/messages"
        #expect(
            try await fixture.admin.call("PUT", "/v1/conversations/group:reused", #"{"members":["alice","bob"]}"#)
                .status
                == 201)
        let first = try await fixture.alice.call("POST", path, API.message("x", id: id))
        let again = try await fixture.alice.call("POST", path, API.message("x", id: id))
        #expect(first.status == 201 && again.status == 200)
        #expect(first.text.replacing("committed", with: "duplicate") == again.text)
        let upper = API.message("x", id: id).replacing(id.uuidString.lowercased(), with: id.uuidString)
        #expect(try await fixture.alice.call("POST", path, upper).text == again.text)

        for (api, body) in [
            (fixture.alice, API.message("y", id: id)), (fixture.bob, API.message("x", id: id)),
            (fixture.alice, API.message("x", id: id).replacing("}}", with: #"},"metadata":{}}"#)),
        ] {
            let answer = try await api.call("POST", path, body)
            #expect(answer.status == 409 && answer.code == "conflict", "\(answer)")
            #expect(answer.json.string("parameter") == "id")
        }
        #expect(try await fixture.alice.call("GET", path).json.objects("messages").count == 1)
        let socket = try await TestSocket.signedIn(fixture.server, "bob")
        let refused = try await socket.request(
            #""type":"send","conversation":"group:reused","message":\#(API.message("x", id: id))"#)
        #expect(refused.string("code") == "conflict" && refused.int("status") == 409)

        let own = try await TestSocket.signedIn(fixture.server, "alice")
        for (body, code) in [(API.message("x", id: id), nil), (API.message("y", id: id), "conflict")] {
            let answer = try await own.request(#""type":"send","conversation":"group:reused","message":\#(body)"#)
            #expect(answer.string("code") == code, "\(answer.all)")
            #expect(answer.int("seq") == (code == nil ? 1 : nil))
            #expect(answer.string("parameter") == (code == nil ? nil : "id"))
        }
        #expect(try await fixture.alice.call("GET", path).json.objects("messages").count == 1)
        #expect(try await fixture.admin.call("DELETE", "/v1/conversations/group:reused").status == 204)
    }

    // MARK: Names

    @Test(arguments: [
        String(repeating: "م", count: 64), String(repeating: "😀", count: 32), String(repeating: "x", count: 128),
        "a/b:c%d", "%2F", "..", ".", "a b+c&d?e#f", "é", "ﷺ", "x\u{200D}", "👨‍👩‍👧‍👦",
    ])
    func `A name of up to 128 bytes is returned byte for byte`(name: String) async throws {
        let segment = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let part = name.replacing("%", with: "%25").replacing("/", with: "%2F").replacing(":", with: "%3A")
        let conversation = "group:" + part
        let escaped = conversation.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let user = try await fixture.server.api(UserID(name))

        let made = try await user.call("PUT", "/v1/conversations/\(escaped)", "{}")
        #expect(made.status == 201, "\(made)")
        #expect(made.json.string("conversation").map { Array($0.utf8) } == Array(conversation.utf8))
        #expect(try await user.send("hi", to: escaped).status == 201)
        let message = try await user.call("GET", "/v1/conversations/\(escaped)/messages").json.objects("messages").first
        #expect((message?["sender"] as? String).map { Array($0.utf8) } == Array(name.utf8))
        #expect((message?["conversation"] as? String).map { Array($0.utf8) } == Array(conversation.utf8))
        #expect(
            try await user.call("PUT", "/v1/users/\(segment)", "{}").json.string("user").map { Array($0.utf8) }
                == Array(name.utf8))
        #expect(try await user.call("GET", "/v1/users/\(segment)").status == 200)

        let socket = try await TestSocket.signedIn(fixture.server, try UserID(name))
        let page = try await socket.request(#""type":"history","conversation":"\#(conversation)""#)
        #expect(page.objects("messages").count == 1)

        if name.utf8.count == 128 {
            let longer = (name + "x").addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            let refused = try await user.call("GET", "/v1/users/\(longer)")
            #expect(refused.status == 422 && refused.json.string("parameter") == "user", "\(refused)")
        }
        #expect(try await user.call("DELETE", "/v1/conversations/\(escaped)").status == 204)
    }

    @Test(arguments: [String(repeating: "م", count: 64), String(repeating: "😀", count: 32)])
    func `The name of a peer, a community or a channel can have 128 bytes`(name: String) async throws {
        #expect(name.utf8.count == 128)
        func escape(_ text: String) -> String {
            text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        }
        func isSame(_ value: Any?, _ text: String) -> Bool {
            (value as? String).map { Array($0.utf8) } == Array(text.utf8)
        }
        let peer = try await fixture.server.api(UserID(name))

        let direct = "direct:" + name
        #expect(try await fixture.alice.send("hi", to: escape(direct)).status == 201)
        let mine = try await fixture.alice.call("GET", "/v1/conversations/\(escape(direct))/messages").json
        #expect(isSame(mine.objects("messages").first?["conversation"], direct))
        let theirs = try await peer.call("GET", "/v1/conversations/direct:alice/messages").json
        #expect(theirs.objects("messages").first?["conversation"] as? String == "direct:alice")
        #expect(try await peer.send("hello", to: "direct:alice").json.int("seq") == 2)

        let community = "community:" + name
        let channel = community + "/" + name
        let members = #"{"members":["alice"]}"#
        #expect(try await fixture.admin.call("PUT", "/v1/conversations/\(escape(community))", members).status == 201)
        #expect(try await fixture.admin.call("PUT", "/v1/conversations/\(escape(channel))", "{}").status == 201)
        #expect(try await fixture.alice.send("hi", to: escape(channel)).status == 201)
        let page = try await fixture.alice.call("GET", "/v1/conversations/\(escape(channel))/messages").json
        #expect(isSame(page.objects("messages").first?["conversation"], channel))
        let channels = try await fixture.alice.call("GET", "/v1/communities/\(escape(name))/channels").json
        #expect(channels.objects("channels").contains { isSame($0["conversation"], channel) }, "\(channels.all)")

        let socket = try await TestSocket.signedIn(fixture.server, "alice")
        for (id, count) in [(direct, 2), (channel, 1)] {
            let page = try await socket.request(#""type":"history","conversation":"\#(id)""#)
            #expect(page.objects("messages").count == count)
        }
        for id in [community + "x", channel + "x", direct + "x"] {
            let refused = try await fixture.alice.call("GET", "/v1/conversations/\(escape(id))")
            #expect(refused.status == 422 && refused.json.string("parameter") == "conversation", "\(refused)")
        }
        let absolute =
            "direct:"
            + ["alice", name].sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
            .joined(separator: "/")
        for id in [community, absolute] {
            #expect(try await fixture.admin.call("DELETE", "/v1/conversations/\(escape(id))").status == 204)
        }
    }

    @Test(arguments: [
        "تم ✅ 👨‍👩‍👧‍👦", "\u{200F}لا\u{200E}", "é", "e\u{301}", "a\u{0}b",
        String(repeating: "م", count: 64),
    ])
    func `An action's type and value are returned byte for byte, over HTTP and the WebSocket`(value: String)
        async throws
    {
        let group = "group:acts-\(UUID().uuidString)"
        let path = "/v1/conversations/\(group)"
        #expect(try await fixture.admin.call("PUT", path, #"{"members":["alice","bob"]}"#).status == 201)
        #expect(try await fixture.alice.send("x", to: group, id: id).status == 201)
        let written = value.replacing("\u{0}", with: #"\u0000"#)
        // A type is limited to 64 bytes, a value to 128 bytes.
        let type = value.utf8.count <= 64 ? written : "reaction"
        let members = #""type":"\#(type)","value":"\#(written)""#
        let messages = path + "/messages/\(id.uuidString.lowercased())"

        let made = try await fixture.alice.call("POST", messages + "/actions", "{\(members)}")
        #expect(made.status == 201, "\(made)")
        let socket = try await TestSocket.signedIn(fixture.server, "bob")
        let action = try await socket.request(
            #""type":"action","conversation":"\#(group)","id":"\#(id)","action":{\#(members)},"operation":"\#(UUID())""#
        )
        let listed = try await fixture.alice.call("GET", path + "/actions").json.objects("actions")
        let received = try await socket.request(#""type":"actions","conversation":"\#(group)""#).objects("actions")
        #expect(listed.count == 2 && received.count == 2)
        let all = [made.json.all, action.all["action"] as? [String: Any] ?? [:]] + listed + received
        let page = try await fixture.alice.call("GET", path + "/messages").json.objects("messages").first
        let summaries = page?["actions"] as? [[String: Any]] ?? []
        #expect(summaries.map { $0["count"] as? Int } == [2])
        for action in all + summaries {
            #expect((action["value"] as? String).map { Array($0.utf8) } == Array(value.utf8), "\(action)")
        }
        let again = try await fixture.alice.call("POST", messages + "/actions", "{\(members)}")
        #expect(again.status == 409 && again.json.string("parameter") == "value", "\(again)")

        let removed = try await socket.request(
            #""type":"removeAction","conversation":"\#(group)","id":"\#(id)","action":{\#(members)},"#
                + #""operation":"\#(UUID())""#)
        #expect(removed.string("type") == "result", "\(removed.all)")
        #expect(
            try await fixture.alice.call("DELETE", messages + "/actions/\(made.json.string("timetoken") ?? "")").status
                == 204)
        #expect(try await fixture.alice.call("GET", path + "/actions").json.objects("actions").isEmpty)
        #expect(try await fixture.admin.call("DELETE", path).status == 204)
    }

    // MARK: Missing and invisible conversations

    @Test func `Invisible conversations get exactly the same answers as missing ones`() async throws {
        let body = #"{"id":"\#(id)","type":"text","content":{"text":"x"}}"#
        let pairs = [
            ("group:strangers", "group:nobody"), ("community:far", "community:nowhere"),
            ("community:far%2Fdefault", "community:nowhere%2Fdefault"), ("direct:dora%2Femil", "direct:dora%2Ffritz"),
            ("system:dora%2Fpost", "system:dora%2Fbank"),
        ]
        #expect(try await fixture.admin.send("hi", to: "direct:dora%2Femil").status == 201)
        #expect(try await fixture.admin.send("hi", to: "system:dora%2Fpost").status == 201)
        let message = try #require(
            try await fixture.admin.call("GET", "/v1/conversations/group:strangers/messages").json.objects("messages")
                .first?["id"])
        let requests: [(String, String, String?)] = [
            ("GET", "", nil), ("DELETE", "", nil), ("GET", "/messages", nil), ("GET", "/messages/\(message)", nil),
            ("GET", "/messages?around=id:\(message)", nil), ("POST", "/messages", body), ("GET", "/members", nil),
            ("PUT", "/members/carol", "{}"), ("DELETE", "/members/dora", nil), ("DELETE", "/members/carol", nil),
            ("PUT", "/read", #"{"seq":1,"epoch":"1"}"#), ("POST", "/import", #"{"messages":[]}"#),
            ("PATCH", "/messages/\(message)", #"{"content":{"text":"x"}}"#), ("DELETE", "/messages/\(message)", nil),
            ("DELETE", "/messages/\(message)?for=me", nil), ("DELETE", "/messages?all=true", nil),
            ("POST", "/messages/delete", #"{"ids":["\#(message)"]}"#), ("PUT", "/clear", #"{"seq":1,"epoch":"1"}"#),
            ("POST", "/messages/\(message)/actions", #"{"type":"reaction","value":"x"}"#),
            ("GET", "/messages/\(message)/actions", nil), ("GET", "/actions", nil), ("GET", "/search?text=hi", nil),
        ]
        for (there, notThere) in pairs {
            for (method, rest, body) in requests {
                let a = try await fixture.carol.call(method, "/v1/conversations/\(there)\(rest)", body)
                let b = try await fixture.carol.call(method, "/v1/conversations/\(notThere)\(rest)", body)
                let isSame = a.status == b.status && a.text == b.text
                #expect(isSame, "\(method) \(there)\(rest): \(a) but \(b)")
                let expected = rest == "/import" ? (403, "forbidden") : (404, "unknown-conversation")
                #expect(a.status == expected.0 && a.code == expected.1, "\(method) \(there)\(rest): \(a)")
            }
            // Creating a group reveals that its name is taken. The other kinds reveal nothing.
            guard !there.hasPrefix("group:") else { continue }
            let a = try await fixture.carol.call("PUT", "/v1/conversations/\(there)", "{}")
            let b = try await fixture.carol.call("PUT", "/v1/conversations/\(notThere)", "{}")
            #expect(a.status == b.status && a.code == b.code && a.status >= 400, "\(there): \(a) but \(b)")
        }
        // Requests that name several conversations answer for each of them separately.
        for (there, notThere) in pairs.map({ ($0.removingPercentEncoding!, $1.removingPercentEncoding!) }) {
            for (path, body) in [
                ("fetch", #"{"conversations":["NAME"]}"#), ("counts", #"{"since":{"NAME":"1"}}"#),
                ("refresh", #"{"messages":[{"conversation":"NAME","id":"\#(message)"}]}"#),
            ] {
                let a = try await fixture.carol.call("POST", "/v1/history/\(path)", body.replacing("NAME", with: there))
                let b = try await fixture.carol.call(
                    "POST", "/v1/history/\(path)", body.replacing("NAME", with: notThere))
                #expect(a.status == 200 && a.text.contains("unknown-conversation"), "\(a)")
                #expect(a.text == b.text.replacing(notThere, with: there), "\(a) but \(b)")
            }
        }
        let a = try await fixture.carol.call("GET", "/v1/communities/far/channels")
        let b = try await fixture.carol.call("GET", "/v1/communities/nowhere/channels")
        #expect(a.text == b.text && a.status == 404)
        #expect(try await fixture.carol.call("PUT", "/v1/conversations/group:strangers", "{}").status == 404)

        let socket = try await TestSocket.signedIn(fixture.server, "carol")
        for (there, notThere) in pairs.map({ ($0.removingPercentEncoding!, $1.removingPercentEncoding!) }) {
            for rest in [
                #""type":"history","conversation":"NAME""#, #""type":"send","conversation":"NAME","message":\#(body)"#,
                #""type":"read","conversation":"NAME","seq":1,"epoch":"1""#,
                #""type":"subscribe","conversations":["NAME"]"#,
            ] {
                let a = try await socket.request(rest.replacing("NAME", with: there))
                let b = try await socket.request(rest.replacing("NAME", with: notThere))
                #expect(a.string("code") == "unknown-conversation", "\(there) \(rest)")
                #expect(b.string("code") == "unknown-conversation", "\(notThere) \(rest)")
                #expect(a.string("detail") == b.string("detail")?.replacing(notThere, with: there))
            }
        }
    }
}
