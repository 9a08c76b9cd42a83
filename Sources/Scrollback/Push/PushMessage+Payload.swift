import Foundation
public import ScrollbackModel
import ScrollbackWire

// Decodes push payloads. This requires no client, because a notification extension has none.

extension PushMessage {
    /// Decodes a push payload: a notification's `userInfo` on Apple platforms, a Firebase data message, or an intent's
    /// extras.
    ///
    /// - Returns: `nil` for a payload of another server.
    /// - Throws: An error naming the missing or invalid member of a payload.
    public init?(_ payload: [AnyHashable: Any]) throws(ChatError) {
        guard let own = payload[Self.key] else { return nil }
        try self.init(Self.text(of: own))
        switch payload[Self.dataKey] {
        case nil, is NSNull: break
        case let text as String: data = text
        default: throw .invalidParameter(Self.dataKey, "must be a string")
        }
        let aps = payload["aps"] as? [AnyHashable: Any]
        badge = try Self.badge(aps?["badge"] ?? payload["badge"])
    }

    /// Decodes a push payload that a service delivers as text: Huawei, Honor, Xiaomi and Web Push.
    ///
    /// - Returns: `nil` for a payload of another server, or for text that is not a JSON object.
    /// - Throws: An error naming the missing or invalid member of a payload.
    public init?(json text: String) throws(ChatError) {
        // Payloads for Xiaomi are sent percent-encoded, and may arrive that way.
        let plain = text.hasPrefix("%7B") ? text.removingPercentEncoding ?? text : text
        let object = try? JSONSerialization.jsonObject(with: Data(plain.utf8)) as? [AnyHashable: Any]
        guard let object else { return nil }
        try self.init(object)
    }

    /// Returns the server's part of the payload: an object, or its JSON text if the service only supports strings.
    private static func text(of own: Any) throws(ChatError) -> String {
        if let text = own as? String { return text }
        guard let object = own as? [String: Any], JSONSerialization.isValidJSONObject(object),
            let data = try? JSONSerialization.data(withJSONObject: object)
        else { throw .invalidParameter(key, "must be an object or its JSON text") }
        return String(decoding: data, as: UTF8.self)
    }

    private static func badge(_ value: Any?) throws(ChatError) -> Int64? {
        switch value {
        case nil, is NSNull: return nil
        case let text as String:
            if let number = Int64(text) { return number }
        case let number as any BinaryInteger:
            if let number = Int64(exactly: number) { return number }
        case let number as NSNumber:
            if number.doubleValue == Double(number.int64Value) { return number.int64Value }
        default: break
        }
        throw .invalidParameter("badge", "must be a whole number")
    }
}

extension ChatClient {
    /// Returns the conversation and message that a tapped notification leads to.
    ///
    /// - Parameter payload: A payload that `PushMessage` can decode, such as `userInfo` on Apple platforms.
    /// - Returns: The conversation and message; `nil` for a payload of another server or of another user. If an app has
    ///   several clients, ask each of them.
    /// - Throws: An error naming the missing or invalid member of the payload.
    public func destination(of payload: [AnyHashable: Any]) throws(ChatError) -> PushTarget? {
        try target(PushMessage(payload))
    }

    /// Returns the conversation and message that a tapped notification with a text payload leads to.
    ///
    /// - Parameter text: A JSON payload that `PushMessage` can decode.
    /// - Returns: The conversation and message; `nil` for a payload of another server or of another user.
    /// - Throws: An error naming the missing or invalid member of the payload.
    public func destination(of text: String) throws(ChatError) -> PushTarget? {
        try target(PushMessage(json: text))
    }

    private func target(_ message: PushMessage?) -> PushTarget? {
        guard let message, message.target.receiver == user else { return nil }
        return message.target
    }
}
