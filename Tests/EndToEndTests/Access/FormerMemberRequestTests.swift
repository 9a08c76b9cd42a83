import Foundation
import ScrollbackModel
import ScrollbackServer
import Testing

/// What a former member requests with an operation, or why the operation reads no conversation.
private enum FormerMemberUse: Sendable {
    /// Requests, and the statuses of their answers. A WebSocket result has the status 200.
    case asks([String], Set<Int>)
    case readsNoConversation(String)

    static func asks(_ request: String, _ statuses: Int...) -> FormerMemberUse { .asks([request], Set(statuses)) }
}

/// Calls every operation as a removed member, after everything in the conversation was changed.
@Suite(.serverFixture) struct FormerMemberRequestTests {
    private static let own = FormerMemberUse.readsNoConversation("only the caller's own data")
    private static let admins = FormerMemberUse.readsNoConversation("only administrators may call it")
    private static let profiles = FormerMemberUse.readsNoConversation(
        "profiles and presence, which every user may read")
    private static let probe = FormerMemberUse.readsNoConversation("needs no token and has no user data")

    private static let p = "/v1/conversations/{PATH}"
    private static let edited = "\(p)/messages/{EDITED}"
    private static let all = #"["{EDITED}","{REACTED}","{ROOT}","{OWN}","{FILE}","{PICTURE}","{REPLY}","{LATER}"]"#
    private static let references = ["EDITED", "REACTED", "ROOT", "OWN", "FILE", "PICTURE", "REPLY", "LATER"]
        .map { #"{"conversation":"{P}","id":"{\#($0)}"}"# }.joined(separator: ",")

    /// The path and body of requests, by route, in the order in which they are sent.
    private static let routes: [(String, FormerMemberUse)] = [
        ("POST /v1/tokens", admins), ("DELETE /v1/users/{user}/tokens", admins), ("GET /v1/me", own),
        ("GET /v1/users/{user}", profiles), ("PUT /v1/users/{user}", own), ("POST /v1/users/fetch", profiles),
        ("PUT /v1/users/{user}/state", admins), ("DELETE /v1/users/{user}", admins),
        ("GET /v1/admin/users", admins), ("GET /v1/admin/conversations", admins),
        ("GET /v1/admin/connections", admins), ("DELETE /v1/admin/connections/{user}", admins),
        ("DELETE /v1/admin/connections/{user}/{device}", admins), ("GET /v1/admin/jobs/{id}", admins),
        ("POST /v1/admin/users/{user}/push", admins), ("GET /v1/settings", admins), ("PUT /v1/settings", admins),
        ("GET /v1/blocks", own), ("PUT /v1/blocks/{user}", own), ("DELETE /v1/blocks/{user}", own),
        ("GET /v1/bans", admins), ("PUT /v1/bans/{user}", admins), ("DELETE /v1/bans/{user}", admins),
        ("GET /v1/reports", admins), ("GET /v1/reports/{number}", admins), ("PUT /v1/reports/{number}", admins),
        ("POST /v1/presence/fetch", profiles), ("GET /v1/push/devices", own), ("PUT /v1/push/devices/{device}", own),
        ("DELETE /v1/push/devices/{device}", own), ("POST /v1/media", own), ("OPTIONS /v1/media", own),
        ("HEAD /v1/uploads/{upload}", own), ("PATCH /v1/uploads/{upload}", own), ("DELETE /v1/uploads/{upload}", own),
        ("GET /healthz", probe), ("GET /readyz", probe), ("GET /metrics", probe), ("GET /openapi.json", probe),
        ("GET /v1/connect", .readsNoConversation("opens a connection, whose frames the test reads too")),

        (
            "GET /v1/conversations/{conversation}/messages",
            .asks(
                ["", "?include=actions,metadata", "?mentionsMe=true", "?hasMedia=true", "?thread={ROOT}"]
                    .map { "\(p)/messages\($0)" }, [200])
        ),
        (
            "GET /v1/conversations/{conversation}/messages/{id}",
            .asks(
                ["EDITED", "REACTED", "ROOT", "OWN", "FILE", "PICTURE", "REPLY", "LATER"]
                    .map { "\(p)/messages/{\($0)}" }, [200, 404])
        ),
        ("POST /v1/history/fetch", .asks(#"/v1/history/fetch {"conversations":["{P}"],"include":["actions"]}"#, 200)),
        ("POST /v1/history/counts", .asks(#"/v1/history/counts {"since":{"{P}":"1"}}"#, 200)),
        ("POST /v1/history/refresh", .asks(#"/v1/history/refresh {"messages":[\#(references)]}"#, 200)),
        ("GET /v1/search", .asks(["/v1/search?text=zzmark", "/v1/search?text=mine"], [200])),
        ("GET /v1/conversations/{conversation}/search", .asks(["\(p)/search?text=zzmark"], [200])),
        ("GET /v1/conversations/{conversation}/actions", .asks("\(p)/actions", 200)),
        (
            "GET /v1/conversations/{conversation}/messages/{id}/actions",
            .asks(["\(p)/messages/{REACTED}/actions", "\(p)/messages/{OWN}/actions"], [200])
        ),
        ("GET /v1/conversations", .asks(["/v1/conversations?include=totals", "/v1/conversations?limit=1"], [200])),
        // The group's scene has no community.
        ("GET /v1/communities/{target}/channels", .asks("/v1/communities/{TAG}/channels", 200, 404)),
        ("GET /v1/conversations/{conversation}", .asks(p, 200)),
        ("GET /v1/media/{id}", .asks("/v1/media/{MEDIA}", 404)),
        ("GET /v1/media/{id}/thumbnail", .asks(["/v1/media/{MEDIA}/thumbnail", "/v1/media/{IMAGE}/thumbnail"], [404])),
        ("PUT /v1/media/{id}/thumbnail", .asks("/v1/media/{MEDIA}/thumbnail x", 404, 422)),
        (
            "POST /v1/media/{id}/link",
            .asks(["/v1/media/{MEDIA}/link {}", #"/v1/media/{IMAGE}/link {"thumbnail":true}"#], [404])
        ),
        ("GET /v1/users/{user}/export", .asks("/v1/users/{BOB}/export", 200)),
        ("GET /v1/invitations", .asks("/v1/invitations", 200)),
        (
            "GET /v1/conversations/{conversation}/members",
            .asks(["\(p)/members", "/v1/conversations/{MEMBERS}/members"], [403])
        ),
        (
            "PUT /v1/conversations/{conversation}/members/{user}",
            .asks("/v1/conversations/{MEMBERS}/members/{BOB} {}", 403)
        ),
        (
            "DELETE /v1/conversations/{conversation}/members/{user}",
            .asks("/v1/conversations/{MEMBERS}/members/{BOB}", 404)
        ),
        ("GET /v1/conversations/{conversation}/messages/{id}/readers", .asks("\(edited)/readers", 403)),
        ("GET /v1/conversations/{conversation}/invitations", .asks("/v1/conversations/{MEMBERS}/invitations", 403)),
        (
            "PUT /v1/conversations/{conversation}/invitations/{user}",
            .asks("/v1/conversations/{MEMBERS}/invitations/x {}", 403)
        ),
        (
            "DELETE /v1/conversations/{conversation}/invitations/{user}",
            .asks("/v1/conversations/{MEMBERS}/invitations/x", 403)
        ),
        ("GET /v1/conversations/{conversation}/bans", .asks("/v1/conversations/{MEMBERS}/bans", 403)),
        ("PUT /v1/conversations/{conversation}/bans/{user}", .asks("/v1/conversations/{MEMBERS}/bans/x {}", 403)),
        ("DELETE /v1/conversations/{conversation}/bans/{user}", .asks("/v1/conversations/{MEMBERS}/bans/x", 403)),
        // The retry of a message that an administrator edited since.
        (
            "POST /v1/conversations/{conversation}/messages",
            .asks(
                [
                    #"\#(p)/messages {"id":"{OWN}","type":"text","content":{"text":"mine"}}"#,
                    #"\#(p)/messages {"id":"{FRESH}","type":"text","content":{"text":"x"},"replyTo":"{LATER}"}"#,
                ], [200, 403])
        ),
        (
            "POST /v1/conversations/{conversation}/messages/{id}/reports",
            .asks(#"\#(edited)/reports {"reason":"spam"}"#, 409)
        ),
        ("PUT /v1/conversations/{conversation}", .asks(#"\#(p) {"metadata":{}}"#, 403)),
        ("DELETE /v1/conversations/{conversation}", .asks(p, 403)),
        ("POST /v1/conversations/{conversation}/import", .asks(#"\#(p)/import {"messages":[]}"#, 403)),
        (
            "PATCH /v1/conversations/{conversation}/messages/{id}",
            .asks(#"\#(p)/messages/{OWN} {"content":{"text":"y"}}"#, 403)
        ),
        ("DELETE /v1/conversations/{conversation}/messages/{id}", .asks("\(p)/messages/{OWN}", 403)),
        (
            "POST /v1/conversations/{conversation}/messages/delete",
            .asks(#"\#(p)/messages/delete {"ids":\#(all)}"#, 403)
        ),
        ("DELETE /v1/conversations/{conversation}/messages", .asks("\(p)/messages?all=true", 403)),
        (
            "POST /v1/conversations/{conversation}/messages/{id}/actions",
            .asks(#"\#(edited)/actions {"type":"reaction","value":"y"}"#, 403)
        ),
        (
            "DELETE /v1/conversations/{conversation}/messages/{id}/actions/{timetoken}",
            .asks("\(p)/messages/{REACTED}/actions/1", 403)
        ),
        ("PUT /v1/conversations/{conversation}/read", .asks(#"\#(p)/read {"seq":1,"epoch":"{EPOCH}"}"#, 200)),
        ("PUT /v1/conversations/{conversation}/settings", .asks(#"\#(p)/settings {"muted":true}"#, 200)),
        (
            "PUT /v1/conversations/{conversation}/notifications",
            .asks(#"\#(p)/notifications {"notifications":"all"}"#, 200)
        ),
        ("PUT /v1/conversations/{conversation}/unread", .asks("\(p)/unread", 200)),
        ("POST /v1/read", .asks(#"/v1/read {"all":true}"#, 200)),
        ("DELETE /v1/conversations/{conversation}/recent", .asks("\(p)/recent", 200)),
        ("PUT /v1/conversations/{conversation}/recent", .asks("\(p)/recent", 200)),
        ("DELETE /v1/conversations/{conversation}/roaming", .asks("\(p)/roaming", 200)),
        ("PUT /v1/conversations/{conversation}/clear", .asks(#"\#(p)/clear {"seq":1,"epoch":"{EPOCH}"}"#, 200)),
    ]

    private static let c = #""conversation":"{P}""#
    private static let m = #""conversation":"{MEMBERSID}""#
    private static let operation = #""operation":"{FRESH}""#

    /// The members of requests, by type, in the order in which they are sent.
    private static let requests: [(String, FormerMemberUse)] = [
        ("token", own), ("activity", own), ("ping", own), ("users", profiles), ("blocks", own), ("block", own),
        ("unblock", own), ("presence", profiles), ("pushDevices", own), ("pushPreferences", own),
        ("putPushDevice", own), ("dropPushDevice", own), ("setPushPreferences", own),

        (
            "sync",
            .asks(
                [
                    "", #""limit":1"#,
                    #""positions":[{\#(c),"epoch":"{EPOCH}","seq":0,"rev":0,"view":{VIEW}}]"#,
                    #""positions":[{\#(c),"epoch":"{EPOCH}","seq":6,"rev":0,"view":{VIEW}}]"#,
                ], [200])
        ),
        ("heads", .asks(#""conversations":["{P}"]"#, 200)),
        ("fetch", .asks(#""conversations":["{P}"]"#, 200)), ("counts", .asks(#""since":{"{P}":"1"}"#, 200)),
        ("refresh", .asks(#""messages":[\#(references)]"#, 200)), ("search", .asks(#""text":"zzmark""#, 200)),
        ("history", .asks([c, #"\#(c),"include":["actions"]"#], [200])), ("actions", .asks(c, 200)),
        ("subscribe", .asks(#""conversations":["{P}"]"#, 403)),
        ("unsubscribe", .asks(#""conversations":["{P}"]"#, 200)), ("typing", .asks(#"\#(c),"isTyping":true"#, 403)),
        (
            "send",
            .asks(#"\#(c),"message":{"id":"{OWN}","type":"text","content":{"text":"mine"}}"#, 200)
        ),
        ("edit", .asks(#"\#(c),"id":"{OWN}",\#(operation),"edit":{"content":{"text":"y"}}"#, 403)),
        ("delete", .asks(#"\#(c),"ids":\#(all)"#, 403)),
        ("deleteHistory", .asks(#"\#(c),"all":true,\#(operation)"#, 403)),
        ("action", .asks(#"\#(c),"id":"{EDITED}",\#(operation),"action":{"type":"reaction","value":"y"}"#, 403)),
        ("removeAction", .asks(#"\#(c),"id":"{REACTED}",\#(operation),"timetoken":"1""#, 403)),
        ("report", .asks(#"\#(c),"id":"{EDITED}","reason":"spam""#, 409)),
        ("members", .asks(c, 403)), ("readers", .asks(#"\#(c),"id":"{EDITED}""#, 403)),
        ("putMember", .asks(#"\#(m),"user":"{BOB}""#, 403)), ("removeMember", .asks(#"\#(m),"user":"{BOB}""#, 404)),
        ("invitations", .asks(m, 403)), ("invite", .asks(#"\#(m),"user":"x""#, 403)),
        ("endInvitation", .asks(#"\#(m),"user":"x""#, 403)), ("bans", .asks(m, 403)),
        ("ban", .asks(#"\#(m),"user":"x""#, 403)), ("unban", .asks(#"\#(m),"user":"x""#, 403)),
        ("read", .asks(#"\#(c),"seq":1,"epoch":"{EPOCH}""#, 200)),
        ("readMany", .asks(#""conversations":[{\#(c),"seq":1,"epoch":"{EPOCH}"}]"#, 200)),
        ("markUnread", .asks(c, 200)), ("settings", .asks(#"\#(c),"muted":true"#, 200)),
        ("notifications", .asks(#"\#(c),"notifications":"all""#, 200)), ("removeRecent", .asks(c, 200)),
        ("addRecent", .asks(c, 200)), ("stopRoaming", .asks(c, 200)),
        ("clear", .asks(#"\#(c),"seq":1,"epoch":"{EPOCH}""#, 200)),
    ]

    @Test func `Every operation is requested as a former member, or states why it reads no conversation`() {
        let routes = APISurface.operations.map { "\($0.method) \($0.path)" }
        #expect(Set(Self.routes.map(\.0)) == Set(routes) && Self.routes.count == routes.count)
        #expect(Set(Self.requests.map(\.0)) == Set(APISurface.requests.keys))
        #expect(Self.requests.count == APISurface.requests.count)
    }

    @Test(arguments: FormerMemberScene.Kind.allCases)
    func `No operation shows a removed member what was stored after their removal`(kind: FormerMemberScene.Kind)
        async throws
    {
        let scene = try await FormerMemberScene(kind)
        func check(_ answer: String, _ status: Int, _ statuses: Set<Int>, _ request: String) {
            #expect(!answer.contains(FormerMemberScene.marker), "\(request): \(answer)")
            #expect(statuses.contains(status), "\(request): \(status) \(answer.prefix(300))")
        }
        // All frames of a connection that was open before the removal, and of a new one.
        let again = try await TestSocket.signedIn(scene.fixture.server, UserID(scene.fill("{BOB}")))
        for case (let type, .asks(let requests, let statuses)) in Self.requests {
            for request in requests {
                let members = scene.fill(request)
                let answer = try await again.request(#""type":"\#(type)""# + (members.isEmpty ? "" : ",\(members)"))
                let status = answer.string("type") == "result" ? 200 : answer.int("status") ?? 0
                check(String(decoding: answer.bytes, as: UTF8.self), status, statuses, "\(type) \(request)")
            }
        }
        for case (let route, .asks(let requests, let statuses)) in Self.routes {
            let method = String(route.prefix { $0 != " " })
            for request in requests {
                let parts = request.split(separator: " ", maxSplits: 1).map(String.init)
                let answer = try await scene.bob.call(
                    method, scene.fill(parts[0]), parts.count > 1 ? scene.fill(parts[1]) : nil)
                check(answer.text, answer.status, statuses, "\(route) \(request)")
            }
        }
        for frame in scene.socket.frames + again.frames {
            #expect(!String(decoding: frame.bytes, as: UTF8.self).contains(FormerMemberScene.marker))
        }
    }
}
