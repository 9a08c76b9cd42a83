import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPush
import Testing

/// Tests the push payloads for the services of phone makers.
@Suite("Push payloads for the services of phone makers")
struct VendorPayloadTests {
    private let now = Date(timeIntervalSince1970: 1_795_255_200)
    /// The hash of the message ID, which is the notification ID on every service.
    private let number = 622_539_634
    private let id = "0a0b0c0d-0000-8000-8000-000000000001"
    private let picture = URL(string: "https://example.com/a.png")

    /// Returns the target that every service must deliver.
    private func target(of notification: PushNotification) throws -> NSDictionary {
        let request = try #require(APNS.request(for: notification, topic: "t", endpoint: "", token: "t"))
        return try #require(request.body.json?["scrollback"] as? NSDictionary)
    }

    /// Whether a text is JSON with the target and the sender's data.
    private func hasText(_ text: Any?, _ notification: PushNotification) throws -> Bool {
        let fields = try #require((text as? String)?.json)
        return try fields["scrollback"] as? NSDictionary == target(of: notification)
            && fields["appData"] as? String == notification.data
    }

    /// Whether a dictionary of strings contains the target and the sender's data.
    private func hasTexts(_ texts: NSDictionary?, _ notification: PushNotification) throws -> Bool {
        let texts = try #require(texts)
        return try (texts["scrollback"] as? String)?.json == target(of: notification)
            && texts["appData"] as? String == notification.data
    }

    // MARK: Huawei

    private func huawei(_ push: PushNotification, _ setup: Huawei.Setup = .init()) throws -> NSDictionary {
        let body = Huawei.body(for: push, setup, now: now)
        return try #require(body?.json?["message"] as? NSDictionary)
    }

    @Test("Huawei: a plain push opens the app and carries its place")
    func huaweiPlain() throws {
        let push = notification(service: .huawei, token: "t", data: "d", link: "app://x")
        let message = try huawei(push)
        #expect(message["token"] as? [String] == ["t"])
        #expect(try hasText(message["data"], push))
        let android: NSDictionary = [
            "ttl": "604800s",
            "notification": [
                "title": "Swift", "body": "Bob: hello", "notify_id": number, "click_action": ["type": 3],
            ],
        ]
        #expect(message["android"] as? NSDictionary == android)
        #expect(message.count == 3)
    }

    @Test("Huawei: every field of the message's options overrides the operator's setting", .rows(137, 139))
    func huaweiOptions() throws {
        var setup = Huawei.Setup()
        setup.badgeClass = "com.example.Main"
        setup.category = "SUBSCRIPTION"
        setup.channel = "all"
        func push(_ picture: URL?, replaces: Bool = false) -> PushNotification {
            notification(service: .huawei, token: "t", replaces: replaces) { options in
                var huawei = PushOptions.Android.Huawei()
                huawei.channel = "chats"
                huawei.category = "IM"
                huawei.importance = .normal
                huawei.imageURL = picture
                options.android = PushOptions.Android()
                options.android?.huawei = huawei
                options.android?.notificationID = "17"
            }
        }
        let android: NSDictionary = [
            "ttl": "604800s", "category": "IM",
            "notification": [
                "title": "Swift", "body": "Bob: hello", "notify_id": 17, "click_action": ["type": 3],
                "channel_id": "chats", "importance": "NORMAL", "image": "https://example.com/a.png",
                "badge": ["class": "com.example.Main", "set_num": 7],
            ],
        ]
        #expect(try huawei(push(picture), setup)["android"] as? NSDictionary == android)
        // Without options, the operator's settings apply. A recall makes no sound.
        let plain = try #require(
            try huawei(notification(service: .huawei, replaces: true), setup)["android"] as? NSDictionary)
        let shown = try #require(plain["notification"] as? NSDictionary)
        #expect(plain["category"] as? String == "SUBSCRIPTION" && shown["channel_id"] as? String == "all")
        #expect(shown["importance"] as? String == "LOW" && shown["notify_id"] as? Int == number)
        // Huawei would refuse a push with an insecure image URL, so the image is omitted.
        let insecure = try huawei(push(URL(string: "http://example.com/a.png")), setup)["android"] as? NSDictionary
        #expect((insecure?["notification"] as? NSDictionary)?["image"] == nil)
    }

    @Test("Huawei: a thread is a group, and a passive push has low importance", .rows(133, 136))
    func huaweiThread() throws {
        func shown(
            _ interruption: PushOptions.IOS.Interruption, _ importance: PushOptions.Android.Importance? = nil
        ) throws -> NSDictionary {
            let push = notification(service: .huawei) { options in
                options.ios = PushOptions.IOS()
                options.ios?.threadID = "thread"
                options.ios?.interruption = interruption
                options.android = PushOptions.Android()
                options.android?.huawei = PushOptions.Android.Huawei()
                options.android?.huawei?.importance = importance
            }
            let android = try #require(try huawei(push)["android"] as? NSDictionary)
            return try #require(android["notification"] as? NSDictionary)
        }
        let quiet = try shown(.passive)
        #expect(quiet["group"] as? String == "thread" && quiet["importance"] as? String == "LOW")
        #expect(try shown(.critical)["importance"] == nil)
        // The option for this service takes precedence.
        #expect(try shown(.passive, .normal)["importance"] as? String == "NORMAL")
    }

    @Test("Huawei, Honor and HarmonyOS: long text is cut, heavy data is omitted, TTL and badge are in range")
    func largeBodies() throws {
        func all(_ push: PushNotification, now: Date) -> [[UInt8]?] {
            var (huawei, honor) = (Huawei.Setup(), Honor.Setup())
            huawei.badgeClass = "c"
            honor.badgeClass = "c"
            return [
                Huawei.body(for: push, huawei, now: now), Honor.body(for: push, honor, now: now),
                Harmony.body(for: push, now: now),
            ]
        }
        func text(_ body: [UInt8]?) -> String { body.map { String(decoding: $0, as: UTF8.self) } ?? "" }
        var long = notification(text: PushText(title: "Swift", body: String(repeating: "é", count: 9000)))
        long.badge = 1000
        for body in all(long, now: .distantFuture) {
            let count = try #require(body).count
            #expect(count > 4000 && count <= 4096 + long.device.token.utf8.count)
            #expect(text(body).contains("…") && text(body).contains(#":99}"#))
            #expect(text(body).contains(#""ttl":"1s""#) || text(body).contains(#""ttl":1}"#))
        }
        for body in all(notification(data: String(repeating: "d", count: 4096)), now: .distantPast) {
            #expect(text(body).contains("omitsData") && !text(body).contains("dddd"))
            #expect(text(body).contains(#""ttl":"1296000s""#) || text(body).contains(#""ttl":1296000}"#))
        }
        let impossible = notification(link: String(repeating: "l", count: 5000))
        #expect(all(impossible, now: now).allSatisfy { $0 == nil })
    }

    @Test("The app's name replaces a missing title if the service requires one, and blank text is never sent")
    func noTitle() throws {
        let bare = notification(text: PushText(body: " \n"))
        var setup = Huawei.Setup()
        func shown(_ setup: Huawei.Setup) throws -> NSDictionary? {
            (try huawei(bare, setup)["android"] as? NSDictionary)?["notification"] as? NSDictionary
        }
        #expect(try shown(setup)?["title"] as? String == "…")
        #expect(try shown(setup)?["body"] as? String == "…")
        setup.title = "Chat"
        #expect(try shown(setup)?["title"] as? String == "Chat")
        #expect(Xiaomi.form(for: bare, Xiaomi.Setup(app: "a"), now: now)?["description"] == "…")
        let secret = notification(text: PushText(body: "New message"))
        #expect(Xiaomi.form(for: secret, Xiaomi.Setup(app: "a"), now: now)?["title"] == "New message")
    }

    @Test("A notification ID is the chosen number or a stable hash", .rows(137))
    func numbers() throws {
        func number(_ id: String?) throws -> Int {
            let push = notification { options in
                options.android = PushOptions.Android()
                options.android?.notificationID = id
            }
            let message = try huawei(push)["android"] as? NSDictionary
            return try #require((message?["notification"] as? NSDictionary)?["notify_id"] as? Int)
        }
        #expect(try number("17") == 17 && number("2147483647") == 2_147_483_647)
        #expect(try number(nil) == self.number && number("order") == 1_055_620_758)
        for id in ["0", "-1", "2147483648", "x", ""] { #expect(try (1...2_147_483_647).contains(number(id))) }
    }

    // MARK: Honor

    @Test("Honor: a plain push is a service notification, opens the app and carries its place")
    func honorPlain() throws {
        let push = notification(service: .honor, token: "t", data: "d", link: "app://x")
        let message = try #require(Honor.body(for: push, now: now)?.json)
        #expect(message["token"] as? [String] == ["t"])
        #expect(try hasText(message["data"], push))
        let android: NSDictionary = [
            "ttl": "604800s",
            "notification": [
                "title": "Swift", "body": "Bob: hello", "importance": "NORMAL", "notifyId": number,
                "clickAction": ["type": 3],
            ],
        ]
        #expect(message["android"] as? NSDictionary == android)
        #expect(message.count == 3)
    }

    @Test("Honor: a push uses every field of the message's options, and a marketing push has no image", .rows(137, 140))
    func honorOptions() throws {
        var setup = Honor.Setup()
        setup.badgeClass = "com.example.Main"
        setup.importance = .low
        func shown(_ importance: PushOptions.Android.Importance?) throws -> NSDictionary {
            let push = notification(service: .honor) { options in
                var honor = PushOptions.Android.Honor()
                honor.imageURL = picture
                honor.importance = importance
                options.android = PushOptions.Android()
                options.android?.honor = honor
                options.android?.notificationID = "17"
            }
            let android = Honor.body(for: push, setup, now: now)?.json?["android"] as? NSDictionary
            return try #require(android?["notification"] as? NSDictionary)
        }
        let service: NSDictionary = [
            "title": "Swift", "body": "Bob: hello", "importance": "NORMAL", "notifyId": 17,
            "clickAction": ["type": 3], "image": "https://example.com/a.png",
            "badge": ["badgeClass": "com.example.Main", "setNum": 7],
        ]
        #expect(try shown(.normal) == service)
        for importance in [PushOptions.Android.Importance.low, nil] {
            let marketing = try shown(importance)
            #expect(marketing["importance"] as? String == "LOW" && marketing["image"] == nil)
        }
    }

    // MARK: HarmonyOS

    @Test("HarmonyOS: a plain push has a category, opens the app and carries its place as an object")
    func harmonyPlain() throws {
        let push = notification(service: .harmony, token: "t", data: "d", link: "app://x")
        let body = try #require(Harmony.body(for: push, now: now)?.json)
        #expect((body["target"] as? NSDictionary)?["token"] as? [String] == ["t"])
        #expect(body["pushOptions"] as? NSDictionary == ["ttl": 604_800])
        #expect(body.count == 3)
        let shown = try #require((body["payload"] as? NSDictionary)?["notification"] as? NSDictionary)
        let click = try #require(shown["clickAction"] as? NSDictionary)
        let expected: NSDictionary = [
            "category": "IM", "title": "Swift", "body": "Bob: hello", "notifyId": number, "appMessageId": id,
            "badge": ["setNum": 7], "clickAction": click,
        ]
        #expect(shown == expected)
        let data = try #require(click["data"] as? NSDictionary)
        #expect(click["actionType"] as? Int == 0 && data["appData"] as? String == "d")
        #expect(try data["scrollback"] as? NSDictionary == target(of: push))
    }

    @Test("HarmonyOS: the message's image and category override the operator's settings", .rows(137, 143))
    func harmonyOptions() throws {
        var setup = Harmony.Setup()
        setup.category = "WORK"
        func shown(_ change: (inout PushOptions) -> Void) throws -> NSDictionary {
            let push = notification(service: .harmony, change)
            let payload = Harmony.body(for: push, setup, now: now)?.json?["payload"] as? NSDictionary
            return try #require(payload?["notification"] as? NSDictionary)
        }
        let own = try shown { options in
            var harmony = PushOptions.Harmony()
            harmony.imageURL = picture
            harmony.category = "TRAVEL"
            options.harmony = harmony
            options.android = PushOptions.Android()
            options.android?.notificationID = "17"
        }
        #expect(own["image"] as? String == "https://example.com/a.png" && own["category"] as? String == "TRAVEL")
        #expect(own["notifyId"] as? Int == 17)
        let plain = try shown { _ in }
        #expect(plain["image"] == nil && plain["category"] as? String == "WORK")
        // The service accepts only https images.
        let insecure = try shown { options in
            options.harmony = PushOptions.Harmony()
            options.harmony?.imageURL = URL(string: "http://example.com/a.png")
        }
        #expect(insecure["image"] == nil && insecure["body"] as? String == "Bob: hello")
    }

    @Test("HarmonyOS: a category must be in upper case", .rows(143), arguments: ["travel", "Travel", "TRAVEL"])
    func harmonyCategory(_ category: String) throws {
        var options = PushOptions()
        options.harmony = PushOptions.Harmony()
        options.harmony?.category = category
        guard category != "TRAVEL" else {
            #expect(try PushOptions(options.json()) == options)
            return
        }
        for error in [
            #expect(throws: ChatError.self) { try options.json() },
            #expect(throws: ChatError.self) {
                try PushOptions(RawJSON(#"{"harmony":{"category":"\#(category)"}}"#))
            },
        ] {
            #expect(error?.code == .invalidParameter && error?.parameter == "push.harmony.category")
        }
    }

    // MARK: Xiaomi

    private func xiaomi(_ push: PushNotification, _ setup: Xiaomi.Setup? = nil) throws -> [String: String] {
        try #require(Xiaomi.form(for: push, setup ?? Xiaomi.Setup(app: "com.example"), now: now))
    }

    @Test("Xiaomi: a plain push opens the app and carries its place percent-encoded")
    func xiaomiPlain() throws {
        let push = notification(service: .xiaomi, token: "t", data: "d e", link: "app://x")
        var form = try xiaomi(push)
        let found = form.removeValue(forKey: "payload")
        let payload = try #require(found)
        #expect(payload.allSatisfy { $0.isASCII && !$0.isWhitespace && $0 != "{" && $0 != "\"" && $0 != "+" })
        #expect(try hasText(payload.removingPercentEncoding, push))
        #expect(
            form == [
                "registration_id": "t", "restricted_package_name": "com.example", "pass_through": "0",
                "title": "Swift", "description": "Bob: hello", "notify_type": "-1", "notify_id": "\(number)",
                // Xiaomi keeps a push without a template for one day.
                "time_to_live": "86400000", "extra.notify_effect": "1",
            ])
        #expect(try xiaomi(notification(replaces: true))["notify_type"] == "4")
        #expect(Xiaomi.form(for: push, Xiaomi.Setup(app: "a"), now: .distantFuture)?["time_to_live"] == "1000")
    }

    @Test("Xiaomi: the message's channel replaces the operator's channel and template", .rows(137, 138))
    func xiaomiOptions() throws {
        var setup = Xiaomi.Setup(app: "com.example")
        setup.channel = "private"
        setup.template = Xiaomi.Template(
            id: "T1", parameters: ["who": .title, #"qu"ote"#: .text, "count": .count])
        let words = "1 👍 ok © 2️⃣" + String(repeating: "x", count: 200)
        let chosen = notification(text: PushText(title: "👍", body: words)) { options in
            options.android = PushOptions.Android()
            options.android?.notificationID = "17"
        }
        let form = try xiaomi(chosen, setup)
        #expect(form["extra.channel_id"] == "private" && form["extra.template_id"] == "T1")
        #expect(form["notify_id"] == "17" && form["time_to_live"] == "604800000")
        let parameters = try JSONDecoder().decode(
            [String: String].self, from: Data(try #require(form["extra.template_param"]).utf8))
        // Template parameters have no emoji, are not blank, and have at most 128 characters.
        #expect(parameters["who"] == "…" && parameters["count"] == "7")
        #expect(parameters[#"qu"ote"#]?.hasPrefix("1  ok  xxx") == true && parameters[#"qu"ote"#]?.count == 128)
        let other = notification { options in
            options.android = PushOptions.Android()
            options.android?.xiaomi = PushOptions.Android.Channel(channel: "news")
        }
        let plain = try xiaomi(other, setup)
        #expect(plain["extra.channel_id"] == "news" && plain["extra.template_id"] == nil)
    }

    @Test("Xiaomi: title, text and payload stay below their limits")
    func xiaomiLimits() throws {
        let long = PushText(title: String(repeating: "标", count: 90), body: String(repeating: "👍", count: 90))
        let form = try xiaomi(notification(text: long, data: String(repeating: "{", count: 2000)))
        #expect(form["title"]?.utf16.count == 49 && form["title"]?.hasSuffix("…") == true)
        #expect(form["description"]?.utf16.count == 127)
        #expect(try #require(form["payload"]).utf8.count < 4096)
        let fields = try #require(form["payload"]?.removingPercentEncoding?.json)
        #expect((fields["scrollback"] as? NSDictionary)?["omitsData"] as? Bool == true && fields["appData"] == nil)
        let impossible = notification(link: String(repeating: "l", count: 5000))
        #expect(Xiaomi.form(for: impossible, Xiaomi.Setup(app: "a"), now: now) == nil)
    }

    // MARK: OPPO

    private func oppo(_ push: PushNotification, _ setup: OPPO.Setup = .init()) throws -> NSDictionary {
        let message = try #require(OPPO.message(for: push, setup, now: now)?.json)
        #expect(message["target_type"] as? Int == 2 && message["target_value"] as? String == push.device.token)
        return try #require(message["notification"] as? NSDictionary)
    }

    @Test("OPPO: a plain push opens the app and carries its place in its parameters")
    func oppoPlain() throws {
        let push = notification(service: .oppo, token: "t", data: "d", link: "app://x")
        let shown = try oppo(push)
        let parameters = try #require(shown["action_parameters"] as? String)
        #expect(try hasTexts(parameters.json, push))
        let expected: NSDictionary = [
            "app_message_id": id, "click_action_type": 0, "off_line": true, "off_line_ttl": 604_800, "style": 1,
            "title": "Swift", "content": "Bob: hello", "notify_id": number, "badge_operation_type": 0,
            "badge_message_count": 7, "action_parameters": parameters,
        ]
        #expect(shown == expected)
    }

    @Test("OPPO: a push uses the message's channel and the operator's category and template", .rows(137, 142))
    func oppoOptions() throws {
        var setup = OPPO.Setup()
        setup.channel = "all"
        setup.category = "IM"
        setup.template = OPPO.Template(id: "T1", title: ["who": .title], text: ["what": .text])
        let own = try oppo(
            notification(service: .oppo, replaces: true) { options in
                options.android = PushOptions.Android()
                options.android?.oppo = PushOptions.Android.Channel(channel: "chats")
                options.android?.notificationID = "17"
            }, setup)
        #expect(own["channel_id"] as? String == "chats" && own["notify_id"] as? Int == 17)
        // A recall makes no sound.
        #expect(own["category"] as? String == "IM" && own["notify_level"] as? Int == 1)
        #expect(own["private_msg_template_id"] as? String == "T1")
        #expect(own["private_title_parameters"] as? String == #"{"who":"Swift"}"#)
        #expect(own["private_content_parameters"] as? String == #"{"what":"Bob: hello"}"#)
        let plain = try oppo(notification(service: .oppo), setup)
        #expect(plain["channel_id"] as? String == "all" && plain["notify_level"] == nil)
        setup.template?.title = [:]
        #expect(try oppo(notification(service: .oppo), setup)["private_title_parameters"] == nil)
    }

    @Test("OPPO: long text uses the style for long text, and no field exceeds its limit")
    func oppoLimits() throws {
        let title = String(repeating: "标", count: 90)
        let short = try oppo(notification(text: PushText(title: title, body: String(repeating: "x", count: 50))))
        #expect(short["style"] as? Int == 1 && (short["title"] as? String)?.utf16.count == 50)
        let text = PushText(body: String(repeating: "x", count: 129))
        let long = try oppo(notification(text: text, data: String(repeating: "d", count: 4000)))
        #expect(long["style"] as? Int == 2 && (long["content"] as? String)?.utf16.count == 128)
        let parameters = try #require(long["action_parameters"] as? String)
        #expect(parameters.contains("omitsData") && !parameters.contains("dddd"))
        let impossible = notification(link: String(repeating: "l", count: 5000))
        #expect(OPPO.message(for: impossible, now: now) == nil)
        let late = OPPO.message(for: notification(), now: .distantPast)?.json?["notification"] as? NSDictionary
        #expect(late?["off_line_ttl"] as? Int == 864_000)
    }

    @Test("OPPO: a registration ID shows whether the device uses the host in China")
    func oppoRegions() {
        for mainland in ["00aa", "CN_00aa", "OPPO_CN_00aa"] { #expect(OPPO.isMainland(mainland)) }
        for other in ["IN_00aa", "OPPO_IN_00aa", "CN_OPPO_00aa", "a_b_CN_00aa"] { #expect(!OPPO.isMainland(other)) }
    }

    // MARK: vivo

    private func vivo(_ push: PushNotification, _ change: (inout Vivo.Setup) -> Void = { _ in }) throws -> NSDictionary
    {
        var setup = Vivo.Setup(appID: 10004)
        change(&setup)
        return try #require(Vivo.body(for: push, setup, now: now)?.json)
    }

    @Test("vivo: a plain push is a system message of the category IM, opens the app and carries its place")
    func vivoPlain() throws {
        let push = notification(service: .vivo, token: "t", data: "d", link: "app://x")
        let body = try vivo(push)
        let map = try #require(body["clientCustomMap"] as? NSDictionary)
        #expect(try hasTexts(map, push))
        let expected: NSDictionary = [
            "appId": 10004, "regId": "t", "requestId": id, "title": "Swift", "content": "Bob: hello",
            "classification": 1, "category": "IM", "notifyType": 4, "notifyId": number, "timeToLive": 86400,
            "skipType": 1, "clientCustomMap": map,
        ]
        #expect(body == expected)
        // A recall makes no sound and does not increase the badge.
        let recall = try vivo(notification(replaces: true)) { $0.addsBadge = true }
        #expect(recall["notifyType"] as? Int == 1 && recall["addBadge"] == nil)
        #expect(try vivo(push) { $0.addsBadge = true }["addBadge"] as? Bool == true)
    }

    @Test("vivo: the message's type and category override the operator's together", .rows(137, 141))
    func vivoOptions() throws {
        func shown(_ kind: PushOptions.Android.Vivo.Kind, _ category: String?) throws -> NSDictionary {
            let push = notification(service: .vivo) { options in
                options.android = PushOptions.Android()
                options.android?.vivo = PushOptions.Android.Vivo(type: kind, category: category)
                options.android?.notificationID = "17"
            }
            return try vivo(push)
        }
        let marketing = try shown(.marketing, nil)
        #expect(marketing["classification"] as? Int == 0 && marketing["category"] == nil)
        #expect(marketing["notifyId"] as? Int == 17)
        let system = try shown(.system, "ACCOUNT")
        #expect(system["classification"] as? Int == 1 && system["category"] as? String == "ACCOUNT")
    }

    @Test("vivo: characters outside ASCII count as two, and no field exceeds its limit")
    func vivoLimits() throws {
        let long = PushText(title: String(repeating: "标", count: 90), body: String(repeating: "x", count: 200))
        let body = try vivo(notification(text: long, data: String(repeating: "d", count: 1000)))
        #expect((body["title"] as? String)?.count == 20)
        #expect((body["content"] as? String)?.count == 99)
        let map = try #require(body["clientCustomMap"] as? [String: String])
        #expect(map.count == 1 && map["scrollback"]?.contains("omitsData") == true)
        let impossible = notification(link: String(repeating: "l", count: 1000))
        #expect(Vivo.body(for: impossible, Vivo.Setup(appID: 1), now: now) == nil)
        let late = Vivo.body(for: notification(), Vivo.Setup(appID: 1), now: .distantFuture)?.json
        #expect(late?["timeToLive"] as? Int == 60)
    }
}

extension String {
    /// The text parsed as JSON, for comparisons.
    fileprivate var json: NSDictionary? { Array(utf8).json }
}
