import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire
import Testing

/// An example request for a route.
private struct Use: Sendable {
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
@Suite(.smallWorld) struct OperationRouteTests {
    private static let g = "/v1/conversations/{G}"
    private static let message = "/v1/conversations/{G}/messages/{MESSAGE}"

    private static let uses: [String: Use] = [
        "POST /v1/tokens": Use("/v1/tokens", #"{"user":"{NEW}","scopes":["read"]}"#),
        "DELETE /v1/users/{user}/tokens": Use("/v1/users/{NEW}/tokens"),
        "GET /v1/me": Use("/v1/me"),
        "GET /v1/users/{user}": Use("/v1/users/{ME}", status: 200...404),
        "PUT /v1/users/{user}": Use("/v1/users/{ME}", #"{"name":"Me"}"#),
        "POST /v1/users/fetch": Use("/v1/users/fetch", #"{"users":["{ME}"]}"#),
        "PUT /v1/users/{user}/state": Use("/v1/users/{NEW}/state", #"{"state":"deactivated"}"#),
        "DELETE /v1/users/{user}": Use("/v1/users/{OUT}?messages=keep"),
        "GET /v1/users/{user}/export": Use("/v1/users/{ME}/export"),
        "GET /v1/admin/users": Use("/v1/admin/users"),
        "GET /v1/admin/conversations": Use("/v1/admin/conversations"),
        "GET /v1/admin/connections": Use("/v1/admin/connections"),
        "DELETE /v1/admin/connections/{user}": Use("/v1/admin/connections/{NEW}"),
        "DELETE /v1/admin/connections/{user}/{device}": Use("/v1/admin/connections/{NEW}/phone"),
        "GET /v1/admin/jobs/{id}": Use("/v1/admin/jobs/999999", status: 404...404),
        "GET /v1/blocks": Use("/v1/blocks"),
        "PUT /v1/blocks/{user}": Use("/v1/blocks/{OTHER}"),
        "DELETE /v1/blocks/{user}": Use("/v1/blocks/{OTHER}"),
        "GET /v1/bans": Use("/v1/bans"),
        "PUT /v1/bans/{user}": Use("/v1/bans/{NEW}", "{}"),
        "DELETE /v1/bans/{user}": Use("/v1/bans/{NEW}", status: 200...404),
        "GET /v1/conversations/{conversation}/bans": Use("\(g)/bans"),
        "PUT /v1/conversations/{conversation}/bans/{user}": Use("\(g)/bans/{OUT}", "{}"),
        "DELETE /v1/conversations/{conversation}/bans/{user}": Use("\(g)/bans/{OUT}", status: 200...404),
        "POST /v1/conversations/{conversation}/messages/{id}/reports": Use("\(message)/reports", #"{"reason":"spam"}"#),
        "GET /v1/reports": Use("/v1/reports"),
        "GET /v1/reports/{number}": Use("/v1/reports/{REPORT}"),
        "PUT /v1/reports/{number}": Use("/v1/reports/{REPORT}", #"{"state":"closed"}"#),
        "GET /v1/conversations": Use("/v1/conversations?include=totals"),
        "GET /v1/communities/{target}/channels": Use("/v1/communities/{TAG}/channels"),
        "PUT /v1/conversations/{conversation}": Use(g, #"{"name":"new"}"#),
        "GET /v1/conversations/{conversation}": Use(g),
        "DELETE /v1/conversations/{conversation}": Use(g),
        "GET /v1/conversations/{conversation}/members": Use("\(g)/members"),
        "PUT /v1/conversations/{conversation}/members/{user}": Use("\(g)/members/{NEW}", "{}"),
        "DELETE /v1/conversations/{conversation}/members/{user}": Use("\(g)/members/{OUT}"),
        "GET /v1/conversations/{conversation}/messages/{id}/readers": Use("\(message)/readers"),
        "GET /v1/invitations": Use("/v1/invitations"),
        "GET /v1/conversations/{conversation}/invitations": Use("\(g)/invitations"),
        "PUT /v1/conversations/{conversation}/invitations/{user}": Use("\(g)/invitations/{NEW}", "{}"),
        "DELETE /v1/conversations/{conversation}/invitations/{user}": Use("\(g)/invitations/{NEW}", status: 200...404),
        "POST /v1/presence/fetch": Use("/v1/presence/fetch", #"{"users":["{OTHER}"]}"#),
        "GET /v1/push/devices": Use("/v1/push/devices"),
        "PUT /v1/push/devices/{device}": Use("/v1/push/devices/phone", "{}", status: 422...422),
        "DELETE /v1/push/devices/{device}": Use("/v1/push/devices/phone", status: 200...404),
        "POST /v1/admin/users/{user}/push": Use("/v1/admin/users/{NEW}/push", "{}", status: 200...422),
        "POST /v1/conversations/{conversation}/messages": Use(
            "\(g)/messages", #"{"id":"{FRESH}","type":"text","content":{"text":"x"}}"#),
        "GET /v1/conversations/{conversation}/messages": Use("\(g)/messages"),
        "GET /v1/conversations/{conversation}/messages/{id}": Use(message),
        "POST /v1/conversations/{conversation}/import": Use("\(g)/import", #"{"messages":[]}"#),
        "PATCH /v1/conversations/{conversation}/messages/{id}": Use(
            "\(g)/messages/{OWN}", #"{"content":{"text":"y"}}"#),
        "DELETE /v1/conversations/{conversation}/messages/{id}": Use("\(g)/messages/{OWN}"),
        "POST /v1/conversations/{conversation}/messages/delete": Use("\(g)/messages/delete", #"{"ids":["{OWN}"]}"#),
        "DELETE /v1/conversations/{conversation}/messages": Use("\(g)/messages?all=true"),
        "PUT /v1/conversations/{conversation}/clear": Use("\(g)/clear", #"{"seq":1,"epoch":"{EPOCH}"}"#),
        "PUT /v1/conversations/{conversation}/read": Use("\(g)/read", #"{"seq":1,"epoch":"{EPOCH}"}"#),
        "PUT /v1/conversations/{conversation}/settings": Use("\(g)/settings", #"{"muted":true}"#),
        "PUT /v1/conversations/{conversation}/notifications": Use("\(g)/notifications", #"{"notifications":"all"}"#),
        "PUT /v1/conversations/{conversation}/unread": Use("\(g)/unread"),
        "PUT /v1/conversations/{conversation}/recent": Use("\(g)/recent"),
        "DELETE /v1/conversations/{conversation}/recent": Use("\(g)/recent"),
        "DELETE /v1/conversations/{conversation}/roaming": Use("\(g)/roaming"),
        "POST /v1/read": Use("/v1/read", #"{"all":true}"#),
        "POST /v1/conversations/{conversation}/messages/{id}/actions": Use(
            "\(message)/actions", #"{"type":"reaction","value":"y"}"#),
        "GET /v1/conversations/{conversation}/messages/{id}/actions": Use("\(message)/actions"),
        "GET /v1/conversations/{conversation}/actions": Use("\(g)/actions"),
        "DELETE /v1/conversations/{conversation}/messages/{id}/actions/{timetoken}": Use("\(message)/actions/{ACTION}"),
        "POST /v1/history/fetch": Use("/v1/history/fetch", #"{"conversations":["{G}"]}"#),
        "POST /v1/history/counts": Use("/v1/history/counts", #"{"since":{"{G}":"1"}}"#),
        "POST /v1/history/refresh": Use(
            "/v1/history/refresh", #"{"messages":[{"conversation":"{G}","id":"{MESSAGE}"}]}"#),
        "GET /v1/search": Use("/v1/search?text=hello"),
        "GET /v1/conversations/{conversation}/search": Use("\(g)/search?text=hello"),
        "GET /v1/settings": Use("/v1/settings"),
        "PUT /v1/settings": Use("/v1/settings", "{}"),
        "POST /v1/media": Use("/v1/media?conversation={G}&type=file&name=a.txt", "hello"),
        "OPTIONS /v1/media": Use("/v1/media", asksNoRole: true),
        // The upload does not exist. The server finds out only after it has verified the token.
        "HEAD /v1/uploads/{upload}": Use("/v1/uploads/{FRESH}", status: 404...404),
        "PATCH /v1/uploads/{upload}": Use("/v1/uploads/{FRESH}", "x", status: 400...404),
        "DELETE /v1/uploads/{upload}": Use("/v1/uploads/{FRESH}", status: 404...404),
        "GET /v1/media/{id}": Use("/v1/media/{FILE}"),
        "GET /v1/media/{id}/thumbnail": Use("/v1/media/{FILE}/thumbnail", status: 404...404),
        "PUT /v1/media/{id}/thumbnail": Use("/v1/media/{FILE}/thumbnail", "no picture", status: 422...422),
        "POST /v1/media/{id}/link": Use("/v1/media/{FILE}/link", "{}"),
        "GET /healthz": Use("/healthz"), "GET /readyz": Use("/readyz"), "GET /metrics": Use("/metrics"),
        "GET /openapi.json": Use("/openapi.json"), "GET /v1/connect": Use("/v1/connect", status: 400...400),
    ]

    private static let routes = Surface.operations.map { "\($0.method) \($0.path)" }

    @Test func `Every HTTP route is tested`() {
        #expect(Set(Self.uses.keys) == Set(Self.routes))
    }

    @Test(arguments: routes)
    func `Each route is refused without a token, its scope or role and succeeds with exactly these`(route: String)
        async throws
    {
        let access = try #require(Surface.operations.first { "\($0.method) \($0.path)" == route }).access
        let use = try #require(Self.uses[route], "`uses` has no \(route).")
        let method = String(route.prefix { $0 != " " })
        var scene = try await OperationScene(access, isPresence: route.contains("/presence/"))
        try await scene.prepare(use.path, use.body ?? "")
        func call(_ token: String?) async throws -> Answer {
            try await API(server: scene.world.server.url, token: token).call(
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
