import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire
import Testing

/// An example request for a route.
private struct RouteCase: Sendable {
    var path: String
    var body: String?
    /// The expected status of an authorized request.
    var status: ClosedRange<Int>
    /// Whether a caller without the role gets a reduced answer instead of an error.
    var asksNoRole: Bool

    init(_ path: String, _ body: String? = nil, status: ClosedRange<Int> = 200...299, asksNoRole: Bool = false) {
        self.path = path
        self.body = body
        self.status = status
        self.asksNoRole = asksNoRole
    }
}

/// Calls each HTTP route with and without a token, the required scope and the required role.
@Suite(.serverFixture) struct OperationRouteTests {
    private static let g = "/v1/conversations/{G}"
    private static let message = "/v1/conversations/{G}/messages/{MESSAGE}"

    private static let uses: [String: RouteCase] = [
        "POST /v1/tokens": RouteCase("/v1/tokens", #"{"user":"{NEW}","scopes":["read"]}"#),
        "DELETE /v1/users/{user}/tokens": RouteCase("/v1/users/{NEW}/tokens"),
        "GET /v1/me": RouteCase("/v1/me"),
        "GET /v1/users/{user}": RouteCase("/v1/users/{ME}", status: 200...404),
        "PUT /v1/users/{user}": RouteCase("/v1/users/{ME}", #"{"name":"Me"}"#),
        "POST /v1/users/fetch": RouteCase("/v1/users/fetch", #"{"users":["{ME}"]}"#),
        "PUT /v1/users/{user}/state": RouteCase("/v1/users/{NEW}/state", #"{"state":"deactivated"}"#),
        "DELETE /v1/users/{user}": RouteCase("/v1/users/{OUT}?messages=keep"),
        "GET /v1/users/{user}/export": RouteCase("/v1/users/{ME}/export"),
        "GET /v1/admin/users": RouteCase("/v1/admin/users"),
        "GET /v1/admin/conversations": RouteCase("/v1/admin/conversations"),
        "GET /v1/admin/connections": RouteCase("/v1/admin/connections"),
        "DELETE /v1/admin/connections/{user}": RouteCase("/v1/admin/connections/{NEW}"),
        "DELETE /v1/admin/connections/{user}/{device}": RouteCase("/v1/admin/connections/{NEW}/phone"),
        // The server has its store for itself.
        "GET /v1/admin/nodes": RouteCase("/v1/admin/nodes", status: 409...409),
        "POST /v1/admin/nodes/{node}/drain": RouteCase("/v1/admin/nodes/1/drain", status: 409...409),
        "POST /v1/admin/generation": RouteCase("/v1/admin/generation", #"{"generation":"1"}"#, status: 409...409),
        // A valid request would replace the secret of the server that all tests share.
        "POST /v1/admin/secret": RouteCase("/v1/admin/secret", #"{"overlapDays":367}"#, status: 422...422),
        // The server has no folder for backups.
        "POST /v1/admin/backups": RouteCase("/v1/admin/backups", status: 409...409),
        "GET /v1/admin/backups": RouteCase("/v1/admin/backups", status: 409...409),
        "GET /v1/admin/jobs/{id}": RouteCase("/v1/admin/jobs/999999", status: 404...404),
        "GET /v1/blocks": RouteCase("/v1/blocks"),
        "PUT /v1/blocks/{user}": RouteCase("/v1/blocks/{OTHER}"),
        "DELETE /v1/blocks/{user}": RouteCase("/v1/blocks/{OTHER}"),
        "GET /v1/bans": RouteCase("/v1/bans"),
        "PUT /v1/bans/{user}": RouteCase("/v1/bans/{NEW}", "{}"),
        "DELETE /v1/bans/{user}": RouteCase("/v1/bans/{NEW}", status: 200...404),
        "GET /v1/conversations/{conversation}/bans": RouteCase("\(g)/bans"),
        "PUT /v1/conversations/{conversation}/bans/{user}": RouteCase("\(g)/bans/{OUT}", "{}"),
        "DELETE /v1/conversations/{conversation}/bans/{user}": RouteCase("\(g)/bans/{OUT}", status: 200...404),
        "POST /v1/conversations/{conversation}/messages/{id}/reports": RouteCase(
            "\(message)/reports", #"{"reason":"spam"}"#),
        "GET /v1/reports": RouteCase("/v1/reports"),
        "GET /v1/reports/{number}": RouteCase("/v1/reports/{REPORT}"),
        "PUT /v1/reports/{number}": RouteCase("/v1/reports/{REPORT}", #"{"state":"closed"}"#),
        "GET /v1/users/{user}/scheduled": RouteCase("/v1/users/{NEW}/scheduled"),
        "DELETE /v1/users/{user}/scheduled/{id}": RouteCase("/v1/users/{NEW}/scheduled/{FRESH}", status: 404...404),
        "GET /v1/audit": RouteCase("/v1/audit"),
        "GET /v1/webhooks/{webhook}/deliveries": RouteCase("/v1/webhooks/none/deliveries", status: 422...422),
        "POST /v1/webhooks/{webhook}/replay": RouteCase(
            "/v1/webhooks/none/replay", #"{"from":1,"through":1}"#, status: 422...422),
        "PUT /v1/admin/hooks/{hook}": RouteCase(
            "/v1/admin/hooks/none", #"{"conversation":"group:none","user":"{ME}"}"#, status: 404...404),
        "GET /v1/admin/hooks": RouteCase("/v1/admin/hooks"),
        "POST /v1/admin/hooks/{hook}/secret": RouteCase("/v1/admin/hooks/none/secret", status: 422...422),
        "DELETE /v1/admin/hooks/{hook}": RouteCase("/v1/admin/hooks/none"),
        "POST /v1/hooks/{hook}": RouteCase("/v1/hooks/none.secret", #"{"text":"hi"}"#, status: 404...404),
        "GET /v1/conversations": RouteCase("/v1/conversations?include=totals"),
        "GET /v1/communities/{target}/channels": RouteCase("/v1/communities/{TAG}/channels"),
        "PUT /v1/conversations/{conversation}": RouteCase(g, #"{"name":"new"}"#),
        "GET /v1/conversations/{conversation}": RouteCase(g),
        "DELETE /v1/conversations/{conversation}": RouteCase(g),
        "GET /v1/conversations/{conversation}/members": RouteCase("\(g)/members"),
        "PUT /v1/conversations/{conversation}/members/{user}": RouteCase("\(g)/members/{NEW}", "{}"),
        "DELETE /v1/conversations/{conversation}/members/{user}": RouteCase("\(g)/members/{OUT}"),
        "GET /v1/conversations/{conversation}/messages/{id}/readers": RouteCase("\(message)/readers"),
        "GET /v1/conversations/{conversation}/messages/{id}/recipients": RouteCase("\(message)/recipients"),
        "GET /v1/invitations": RouteCase("/v1/invitations"),
        "GET /v1/conversations/{conversation}/invitations": RouteCase("\(g)/invitations"),
        "PUT /v1/conversations/{conversation}/invitations/{user}": RouteCase("\(g)/invitations/{NEW}", "{}"),
        "DELETE /v1/conversations/{conversation}/invitations/{user}": RouteCase(
            "\(g)/invitations/{NEW}", status: 200...404),
        "POST /v1/presence/fetch": RouteCase("/v1/presence/fetch", #"{"users":["{OTHER}"]}"#),
        "GET /v1/push/devices": RouteCase("/v1/push/devices"),
        "PUT /v1/push/devices/{device}": RouteCase("/v1/push/devices/phone", "{}", status: 422...422),
        "DELETE /v1/push/devices/{device}": RouteCase("/v1/push/devices/phone", status: 200...404),
        "POST /v1/admin/users/{user}/push": RouteCase("/v1/admin/users/{NEW}/push", "{}", status: 200...422),
        "POST /v1/conversations/{conversation}/messages": RouteCase(
            "\(g)/messages", #"{"id":"{FRESH}","type":"text","content":{"text":"x"}}"#),
        "GET /v1/conversations/{conversation}/messages": RouteCase("\(g)/messages"),
        "GET /v1/conversations/{conversation}/messages/{id}": RouteCase(message),
        "POST /v1/conversations/{conversation}/import": RouteCase("\(g)/import", #"{"messages":[]}"#),
        "PATCH /v1/conversations/{conversation}/messages/{id}": RouteCase(
            "\(g)/messages/{OWN}", #"{"content":{"text":"y"}}"#),
        "DELETE /v1/conversations/{conversation}/messages/{id}": RouteCase("\(g)/messages/{OWN}"),
        "POST /v1/conversations/{conversation}/messages/delete": RouteCase(
            "\(g)/messages/delete", #"{"ids":["{OWN}"]}"#),
        "DELETE /v1/conversations/{conversation}/messages": RouteCase("\(g)/messages?all=true"),
        "PUT /v1/conversations/{conversation}/clear": RouteCase("\(g)/clear", #"{"seq":1,"epoch":"{EPOCH}"}"#),
        "PUT /v1/conversations/{conversation}/read": RouteCase("\(g)/read", #"{"seq":1,"epoch":"{EPOCH}"}"#),
        "PUT /v1/conversations/{conversation}/settings": RouteCase("\(g)/settings", #"{"muted":true}"#),
        "PUT /v1/conversations/{conversation}/notifications": RouteCase(
            "\(g)/notifications", #"{"notifications":"all"}"#),
        "PUT /v1/conversations/{conversation}/unread": RouteCase("\(g)/unread"),
        "PUT /v1/conversations/{conversation}/recent": RouteCase("\(g)/recent"),
        "DELETE /v1/conversations/{conversation}/recent": RouteCase("\(g)/recent"),
        "DELETE /v1/conversations/{conversation}/roaming": RouteCase("\(g)/roaming"),
        "GET /v1/users": RouteCase("/v1/users?text=a"),
        "GET /v1/drafts": RouteCase("/v1/drafts"),
        "GET /v1/scheduled": RouteCase("/v1/scheduled"),
        // There is no such message.
        "DELETE /v1/scheduled/{id}": RouteCase("/v1/scheduled/{FRESH}", status: 404...404),
        "POST /v1/conversations/{conversation}/scheduled": RouteCase(
            "\(g)/scheduled",
            #"{"id":"{FRESH}","type":"text","content":{"text":"hi"},"sendAt":"2026-01-01T00:00:00Z"}"#),
        "PUT /v1/drafts/{conversation}": RouteCase("/v1/drafts/{G}", #"{"draft":{"text":"hi"}}"#),
        "POST /v1/read": RouteCase("/v1/read", #"{"all":true}"#),
        "POST /v1/delivered": RouteCase("/v1/delivered", #"{"conversations":[]}"#),
        "POST /v1/conversations/{conversation}/messages/{id}/actions": RouteCase(
            "\(message)/actions", #"{"type":"reaction","value":"y"}"#),
        "GET /v1/conversations/{conversation}/messages/{id}/actions": RouteCase("\(message)/actions"),
        "GET /v1/conversations/{conversation}/actions": RouteCase("\(g)/actions"),
        "GET /v1/conversations/{conversation}/pins": RouteCase("\(g)/pins"),
        "GET /v1/conversations/{conversation}/threads": RouteCase("\(g)/threads"),
        // The message has no replies.
        "PUT /v1/conversations/{conversation}/threads/{thread}": RouteCase(
            "\(g)/threads/{MESSAGE}", #"{"followed":true}"#, status: 404...404),
        "DELETE /v1/conversations/{conversation}/messages/{id}/actions/{timetoken}": RouteCase(
            "\(message)/actions/{ACTION}"),
        "POST /v1/history/fetch": RouteCase("/v1/history/fetch", #"{"conversations":["{G}"]}"#),
        "POST /v1/history/counts": RouteCase("/v1/history/counts", #"{"since":{"{G}":"1"}}"#),
        "POST /v1/history/refresh": RouteCase(
            "/v1/history/refresh", #"{"messages":[{"conversation":"{G}","id":"{MESSAGE}"}]}"#),
        "GET /v1/search": RouteCase("/v1/search?text=hello"),
        "GET /v1/conversations/{conversation}/search": RouteCase("\(g)/search?text=hello"),
        "GET /v1/settings": RouteCase("/v1/settings"),
        "PUT /v1/settings": RouteCase("/v1/settings", "{}"),
        "POST /v1/media": RouteCase("/v1/media?conversation={G}&type=file&name=a.txt", "hello"),
        "OPTIONS /v1/media": RouteCase("/v1/media", asksNoRole: true),
        // The upload does not exist. The server finds out only after it has verified the token.
        "HEAD /v1/uploads/{upload}": RouteCase("/v1/uploads/{FRESH}", status: 404...404),
        "PATCH /v1/uploads/{upload}": RouteCase("/v1/uploads/{FRESH}", "x", status: 400...404),
        "DELETE /v1/uploads/{upload}": RouteCase("/v1/uploads/{FRESH}", status: 404...404),
        "GET /v1/media/{id}": RouteCase("/v1/media/{FILE}"),
        "GET /v1/media/{id}/thumbnail": RouteCase("/v1/media/{FILE}/thumbnail", status: 404...404),
        "PUT /v1/media/{id}/thumbnail": RouteCase("/v1/media/{FILE}/thumbnail", "no picture", status: 422...422),
        "POST /v1/media/{id}/link": RouteCase("/v1/media/{FILE}/link", "{}"),
        "GET /healthz": RouteCase("/healthz"), "GET /readyz": RouteCase("/readyz"),
        "GET /metrics": RouteCase("/metrics"),
        "GET /openapi.json": RouteCase("/openapi.json"), "GET /v1/connect": RouteCase("/v1/connect", status: 400...400),
    ]

    private static let routes = APISurface.operations.map { "\($0.method) \($0.path)" }

    @Test func `Every HTTP route is tested`() {
        #expect(Set(Self.uses.keys) == Set(Self.routes))
    }

    @Test(arguments: routes)
    func `Each route is refused without a token, its scope or role and succeeds with exactly these`(route: String)
        async throws
    {
        let access = try #require(APISurface.operations.first { "\($0.method) \($0.path)" == route }).access
        let use = try #require(Self.uses[route], "`uses` has no \(route).")
        let method = String(route.prefix { $0 != " " })
        var scene = try await OperationScene(access, for: route)
        try await scene.prepare(use.path, use.body ?? "")
        func call(_ token: String?) async throws -> Answer {
            try await API(server: scene.fixture.server.url, token: token).call(
                method, scene.fill(use.path), use.body.map { scene.fill($0) })
        }
        guard scene.access.scope != nil else {
            let answer = try await call(nil)
            return #expect(use.status.contains(answer.status), "\(answer)")
        }

        let stranger = try await call(nil)
        #expect(stranger.status == 401, "without a token: \(stranger)")
        if method != "HEAD" { #expect(stranger.code == "invalid-token") }

        let other = try await call(scene.allBut())
        #expect(other.status == 403, "without the scope: \(other)")
        if method != "HEAD" { #expect(other.code == "forbidden" && other.text.contains("token"), "\(other)") }

        if let token = try await scene.tooSmall() {
            let lesser = try await call(token)
            let wanted: Set<Int> = use.asksNoRole ? [204] : [403, 404]
            #expect(wanted.contains(lesser.status), "with a lesser role: \(lesser)")
        }

        let answer = try await call(scene.justEnough())
        #expect(use.status.contains(answer.status) && answer.status != 401 && answer.status != 403, "\(answer)")
    }
}
