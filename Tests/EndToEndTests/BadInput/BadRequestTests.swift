import Foundation
import ScrollbackModel
import Testing

/// A request that the server must refuse, and the expected error.
struct BadRequest: Sendable, CustomTestStringConvertible {
    enum Requester: Sendable { case alice, carol, admin }

    var requester = Requester.alice
    var method: String
    var path: String
    var body: String?
    var type: String? = "application/json"
    /// Further fields of the header, each with its end of line.
    var fields = ""
    var status: Int
    var code: String
    var parameter: String?

    var testDescription: String {
        "\(method) \(path.prefix(90)) \((body ?? "").prefix(60)) → \(status) \(code) \(parameter ?? "")"
    }

    static func get(
        _ path: String, _ status: Int, _ code: String, _ parameter: String? = nil, by requester: Requester = .alice
    )
        -> Self
    {
        .init(requester: requester, method: "GET", path: path, status: status, code: code, parameter: parameter)
    }

    static func put(
        _ path: String, _ body: String?, _ status: Int, _ code: String, _ parameter: String? = nil,
        by requester: Requester = .alice
    ) -> Self {
        .init(
            requester: requester, method: "PUT", path: path, body: body, status: status, code: code,
            parameter: parameter)
    }

    static func post(
        _ path: String, _ body: String?, _ status: Int, _ code: String, _ parameter: String? = nil,
        by requester: Requester = .alice
    ) -> Self {
        .init(
            requester: requester, method: "POST", path: path, body: body, status: status, code: code,
            parameter: parameter)
    }

    static func patch(
        _ path: String, _ body: String?, _ status: Int, _ code: String, _ parameter: String? = nil,
        by requester: Requester = .alice
    ) -> Self {
        .init(
            requester: requester, method: "PATCH", path: path, body: body, status: status, code: code,
            parameter: parameter)
    }

    static func delete(
        _ path: String, _ status: Int, _ code: String, _ parameter: String? = nil, by requester: Requester = .alice
    )
        -> Self
    {
        .init(requester: requester, method: "DELETE", path: path, status: status, code: code, parameter: parameter)
    }
}

private let crew = "/v1/conversations/group:crew"
private let id = "0198f3c2-7c1e-7000-8000-0123456789ab"
private func nested(_ depth: Int) -> String {
    String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
}

@Suite(.serverFixture) struct BadRequestTests {
    // MARK: Bodies

    private static let notJSON: [BadRequest] = [
        "", "{", "nonsense", #"{"id":}"#, #"{"id":"x",}"#, "{} {}", "{'id':1}", #"{"type":"\ud800"}"#, "\u{FEFF}{}",
        #"{"content":\#(nested(64))}"#, nested(100_000),
    ].map { .post(crew + "/messages", $0, 400, "malformed") }

    private static let wrongShapes: [BadRequest] = [
        .post(crew + "/messages", "[]", 422, "invalid-parameter", "body"),
        .post(crew + "/messages", "7", 422, "invalid-parameter", "body"),
        .post(crew + "/messages", "{}", 422, "invalid-parameter", "type"),
        .post(crew + "/messages", #"{"id":7}"#, 422, "invalid-parameter", "id"),
        .post(crew + "/messages", #"{"id":"7"}"#, 422, "invalid-parameter", "id"),
        .post(crew + "/messages", #"{"id":"\#(id)","type":"text"}"#, 422, "invalid-parameter", "content"),
        .post(crew + "/messages", #"{"type":"text","content":{"text":"x"}}"#, 422, "invalid-parameter", "id"),
        .post(crew + "/messages", send(#""type":"te xt""#), 422, "invalid-parameter", "type"),
        .post(crew + "/messages", send(#""type":"""#), 422, "invalid-parameter", "type"),
        .post(crew + "/messages", send(#""type":"texxt""#), 422, "invalid-parameter", "type"),
        .post(crew + "/messages", send(#""type":"RC:TxtMsg""#), 422, "invalid-parameter", "type"),
        .post(
            crew + "/messages", send(#""type":"app:album","content":{"files":["nope"]}"#), 422, "invalid-parameter",
            "files"),
        .post(crew + "/messages", send(#""content":[1]"#), 422, "invalid-parameter", "content"),
        .post(crew + "/messages", send(#""content":{"text":7}"#), 422, "invalid-parameter", "content"),
        .post(crew + "/messages", send(#""metadata":[]"#), 422, "invalid-parameter", "metadata"),
        .post(crew + "/messages", send(#""push":"x""#), 422, "invalid-parameter", "push"),
        .post(crew + "/messages", send(#""customType":"""#), 422, "invalid-parameter", "customType"),
        .post(crew + "/messages", send(#""replyTo":"x""#), 422, "invalid-parameter", "replyTo"),
        .post(crew + "/messages", send(#""flags":{"notifies":0}"#), 422, "invalid-parameter", "notifies"),
        .post(crew + "/messages", send(#""mentions":{}"#), 422, "invalid-parameter", "mentions"),
        .post(crew + "/messages", send(#""mentions":{"users":["a\u0000b"]}"#), 422, "invalid-parameter", "mentions"),
        .post(crew + "/messages", send(#""mentions":{"users":[\#(list(101))]}"#), 422, "invalid-parameter", "mentions"),
        .put("/v1/users/alice", #"{"name":"\#(text(129))"}"#, 422, "invalid-parameter", "name"),
        .put("/v1/users/alice", #"{"avatar":"\#(text(2049))"}"#, 422, "invalid-parameter", "avatar"),
        .put("/v1/users/alice", #"{"avatar":"javascript:alert(1)"}"#, 422, "invalid-parameter", "avatar"),
        .put("/v1/users/alice", #"{"name":"a\u202Eb"}"#, 422, "invalid-parameter", "name"),
        .put(crew, #"{"avatar":"javascript:alert(1)"}"#, 422, "invalid-parameter", "avatar", by: .admin),
        .put(crew, #"{"name":"a\nb"}"#, 422, "invalid-parameter", "name", by: .admin),
        .put("/v1/users/alice", #"{"metadata":3}"#, 422, "invalid-parameter", "metadata"),
        .put(crew, #"{"historyVisibility":"all"}"#, 422, "invalid-parameter", "historyVisibility", by: .admin),
        .put(crew, #"{"members":["x"]}"#, 422, "invalid-parameter", "members", by: .admin),
        .put(crew, #"{"private":true}"#, 422, "invalid-parameter", "private", by: .admin),
        .put("/v1/conversations/room:x", #"{"members":["x"]}"#, 422, "invalid-parameter", "members", by: .admin),
        .put("/v1/conversations/group:x", #"{"members":[\#(list(1001))]}"#, 422, "invalid-parameter", "members"),
        .put(crew + "/members/bob", #"{"role":"king"}"#, 422, "invalid-parameter", "role", by: .admin),
        .put(crew + "/members/bob", "", 400, "malformed", by: .admin),
        .put(crew + "/members/bob", #"{"mutedUntil":"never"}"#, 422, "invalid-parameter", "mutedUntil", by: .admin),
        .put(crew + "/members/bob", #"{"mutedUntil":"forever"}"#, 403, "forbidden"),
        .put(crew + "/members/nobody", #"{"mutedUntil":"forever"}"#, 404, "unknown-member", "user", by: .admin),
        .put(crew, #"{"capacity":5}"#, 422, "invalid-parameter", "capacity", by: .admin),
        .put("/v1/conversations/room:r", #"{"capacity":0}"#, 422, "invalid-parameter", "capacity", by: .admin),
        .put("/v1/conversations/room:r", #"{"capacity":"all"}"#, 422, "invalid-parameter", "capacity", by: .admin),
        .put("/v1/blocks/alice", "{}", 422, "invalid-parameter", "user"),
        .put("/v1/blocks/e%CC%81", "{}", 422, "invalid-parameter", "user"),
        .get("/v1/blocks?limit=0", 422, "invalid-parameter", "limit"),
        .put(
            "/v1/conversations/community:town/default/members/bob", "{}", 404, "unknown-operation", by: .admin),
        .put(
            "/v1/conversations/community:town%2Fdefault/members/bob", "{}", 422, "invalid-parameter", "conversation",
            by: .admin),
        .post("/v1/users/fetch", #"{"users":[]}"#, 422, "invalid-parameter", "users"),
        .post("/v1/users/fetch", #"{"users":[\#(list(101))]}"#, 422, "invalid-parameter", "users"),
        .post("/v1/users/fetch", "{}", 422, "invalid-parameter", "users"),
        .post("/v1/tokens", #"{"user":"x","expiresIn":0}"#, 422, "invalid-parameter", "expiresIn", by: .admin),
        .post("/v1/tokens", #"{"user":"x","expiresIn":1e9}"#, 422, "invalid-parameter", "expiresIn", by: .admin),
        .post("/v1/tokens", #"{"user":"x","scopes":["root"]}"#, 422, "invalid-parameter", "scopes", by: .admin),
        .post("/v1/tokens", #"{"user":""}"#, 422, "invalid-parameter", "user", by: .admin),
        .post("/v1/tokens", #"{"user":"x"}"#, 403, "forbidden"),
        .post(crew + "/import", #"{"messages":[{}]}"#, 422, "invalid-parameter", "sender", by: .admin),
        .post(
            crew + "/import", #"{"messages":[],"countsUnread":"yes"}"#, 422, "invalid-parameter", "countsUnread",
            by: .admin),
        .post(
            crew + "/import",
            #"{"messages":[\#(send(#""sender":"x","sentAt":"2026-02-30T10:00:00Z""#))]}"#, 422, "invalid-parameter",
            "sentAt", by: .admin),
        .post(
            crew + "/import",
            #"{"messages":[\#(send(#""sender":"x","sentAt":"2999-01-01T10:00:00Z""#))]}"#, 422, "invalid-parameter",
            "sentAt", by: .admin),
        .post(
            crew + "/import",
            #"{"messages":[\#(send(#""sender":"x","sentAt":"2001-01-01T10:00:00Z""#))]}"#, 409, "out-of-order",
            "sentAt", by: .admin),
    ]

    /// Names in bodies follow the same rules as names in paths.
    private static let namesInBodies: [BadRequest] = [#"a\u0000b"#, #"e\u0301"#, "\u{1100}\u{1161}", text(129), ""]
        .flatMap {
            name -> [BadRequest] in
            [
                .put("/v1/conversations/group:x", #"{"members":["\#(name)"]}"#, 422, "invalid-parameter", "members"),
                .post("/v1/tokens", #"{"user":"\#(name)"}"#, 422, "invalid-parameter", "user", by: .admin),
                .post("/v1/users/fetch", #"{"users":["\#(name)"]}"#, 422, "invalid-parameter", "users"),
                .post(
                    crew + "/messages", send(#""mentions":{"users":["\#(name)"]}"#), 422, "invalid-parameter",
                    "mentions"),
                .post(
                    crew + "/import",
                    #"{"messages":[\#(send(#""sender":"\#(name)","sentAt":"2026-02-03T10:00:00Z""#))]}"#, 422,
                    "invalid-parameter", "sender", by: .admin),
            ]
        }

    /// Returns a valid message with `members` added, in which a member of the same name is replaced.
    private static func send(_ members: String) -> String {
        let parts = [#""id":"\#(id)""#, #""type":"text""#, #""content":{"text":"x"}"#].filter { part in
            !members.hasPrefix(part.prefix { $0 != ":" })
        }
        return "{" + (parts + [members]).filter { !$0.isEmpty }.joined(separator: ",") + "}"
    }

    private static func list(_ count: Int) -> String { (0..<count).map { "\"u\($0)\"" }.joined(separator: ",") }
    private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    // MARK: Pages

    private static let limits: [BadRequest] = ["101", "-1", "abc", "1.5", "", "%31%30%31", "99999999999999999999", "+"]
        .map {
            .get(crew + "/messages?limit=\($0)", 422, "invalid-parameter", "limit")
        }

    private static let points: [BadRequest] = [
        "seq:0", "seq:-1", "seq:x", "seq:", "seq:99999999999999999999", "timetoken:x", "timetoken:-1", "id:7", "",
        "now",
        "2026-02-30T00:00:00Z", "2026-01-01", "2026-01-01T25:00:00Z", "LATEST", "%00",
    ].flatMap { point in
        ["before", "after", "around"].map { (name: String) in
            BadRequest.get(crew + "/messages?\(name)=\(point)", 422, "invalid-parameter", name)
        }
    }

    private static let combinations: [BadRequest] = [
        ("before=seq:1&after=seq:1", "after"), ("before=earliest", "before"), ("after=latest", "after"),
        ("around=latest&from=seq:1&to=seq:2", "from"), ("from=seq:1", "to"),
        ("to=seq:1", "from"), ("before=seq:1&to=seq:2", "to"), ("beforeLimit=3", "beforeLimit"),
        ("after=seq:1&afterLimit=3", "afterLimit"), ("around=seq:1&limit=3", "limit"),
        ("around=seq:1&beforeLimit=101", "beforeLimit"), ("around=seq:1&afterLimit=-1", "afterLimit"),
        ("cursor=x", "cursor"), ("cursor=", "cursor"), ("cursor=e30", "cursor"), ("cursor=x&before=seq:1", "cursor"),
        ("sort=up", "sort"), ("types=", "types"), ("types=a%20b", "types"),
        ("excludedTypes=%F0%9F%98%80", "excludedTypes"),
        ("senders=", "senders"), ("senders=a%00b", "senders"), ("senders=e%CC%81", "senders"),
        ("mentionsMe=1", "mentionsMe"), ("before=seq:1&before=seq:2", "before"), ("limit=1&limit=2", "limit"),
        ("types=\((0...100).map { "t\($0)" }.joined(separator: ","))", "types"), ("before=%ZZ", "before"),
        ("before=%C3%28", "before"),
    ].map { .get(crew + "/messages?\($0.0)", 422, "invalid-parameter", $0.1) }

    private static let anchors: [BadRequest] = [
        .get(crew + "/messages?around=id:\(id)", 404, "unknown-message", "around"),
        .get(crew + "/messages/\(id)", 404, "unknown-message"),
        .get(crew + "/messages/7", 422, "invalid-parameter", "id"),
    ]

    private static let lists: [BadRequest] = ["/v1/conversations", crew + "/members", "/v1/communities/town/channels"]
        .flatMap {
            path in
            ["101", "0", "-1", "abc", "", "1&limit=2"].map {
                BadRequest.get("\(path)?limit=\($0)", 422, "invalid-parameter", "limit")
            }
        }

    private static let listParameters: [BadRequest] = [
        .get("/v1/conversations?cursor=x", 422, "invalid-parameter", "cursor"),
        .get("/v1/conversations?cursor=a&cursor=b", 422, "invalid-parameter", "cursor"),
        .get("/v1/conversations?kind=club", 422, "invalid-parameter", "kind"),
        .get("/v1/conversations?kind=group&kind=room", 422, "invalid-parameter", "kind"),
        .get(crew + "/members?cursor=%00", 422, "invalid-parameter", "cursor"),
        .get("/v1/communities/town/channels?cursor=", 422, "invalid-parameter", "cursor"),
    ]

    private static let searches: [BadRequest] =
        ["/v1/search", crew + "/search"].flatMap { path in
            [
                ("", "text"), ("?text=", "text"), ("?text=\(text(257))", "text"), ("?text=a&text=b", "text"),
                ("?text=%C3%28", "text"), ("?text=%ZZ", "text"),
                ("?text=a&limit=0", "limit"), ("?text=a&limit=101", "limit"), ("?text=a&limit=-1", "limit"),
                ("?text=a&limit=abc", "limit"), ("?text=a&limit=", "limit"), ("?text=a&limit=1&limit=2", "limit"),
                ("?text=a&limit=99999999999999999999", "limit"),
                ("?text=a&sort=up", "sort"), ("?text=a&sort=", "sort"),
                ("?text=a&sort=newestFirst&sort=bestFirst", "sort"),
                ("?text=a&cursor=x", "cursor"), ("?text=a&cursor=", "cursor"), ("?text=a&cursor=a&cursor=b", "cursor"),
                ("?text=a&cursor=0.0.0.0.0.0.0.0", "cursor"),
            ].map { .get(path + $0.0, 422, "invalid-parameter", $0.1) }
        } + [
            .get("/v1/conversations/crew/search?text=a", 422, "invalid-parameter", "conversation"),
            .get("/v1/conversations/group:strangers/search?text=a", 404, "unknown-conversation"),
            .get("/v1/conversations/group:nobody/search?text=a", 404, "unknown-conversation"),
        ]

    // MARK: Names and paths

    private static let names: [BadRequest] = [
        "%00", "a%0Ab", "%7F", "%C2%85", "e%CC%81", "%E1%84%80%E1%85%A1", text(129), "%C3%28", "%ZZ", "%", "%E2%28%A1",
    ].flatMap {
        name -> [BadRequest] in
        [
            .get("/v1/users/\(name)", 422, "invalid-parameter", "user"),
            .put(crew + "/members/\(name)", "{}", 422, "invalid-parameter", "user", by: .admin),
            .get("/v1/conversations/group:\(name)", 422, "invalid-parameter", "conversation"),
            .put("/v1/conversations/group:\(name)", "{}", 422, "invalid-parameter", "conversation"),
            .get("/v1/communities/\(name)/channels", 422, "invalid-parameter", "target"),
        ]
    }

    private static let conversations: [BadRequest] = [
        "crew", "club:crew", "group:", "group:a%2Fb", "group:a:b", ":x", "GROUP:crew", "community:town%2F",
        "direct:a%2Fb%2Fc",
        "group:a%2541", "group:%25", "%20group:crew",
    ].map {
        .get("/v1/conversations/\($0)", 422, "invalid-parameter", "conversation")
    }

    private static let paths: [BadRequest] = [
        .get("/v1/nothing", 404, "unknown-operation"), .get("/nothing", 404, "unknown-operation"),
        .get("/v1", 404, "unknown-operation"), .get("/v2/me", 404, "unknown-operation"),
        .get("/v1/ME", 404, "unknown-operation"), .get("/v1/user/", 404, "unknown-operation"),
        .get("/v1/users/a/b", 404, "unknown-operation"), .get("/v1%2Fme", 404, "unknown-operation"),
        .get("/v1/conversations/group:crew/messages/\(id)/x", 404, "unknown-operation"),
        .get("/v1/connect", 400, "malformed", "Sec-WebSocket-Protocol"),
    ]

    // MARK: Threads, drafts, the directory and logs of the server

    private static let others: [BadRequest] = [
        .get("/v1/conversations/group:crew/threads?followed=maybe", 422, "invalid-parameter", "followed"),
        .get("/v1/conversations/group:crew/threads?cursor=-1", 422, "invalid-parameter", "cursor"),
        .put("/v1/conversations/group:crew/threads/x", #"{"followed":true}"#, 422, "invalid-parameter", "thread"),
        .put("/v1/conversations/group:crew/threads/\(id)", #"{"followed":1}"#, 422, "invalid-parameter", "followed"),
        .put("/v1/drafts/group:", #"{"draft":{}}"#, 422, "invalid-parameter", "conversation"),
        .put("/v1/drafts/group:crew", #"{"draft":"text"}"#, 422, "invalid-parameter", "draft"),
        .get("/v1/drafts?cursor=1", 422, "invalid-parameter", "cursor"),
        .get("/v1/users", 422, "invalid-parameter", "text"),
        .get("/v1/users?text=", 422, "invalid-parameter", "text"),
        .get("/v1/users?text=\(String(repeating: "a", count: 129))", 422, "invalid-parameter", "text"),
        .get("/v1/audit?action=applaud", 422, "invalid-parameter", "action", by: .admin),
        .get("/v1/audit?conversation=crew", 422, "invalid-parameter", "conversation", by: .admin),
        .get("/v1/audit?cursor=x", 422, "invalid-parameter", "cursor", by: .admin),
        .get("/v1/webhooks/none/deliveries", 422, "invalid-parameter", "webhook", by: .admin),
        .post("/v1/webhooks/none/replay", #"{"from":1,"through":2}"#, 422, "invalid-parameter", "webhook", by: .admin),
        .post("/v1/webhooks/none/replay", #"{"from":1}"#, 422, "invalid-parameter", "through", by: .admin),
    ]

    // MARK: Read markers

    private static let positions: [BadRequest] = [
        (#"{"seq":4,"epoch":"EPOCH"}"#, 422, "invalid-parameter", "seq"),
        (#"{"seq":-1,"epoch":"EPOCH"}"#, 422, "invalid-parameter", "seq"),
        (#"{"seq":9223372036854775807,"epoch":"EPOCH"}"#, 422, "invalid-parameter", "seq"),
        (#"{"seq":9223372036854775808,"epoch":"EPOCH"}"#, 422, "invalid-parameter", "seq"),
        (#"{"seq":1.5,"epoch":"EPOCH"}"#, 422, "invalid-parameter", "seq"),
        (#"{"seq":"1","epoch":"EPOCH"}"#, 422, "invalid-parameter", "seq"),
        (#"{"epoch":"EPOCH"}"#, 422, "invalid-parameter", "seq"),
        (#"{"seq":1}"#, 422, "invalid-parameter", "epoch"),
        (#"{"seq":1,"epoch":"x"}"#, 422, "invalid-parameter", "epoch"),
        (#"{"seq":1,"epoch":"-1"}"#, 422, "invalid-parameter", "epoch"),
        (#"{"seq":1,"epoch":7}"#, 422, "invalid-parameter", "epoch"),
        (#"{"seq":1,"epoch":"1"}"#, 409, "epoch-changed", "epoch"),
    ].map { .put(crew + "/read", $0.0, $0.1, $0.2, $0.3) }

    private static let noPositions: [BadRequest] = [
        .post("/v1/read", #"{"all":true,"kind":"group"}"#, 422, "invalid-parameter", "all"),
        .post("/v1/read", #"{"all":false}"#, 422, "invalid-parameter", "conversations"),
        .put("/v1/conversations/room:lobby/read", #"{"seq":0,"epoch":"1"}"#, 422, "invalid-parameter", "conversation"),
        .put(crew + "/read", #"{"seq":1,"epoch":"EPOCH"}"#, 403, "not-member", by: .admin),
    ]

    // MARK: Unknown names

    private static let unknownNames: [BadRequest] = [
        .get(crew + "/messages?start=1", 422, "invalid-parameter", "start"),
        .get(crew + "/messages?limit=5&Limit=6", 422, "invalid-parameter", "Limit"),
        .get(crew + "/messages?cursor=x&lmit=5", 422, "invalid-parameter", "lmit"),
        .get("/v1/conversations?kinds=group", 422, "invalid-parameter", "kinds"),
        .get("/v1/me?verbose", 422, "invalid-parameter", "verbose"),
        // Without the unknown name, these would delete everything up to a message.
        .delete(crew + "/messages?form=seq:1&to=seq:2", 422, "invalid-parameter", "form", by: .admin),
        .post(crew + "/messages?silent=1", send(""), 422, "invalid-parameter", "silent"),
        .put("/v1/users/alice?name=x", "{}", 422, "invalid-parameter", "name"),
        .put("/v1/settings", #"{"readReciepts":true}"#, 422, "invalid-parameter", "readReciepts", by: .admin),
        .post("/v1/tokens?expiresIn=60", #"{"user":"x"}"#, 422, "invalid-parameter", "expiresIn", by: .admin),
        .get("/v1/users/alice/export?format=csv", 422, "invalid-parameter", "format"),
        .post("/v1/media?conversation=group:crew&filename=a.txt", "x", 422, "invalid-parameter", "filename"),
        .get("/v1/media/\(id)?download=1", 422, "invalid-parameter", "download"),
        .get("/v1/media/\(id)/thumbnail?size=1", 422, "invalid-parameter", "size"),
        .put("/v1/media/\(id)/thumbnail?size=1", "x", 422, "invalid-parameter", "size"),
        .post("/v1/media/\(id)/link?thumbnail=true", nil, 422, "invalid-parameter", "thumbnail"),
        .post("/v1/media/\(id)/link?thumbnail=true", "{}", 422, "invalid-parameter", "thumbnail"),
    ]

    private static let strict: [BadRequest] = [
        BadRequest.post(crew + "/messages", send(#""mention":{}"#), 422, "invalid-parameter", "mention"),
        BadRequest.post(crew + "/messages", send(#""sender":"bob""#), 422, "invalid-parameter", "sender"),
        BadRequest.post(
            "/v1/tokens", #"{"user":"x","expiresin":60}"#, 422, "invalid-parameter", "expiresin", by: .admin),
        BadRequest.post("/v1/media/\(id)/link", #"{"thumbnails":true}"#, 422, "invalid-parameter", "thumbnails"),
        BadRequest.put("/v1/users/alice", #"{"nam":"x"}"#, 422, "invalid-parameter", "nam"),
        BadRequest.post(
            crew + "/messages", send(#""push":{"pushTitle":"x"}"#), 422, "invalid-parameter", "push.pushTitle"),
        BadRequest.post(
            crew + "/messages", send(#""push":{"android":{"oppo":{"channel":"a","chanel":"b"}}}"#), 422,
            "invalid-parameter", "push.android.oppo.chanel"),
    ].map { (request: BadRequest) -> BadRequest in
        var request = request
        request.fields = "Prefer: respond-async, handling=strict\r\n"
        return request
    }

    @Test
    func `The error about an unknown name suggests the most similar one, or else lists them`() async throws {
        let fixture = try ServerFixture.shared
        func detail(_ query: String) async throws -> String {
            let answer = try await raw(fixture.alice, "GET", fixture.fill(crew + "/messages?" + query), nil, nil)
            return answer.json.string("detail") ?? ""
        }
        #expect(try await detail("befor=latest").contains("Did you mean before?"))
        #expect(try await detail("Lmiit=1").contains("Did you mean limit?"))
        #expect(try await detail("xyz=1").contains("before, after, around"))
        #expect(try await detail(String(repeating: "x", count: 2000) + "=1").utf8.count < 500)
    }

    @Test
    func `Unknown members of a body are ignored unless the client prefers strict handling`() async throws {
        let fixture = try ServerFixture.shared
        let answer = try await raw(
            fixture.alice, "POST", fixture.fill("/v1/users/fetch"), #"{"users":["bob"],"color":"red"}"#, nil)
        #expect(answer.status == 200, "\(answer)")
        let lenient = try await raw(
            fixture.alice, "POST", fixture.fill("/v1/users/fetch"), #"{"users":["bob"],"color":"red"}"#, nil,
            fields: "Prefer: handling=lenient\r\n")
        #expect(lenient.status == 200, "\(lenient)")
    }

    private static let all: [BadRequest] = [
        notJSON, wrongShapes, unknownNames, strict, namesInBodies, limits, points, combinations, anchors, lists,
        listParameters, searches, names, conversations, paths, others, positions, noPositions, BadChanges.all,
    ].flatMap { $0 }

    @Test(arguments: all)
    func `A bad request changes nothing and is refused with its error code and parameter`(_ request: BadRequest)
        async throws
    {
        let fixture = try ServerFixture.shared
        let api =
            switch request.requester {
            case .alice: fixture.alice
            case .carol: fixture.carol
            case .admin: fixture.admin
            }
        let answer = try await raw(
            api, request.method, fixture.fill(request.path), request.body.map(fixture.fill), request.type,
            fields: request.fields)
        #expect(answer.status == request.status, "\(answer)")
        #expect(answer.code == request.code, "\(answer)")
        #expect(answer.json.string("parameter") == request.parameter, "\(answer)")
        #expect(answer.headers["content-type"] == "application/problem+json")
        #expect(answer.json.int("status") == request.status)
        try await fixture.expectUnchanged(request.testDescription)
    }

    /// Sends the request over a raw connection, because HTTP libraries would correct the path.
    private func raw(
        _ api: API, _ method: String, _ path: String, _ body: String?, _ type: String?, fields: String = ""
    ) async throws -> Answer {
        let connection = try await RawConnection(try ServerFixture.shared.server)
        var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(api.token ?? "")\r\n"
        head += fields
        if let body {
            head += "Content-Type: \(type ?? "application/json")\r\nContent-Length: \(body.utf8.count)\r\n"
        }
        connection.write(head + "\r\n" + (body ?? ""))
        let answer = try await connection.answer()
        let type = answer.head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-type: ") }
        return Answer(
            status: answer.status, headers: ["content-type": type.map { String($0.dropFirst(14)) } ?? ""],
            bytes: Array(answer.body.utf8))
    }
}
