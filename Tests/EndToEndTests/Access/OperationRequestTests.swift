import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire
import Testing

/// Walks the table over the WebSocket: each request by who may, and by who may not for each reason there is.
@Suite(.smallWorld) struct OperationRequestTests {
    private static let operation = #""operation":"{FRESH}""#

    /// What each request says besides its type.
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
        "setPushPreferences": #""push":{"language":"de"}"#,
    ]

    /// What there is to be taken back is not there, which is found out after it was asked who may.
    private static let finds: Set<String> = ["unban", "endInvitation"]

    @Test func `Every request is walked, and nothing else is`() {
        #expect(Set(Self.uses.keys) == ClientRequest.names)
    }

    @Test(arguments: ClientRequest.names.sorted())
    func `Who lacks the scope or the role is refused, and who has just these is not`(request: String) async throws {
        let operation = try #require(ServerOperation(request: request), "\(request) is not in the table")
        let use = try #require(Self.uses[request], "\(request) is not among the uses above")
        var scene = try await OperationScene(operation)
        try await scene.prepare(use)
        func ask(_ token: String) async throws -> Members {
            let socket = try await TestSocket.signedIn(scene.world.server, scene.holder, token: token)
            let members = scene.fill(use).replacing("{TOKEN}", with: token)
            return try await socket.request(#""type":"\#(request)""# + (members.isEmpty ? "" : ",\(members)"))
        }
        // A connection itself takes read; who lacks that is turned away before anything is asked.
        if operation.rule.scope != .read {
            let other = try await ask(scene.allBut())
            #expect(other.string("code") == "forbidden", "without the scope: \(other.all)")
        }
        if let token = try await scene.tooSmall() {
            let lesser = try await ask(token)
            #expect([403, 404].contains(lesser.int("status")), "with too small a role: \(lesser.all)")
        }
        let answer = try await ask(scene.justEnough(also: [.read]))
        let isDone = answer.string("type") == "result"
        #expect(isDone || Self.finds.contains(request) && answer.int("status") == 404, "\(answer.all)")
    }

    @Test func `A connection takes read: without it 4001 and why, and a fresh token must have it too`() async throws {
        let world = try SmallWorld.shared
        let without = try await world.server.token("alice", Scopes([.write, .manage, .account]))
        let socket = try await TestSocket.open(world.server.url)
        socket.send(#"{"type":"hello","token":"\#(without)","device":"d"}"#)
        #expect(try await socket.closed() == 4001)
        let narrow = try await world.server.token("alice", Scopes([.read]))
        let open = try await TestSocket.signedIn(world.server, "alice", token: narrow)
        func react() async throws -> String? {
            try await open.request(#""type":"typing","conversation":"group:crew","isTyping":true"#).string("code")
        }
        #expect(try await react() == "forbidden")
        #expect(try await open.request(#""type":"token","token":"\#(without)""#).string("code") == "forbidden")
        // What a fresh token is good for holds from there on, be it more or less.
        let wide = try await world.server.token("alice")
        #expect(try await open.request(#""type":"token","token":"\#(wide)""#).string("type") == "result")
        #expect(try await react() == nil)
        #expect(try await open.request(#""type":"token","token":"\#(narrow)""#).string("type") == "result")
        #expect(try await react() == "forbidden")
    }
}

/// What names of scopes a token may be made with.
@Suite(.smallWorld) struct TokenScopeTests {
    @Test func `Scopes that are not known, and none at all, are refused by the names that are`() async throws {
        let world = try SmallWorld.shared
        for scopes in [#"["raed"]"#, #"["read","media"]"#, "[]", #"[7]"#, #""read""#] {
            let answer = try await world.admin.call("POST", "/v1/tokens", #"{"user":"alice","scopes":\#(scopes)}"#)
            #expect([400, 422].contains(answer.status), "\(scopes): \(answer)")
            #expect(answer.json.string("parameter") == "scopes", "\(answer)")
            // What is no list of names is told so.
            if scopes != "[7]", scopes.hasPrefix("[") {
                #expect(answer.text.contains("read, write, manage, account, admin"), "\(answer)")
            }
        }
        for (scopes, path, status) in [
            (#"["read"]"#, "/v1/me", 200), (#"["write"]"#, "/v1/me", 403), (#"["admin"]"#, "/v1/settings", 200),
            (#"["admin","read"]"#, "/v1/settings", 200), ("null", "/v1/me", 200), ("null", "/v1/settings", 403),
        ] {
            let made = try await world.admin.call("POST", "/v1/tokens", #"{"user":"alice","scopes":\#(scopes)}"#)
            let token = try #require(made.json.string("token"), "\(made)")
            let answer = try await API(server: world.server.url, token: token).call("GET", path)
            #expect(answer.status == status, "\(scopes) \(path): \(answer)")
        }
    }

    @Test func `A link by a token that only reads gives its file and nothing else`() async throws {
        let world = try SmallWorld.shared
        let file = try await world.alice.call("POST", "/v1/media?conversation=group:crew&type=file&name=a.txt", "hello")
        let id = try #require(file.json.string("media"), "\(file)")
        let reader = API(server: world.server.url, token: try await world.server.token("alice", Scopes([.read])))
        let link = try await reader.call("POST", "/v1/media/\(id)/link", "{}").json.string("url")
        let url = try #require(link)
        let stranger = API(server: world.server.url)
        #expect(try await stranger.call("GET", url).text == "hello")
        let token = try #require(url.split(separator: "=").last)
        #expect(try await API(server: world.server.url, token: String(token)).call("GET", "/v1/me").status == 401)
    }
}
