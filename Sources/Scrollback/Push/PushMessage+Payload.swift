import Foundation
public import ScrollbackModel
import ScrollbackWire

// What a push service hands to the app, read. Nothing here needs a client: a notification extension has none.

extension PushMessage {
    /// Reads what the system handed to the app: a notification's `userInfo` on Apple's systems, the data of a message of
    /// Firebase, the extras of an intent.
    ///
    /// - Returns: nothing for a payload that is not of this server.
    /// - Throws: an error that names the member that is missing or wrong, for one that is.
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

    /// Reads a payload that a service hands over as one text: of Huawei, Honor and Xiaomi, and of Web Push.
    ///
    /// - Returns: nothing for a payload that is not of this server, or no object of JSON.
    /// - Throws: an error that names the member that is missing or wrong, for one that is.
    public init?(json text: String) throws(ChatError) {
        // Xiaomi's must be percent-encoded, and may come so.
        let plain = text.hasPrefix("%7B") ? text.removingPercentEncoding ?? text : text
        let object = try? JSONSerialization.jsonObject(with: Data(plain.utf8)) as? [AnyHashable: Any]
        guard let object else { return nil }
        try self.init(object)
    }

    /// The server's part, which is an object, or the text of one where a service hands over texts alone.
    private static func text(of own: Any) throws(ChatError) -> String {
        if let text = own as? String { return text }
        guard let object = own as? [String: Any], JSONSerialization.isValidJSONObject(object),
            let data = try? JSONSerialization.data(withJSONObject: object)
        else { throw .invalidParameter(key, "must be an object, or the text of one") }
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
    /// Where a notification that was tapped leads.
    ///
    /// - Parameter payload: what `PushMessage` reads: its `userInfo` on Apple's systems.
    /// - Returns: the conversation and the message; nothing for a payload that is not of this server, or for another user
    ///   of this device: each client of an app is asked.
    /// - Throws: an error that names the member of the payload that is missing or wrong.
    public func destination(of payload: [AnyHashable: Any]) throws(ChatError) -> PushPlace? {
        try place(PushMessage(payload))
    }

    /// Where a notification that was tapped leads, whose payload is one text.
    ///
    /// - Parameter text: what `PushMessage` reads as JSON.
    /// - Returns: the conversation and the message; nothing for a payload that is not of this server, or for another user.
    /// - Throws: an error that names the member of the payload that is missing or wrong.
    public func destination(of text: String) throws(ChatError) -> PushPlace? {
        try place(PushMessage(json: text))
    }

    private func place(_ message: PushMessage?) -> PushPlace? {
        guard let message, message.place.receiver == user else { return nil }
        return message.place
    }
}
