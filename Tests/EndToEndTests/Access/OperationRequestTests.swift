import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire
import Testing

/// Sends each WebSocket request as callers with and without the required scope and role.
@Suite(.serverFixture) struct OperationRequestTests {
    private static let later = #""sendAt":"2026-01-01T00:00:00Z""#
    private static let operation = #""operation":"{FRESH}""#

    /// The JSON members of each request besides its type.
    private static let uses: [String: String] = [
        "token": #""token":"{TOKEN}""#, "activity": #""active":true"#, "ping": "",
        "unsubscribe": #""conversations":["{G}"]"#,
        "users": #""users":["{ME}"]"#, "blocks": "", "block": #""user":"{OTHER}""#, "unblock": #""user":"{OTHER}""#,
        "presence": #""users":["{OTHER}"]"#, "sync": "", "heads": #""conversations":["{G}"]"#,
        "fetch": #""conversations":["{G}"]"#, "counts": #""since":{"{G}":"1"}"#,
        "refresh": #""messages":[{"conversation":"{G}","id":"{MESSAGE}"}]"#, "search": #""text":"hello""#,
        "subscribe": #""conversations":["{G}"]"#, "history": #""conversation":"{G}""#,
        "actions": #""conversation":"{G}""#,
        "send": #""conversation":"{G}","message":{"id":"{FRESH}","type":"text","content":{"text":"x"}}"#,
        "edit": #""conversation":"{G}","id":"{OWN}",\#(operation),"edit":{"content":{"text":"y"}}"#,
        "delete": #""conversation":"{G}","ids":["{OWN}"]"#,
        "deleteHistory": #""conversation":"{G}","all":true,\#(operation)"#,
        "action": #""conversation":"{G}","id":"{MESSAGE}",\#(operation),"action":{"type":"reaction","value":"y"}"#,
        "removeAction": #""conversation":"{G}","id":"{MESSAGE}",\#(operation),"timetoken":"{ACTION}""#,
        "typing": #""conversation":"{G}","isTyping":true"#,
        "report": #""conversation":"{G}","id":"{MESSAGE}","reason":"spam""#,
        "read": #""conversation":"{G}","seq":1,"epoch":"{EPOCH}""#,
        "readMany": #""conversations":[{"conversation":"{G}","seq":1,"epoch":"{EPOCH}"}]"#,
        "delivered": #""conversations":[{"conversation":"{G}","seq":1,"epoch":"{EPOCH}"}]"#,
        "recipients": #""conversation":"{G}","id":"{MESSAGE}""#,
        "markUnread": #""conversation":"{G}""#, "settings": #""conversation":"{G}","muted":true"#,
        "notifications": #""conversation":"{G}","notifications":"all""#, "removeRecent": #""conversation":"{G}""#,
        "addRecent": #""conversation":"{G}""#, "stopRoaming": #""conversation":"{G}""#,
        "clear": #""conversation":"{G}","seq":1,"epoch":"{EPOCH}""#, "members": #""conversation":"{G}""#,
        "readers": #""conversation":"{G}","id":"{MESSAGE}""#, "putMember": #""conversation":"{G}","user":"{NEW}""#,
        "removeMember": #""conversation":"{G}","user":"{OUT}""#, "invitations": #""conversation":"{G}""#,
        "invite": #""conversation":"{G}","user":"{NEW}""#, "endInvitation": #""conversation":"{G}","user":"{NEW}""#,
        "bans": #""conversation":"{G}""#, "ban": #""conversation":"{G}","user":"{OUT}""#,
        "unban": #""conversation":"{G}","user":"{OUT}""#, "pushDevices": "", "pushPreferences": "",
        "putPushDevice": #""device":"phone","service":"fcm","token":"{FRESH}""#, "dropPushDevice": #""device":"phone""#,
        "setPushPreferences": #""push":{"language":"de"}"#, "putUser": #""user":"{ME}","name":"Me""#,
        "conversation": #""conversation":"{G}""#, "pins": #""conversation":"{G}""#, "channels": #""target":"{TAG}""#,
        "putDraft": #""conversation":"{G}","draft":{"text":"hi"}"#, "drafts": "",
        "searchUsers": #""text":"a""#, "scheduled": "", "cancelScheduled": #""id":"{FRESH}""#,
        "schedule":
            #""conversation":"{G}","message":{"id":"{FRESH}","type":"text","content":{"text":"hi"},\#(later)}"#,
        "threads": #""conversation":"{G}""#, "thread": #""conversation":"{G}","thread":"{MESSAGE}","followed":true"#,
        "putConversation": #""conversation":"{G}","name":"new",\#(operation)"#,
        "deleteConversation": #""conversation":"{G}""#,
    ]

    /// Requests that fail with status 404 for an authorized caller, because there is no ban, invitation or thread.
    private static let finds: Set<String> = ["unban", "endInvitation", "thread", "cancelScheduled"]

    @Test func `Every WebSocket request is tested`() {
        #expect(Set(Self.uses.keys) == Set(APISurface.requests.keys))
    }

    @Test(arguments: APISurface.requests.keys.sorted())
    func `Each request is refused without its scope or role and succeeds with exactly these`(request: String)
        async throws
    {
        let access = try #require(APISurface.requests[request], "No operation has the request \(request).")
        let use = try #require(Self.uses[request], "`uses` has no \(request).")
        var scene = try await OperationScene(access, for: request)
        try await scene.prepare(use)
        func ask(_ token: String) async throws -> Members {
            let socket = try await TestSocket.signedIn(scene.fixture.server, scene.holder, token: token)
            let members = scene.fill(use).replacing("{TOKEN}", with: token)
            return try await socket.request(#""type":"\#(request)""# + (members.isEmpty ? "" : ",\(members)"))
        }
        // A connection itself requires the scope `read`. A token without it is refused before it can send a request.
        if access.scope != .read {
            let other = try await ask(scene.allBut())
            #expect(other.string("code") == "forbidden", "without the scope: \(other.all)")
        }
        if let token = try await scene.tooSmall() {
            let lesser = try await ask(token)
            #expect([403, 404].contains(lesser.int("status")), "with a lesser role: \(lesser.all)")
        }
        let answer = try await ask(scene.justEnough(also: [.read]))
        let isDone = answer.string("type") == "result"
        #expect(isDone || Self.finds.contains(request) && answer.int("status") == 404, "\(answer.all)")
    }

    @Test func `A connection without the read scope is closed with 4001, and a replacement token needs the scope too`()
        async throws
    {
        let fixture = try ServerFixture.shared
        let without = try await fixture.server.token("alice", Scopes([.write, .manage, .account]))
        let socket = try await TestSocket.open(fixture.server.url)
        socket.send(#"{"type":"hello","token":"\#(without)","device":"d"}"#)
        #expect(try await socket.closed() == 4001)
        let narrow = try await fixture.server.token("alice", Scopes([.read]))
        let open = try await TestSocket.signedIn(fixture.server, "alice", token: narrow)
        func react() async throws -> String? {
            try await open.request(#""type":"typing","conversation":"group:crew","isTyping":true"#).string("code")
        }
        #expect(try await react() == "forbidden")
        #expect(try await open.request(#""type":"token","token":"\#(without)""#).string("code") == "forbidden")
        // The scopes of a replacement token apply immediately, whether it has more or fewer.
        let wide = try await fixture.server.token("alice")
        #expect(try await open.request(#""type":"token","token":"\#(wide)""#).string("type") == "result")
        #expect(try await react() == nil)
        #expect(try await open.request(#""type":"token","token":"\#(narrow)""#).string("type") == "result")
        #expect(try await react() == "forbidden")
    }
}

/// The scopes that a token can be created with.
@Suite(.serverFixture) struct TokenScopeTests {
    @Test func `Unknown scopes and empty lists are refused with an error that lists the known scopes`() async throws {
        let fixture = try ServerFixture.shared
        for scopes in [#"["raed"]"#, #"["read","media"]"#, "[]", #"[7]"#, #""read""#] {
            let answer = try await fixture.admin.call("POST", "/v1/tokens", #"{"user":"alice","scopes":\#(scopes)}"#)
            #expect([400, 422].contains(answer.status), "\(scopes): \(answer)")
            #expect(answer.json.string("parameter") == "scopes", "\(answer)")
            // Values that are not a list of names get an error without the list.
            if scopes != "[7]", scopes.hasPrefix("[") {
                #expect(answer.text.contains("read, write, manage, account, admin"), "\(answer)")
            }
        }
        for (scopes, path, status) in [
            (#"["read"]"#, "/v1/me", 200), (#"["write"]"#, "/v1/me", 403), (#"["admin"]"#, "/v1/settings", 200),
            (#"["admin","read"]"#, "/v1/settings", 200), ("null", "/v1/me", 200), ("null", "/v1/settings", 403),
        ] {
            let made = try await fixture.admin.call("POST", "/v1/tokens", #"{"user":"alice","scopes":\#(scopes)}"#)
            let token = try #require(made.json.string("token"), "\(made)")
            let answer = try await API(server: fixture.server.url, token: token).call("GET", path)
            #expect(answer.status == status, "\(scopes) \(path): \(answer)")
        }
    }

    @Test func `A link created with a read-only token gives access to its file and nothing else`() async throws {
        let fixture = try ServerFixture.shared
        let file = try await fixture.alice.call(
            "POST", "/v1/media?conversation=group:crew&type=file&name=a.txt", "hello")
        let id = try #require(file.json.string("media"), "\(file)")
        let reader = API(server: fixture.server.url, token: try await fixture.server.token("alice", Scopes([.read])))
        let link = try await reader.call("POST", "/v1/media/\(id)/link", "{}").json.string("url")
        let url = try #require(link)
        let stranger = API(server: fixture.server.url)
        #expect(try await stranger.call("GET", url).text == "hello")
        let token = try #require(url.split(separator: "=").last)
        #expect(try await API(server: fixture.server.url, token: String(token)).call("GET", "/v1/me").status == 401)
    }
}
