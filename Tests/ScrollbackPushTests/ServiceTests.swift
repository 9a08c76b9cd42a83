import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPush
import Testing

/// Tests how the answers of APNs, FCM and Web Push become outcomes.
@Suite("Answers of APNs, FCM and Web Push")
struct ServiceTests {
    private let clock = Clock()

    private static func json(_ object: [String: Any]) throws -> RawJSON {
        try RawJSON(String(decoding: JSONSerialization.data(withJSONObject: object), as: UTF8.self))
    }

    private func apns() throws -> RawJSON {
        try Self.json([
            "key": p8, "keyID": "ABCDEFGHIJ", "teamID": "0123456789", "topic": "com.example.app",
            "endpoint": "https://a/",
        ])
    }

    private func fcm(_ more: [String: Any] = [:]) throws -> RawJSON {
        try Self.json(
            [
                "endpoint": "https://f",
                "serviceAccount": [
                    "project_id": "p", "client_email": "e@p", "private_key": rsa, "private_key_id": "k",
                    "token_uri": "https://token",
                ],
            ].merging(more) { $1 })
    }

    private func web(_ more: [String: Any] = [:]) throws -> RawJSON {
        try Self.json(
            [
                "privateKey": "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw", "subject": "mailto:push@example.com",
                "hosts": ["push.example"],
            ].merging(more) { $1 })
    }

    private let keys = WebPushKeys(
        p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        auth: "BTBZMqHH6r4Tts7J_aSIgg")

    private func outcome(
        _ push: PushNotification, _ credentials: RawJSON, _ status: Int, _ body: String = "",
        headers: [String: String] = [:]
    ) async -> PushOutcome {
        let transport = ScriptedTransport { request in
            request.url == "https://token"
                ? PushResponse(status: 200, body: Array(#"{"access_token":"t","expires_in":"3599"}"#.utf8))
                : PushResponse(status: status, headers: headers, body: Array(body.utf8))
        }
        return await PushServices(over: transport, clock: { [clock] in clock.now }).send(push, with: credentials)
    }

    @Test("APNs: dead tokens are removed, throttled pushes wait as requested, and invalid pushes are refused")
    func apnsAnswers() async throws {
        let push = notification()
        let credentials = try apns()
        func result(_ status: Int, _ reason: String, retryAfter: String? = nil) async -> PushOutcome {
            let headers = retryAfter.map { ["retry-after": $0] } ?? [:]
            return await outcome(
                push, credentials, status, #"{"reason":"\#(reason)","timestamp":1795255200000}"#, headers: headers)
        }
        #expect(await outcome(push, credentials, 200) == .sent)
        #expect(await result(410, "Unregistered") == .gone(since: clock.now))
        #expect(await result(410, "ExpiredToken") == .gone(since: clock.now))
        #expect(await result(400, "BadDeviceToken") == .gone(since: nil))
        // A wrong topic is a configuration error, so the token stays.
        #expect(await result(400, "DeviceTokenNotForTopic") == .refused("DeviceTokenNotForTopic"))
        #expect(await result(413, "PayloadTooLarge") == .refused("PayloadTooLarge"))
        #expect(await result(429, "TooManyRequests") == .later(after: nil, "TooManyRequests"))
        #expect(await result(429, "TooManyRequests", retryAfter: "7") == .later(after: 7, "TooManyRequests"))
        #expect(await result(503, "ServiceUnavailable") == .later(after: 900, "ServiceUnavailable"))
        #expect(await result(503, "Shutdown") == .later(after: nil, "Shutdown"))
        #expect(await result(403, "InvalidProviderToken") == .later(after: 900, "InvalidProviderToken"))
        #expect(await outcome(push, credentials, 502, "<html>") == .later(after: 900, "status 502"))
    }

    @Test("APNs: pushes share a token for 45 minutes, and a refused token is replaced after 20 minutes at the earliest")
    func apnsTokens() async throws {
        let transport = ScriptedTransport { _ in
            PushResponse(status: 403, body: Array(#"{"reason":"ExpiredProviderToken"}"#.utf8))
        }
        let services = PushServices(over: transport, clock: { [clock] in clock.now })
        let credentials = try apns()
        var shown: [Set<String>] = []
        for minutes in [0.0, 10, 15, 46] {
            clock.advance(by: minutes * 60)
            let before = transport.requests.count
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<10 { group.addTask { _ = await services.send(notification(), with: credentials) } }
            }
            shown.append(Set(transport.requests[before...].compactMap { $0.headers["authorization"] }))
        }
        // The first token is used again after ten minutes. At 25 minutes, APNs refuses it and a second follows. At 71
        // minutes, a third follows.
        #expect(shown[0].count == 1 && shown[1] == shown[0])
        #expect(shown[2].isSuperset(of: shown[0]) && shown[2].count == 2)
        #expect(shown[3].isDisjoint(with: shown[2]))
    }

    @Test("FCM: an access token is reused until it expires, dead devices are removed and quotas delay pushes")
    func fcmAnswers() async throws {
        let push = notification(service: .fcm, token: "a:b")
        let credentials = try fcm()
        func result(_ status: Int, _ code: String, retryAfter: String? = nil) async -> PushOutcome {
            let headers = retryAfter.map { ["retry-after": $0] } ?? [:]
            return await outcome(
                push, credentials, status,
                #"{"error":{"status":"X","details":[{"@type":"other"},{"errorCode":"\#(code)"}]}}"#, headers: headers)
        }
        #expect(await outcome(push, credentials, 200, #"{"name":"n"}"#) == .sent)
        #expect(await result(404, "UNREGISTERED") == .gone(since: nil))
        #expect(await result(400, "INVALID_ARGUMENT") == .refused("INVALID_ARGUMENT"))
        #expect(await result(403, "SENDER_ID_MISMATCH") == .refused("SENDER_ID_MISMATCH"))
        #expect(await result(403, "PERMISSION_DENIED") == .later(after: 300, "PERMISSION_DENIED"))
        #expect(await result(401, "THIRD_PARTY_AUTH_ERROR") == .later(after: 300, "THIRD_PARTY_AUTH_ERROR"))
        #expect(await result(429, "QUOTA_EXCEEDED") == .later(after: 60, "QUOTA_EXCEEDED"))
        #expect(await result(429, "QUOTA_EXCEEDED", retryAfter: "120") == .later(after: 120, "QUOTA_EXCEEDED"))
        #expect(await result(503, "UNAVAILABLE") == .later(after: 10, "UNAVAILABLE"))
        #expect(await outcome(push, credentials, 502, "<html>") == .later(after: 10, "status 502"))
        #expect(await outcome(push, credentials, 404, "{}") == .refused("status 404"))
        let transport = ScriptedTransport { request in
            request.url == "https://token"
                ? PushResponse(status: 200, body: Array(#"{"access_token":"t","expires_in":3600}"#.utf8))
                : PushResponse(status: 200)
        }
        let services = PushServices(over: transport, clock: { [clock] in clock.now })
        for _ in 0..<5 { #expect(await services.send(push, with: credentials) == .sent) }
        #expect(transport.requests.count { $0.url == "https://token" } == 1)
        clock.advance(by: 3400)
        #expect(await services.send(push, with: credentials) == .sent)
        #expect(transport.requests.count { $0.url == "https://token" } == 2)
        #expect(transport.requests.last?.url == "https://f/v1/projects/p/messages:send")
        #expect(transport.requests.last?.headers["authorization"] == "Bearer t")
        let down = ScriptedTransport { _ in PushResponse(status: 500) }
        #expect(
            await PushServices(over: down).send(push, with: credentials)
                == .later(after: 10, "no access token: status 500"))
        let denying = ScriptedTransport { _ in
            PushResponse(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8))
        }
        #expect(
            await PushServices(over: denying).send(push, with: credentials)
                == .later(after: 300, "no access token: status 400"))
    }

    @Test("Web Push: ended subscriptions are removed, and endpoints outside the configured hosts are refused")
    func webAnswers() async throws {
        let push = notification(service: .web, token: "https://eu.push.example/1", keys: keys)
        let credentials = try web()
        for status in [200, 201, 202] { #expect(await outcome(push, credentials, status) == .sent) }
        for status in [404, 410] { #expect(await outcome(push, credentials, status) == .gone(since: nil)) }
        for status in [400, 401, 403, 413] {
            #expect(await outcome(push, credentials, status) == .refused("status \(status)"))
        }
        #expect(
            await outcome(push, credentials, 429, headers: ["retry-after": "30"]) == .later(after: 30, "status 429"))
        #expect(await outcome(push, credentials, 503) == .later(after: 10, "status 503"))
        let dates = ["date": "Mon, 23 Nov 2026 09:00:00 GMT", "retry-after": "Mon, 23 Nov 2026 09:01:30 GMT"]
        #expect(await outcome(push, credentials, 429, headers: dates) == .later(after: 90, "status 429"))
        for (text, after) in [
            ("soon", 10), ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("-5", 0), ("nan", 10), ("inf", 10), ("1e300", 10),
        ] as [(String, Double)] {
            let headers = ["retry-after": text]
            #expect(
                await outcome(push, credentials, 503, headers: headers) == .later(after: after, "status 503"), "\(text)"
            )
        }
        for address in [
            "http://eu.push.example/1", "https://localhost/1", "https://10.0.0.1/1", "https://evilpush.example/1",
            "https://push.example.evil/1", "https://push.example@evil/1", "https://eu.push.example:22/1",
            "https://eu.push.example\u{0}.evil/1", "https://EU.push.example/1", "https://eu.push.example%2eevil/1",
        ] {
            let bad = notification(service: .web, token: address, keys: keys)
            guard case .refused = await outcome(bad, credentials, 201) else {
                Issue.record("\(address) is accepted")
                continue
            }
        }
        let standard = notification(service: .web, token: "https://eu.push.example:443/1", keys: keys)
        #expect(await outcome(standard, credentials, 201) == .sent)
        let withPort = try web(["hosts": ["push.example:8443"]])
        let other = notification(service: .web, token: "https://push.example:8443/1", keys: keys)
        #expect(await outcome(other, withPort, 201) == .sent)
        guard case .refused = await outcome(other, credentials, 201) else {
            Issue.record("A port that hosts does not name is accepted.")
            return
        }
        let blind = notification(
            service: .web, token: "https://push.example/1", keys: WebPushKeys(p256dh: "x", auth: "y"))
        #expect(await outcome(blind, credentials, 201) == .gone(since: nil))
    }

    @Test("A push is retried if the service can't be reached")
    func unreachable() async throws {
        struct Unreachable: Error {}
        let services = PushServices(over: ScriptedTransport { _ in throw Unreachable() })
        let pushes = [
            (notification(), try apns()), (notification(service: .fcm, token: "a:b"), try fcm()),
            (notification(service: .web, token: "https://push.example/1", keys: keys), try web()),
            (
                notification(service: .webhook),
                try Self.json(["url": "https://w", "secret": "sixteen bytes, and some"])
            ),
        ]
        for (push, credentials) in pushes {
            guard case .later(nil, _) = await services.send(push, with: credentials) else {
                Issue.record("\(push.device.service) is not retried")
                continue
            }
        }
    }

    @Test("The push webhook gets the complete notification with a signature")
    func webhook() async throws {
        let transport = ScriptedTransport { _ in PushResponse(status: 204) }
        let services = PushServices(over: transport, clock: { [clock] in clock.now })
        let credentials = try Self.json(["url": "https://w.example/push", "secret": "sixteen bytes, and some"])
        #expect(await services.send(notification(service: .webhook, data: "d"), with: credentials) == .sent)
        let request = try #require(transport.requests.first)
        #expect(
            request.headers["scrollback-signature"]
                == WebhookRequest.signature(of: request.body, secret: "sixteen bytes, and some", at: clock.now))
        let body = try #require(request.body.json)
        #expect(body["event"] as? String == "push" && body["title"] as? String == "Swift" && body["badge"] as? Int == 7)
        #expect(body["appData"] as? String == "d" && body["token"] as? String == "00aaff")
    }

    @Test("Invalid credentials are refused when they are set, and the error names the field")
    func credentials() throws {
        let services = PushServices(over: ScriptedTransport { _ in PushResponse(status: 200) })
        func wrong(_ service: PushService, _ json: RawJSON) -> String? {
            do {
                try services.check(json, for: service)
                return nil
            } catch {
                return error.parameter
            }
        }
        #expect(wrong(.apns, try apns()) == nil)
        #expect(wrong(.fcm, try fcm()) == nil)
        #expect(wrong(.web, try web()) == nil)
        #expect(wrong(.apns, RawJSON(known: "{}")) == "push.services.apns.topic")
        #expect(
            wrong(.apns, try Self.json(["topic": "t", "keyID": "short", "teamID": "0123456789", "key": p8]))
                == "push.services.apns.keyID")
        #expect(
            wrong(.apns, try Self.json(["topic": "t", "keyID": "ABCDEFGHIJ", "teamID": "0123456789", "key": "x"]))
                == "push.services.apns.key")
        #expect(
            wrong(
                .apns,
                try Self.json([
                    "topic": "t", "keyID": "ABCDEFGHIJ", "teamID": "0123456789", "key": p8, "endpoint": "http://a",
                ])) == "push.services.apns.endpoint")
        #expect(wrong(.fcm, RawJSON(known: #"{"serviceAccount":{}}"#)) == "push.services.fcm.serviceAccount")
        #expect(wrong(.fcm, try fcm(["mode": "loud"])) == "push.services.fcm.mode")
        #expect(wrong(.web, try web(["privateKey": "AAAA"])) == "push.services.web.privateKey")
        #expect(wrong(.web, try web(["subject": "me"])) == "push.services.web.subject")
        #expect(wrong(.web, try web(["hosts": "x"])) == "push.services.web.hosts")
        #expect(wrong(.webhook, RawJSON(known: #"{"url":"x","secret":"s"}"#)) == "push.services.webhook.url")
        // An error message contains no part of a key.
        do {
            try services.check(
                try Self.json(["topic": "t", "keyID": "ABCDEFGHIJ", "teamID": "0123456789", "key": "s3cret"]),
                for: .apns)
        } catch {
            #expect(!"\(error)".contains("s3cret"))
        }
    }
}
