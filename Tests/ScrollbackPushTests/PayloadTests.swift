import ContractRows
import Crypto
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPush
import Testing

/// Tests the push payloads for Apple, Google and browsers.
@Suite("Push payloads for APNs, FCM and Web Push")
struct PayloadTests {
    private let now = Date(timeIntervalSince1970: 1_795_255_200)

    private func apns(_ notification: PushNotification) throws -> (PushRequest, NSDictionary) {
        let request = try #require(
            APNS.request(for: notification, topic: "com.example.app", endpoint: "https://apns", token: "t"))
        return (request, try #require(request.body.json))
    }

    @Test("APNs: a plain push has the documented headers and payload")
    func apnsPlain() throws {
        let (request, payload) = try apns(notification(data: #"{"a":1}"#, link: "app://x"))
        #expect(request.url == "https://apns/3/device/00aaff")
        #expect(
            request.headers == [
                "authorization": "bearer t", "apns-topic": "com.example.app", "apns-push-type": "alert",
                "apns-priority": "10", "apns-id": "0a0b0c0d-0000-8000-8000-000000000001",
                "apns-expiration": "1795860000", "apns-collapse-id": "01980000-0000-7000-8000-000000000001",
                "content-type": "application/json",
            ])
        let aps: NSDictionary = [
            "alert": ["title": "Swift", "body": "Bob: hello"], "badge": 7, "sound": "default",
            "thread-id": "group:swift", "mutable-content": 1,
        ]
        #expect(payload["aps"] as? NSDictionary == aps)
        #expect(payload["appData"] as? String == #"{"a":1}"#)
        let own = try #require(payload["scrollback"] as? NSDictionary)
        #expect(own["conversation"] as? String == "group:swift" && own["seq"] as? Int == 12)
        #expect(own["receiver"] as? String == "alice" && own["link"] as? String == "app://x")
    }

    @Test("APNs: the payload contains every field of the message's options", .rows(127, 133, 134, 135, 136))
    func apnsOptions() throws {
        let (request, payload) = try apns(
            notification { options in
                var ios = PushOptions.IOS()
                ios.threadID = "thread"
                ios.collapseID = "collapse"
                ios.imageURL = URL(string: "https://example.com/a.png")
                ios.interruption = .critical
                options.ios = ios
                options.hidesTitle = true
            })
        #expect(request.headers["apns-collapse-id"] == "collapse")
        let aps = try #require(payload["aps"] as? NSDictionary)
        #expect(aps["thread-id"] as? String == "thread")
        #expect(aps["interruption-level"] as? String == "critical")
        #expect(aps["sound"] as? NSDictionary == ["critical": 1, "name": "default", "volume": 1])
        #expect(aps["alert"] as? NSDictionary == ["body": "Bob: hello"])
        #expect(payload["image"] as? String == "https://example.com/a.png")
        let (quiet, _) = try apns(notification { $0.ios = PushOptions.IOS(interruption: .passive) })
        #expect(quiet.headers["apns-priority"] == "5")
        let recall = try apns(notification(replaces: true)).1
        #expect((recall["aps"] as? NSDictionary)?["sound"] == nil)
    }

    @Test("APNs: long text is cut between characters, and a payload without room for the data says so")
    func tooLong() throws {
        let family = "👩‍👩‍👧‍👦"
        let long = notification(text: PushText(title: "Swift", body: String(repeating: family, count: 1000)))
        let request = try #require(APNS.request(for: long, topic: "t", endpoint: "", token: "t"))
        #expect(request.body.count <= 4096 && request.body.count > 4096 - 2 * family.utf8.count)
        let body = try #require(
            ((request.body.json?["aps"] as? NSDictionary)?["alert"] as? NSDictionary)?["body"] as? String)
        #expect(body.hasSuffix("…") && body.dropLast().allSatisfy { $0 == "👩‍👩‍👧‍👦" })
        // JSON escapes each of these bytes as six bytes.
        let escaped = notification(text: PushText(body: String(repeating: "\u{1}", count: 5000)))
        #expect(try #require(APNS.request(for: escaped, topic: "t", endpoint: "", token: "t")).body.count <= 4096)
        let heavy = notification(data: String(repeating: "d", count: 4096))
        let light = try #require(APNS.request(for: heavy, topic: "t", endpoint: "", token: "t")?.body.json)
        #expect(light["appData"] == nil)
        #expect((light["scrollback"] as? NSDictionary)?["omitsData"] as? Bool == true)
        let impossible = notification(link: String(repeating: "l", count: 5000))
        #expect(APNS.request(for: impossible, topic: "t", endpoint: "", token: "t") == nil)
    }

    @Test("FCM: a push is a system notification or data for the app", .rows(130, 142))
    func fcm() throws {
        let push = notification(service: .fcm, token: "a:b", data: "d") { options in
            var fcm = PushOptions.Android.FCM()
            fcm.channel = "chats"
            fcm.collapseKey = "key"
            fcm.imageURL = URL(string: "https://example.com/a.png")
            options.android = PushOptions.Android()
            options.android?.fcm = fcm
            options.android?.notificationID = "n1"
        }
        let shown = try #require(FCM.body(for: push, mode: .notification, now: now)?.json?["message"] as? NSDictionary)
        #expect(shown["token"] as? String == "a:b")
        #expect(shown["notification"] as? NSDictionary == ["title": "Swift", "body": "Bob: hello"])
        let android: NSDictionary = [
            "priority": "HIGH", "ttl": "604800s", "collapse_key": "key",
            "notification": [
                "tag": "n1", "channel_id": "chats", "image": "https://example.com/a.png", "notification_count": 7,
            ],
        ]
        #expect(shown["android"] as? NSDictionary == android)
        let data = try #require(shown["data"] as? [String: String])
        #expect(data["appData"] == "d")
        #expect(data["scrollback"]?.contains(#""conversation":"group:swift""#) == true)
        let handed = try #require(FCM.body(for: push, mode: .data, now: now)?.json?["message"] as? NSDictionary)
        #expect(handed["notification"] == nil)
        let all = try #require(handed["data"] as? [String: String])
        #expect(all["title"] == "Swift" && all["body"] == "Bob: hello" && all["badge"] == "7" && all["tag"] == "n1")
        let long = notification(service: .fcm, text: PushText(body: String(repeating: "é", count: 9000)))
        #expect(try #require(FCM.body(for: long, mode: .notification, now: now)).count <= 4096 + 6)
        let titled = notification(
            service: .fcm, text: PushText(title: String(repeating: "é", count: 9000), body: "Bob: hello"))
        for (mode, member) in [(FCM.Mode.notification, "notification"), (.data, "data")] {
            let message = try #require(FCM.body(for: titled, mode: mode, now: now)?.json?["message"] as? NSDictionary)
            let title = try #require((message[member] as? NSDictionary)?["title"] as? String)
            #expect(title.utf8.count <= 256 && title.hasSuffix("é…"))
        }
    }

    @Test("FCM: the interruption level sets the priority on Android", .rows(136))
    func fcmPriority() throws {
        func priority(_ interruption: PushOptions.IOS.Interruption?, replaces: Bool = false) throws -> String? {
            let push = notification(service: .fcm, replaces: replaces) { options in
                options.ios = interruption.map { PushOptions.IOS(interruption: $0) }
            }
            let message = FCM.body(for: push, mode: .notification, now: now)?.json?["message"] as? NSDictionary
            let android = try #require(message?["android"] as? NSDictionary)
            return (android["notification"] as? NSDictionary)?["notification_priority"] as? String
        }
        #expect(try priority(nil) == nil)
        #expect(try priority(.passive) == "PRIORITY_LOW" && priority(.active) == "PRIORITY_DEFAULT")
        #expect(try priority(.timeSensitive) == "PRIORITY_HIGH" && priority(.critical) == "PRIORITY_MAX")
        #expect(try priority(nil, replaces: true) == "PRIORITY_LOW")
    }

    @Test("Web Push: encryption produces the bytes of the example in RFC 8291")
    func webVector() throws {
        let keys = WebPushKeys(
            p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            auth: "BTBZMqHH6r4Tts7J_aSIgg")
        let sender = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: try #require(Data(base64URL: "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")))
        let salt = try #require(Data(base64URL: "DGv6ra1nlYgDCS1FRnbzlw"))
        let body = try WebPushEncryption.encrypt(
            Array("When I grow up, I want to be a watermelon".utf8), for: keys, with: sender, salt: Array(salt))
        #expect(
            Data(body).base64URL
                == "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8"
                + "wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
    }

    @Test("Web Push: a request has valid headers, and invalid keys are refused")
    func web() throws {
        let keys = WebPushKeys(
            p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            auth: "BTBZMqHH6r4Tts7J_aSIgg")
        let push = notification(service: .web, token: "https://push.example/1", keys: keys)
        let request = try #require(try WebPush.request(for: push, keys: keys, authorization: "vapid", now: now))
        #expect(
            request.headers == [
                "authorization": "vapid", "ttl": "604800", "urgency": "high",
                "topic": "01980000000070008000000000000001", "content-encoding": "aes128gcm",
                "content-type": "application/octet-stream",
            ])
        let other = try #require(try WebPush.request(for: push, keys: keys, authorization: "vapid", now: now))
        #expect(request.body != other.body)
        let late = try WebPush.request(for: push, keys: keys, authorization: "vapid", now: .distantFuture)
        #expect(late?.headers["ttl"] == "1")
        for keys in [
            WebPushKeys(p256dh: "AAAA", auth: keys.auth), WebPushKeys(p256dh: keys.p256dh, auth: "AAAA"),
            WebPushKeys(p256dh: "B" + String(repeating: "A", count: 86), auth: keys.auth),
        ] {
            #expect(throws: (any Error).self) {
                try WebPush.request(for: push, keys: keys, authorization: "vapid", now: now)
            }
        }
    }

    @Test(
        "Web Push: the payload contains the tag, image and interruption of the message", .rows(134, 135, 136, 137))
    func webOptions() throws {
        let browser = Browser()
        func shown(
            replaces: Bool = false, _ change: (inout PushOptions) -> Void
        ) throws -> (headers: [String: String], members: NSDictionary) {
            let push = notification(service: .web, token: "https://push.example/1", replaces: replaces, change)
            let request = try #require(
                try WebPush.request(for: push, keys: browser.keys, authorization: "vapid", now: now))
            return (request.headers, try #require(try Array(browser.open(request.body).utf8).json))
        }
        let plain = try shown { _ in }.members
        #expect(plain["tag"] as? String == "01980000-0000-7000-8000-000000000001")
        for name in ["image", "silent", "requireInteraction"] { #expect(plain[name] == nil) }
        #expect(try shown(replaces: true) { _ in }.members["silent"] as? Bool == true)
        let named = try shown { options in
            options.android = PushOptions.Android()
            options.android?.notificationID = "order 17"
            options.ios = PushOptions.IOS(interruption: .timeSensitive)
            options.ios?.imageURL = URL(string: "https://example.com/a.png")
        }
        #expect(named.members["tag"] as? String == "order 17")
        #expect(named.members["image"] as? String == "https://example.com/a.png")
        #expect(named.members["requireInteraction"] as? Bool == true && named.members["silent"] == nil)
        #expect(named.headers["topic"] == "0bcc920e3938c1b86e3483fc9888c6d6")
        let quiet = try shown { options in
            options.ios = PushOptions.IOS(interruption: .passive)
            options.ios?.collapseID = "c"
            options.ios?.imageURL = URL(string: "https://example.com/" + String(repeating: "a", count: 2600))
        }
        #expect(quiet.members["tag"] as? String == "c" && quiet.members["silent"] as? Bool == true)
        #expect(quiet.members["requireInteraction"] == nil && quiet.headers["urgency"] == "low")
        // An image URL that leaves no room for the text is omitted.
        #expect(quiet.members["image"] == nil && quiet.members["body"] as? String == "Bob: hello")
    }
}

extension PushOptions.IOS {
    fileprivate init(interruption: Interruption) {
        self.init()
        self.interruption = interruption
    }
}
