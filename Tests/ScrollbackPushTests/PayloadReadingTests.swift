import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPush
import Testing

/// Tests that the SDK reads the payloads that the push code creates for each service.
@Suite("The SDK reads the payload of each service")
struct PayloadReadingTests {
    /// A push service, and the payload that an app on one of its devices receives.
    struct Way: Sendable, CustomTestStringConvertible {
        var name: String
        /// Whether the payload contains the number of unread messages.
        var hasBadge = false
        /// Whether the service has no payload limit.
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
        Way(name: "FCM on Apple platforms", hasBadge: true) { push in
            let body = FCM.body(for: push, mode: .notification, now: now)
            let data = try object(body, "message", "data")
            let payload = try object(body, "message", "apns", "payload")
            return try PushMessage(data.merging(payload) { $1 })
        },
        Way(name: "Huawei") { push in
            try PushMessage(json: text(Huawei.body(for: push, now: now), "message", "data"))
        },
        Way(name: "Honor") { push in try PushMessage(json: text(Honor.body(for: push, now: now), "data")) },
        Way(name: "Xiaomi, encoded") { push in
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

    @Test("An app receives the same push message from every service", .rows(130), arguments: ways)
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

    @Test("The push message shows that the service's payload limit omitted the data", arguments: ways)
    func omitted(_ way: Way) throws {
        let data = String(repeating: "d", count: 4000)
        let message = try #require(try way.read(notification(data: data)))
        #expect(message.omitsData != way.isBoundless)
        #expect(message.data == (way.isBoundless ? data : nil))
        #expect(message.place == notification().place)
    }

    @Test(
        "The SDK reads a push for a message without a sequence number and with escaped conversation names",
        arguments: ways)
    func transient(_ way: Way) throws {
        var push = notification()
        push.place.conversation = .community("ci/ty", channel: "a \"b\"")
        push.place.seq = nil
        push.place.epoch = nil
        push.place.type = MessageType(rawValue: "app:poll")
        #expect(try way.read(push)?.place == push.place)
    }
}
