import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPush
import Testing

/// What each service hands to an app, made by the code that pushes and read by the SDK.
@Suite("What services hand over is read")
struct PayloadReadingTests {
    /// A service, and a payload as an app on a device of it gets it.
    struct Way: Sendable, CustomTestStringConvertible {
        var name: String
        /// Whether the app is told how many messages are unread.
        var hasBadge = false
        /// Whether everything has room there.
        var isBoundless = false
        var read: @Sendable (PushNotification) throws -> PushMessage?

        var testDescription: String { name }
    }

    private static let now = Date(timeIntervalSince1970: 1_795_255_200)

    private static func object(_ bytes: [UInt8]?, _ path: String...) throws -> [AnyHashable: Any] {
        var object = try JSONSerialization.jsonObject(with: Data(#require(bytes))) as? [String: Any]
        for name in path { object = object?[name] as? [String: Any] }
        return try #require(object)
    }

    private static func text(_ bytes: [UInt8]?, _ path: String...) throws -> String {
        var object = try JSONSerialization.jsonObject(with: Data(#require(bytes)))
        for name in path { object = try #require((object as? [String: Any])?[name]) }
        return try #require(object as? String)
    }

    static let ways: [Way] = [
        Way(name: "APNs", hasBadge: true) { push in
            let request = APNS.request(for: push, topic: "t", endpoint: "", token: "t")
            return try PushMessage(object(request?.body))
        },
        Way(name: "FCM, notification") { push in
            let data = try object(FCM.body(for: push, mode: .notification, now: now), "message", "data")
            return try PushMessage(#require(data as? [String: String]))
        },
        Way(name: "FCM, data", hasBadge: true) { push in
            let data = try object(FCM.body(for: push, mode: .data, now: now), "message", "data")
            return try PushMessage(#require(data as? [String: String]))
        },
        Way(name: "FCM to Apple's systems", hasBadge: true) { push in
            let body = FCM.body(for: push, mode: .notification, now: now)
            let data = try object(body, "message", "data")
            let payload = try object(body, "message", "apns", "payload")
            return try PushMessage(data.merging(payload) { $1 })
        },
        Way(name: "Huawei") { push in
            try PushMessage(json: text(Huawei.body(for: push, now: now), "message", "data"))
        },
        Way(name: "Honor") { push in try PushMessage(json: text(Honor.body(for: push, now: now), "data")) },
        Way(name: "Xiaomi, as it was sent") { push in
            try PushMessage(json: #require(Xiaomi.form(for: push, .init(app: "a"), now: now)?["payload"]))
        },
        Way(name: "Xiaomi, decoded") { push in
            let form = Xiaomi.form(for: push, .init(app: "a"), now: now)
            return try PushMessage(json: #require(form?["payload"]?.removingPercentEncoding))
        },
        Way(name: "OPPO") { push in
            let parameters = try text(OPPO.message(for: push, now: now), "notification", "action_parameters")
            let extras = try object(Array(parameters.utf8))
            return try PushMessage(#require(extras as? [String: String]))
        },
        Way(name: "vivo") { push in
            let map = try object(Vivo.body(for: push, .init(appID: 1), now: now), "clientCustomMap")
            return try PushMessage(#require(map as? [String: String]))
        },
        Way(name: "HarmonyOS") { push in
            let body = Harmony.body(for: push, now: now)
            return try PushMessage(object(body, "payload", "notification", "clickAction", "data"))
        },
        Way(name: "Web Push", hasBadge: true) { push in
            let browser = Browser()
            let request = try WebPush.request(for: push, keys: browser.keys, authorization: "vapid", now: now)
            return try PushMessage(json: browser.open(#require(request).body))
        },
        Way(name: "webhook", hasBadge: true, isBoundless: true) { push in
            try PushMessage(json: String(decoding: WebhookPush.body(of: push), as: UTF8.self))
        },
    ]

    @Test("A push says the same to an app, whichever way it came", .rows(130), arguments: ways)
    func everyWay(_ way: Way) throws {
        let data = #"{"a":"ä ☕️ %7B \" \\ "}"#
        let push = notification(data: data, link: "app://x?y=1&z=%20")
        let badge: Int64? = way.hasBadge ? 7 : nil
        let whole = PushMessage(place: push.place, data: data, link: "app://x?y=1&z=%20", badge: badge)
        #expect(try way.read(push) == whole)
        #expect(try way.read(notification()) == PushMessage(place: push.place, badge: badge))
        let recall = PushMessage(place: push.place, kind: .recall, badge: badge)
        #expect(try way.read(notification(replaces: true)) == recall)
    }

    @Test("What had no room in a push is known to be with the message", arguments: ways)
    func omitted(_ way: Way) throws {
        let data = String(repeating: "d", count: 4000)
        let message = try #require(try way.read(notification(data: data)))
        #expect(message.omitsData != way.isBoundless)
        #expect(message.data == (way.isBoundless ? data : nil))
        #expect(message.place == notification().place)
    }

    @Test("A message that is not stored, in a conversation whose name needs care, is read too", arguments: ways)
    func transient(_ way: Way) throws {
        var push = notification()
        push.place.conversation = .community("ci/ty", channel: "a \"b\"")
        push.place.seq = nil
        push.place.epoch = nil
        push.place.type = MessageType(rawValue: "app:poll")
        #expect(try way.read(push)?.place == push.place)
    }
}
