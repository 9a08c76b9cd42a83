import Foundation
import ScrollbackModel
import ScrollbackServer
import Testing

/// What a former member requests with an operation, or why the operation reads no conversation.
private enum FormerMemberUse: Sendable {
    /// Requests, and the statuses of their answers. A WebSocket result has the status 200.
    case asks([String], Set<Int>)
    case readsNoConversation(String)

    static func one(_ request: String, _ statuses: Int...) -> FormerMemberUse { .asks([request], Set(statuses)) }
}

/// Calls every operation as a former member, after everything in the conversation was changed.
@Suite(.serverFixture) struct FormerMemberRequestTests {
    private static let own = FormerMemberUse.readsNoConversation("only the caller's own data")
    private static let admins = FormerMemberUse.readsNoConversation("only administrators may call it")
    private static let profiles = FormerMemberUse.readsNoConversation(
        "profiles and presence, which every user may read")
    private static let probe = FormerMemberUse.readsNoConversation("needs no token and has no user data")

    private static let p = "/v1/conversations/{PATH}"
    private static let edited = "\(p)/messages/{EDITED}"
    private static let names = ["EDITED", "REACTED", "ROOT", "OWN", "FILE", "PICTURE", "POLL", "REPLY", "LATER"]
    private static let all = "[" + names.map { #""{\#($0)}""# }.joined(separator: ",") + "]"
    private static let references = names.map { #"{"conversation":"{P}","id":"{\#($0)}"}"# }.joined(separator: ",")
    private static let everyMessage = names.map { "\(p)/messages/{\($0)}" }
    private static let pages = [
        "", "?include=actions,metadata", "?mentionsMe=true", "?hasMedia=true", "?thread={ROOT}",
    ].map { "\(p)/messages\($0)" }

    /// The path and body of requests, by route, in the order in which they are sent.
    private static let routes: [(String, FormerMemberUse)] = [
        ("POST /v1/tokens", admins), ("DELETE /v1/users/{user}/tokens", admins), ("GET /v1/me", own),
        ("GET /v1/users/{user}", profiles), ("PUT /v1/users/{user}", own), ("POST /v1/users/fetch", profiles),
        ("PUT /v1/users/{user}/state", admins), ("DELETE /v1/users/{user}", admins),
        ("GET /v1/admin/users", admins), ("GET /v1/admin/conversations", admins),
        ("GET /v1/admin/connections", admins), ("DELETE /v1/admin/connections/{user}", admins),
        ("DELETE /v1/admin/connections/{user}/{device}", admins), ("GET /v1/admin/jobs/{id}", admins),
        ("GET /v1/admin/nodes", admins), ("POST /v1/admin/nodes/{node}/drain", admins),
        ("POST /v1/admin/generation", admins), ("POST /v1/admin/secret", admins),
        ("POST /v1/admin/backups", admins), ("GET /v1/admin/backups", admins),
        ("POST /v1/admin/users/{user}/push", admins), ("GET /v1/settings", admins), ("PUT /v1/settings", admins),
        ("GET /v1/users", profiles), ("GET /v1/drafts", own), ("PUT /v1/drafts/{conversation}", own),
        ("GET /v1/scheduled", own),
        ("DELETE /v1/scheduled/{id}", own),
        ("GET /v1/blocks", own),
        ("PUT /v1/blocks/{user}", own), ("DELETE /v1/blocks/{user}", own),
        ("GET /v1/bans", admins), ("PUT /v1/bans/{user}", admins), ("DELETE /v1/bans/{user}", admins),
        ("GET /v1/reports", admins), ("GET /v1/reports/{number}", admins), ("PUT /v1/reports/{number}", admins),
        ("GET /v1/users/{user}/scheduled", admins), ("DELETE /v1/users/{user}/scheduled/{id}", admins),
        ("GET /v1/audit", admins), ("GET /v1/webhooks/{webhook}/deliveries", admins),
        ("POST /v1/webhooks/{webhook}/replay", admins),
        ("PUT /v1/admin/hooks/{hook}", admins), ("GET /v1/admin/hooks", admins),
        ("POST /v1/admin/hooks/{hook}/secret", admins), ("DELETE /v1/admin/hooks/{hook}", admins),
        ("POST /v1/hooks/{hook}", .readsNoConversation("posts with the secret of a webhook, and answers one word")),
        ("POST /v1/presence/fetch", profiles), ("GET /v1/push/devices", own), ("PUT /v1/push/devices/{device}", own),
        ("DELETE /v1/push/devices/{device}", own), ("POST /v1/media", own), ("OPTIONS /v1/media", own),
        ("HEAD /v1/uploads/{upload}", own), ("PATCH /v1/uploads/{upload}", own), ("DELETE /v1/uploads/{upload}", own),
        ("GET /healthz", probe), ("GET /readyz", probe), ("GET /metrics", probe), ("GET /openapi.json", probe),
        ("GET /v1/connect", .readsNoConversation("opens a connection, whose frames the test reads too")),

        (
            "GET /v1/conversations/{conversation}/messages",
            .asks(pages, [200])
        ),
        (
            "GET /v1/conversations/{conversation}/messages/{id}",
            .asks(everyMessage, [200, 404])
        ),
        ("POST /v1/history/fetch", .one(#"/v1/history/fetch {"conversations":["{P}"],"include":["actions"]}"#, 200)),
        ("POST /v1/history/counts", .one(#"/v1/history/counts {"since":{"{P}":"1"}}"#, 200)),
        ("POST /v1/history/refresh", .one(#"/v1/history/refresh {"messages":[\#(references)]}"#, 200)),
        ("GET /v1/search", .asks(["/v1/search?text=zzmark", "/v1/search?text=mine"], [200])),
        ("GET /v1/conversations/{conversation}/search", .asks(["\(p)/search?text=zzmark"], [200])),
        ("GET /v1/conversations/{conversation}/actions", .one("\(p)/actions", 200)),
        ("GET /v1/conversations/{conversation}/pins", .asks(["\(p)/pins", "\(p)/pins?limit=1"], [200])),
        ("GET /v1/conversations/{conversation}/threads", .one("\(p)/threads", 403)),
        (
            "PUT /v1/conversations/{conversation}/threads/{thread}",
            .one(#"\#(p)/threads/{OWN} {"followed":true}"#, 403)
        ),
        (
            "GET /v1/conversations/{conversation}/messages/{id}/actions",
            .asks(["REACTED", "OWN", "ROOT", "POLL"].map { "\(p)/messages/{\($0)}/actions" }, [200])
        ),
        ("GET /v1/conversations", .asks(["/v1/conversations?include=totals", "/v1/conversations?limit=1"], [200])),
        // The group's scene has no community.
        ("GET /v1/communities/{target}/channels", .one("/v1/communities/{TAG}/channels", 200, 404)),
        ("GET /v1/conversations/{conversation}", .one(p, 200)),
        ("GET /v1/media/{id}", .one("/v1/media/{MEDIA}", 404)),
        ("GET /v1/media/{id}/thumbnail", .asks(["/v1/media/{MEDIA}/thumbnail", "/v1/media/{IMAGE}/thumbnail"], [404])),
        ("PUT /v1/media/{id}/thumbnail", .one("/v1/media/{MEDIA}/thumbnail x", 404, 422)),
        (
            "POST /v1/media/{id}/link",
            .asks(["/v1/media/{MEDIA}/link {}", #"/v1/media/{IMAGE}/link {"thumbnail":true}"#], [404])
        ),
        ("GET /v1/users/{user}/export", .one("/v1/users/{BOB}/export", 200)),
        ("GET /v1/invitations", .one("/v1/invitations", 200)),
        (
            "GET /v1/conversations/{conversation}/members",
            .asks(["\(p)/members", "/v1/conversations/{MEMBERS}/members"], [403])
        ),
        (
            "PUT /v1/conversations/{conversation}/members/{user}",
            .one("/v1/conversations/{MEMBERS}/members/{BOB} {}", 403)
        ),
        (
            "DELETE /v1/conversations/{conversation}/members/{user}",
            .one("/v1/conversations/{MEMBERS}/members/{BOB}", 404)
        ),
        ("GET /v1/conversations/{conversation}/messages/{id}/readers", .one("\(edited)/readers", 403)),
        ("GET /v1/conversations/{conversation}/messages/{id}/recipients", .one("\(edited)/recipients", 403)),
        ("GET /v1/conversations/{conversation}/invitations", .one("/v1/conversations/{MEMBERS}/invitations", 403)),
        (
            "PUT /v1/conversations/{conversation}/invitations/{user}",
            .one("/v1/conversations/{MEMBERS}/invitations/x {}", 403)
        ),
        (
            "DELETE /v1/conversations/{conversation}/invitations/{user}",
            .one("/v1/conversations/{MEMBERS}/invitations/x", 403)
        ),
        ("GET /v1/conversations/{conversation}/bans", .one("/v1/conversations/{MEMBERS}/bans", 403)),
        ("PUT /v1/conversations/{conversation}/bans/{user}", .one("/v1/conversations/{MEMBERS}/bans/x {}", 403)),
        ("DELETE /v1/conversations/{conversation}/bans/{user}", .one("/v1/conversations/{MEMBERS}/bans/x", 403)),
        // The retry of a message that an administrator edited since.
        ("POST /v1/conversations/{conversation}/scheduled", .one(#"\#(p)/scheduled {\#(scheduled)}"#, 403)),
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
            .one(#"\#(edited)/reports {"reason":"spam"}"#, 409)
        ),
        ("PUT /v1/conversations/{conversation}", .one(#"\#(p) {"metadata":{}}"#, 403)),
        ("DELETE /v1/conversations/{conversation}", .one(p, 403)),
        ("POST /v1/conversations/{conversation}/import", .one(#"\#(p)/import {"messages":[]}"#, 403)),
        (
            "PATCH /v1/conversations/{conversation}/messages/{id}",
            .one(#"\#(p)/messages/{OWN} {"content":{"text":"y"}}"#, 403)
        ),
        ("DELETE /v1/conversations/{conversation}/messages/{id}", .one("\(p)/messages/{OWN}", 403)),
        (
            "POST /v1/conversations/{conversation}/messages/delete",
            .one(#"\#(p)/messages/delete {"ids":\#(all)}"#, 403)
        ),
        ("DELETE /v1/conversations/{conversation}/messages", .one("\(p)/messages?all=true", 403)),
        (
            "POST /v1/conversations/{conversation}/messages/{id}/actions",
            .one(#"\#(edited)/actions {"type":"reaction","value":"y"}"#, 403)
        ),
        (
            "DELETE /v1/conversations/{conversation}/messages/{id}/actions/{timetoken}",
            .one("\(p)/messages/{REACTED}/actions/1", 403)
        ),
        ("PUT /v1/conversations/{conversation}/read", .one(#"\#(p)/read {"seq":1,"epoch":"{EPOCH}"}"#, 200)),
        ("PUT /v1/conversations/{conversation}/settings", .one(#"\#(p)/settings {"muted":true}"#, 200)),
        (
            "PUT /v1/conversations/{conversation}/notifications",
            .one(#"\#(p)/notifications {"notifications":"all"}"#, 200)
        ),
        ("PUT /v1/conversations/{conversation}/unread", .one("\(p)/unread", 200)),
        ("POST /v1/read", .one(#"/v1/read {"all":true}"#, 200)),
        ("POST /v1/delivered", .one(#"/v1/delivered {"conversations":[{\#(c),"seq":1,"epoch":"{EPOCH}"}]}"#, 200)),
        ("DELETE /v1/conversations/{conversation}/recent", .one("\(p)/recent", 200)),
        ("PUT /v1/conversations/{conversation}/recent", .one("\(p)/recent", 200)),
        ("DELETE /v1/conversations/{conversation}/roaming", .one("\(p)/roaming", 200)),
        ("PUT /v1/conversations/{conversation}/clear", .one(#"\#(p)/clear {"seq":0,"epoch":"{EPOCH}"}"#, 200)),
    ]

    private static let c = #""conversation":"{P}""#
    private static let m = #""conversation":"{MEMBERSID}""#
    private static let scheduled =
        #""id":"{FRESH}","type":"text","content":{"text":"x"},"sendAt":"2026-01-01T00:00:00Z""#
    private static let operation = #""operation":"{FRESH}""#

    /// The members of requests, by type, in the order in which they are sent.
    private static let requests: [(String, FormerMemberUse)] = [
        ("token", own), ("activity", own), ("ping", own), ("users", profiles), ("blocks", own), ("block", own),
        ("searchUsers", profiles), ("putDraft", own), ("drafts", own), ("unblock", own), ("presence", profiles),
        ("pushDevices", own),
        ("pushPreferences", own),
        ("putPushDevice", own), ("dropPushDevice", own), ("setPushPreferences", own),

        (
            "sync",
            .asks(
                [
                    "", #""limit":1"#,
                    #""positions":[{\#(c),"epoch":"{EPOCH}","seq":0,"rev":0,"view":{VIEW}}]"#,
                    #""positions":[{\#(c),"epoch":"{EPOCH}","seq":7,"rev":0,"view":{VIEW}}]"#,
                ], [200])
        ),
        ("heads", .one(#""conversations":["{P}"]"#, 200)),
        ("fetch", .one(#""conversations":["{P}"]"#, 200)), ("counts", .one(#""since":{"{P}":"1"}"#, 200)),
        ("refresh", .one(#""messages":[\#(references)]"#, 200)), ("search", .one(#""text":"zzmark""#, 200)),
        ("conversation", .one(c, 200)), ("pins", .one(c, 200)),
        ("threads", .one(c, 403)), ("thread", .one(#"\#(c),"thread":"{OWN}","followed":true"#, 403)),
        // The group's scene has no community.
        ("channels", .one(#""target":"{TAG}""#, 200, 404)), ("putUser", own),
        ("putConversation", .one(#"\#(c),"metadata":{},\#(operation)"#, 403)), ("deleteConversation", .one(c, 403)),
        ("history", .asks([c, #"\#(c),"include":["actions"]"#], [200])), ("actions", .one(c, 200)),
        ("subscribe", .one(#""conversations":["{P}"]"#, 403)),
        ("unsubscribe", .one(#""conversations":["{P}"]"#, 200)), ("typing", .one(#"\#(c),"isTyping":true"#, 403)),
        (
            "send",
            .one(#"\#(c),"message":{"id":"{OWN}","type":"text","content":{"text":"mine"}}"#, 200)
        ),
        ("schedule", .one(#"\#(c),"message":{\#(scheduled)}"#, 403)), ("scheduled", own), ("cancelScheduled", own),
        ("edit", .one(#"\#(c),"id":"{OWN}",\#(operation),"edit":{"content":{"text":"y"}}"#, 403)),
        ("delete", .one(#"\#(c),"ids":\#(all)"#, 403)),
        ("deleteHistory", .one(#"\#(c),"all":true,\#(operation)"#, 403)),
        ("action", .one(#"\#(c),"id":"{EDITED}",\#(operation),"action":{"type":"reaction","value":"y"}"#, 403)),
        ("removeAction", .one(#"\#(c),"id":"{REACTED}",\#(operation),"timetoken":"1""#, 403)),
        ("report", .one(#"\#(c),"id":"{EDITED}","reason":"spam""#, 409)),
        ("members", .one(c, 403)), ("readers", .one(#"\#(c),"id":"{EDITED}""#, 403)),
        ("recipients", .one(#"\#(c),"id":"{EDITED}""#, 403)),
        ("putMember", .one(#"\#(m),"user":"{BOB}""#, 403)), ("removeMember", .one(#"\#(m),"user":"{BOB}""#, 404)),
        ("invitations", .one(m, 403)), ("invite", .one(#"\#(m),"user":"x""#, 403)),
        ("endInvitation", .one(#"\#(m),"user":"x""#, 403)), ("bans", .one(m, 403)),
        ("ban", .one(#"\#(m),"user":"x""#, 403)), ("unban", .one(#"\#(m),"user":"x""#, 403)),
        ("read", .one(#"\#(c),"seq":1,"epoch":"{EPOCH}""#, 200)),
        ("readMany", .one(#""conversations":[{\#(c),"seq":1,"epoch":"{EPOCH}"}]"#, 200)),
        ("delivered", .one(#""conversations":[{\#(c),"seq":1,"epoch":"{EPOCH}"}]"#, 200)),
        ("markUnread", .one(c, 200)), ("settings", .one(#"\#(c),"muted":true"#, 200)),
        ("notifications", .one(#"\#(c),"notifications":"all""#, 200)), ("removeRecent", .one(c, 200)),
        ("addRecent", .one(c, 200)), ("stopRoaming", .one(c, 200)),
        ("clear", .one(#"\#(c),"seq":0,"epoch":"{EPOCH}""#, 200)),
    ]

    @Test func `Every operation is requested as a former member, or states why it reads no conversation`() {
        let routes = APISurface.operations.map { "\($0.method) \($0.path)" }
        #expect(Set(Self.routes.map(\.0)) == Set(routes) && Self.routes.count == routes.count)
        #expect(Set(Self.requests.map(\.0)) == Set(APISurface.requests.keys))
        #expect(Self.requests.count == APISurface.requests.count)
    }

    @Test(arguments: FormerMemberScene.Kind.allCases, FormerMemberScene.Ending.allCases)
    func `No operation shows a former member what was stored after the end of the membership`(
        kind: FormerMemberScene.Kind, ending: FormerMemberScene.Ending
    ) async throws {
        let scene = try await FormerMemberScene(kind, ending)
        func check(_ answer: String, _ status: Int, _ statuses: Set<Int>, _ request: String) {
            for text in FormerMemberScene.later { #expect(!answer.contains(text), "\(request): \(answer)") }
            #expect(statuses.contains(status), "\(request): \(status) \(answer.prefix(300))")
        }
        // The vote and the page show that the scene has what the later ones are compared with.
        let poll = try await scene.bob.call("GET", scene.fill("\(Self.p)/messages/{POLL}"))
        #expect(poll.text.contains(#""type":"vote","value":"0""#), "\(poll)")
        let pins = try await scene.bob.call("GET", scene.fill("\(Self.p)/pins?limit=1"))
        #expect(pins.json.objects("messages").isEmpty && pins.json.string("cursor") == nil, "\(pins)")
        // All frames of a connection that was open before the end, and of a new one.
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
            let text = String(decoding: frame.bytes, as: UTF8.self)
            for later in FormerMemberScene.later { #expect(!text.contains(later), "\(text)") }
        }
    }
}
