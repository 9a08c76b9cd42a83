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
    struct ServicePayload: Sendable, CustomTestStringConvertible {
        var name: String
        /// Whether the payload contains the number of unread messages.
        var hasBadge = false
        /// Whether the service has no payload limit.
        var isUnlimited = false
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

    static let servicePayloads: [ServicePayload] = [
        ServicePayload(name: "APNs", hasBadge: true) { push in
            let request = APNS.request(for: push, topic: "t", endpoint: "", token: "t")
            return try PushMessage(object(request?.body))
        },
        ServicePayload(name: "FCM, notification") { push in
            let data = try object(FCM.body(for: push, mode: .notification, now: now), "message", "data")
            return try PushMessage(#require(data as? [String: String]))
        },
        ServicePayload(name: "FCM, data", hasBadge: true) { push in
            let data = try object(FCM.body(for: push, mode: .data, now: now), "message", "data")
            return try PushMessage(#require(data as? [String: String]))
        },
        ServicePayload(name: "FCM on Apple platforms", hasBadge: true) { push in
            let body = FCM.body(for: push, mode: .notification, now: now)
            let data = try object(body, "message", "data")
            let payload = try object(body, "message", "apns", "payload")
            return try PushMessage(data.merging(payload) { $1 })
        },
        ServicePayload(name: "Huawei") { push in
            try PushMessage(json: text(Huawei.body(for: push, now: now), "message", "data"))
        },
        ServicePayload(name: "Honor") { push in try PushMessage(json: text(Honor.body(for: push, now: now), "data")) },
        ServicePayload(name: "Xiaomi, encoded") { push in
            try PushMessage(json: #require(Xiaomi.form(for: push, .init(app: "a"), now: now)?["payload"]))
        },
        ServicePayload(name: "Xiaomi, decoded") { push in
            let form = Xiaomi.form(for: push, .init(app: "a"), now: now)
            return try PushMessage(json: #require(form?["payload"]?.removingPercentEncoding))
        },
        ServicePayload(name: "OPPO") { push in
            let parameters = try text(OPPO.message(for: push, now: now), "notification", "action_parameters")
            let extras = try object(Array(parameters.utf8))
            return try PushMessage(#require(extras as? [String: String]))
        },
        ServicePayload(name: "vivo") { push in
            let map = try object(Vivo.body(for: push, .init(appID: 1), now: now), "clientCustomMap")
            return try PushMessage(#require(map as? [String: String]))
        },
        ServicePayload(name: "HarmonyOS") { push in
            let body = Harmony.body(for: push, now: now)
            return try PushMessage(object(body, "payload", "notification", "clickAction", "data"))
        },
        ServicePayload(name: "Web Push", hasBadge: true) { push in
            let browser = Browser()
            let request = try WebPush.request(for: push, keys: browser.keys, authorization: "vapid", now: now)
            return try PushMessage(json: browser.open(#require(request).body))
        },
        ServicePayload(name: "webhook", hasBadge: true, isUnlimited: true) { push in
            try PushMessage(json: String(decoding: WebhookPush.body(of: push), as: UTF8.self))
        },
    ]

    @Test("An app receives the same push message from every service", .rows(130), arguments: servicePayloads)
    func everyServiceDeliversTheSameMessage(_ service: ServicePayload) throws {
        let data = #"{"a":"ä ☕️ %7B \" \\ "}"#
        let push = notification(data: data, link: "app://x?y=1&z=%20")
        let badge: Int64? = service.hasBadge ? 7 : nil
        let whole = PushMessage(target: push.target, data: data, link: "app://x?y=1&z=%20", badge: badge)
        #expect(try service.read(push) == whole)
        #expect(try service.read(notification()) == PushMessage(target: push.target, badge: badge))
        let recall = PushMessage(target: push.target, kind: .recall, badge: badge)
        #expect(try service.read(notification(replaces: true)) == recall)
    }

    @Test("The push message shows that the service's payload limit omitted the data", arguments: servicePayloads)
    func omitted(_ service: ServicePayload) throws {
        let data = String(repeating: "d", count: 4000)
        let message = try #require(try service.read(notification(data: data)))
        #expect(message.omitsData != service.isUnlimited)
        #expect(message.data == (service.isUnlimited ? data : nil))
        #expect(message.target == notification().target)
    }

    @Test(
        "The SDK reads a push for a message without a sequence number and with escaped conversation names",
        arguments: servicePayloads)
    func transient(_ service: ServicePayload) throws {
        var push = notification()
        push.target.conversation = .community("ci/ty", channel: "a \"b\"")
        push.target.seq = nil
        push.target.epoch = nil
        push.target.type = MessageType(rawValue: "app:poll")
        #expect(try service.read(push)?.target == push.target)
    }
}
