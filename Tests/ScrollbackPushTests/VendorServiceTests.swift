import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPush
import Testing

/// Tests how the answers of the phone makers' services become outcomes.
@Suite("Answers of the phone makers' services")
struct VendorServiceTests {
    private let clock = Clock()

    private static func json(_ object: [String: Any]) throws -> RawJSON {
        try RawJSON(String(decoding: JSONSerialization.data(withJSONObject: object), as: UTF8.self))
    }

    /// Returns the usual credentials for a service with the given changes. A null removes a field.
    private static func credentials(_ service: PushService, _ changes: [String: Any] = [:]) throws -> RawJSON {
        let token = "https://token/get"
        let usual: [String: Any] =
            switch service {
            case .huawei: ["appID": "10/1", "appSecret": "s", "endpoint": "https://h", "tokenEndpoint": token]
            case .honor:
                [
                    "appID": "9", "clientID": "c", "clientSecret": "a&b ü", "endpoint": "https://h",
                    "tokenEndpoint": token,
                ]
            case .harmony:
                [
                    "endpoint": "https://h",
                    "serviceAccount": ["project_id": "p", "key_id": "k", "sub_account": "a", "private_key": rsa],
                ]
            case .xiaomi: ["package": "com.example", "appSecret": "s", "endpoint": "https://x/"]
            case .oppo: ["appKey": "key", "masterSecret": "secret"]
            default: ["appID": 10004, "appKey": "key", "appSecret": "secret", "endpoint": "https://v"]
            }
        return try json(usual.merging(changes) { $1 })
    }

    /// Returns the answer to a token request, or `nil` for other requests.
    private static func token(_ request: PushRequest, text: String = "t") -> PushResponse? {
        let body: String? =
            switch request.url {
            case "https://token/get": #"{"access_token":"\#(text)","expires_in":3600}"#
            case let url where url.hasSuffix("/server/v1/auth"): #"{"code":0,"data":{"auth_token":"\#(text)"}}"#
            case "https://v/message/auth": #"{"result":0,"desc":"","authToken":"\#(text)"}"#
            default: nil
            }
        return body.map { PushResponse(status: 200, body: Array($0.utf8)) }
    }

    private func push(
        _ service: PushService, _ change: (inout PushOptions) -> Void = { _ in }
    ) -> PushNotification {
        notification(service: service, token: "tok", change)
    }

    private func outcome(
        _ service: PushService, _ status: Int, _ body: String, headers: [String: String] = [:]
    ) async throws -> PushOutcome {
        let transport = ScriptedTransport { request in
            Self.token(request) ?? PushResponse(status: status, headers: headers, body: Array(body.utf8))
        }
        let services = PushServices(over: transport, clock: { [clock] in clock.now })
        return try await services.send(push(service), with: Self.credentials(service))
    }

    // MARK: Answers

    @Test("Huawei: the code in the answer determines the outcome, regardless of the status")
    func huawei() async throws {
        func result(_ code: String, _ message: String = "w", status: Int = 200) async throws -> PushOutcome {
            try await outcome(.huawei, status, #"{"code":"\#(code)","msg":"\#(message)","requestId":"r"}"#)
        }
        #expect(try await result("80000000") == .sent)
        #expect(try await result("80300007", status: 400) == .gone(since: nil))
        let partial = #"{\"success\":0,\"failure\":1,\"illegal_tokens\":[\"TOKEN\"]}"#
        #expect(try await result("80100000", partial.replacing("TOKEN", with: "tok")) == .gone(since: nil))
        #expect(try await result("80100000", partial.replacing("TOKEN", with: "other")) == .sent)
        #expect(try await result("80100000") == .refused("80100000"))
        #expect(try await result("80100003", status: 400) == .refused("80100003 w"))
        #expect(try await result("80300002", status: 400) == .refused("80300002 w"))
        for code in ["80200001", "80200003", "80200005"] {
            #expect(try await result(code, status: 401) == .later(after: 300, code))
        }
        for code in ["80600003", "81000001"] { #expect(try await result(code, status: 500) == .later(after: 10, code)) }
        #expect(try await result("80100017") == .later(after: 60, "80100017"))
        #expect(try await outcome(.huawei, 503, "<html>") == .later(after: 10, "status 503"))
        #expect(
            try await outcome(.huawei, 503, "", headers: ["retry-after": "7"]) == .later(after: 7, "status 503"))
        #expect(try await outcome(.huawei, 200, "<html>") == .later(after: 10, "status 200 without a code"))
        #expect(try await outcome(.huawei, 404, "") == .refused("status 404"))
    }

    @Test("Honor: the code is an HTTP status or Honor's own number, and an accepted request can name a dead token")
    func honor() async throws {
        func result(_ code: Int, _ data: String = "{}", status: Int = 200) async throws -> PushOutcome {
            try await outcome(.honor, status, #"{"code":\#(code),"message":"w","data":\#(data)}"#)
        }
        #expect(try await result(200, #"{"sendResult":true,"failTokens":[],"expireTokens":[]}"#) == .sent)
        for code in [200, 80_100_000] {
            #expect(try await result(code, #"{"failTokens":["tok"],"expireTokens":["tok"]}"#) == .gone(since: nil))
        }
        #expect(try await result(80_100_000, #"{"failTokens":["tok"]}"#) == .refused("80100000 failTokens"))
        #expect(try await result(80_300_007) == .gone(since: nil))
        #expect(try await result(80_300_007, "null") == .gone(since: nil))
        #expect(try await result(403, status: 403) == .later(after: 300, "403"))
        #expect(try await result(403) == .later(after: 300, "403"))
        #expect(try await outcome(.honor, 401, "") == .later(after: 300, "status 401"))
        for code in [500, 502, 503] { #expect(try await result(code) == .later(after: 10, "\(code)")) }
        #expect(try await result(80_200_047) == .later(after: 3600, "80200047"))
        #expect(try await result(80_100_003) == .refused("80100003 w"))
        #expect(try await result(80_200_056) == .refused("80200056"))
        #expect(try await result(10_205) == .refused("10205 w"))
    }

    @Test(
        "HarmonyOS: the reason of an illegal token determines its removal, and a push with a refused image is resent",
        .rows(143))
    func harmony() async throws {
        func result(_ code: String, _ message: String = "w", status: Int = 200) async throws -> PushOutcome {
            try await outcome(.harmony, status, #"{"code":"\#(code)","msg":"\#(message)","requestId":"r"}"#)
        }
        #expect(try await result("80000000", "Success.") == .sent)
        for reason in ["tokenFormatError", "tokenPlatformNotSupport", "noRight"] {
            let message = #"{\"failure\":1,\"illegalTokens\":{\"\#(reason)\":[\"tok\"]}}"#
            #expect(try await result("80300007", message, status: 400) == .gone(since: nil))
            #expect(try await result("80100000", message) == .gone(since: nil))
        }
        let noRight = #"{\"failure\":1,\"illegalTokens\":{\"noPushTypeRight\":[\"tok\"]}}"#
        #expect(try await result("80300007", noRight) == .refused("80300007 noPushTypeRight"))
        #expect(try await result("80300007", "All the tokens are invalid.") == .gone(since: nil))
        #expect(try await result("80100000", #"{\"illegalTokens\":{\"noRight\":[\"other\"]}}"#) == .sent)
        for code in ["80200001", "80200005", "80300036"] {
            #expect(try await result(code, status: 401) == .later(after: 300, code))
        }
        #expect(try await result("81000001", status: 500) == .later(after: 10, "81000001"))
        #expect(try await result("80300029") == .later(after: 3600, "80300029"))
        #expect(try await result("80100003", "Illegal payload") == .refused("80100003 Illegal payload"))
        let transport = ScriptedTransport { request in
            let hasPicture = String(decoding: request.body, as: UTF8.self).contains("example.com/a.png")
            let code = hasPicture ? "80100022" : "80000000"
            return PushResponse(status: 200, body: Array(#"{"code":"\#(code)","msg":"w"}"#.utf8))
        }
        let shown = push(.harmony) { options in
            options.harmony = PushOptions.Harmony()
            options.harmony?.imageURL = URL(string: "https://example.com/a.png")
        }
        let services = PushServices(over: transport, clock: { [clock] in clock.now })
        #expect(try await services.send(shown, with: Self.credentials(.harmony)) == .sent)
        #expect(transport.requests.count == 2)
        #expect(!String(decoding: transport.requests[1].body, as: UTF8.self).contains("image"))
    }

    @Test("Xiaomi: temporary codes delay the push, and unknown devices are removed")
    func xiaomi() async throws {
        func result(_ code: Int, _ reason: String = "w", data: String = "{}") async throws -> PushOutcome {
            try await outcome(.xiaomi, 200, #"{"result":"r","code":\#(code),"reason":"\#(reason)","data":\#(data)}"#)
        }
        #expect(try await result(0, data: #"{"id":"m"}"#) == .sent)
        #expect(try await result(0, data: #"{"bad_regids":"other,tok"}"#) == .gone(since: nil))
        for code in [10029, 20301, 66007] { #expect(try await result(code) == .gone(since: nil)) }
        for code in [-1, 1, 10001, 10002, 10003, 10037, 22102, 26003] {
            #expect(try await result(code) == .later(after: 10, "\(code)"))
        }
        for code in [10027, 26004, 65003, 200_002] {
            #expect(try await result(code) == .later(after: 60, "\(code)"))
        }
        for code in [10034, 200_001] { #expect(try await result(code) == .later(after: 3600, "\(code)")) }
        for code in [21301, 21302] { #expect(try await result(code) == .later(after: 300, "\(code)")) }
        #expect(try await result(27001, "invalid channel info!") == .refused("27001 invalid channel info!"))
        #expect(try await result(22022) == .refused("22022 w"))
        #expect(try await outcome(.xiaomi, 500, "") == .later(after: 10, "status 500"))
        #expect(try await outcome(.xiaomi, 400, "") == .refused("status 400"))
        let transport = ScriptedTransport { _ in PushResponse(status: 200, body: Array(#"{"code":0}"#.utf8)) }
        let services = PushServices(over: transport, clock: { [clock] in clock.now })
        #expect(try await services.send(push(.xiaomi), with: Self.credentials(.xiaomi)) == .sent)
        let request = try #require(transport.requests.first)
        #expect(request.url == "https://x/v3/message/regid" && request.headers["authorization"] == "key=s")
        #expect(request.form["registration_id"] == "tok" && request.form["restricted_package_name"] == "com.example")
        // A comma in a token would send the push to other devices too.
        let many = notification(service: .xiaomi, token: "tok,other")
        #expect(try await services.send(many, with: Self.credentials(.xiaomi)) == .gone(since: nil))
        #expect(transport.requests.count == 1)
    }

    @Test("OPPO: temporary codes delay the push, and invalid registration IDs are removed")
    func oppo() async throws {
        func result(_ code: Int, _ message: String = "w") async throws -> PushOutcome {
            try await outcome(.oppo, 200, #"{"code":\#(code),"message":"\#(message)","data":{}}"#)
        }
        #expect(try await result(0) == .sent)
        #expect(try await result(32) == .sent)
        #expect(try await result(10000) == .gone(since: nil))
        for code in [11, 29] { #expect(try await result(code) == .later(after: 300, "\(code)")) }
        for code in [-1, -3] { #expect(try await result(code) == .later(after: 10, "\(code)")) }
        for code in [-2, 13, 55] { #expect(try await result(code) == .later(after: 60, "\(code)")) }
        for code in [33, 42] { #expect(try await result(code) == .later(after: 3600, "\(code)")) }
        for code in [28, 40, 41, 67] { #expect(try await result(code) == .refused("\(code) w")) }
        #expect(try await outcome(.oppo, 502, "<html>") == .later(after: 10, "status 502"))
    }

    @Test("vivo: a result or a user status shows that a device is gone")
    func vivo() async throws {
        func result(_ result: Int, _ user: String = "null") async throws -> PushOutcome {
            try await outcome(.vivo, 200, #"{"result":\#(result),"desc":"w","invalidUser":\#(user)}"#)
        }
        #expect(try await result(0) == .sent)
        for status in [1, 2] {
            #expect(try await result(0, #"{"status":\#(status),"userid":"tok"}"#) == .gone(since: nil))
            #expect(try await result(10302, #"{"status":\#(status),"userid":"tok"}"#) == .gone(since: nil))
        }
        #expect(try await result(10302) == .gone(since: nil))
        #expect(try await result(0, #"{"status":4,"userid":"tok"}"#) == .refused("invalidUser 4"))
        #expect(try await result(10000) == .later(after: 300, "10000"))
        for code in [10040, 10072, 10093] { #expect(try await result(code) == .later(after: 60, "\(code)")) }
        for code in [10070, 10071, 10073] { #expect(try await result(code) == .later(after: 3600, "\(code)")) }
        for code in [10054, 10082, 10311] { #expect(try await result(code) == .refused("\(code) w")) }
        for code in [10103, 10104] { #expect(try await result(code) == .refused("\(code)")) }
        #expect(try await outcome(.vivo, 500, "") == .later(after: 10, "status 500"))
    }

    @Test("The reason of a refusal contains neither the token nor the text of the push")
    func reasons() async throws {
        for message in ["tok is bad", "Bob: hello is bad", "Swift is bad"] {
            let body = #"{"code":"80100001","msg":"\#(message)"}"#
            #expect(try await outcome(.huawei, 400, body) == .refused("80100001"))
        }
        let long = String(repeating: "x", count: 1000)
        guard case .refused(let reason) = try await outcome(.oppo, 200, #"{"code":41,"message":"\#(long)"}"#) else {
            Issue.record("The push is not refused.")
            return
        }
        #expect(reason.utf8.count < 250)
    }

    // MARK: Recalls

    /// Sends a push for a recalled message.
    ///
    /// - Parameter answer: Returns the service's code for the last component of a request's URL.
    /// - Returns: The outcome and the requests.
    private func recall(
        _ push: PushNotification, _ changes: [String: Any] = [:], answer: @escaping @Sendable (_ end: Substring) -> Int
    ) async throws -> (outcome: PushOutcome, requests: [PushRequest]) {
        let transport = ScriptedTransport { request in
            let code = answer(request.url.split(separator: "/").last ?? "")
            return PushResponse(status: 200, body: Array(#"{"code":\#(code),"msg":"w","reason":"w"}"#.utf8))
        }
        let services = PushServices(over: transport, clock: { [clock] in clock.now })
        let credentials = try Self.credentials(push.device.service, changes)
        return (await services.send(push, with: credentials), transport.requests)
    }

    /// Returns a push for a recalled message whose sender chose its notification ID.
    private func named(_ service: PushService) -> PushNotification {
        notification(service: service, token: "tok", replaces: true) { options in
            options.android = PushOptions.Android()
            options.android?.notificationID = "17"
        }
    }

    @Test("HarmonyOS: a recall revokes the notification if the client ID is set, and otherwise replaces it")
    func harmonyRecall() async throws {
        let recalled = notification(service: .harmony, token: "tok", replaces: true)
        let client = ["clientID": "c/1"]
        let (outcome, requests) = try await recall(recalled, client) { _ in 80_000_000 }
        #expect(outcome == .sent)
        #expect(requests.map(\.url) == ["https://h/v1/c%2F1/messages:revoke", "https://h/v3/p/messages:send"])
        #expect(requests.allSatisfy { $0.headers["push-type"] == "0" })
        let revocation: NSDictionary = ["notifyId": 622_539_634, "token": ["tok"]]
        #expect(requests.first?.body.json == revocation)
        let badge: NSDictionary = [
            "payload": ["notification": ["badge": ["setNum": 7]]], "target": ["token": ["tok"]],
            "pushOptions": ["ttl": 604_800],
        ]
        #expect(requests.last?.body.json == badge)
        // Without permission for badges, the notification is still revoked.
        for (code, expected) in [(80_300_002, PushOutcome.sent), (80_300_007, .gone(since: nil))] {
            let noBadge = try await recall(recalled, client) { $0 == "messages:send" ? code : 80_000_000 }
            #expect(noBadge.outcome == expected && noBadge.requests.count == 2)
        }
        // A revocation that fails temporarily is retried later, and no replacement is shown.
        for code in [80_000_001, 81_000_001] {
            let busy = try await recall(recalled, client) { _ in code }
            #expect(busy.outcome == .later(after: 10, "\(code)") && busy.requests.count == 1)
        }
        // The client ID of another app, a missing client ID, and a notification ID that other messages can share.
        for (push, changes, count) in [
            (recalled, client, 2), (recalled, [:], 1), (named(.harmony), client, 1),
        ] {
            let replaced = try await recall(push, changes) { $0 == "messages:revoke" ? 80_300_028 : 80_000_000 }
            #expect(replaced.outcome == .sent && replaced.requests.count == count)
            let body = replaced.requests.last?.body ?? []
            #expect(String(decoding: body, as: UTF8.self).contains("Bob: hello"))
        }
        let plain = try await recall(push(.harmony), client) { _ in 80_000_000 }
        #expect(plain.requests.map(\.url) == ["https://h/v3/p/messages:send"])
    }

    @Test("Xiaomi: a recall revokes the notification, or replaces it if the revocation is refused")
    func xiaomiRecall() async throws {
        let recalled = notification(service: .xiaomi, token: "tok", replaces: true)
        let (outcome, requests) = try await recall(recalled) { _ in 0 }
        #expect(outcome == .sent && requests.map(\.url) == ["https://x/v3/message/regid/revoke"])
        let request = try #require(requests.first)
        #expect(request.headers["authorization"] == "key=s")
        #expect(
            request.form == [
                "registration_ids": "tok", "restricted_package_name": "com.example", "notify_id": "622539634",
            ])
        let busy = try await recall(recalled) { _ in 200_002 }
        #expect(busy.outcome == .later(after: 60, "200002") && busy.requests.count == 1)
        #expect(try await recall(recalled) { _ in 20301 }.outcome == .gone(since: nil))
        for (push, count) in [(recalled, 2), (named(.xiaomi), 1)] {
            let replaced = try await recall(push) { $0 == "revoke" ? 65028 : 0 }
            #expect(replaced.outcome == .sent && replaced.requests.count == count)
            #expect(replaced.requests.last.map { $0.form["description"] } == "Bob: hello")
        }
        #expect(try await recall(push(.xiaomi)) { _ in 0 }.requests.map(\.url) == ["https://x/v3/message/regid"])
    }

    // MARK: Tokens

    @Test("Huawei and Honor: a form with encoded fields requests the token, and the push sends it in a header")
    func grants() async throws {
        for (service, url, client, secret) in [
            (PushService.huawei, "https://h/v1/10%2F1/messages:send", "10/1", "s"),
            (PushService.honor, "https://h/api/v1/9/sendMessage", "c", "a&b ü"),
        ] {
            let transport = ScriptedTransport { request in
                Self.token(request) ?? PushResponse(status: 200, body: Array(#"{"code":"80000000"}"#.utf8))
            }
            let services = PushServices(over: transport, clock: { [clock] in clock.now })
            // The same credentials for each push, because other credentials would need another token.
            let credentials = try Self.credentials(service)
            for _ in 0..<3 {
                #expect(await services.send(push(service), with: credentials) == .sent)
            }
            // All three pushes share one token.
            #expect(transport.requests.map(\.url) == ["https://token/get", url, url, url])
            let asked = try #require(transport.requests.first)
            #expect(asked.headers["content-type"] == "application/x-www-form-urlencoded")
            #expect(
                asked.form == ["grant_type": "client_credentials", "client_id": client, "client_secret": secret])
            #expect(transport.requests[1].headers["authorization"] == "Bearer t")
            #expect(transport.requests[1].headers["content-type"]?.hasPrefix("application/json") == true)
            if service == .honor { #expect(transport.requests[1].headers["timestamp"] == "1795255200000") }
            clock.advance(by: 3500)
            _ = await services.send(push(service), with: credentials)
            #expect(transport.requests.count { $0.url == "https://token/get" } == 2)
            clock.advance(by: -3500)
        }
    }

    @Test("A token with a lifetime of zero is reused and not requested again for each push")
    func shortTokens() async throws {
        let transport = ScriptedTransport { request in
            let body = request.url == "https://token/get" ? #"{"access_token":"t","expires_in":0}"# : #"{"code":200}"#
            return PushResponse(status: 200, body: Array(body.utf8))
        }
        let services = PushServices(over: transport, clock: { [clock] in clock.now })
        let credentials = try Self.credentials(.honor)
        for _ in 0..<3 { #expect(await services.send(push(.honor), with: credentials) == .sent) }
        #expect(transport.requests.count == 4)
    }

    @Test("HarmonyOS: the key of the service account signs a token that is valid for an hour")
    func harmonyToken() async throws {
        let transport = ScriptedTransport { _ in PushResponse(status: 200, body: Array(#"{"code":"80000000"}"#.utf8)) }
        let services = PushServices(over: transport, clock: { [clock] in clock.now })
        #expect(try await services.send(push(.harmony), with: Self.credentials(.harmony)) == .sent)
        let request = try #require(transport.requests.first)
        #expect(request.url == "https://h/v3/p/messages:send" && request.headers["push-type"] == "0")
        let shown = try #require(request.headers["authorization"])
        #expect(shown.hasPrefix("Bearer "))
        let parts = shown.dropFirst(7).split(separator: ".").map { Data(base64URL: String($0)) }
        try #require(parts.count == 3)
        let (first, second) = (try #require(parts[0]), try #require(parts[1]))
        let header = try #require(Array(first).json)
        #expect(header["alg"] as? String == "PS256" && header["typ"] as? String == "JWT")
        #expect(header["kid"] as? String == "k")
        let claims: NSDictionary = [
            "iss": "a", "aud": "https://oauth-login.cloud.huawei.com/oauth2/v3/token", "iat": 1_795_255_200,
            "exp": 1_795_258_800,
        ]
        #expect(Array(second).json == claims)
    }

    @Test("OPPO: a signed request to the host of the device's region returns the token, and the form contains it")
    func oppoToken() async throws {
        let transport = ScriptedTransport { request in
            Self.token(request) ?? PushResponse(status: 200, body: Array(#"{"code":0}"#.utf8))
        }
        let services = PushServices(over: transport, clock: { [clock] in clock.now })
        let credentials = try Self.credentials(.oppo)
        for (token, host) in [
            ("CN_00aa", "https://api.push.oppomobile.com"), ("IN_00aa", "https://api-intl.push.oppomobile.com"),
        ] {
            #expect(await services.send(notification(service: .oppo, token: token), with: credentials) == .sent)
            let requests = Array(transport.requests.suffix(2))
            #expect(
                requests.map(\.url) == ["\(host)/server/v1/auth", "\(host)/server/v1/message/notification/unicast"])
            #expect(
                requests[0].form == [
                    "app_key": "key", "timestamp": "1795255200000",
                    "sign": "e951f8fc1082a7e2f988d6ca0de146554d9656dc5bf3ac14d4881125f7b5187a",
                ])
            let sent = requests[1].form
            #expect(sent["auth_token"] == "t" && sent.count == 2)
            let message = try #require(sent["message"])
            #expect(Array(message.utf8).json?["target_value"] as? String == token)
        }
        clock.advance(by: 20 * 3600)
        #expect(await services.send(notification(service: .oppo, token: "CN_00aa"), with: credentials) == .sent)
        #expect(transport.requests.count == 5)
    }

    @Test("vivo: a signed request returns the token, which is renewed every two hours")
    func vivoToken() async throws {
        let transport = ScriptedTransport { request in
            Self.token(request) ?? PushResponse(status: 200, body: Array(#"{"result":0}"#.utf8))
        }
        let services = PushServices(over: transport, clock: { [clock] in clock.now })
        let credentials = try Self.credentials(.vivo)
        #expect(await services.send(push(.vivo), with: credentials) == .sent)
        let asked: NSDictionary = [
            "appId": 10004, "appKey": "key", "timestamp": 1_795_255_200_000,
            "sign": "bc20a4fa221442268a8520dd02cff2c8",
        ]
        #expect(transport.requests.first?.body.json == asked)
        #expect(transport.requests.last?.url == "https://v/message/send")
        #expect(transport.requests.last?.headers["authtoken"] == "t")
        clock.advance(by: 7100)
        #expect(await services.send(push(.vivo), with: credentials) == .sent)
        #expect(transport.requests.count == 3)
        clock.advance(by: 200)
        #expect(await services.send(push(.vivo), with: credentials) == .sent)
        #expect(transport.requests.count == 5)
    }

    @Test(
        "A refused token is renewed once, and then the push waits for the operator",
        arguments: [
            (PushService.huawei, #"{"code":"80200003","msg":""}"#, "80200003", #"{"code":"80000000"}"#),
            (PushService.honor, #"{"code":403,"message":""}"#, "403", #"{"code":200}"#),
            (PushService.oppo, #"{"code":11,"message":""}"#, "11", #"{"code":0}"#),
            (PushService.vivo, #"{"result":10000,"desc":""}"#, "10000", #"{"result":0}"#),
        ])
    func renewal(_ service: PushService, _ denial: String, _ code: String, _ success: String) async throws {
        let given = Shared(0)
        let taken = Shared("t2")
        let transport = ScriptedTransport { request in
            let number = given.value + 1
            if let token = Self.token(request, text: "t\(number)") {
                given.value = number
                return token
            }
            let text = String(decoding: request.body, as: UTF8.self) + request.headers.values.joined()
            return PushResponse(status: 200, body: Array((text.contains(taken.value) ? success : denial).utf8))
        }
        let services = PushServices(over: transport, clock: { [clock] in clock.now })
        let credentials = try Self.credentials(service)
        // A token that is only a moment old is not renewed, because another one would not help.
        #expect(await services.send(push(service), with: credentials) == .later(after: 300, code))
        #expect(given.value == 1)
        clock.advance(by: 90)
        #expect(await services.send(push(service), with: credentials) == .sent)
        #expect(given.value == 2)
        taken.value = "no token matches"
        clock.advance(by: 90)
        let before = transport.requests.count
        #expect(await services.send(push(service), with: credentials) == .later(after: 300, code))
        #expect(given.value == 3)
        // The push goes twice, with one token request between.
        #expect(transport.requests.count == before + 3)
    }

    @Test("A push without a token waits longer for configuration errors than for temporary errors")
    func noTokens() async throws {
        func result(_ service: PushService, _ status: Int, _ body: String) async throws -> PushOutcome {
            let transport = ScriptedTransport { _ in PushResponse(status: status, body: Array(body.utf8)) }
            let services = PushServices(over: transport, clock: { [clock] in clock.now })
            return try await services.send(push(service), with: Self.credentials(service))
        }
        for service in [PushService.huawei, .honor] {
            let error = #"{"error":"invalid_client","error_description":"s"}"#
            #expect(try await result(service, 401, error) == .later(after: 300, "no access token: status 401"))
            #expect(try await result(service, 400, error) == .later(after: 300, "no access token: status 400"))
            #expect(try await result(service, 503, "") == .later(after: 10, "no access token: status 503"))
        }
        #expect(
            try await result(.oppo, 200, #"{"code":16,"message":"sign"}"#) == .later(after: 300, "no access token: 16"))
        #expect(try await result(.oppo, 200, #"{"code":-2,"message":""}"#) == .later(after: 60, "no access token: -2"))
        #expect(
            try await result(.vivo, 200, #"{"result":10206,"desc":""}"#) == .later(after: 300, "no access token: 10206")
        )
        #expect(
            try await result(.vivo, 200, #"{"result":10093,"desc":""}"#) == .later(after: 60, "no access token: 10093"))
        #expect(try await result(.vivo, 500, "") == .later(after: 10, "no access token: status 500"))
    }

    @Test("A push is retried if the service of a phone maker can't be reached")
    func unreachable() async throws {
        struct Unreachable: Error {}
        let services = PushServices(over: ScriptedTransport { _ in throw Unreachable() })
        for service in [PushService.huawei, .honor, .harmony, .xiaomi, .oppo, .vivo] {
            guard case .later(nil, _) = try await services.send(push(service), with: Self.credentials(service)) else {
                Issue.record("\(service) is not retried")
                continue
            }
        }
    }

    // MARK: Credentials

    @Test(
        "Invalid credentials for a phone maker's service are refused when they are set, and the error names the field")
    func credentials() throws {
        let services = PushServices(over: ScriptedTransport { _ in PushResponse(status: 200) })
        func wrong(_ service: PushService, _ changes: [String: Any]) throws -> String? {
            do {
                try services.check(try Self.credentials(service, changes), for: service)
                return nil
            } catch let error as ChatError {
                return error.parameter
            }
        }
        let all: [(PushService, [String])] = [
            (.huawei, ["appID", "appSecret"]), (.honor, ["appID", "clientID", "clientSecret"]),
            (.harmony, ["serviceAccount"]), (.xiaomi, ["package", "appSecret"]),
            (.oppo, ["appKey", "masterSecret"]), (.vivo, ["appID", "appKey", "appSecret"]),
        ]
        for (service, names) in all {
            #expect(try wrong(service, ["category": "IM", "title": "Chat", "retrySeconds": 1]) == nil)
            for name in names {
                #expect(try wrong(service, [name: NSNull()]) == "push.services.\(service.rawValue).\(name)")
            }
            #expect(try wrong(service, ["endpoint": "http://a"]) == "push.services.\(service.rawValue).endpoint")
        }
        for service in [PushService.huawei, .honor] {
            let parameter = "push.services.\(service.rawValue).tokenEndpoint"
            #expect(try wrong(service, ["tokenEndpoint": "http://a"]) == parameter)
            #expect(try wrong(service, ["badgeClass": ""]) == "push.services.\(service.rawValue).badgeClass")
        }
        #expect(try wrong(.honor, ["importance": "high"]) == "push.services.honor.importance")
        let account = ["project_id": "p", "key_id": "k", "sub_account": "a", "private_key": "s3cret"]
        #expect(try wrong(.harmony, ["serviceAccount": account]) == "push.services.harmony.serviceAccount")
        #expect(try wrong(.vivo, ["appID": "10004"]) == nil)
        #expect(try wrong(.vivo, ["appID": "x"]) == "push.services.vivo.appID")
        #expect(try wrong(.vivo, ["type": "loud"]) == "push.services.vivo.type")
        #expect(try wrong(.vivo, ["addsBadge": "yes"]) == "push.services.vivo.addsBadge")
        let template: [String: Any] = ["channel": "c", "templateID": "t", "templateParameters": ["a": "text"]]
        #expect(try wrong(.xiaomi, template) == nil)
        #expect(try wrong(.xiaomi, ["templateID": "t"]) == "push.services.xiaomi.channel")
        let many = Dictionary(uniqueKeysWithValues: (0..<10).map { ("p\($0)", "text") })
        let bad: [Any] = [["a": "body"], ["a": 1], "text", many]
        for parameters in bad {
            let changed = template.merging(["templateParameters": parameters]) { $1 }
            #expect(try wrong(.xiaomi, changed) == "push.services.xiaomi.templateParameters")
        }
        #expect(
            try wrong(.oppo, ["templateID": "t", "templateTitleParameters": ["a": "x"]])
                == "push.services.oppo.templateTitleParameters")
        // An error message contains no part of a key.
        do {
            try services.check(try Self.credentials(.harmony, ["serviceAccount": account]), for: .harmony)
        } catch {
            #expect(!"\(error)".contains("s3cret"))
        }
    }
}
