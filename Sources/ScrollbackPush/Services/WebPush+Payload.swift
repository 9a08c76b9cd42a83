package import Crypto
package import Foundation
package import ScrollbackEngine
package import ScrollbackModel
import ScrollbackWire

extension WebPush {
    /// The maximum payload size in bytes before encryption.
    ///
    /// All browsers' services support this size. The bridge over Android's service has the lowest limit.
    static let payloadLimit = 2744
    /// The maximum time for which services store a push, in seconds.
    private static let maximumLifetime: TimeInterval = 28 * 86_400

    /// Creates the request for a Web Push service, see `Documentation/push-services/web-push.md`.
    ///
    /// - Returns: The request, or `nil` if the notification does not fit.
    package static func request(
        for notification: PushNotification, keys: WebPushKeys, authorization: String, now: Date
    ) throws -> PushRequest? {
        let image = notification.options.ios?.imageURL?.absoluteString
        // A picture's URL may be as long as the payload. If the payload does not fit, omit the picture first.
        guard
            let payload = fittingPayload(of: notification, image: image)
                ?? (image == nil ? nil : fittingPayload(of: notification, image: nil))
        else { return nil }
        // Apple's service rejects a TTL of 0.
        let seconds = Int(min(maximumLifetime, max(1, notification.expiresAt.timeIntervalSince(now))))
        return PushRequest(
            url: notification.device.token,
            headers: [
                "authorization": authorization, "ttl": String(seconds),
                "urgency": notification.options.ios?.interruption == .passive ? "low" : "high",
                "topic": topic(of: notification), "content-encoding": "aes128gcm",
                "content-type": "application/octet-stream",
            ], body: try WebPushEncryption.encrypt(payload, for: keys))
    }

    /// The name that the sender chose.
    ///
    /// A later notification with the same name replaces this one.
    private static func name(of notification: PushNotification) -> String? {
        notification.options.ios?.collapseID ?? notification.options.android?.notificationID
    }

    /// The topic, which replaces a pending push with the same topic.
    ///
    /// 32 letters and digits are valid for all services.
    private static func topic(of notification: PushNotification) -> String {
        guard let name = name(of: notification) else {
            return "\(notification.target.message)".filter { $0 != "-" }
        }
        return SHA256.hash(data: Data(name.utf8)).prefix(16).hexadecimal
    }

    private static func fittingPayload(of notification: PushNotification, image: String?) -> [UInt8]? {
        ScrollbackPush.fittingPayload(
            payloadLimit, text: notification.text.body, hasData: notification.data != nil
        ) { text, omitsData in payload(of: notification, text: text, image: image, omitsData: omitsData) }
    }

    /// Creates the payload for the page's service worker: notification options and the server's own fields.
    private static func payload(
        of notification: PushNotification, text: String, image: String?, omitsData: Bool
    ) -> [UInt8] {
        let interruption = notification.options.ios?.interruption
        let isUrgent = interruption == .critical || interruption == .timeSensitive
        var writer = JSONWriter(reserving: 1024)
        writer.object { writer in
            writer.field("title", notification.text.title?.truncated(256))
            writer.field("body", text)
            // A later push of the same message replaces this one.
            writer.field("tag", name(of: notification) ?? "\(notification.target.message)")
            writer.field("image", image)
            // A recall makes no sound and does not require interaction.
            writer.field("silent", interruption == .passive || notification.replaces ? true : nil)
            writer.field("requireInteraction", isUrgent && !notification.replaces ? true : nil)
            writer.field("badge", notification.badge)
            writer.field("replaces", notification.replaces ? true : nil)
            PushFields.write(notification, omitsData: omitsData, to: &writer)
        }
        return writer.bytes
    }
}

extension WebPushKeys {
    /// The keys of the subscription are invalid.
    struct Unusable: Error {}
}

/// Encrypts a push for one browser (RFC 8291 and RFC 8188).
package enum WebPushEncryption {
    private static let recordSize: UInt32 = 4096

    package static func encrypt(_ payload: [UInt8], for keys: WebPushKeys) throws -> [UInt8] {
        try encrypt(
            payload, for: keys, with: P256.KeyAgreement.PrivateKey(),
            salt: SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) })
    }

    /// Encrypts a payload.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - keys: The keys of the browser's subscription.
    ///   - sender: A key that is used only for this message.
    ///   - salt: 16 random bytes.
    package static func encrypt(
        _ payload: [UInt8], for keys: WebPushKeys, with sender: P256.KeyAgreement.PrivateKey, salt: [UInt8]
    ) throws -> [UInt8] {
        // CryptoKit verifies that the point is on the curve.
        guard let point = Data(base64URL: keys.p256dh), let auth = Data(base64URL: keys.auth), auth.count == 16,
            let receiver = try? P256.KeyAgreement.PublicKey(x963Representation: point)
        else { throw WebPushKeys.Unusable() }
        let (theirs, ours) = (receiver.x963Representation, sender.publicKey.x963Representation)
        let secret = try sender.sharedSecretFromKeyAgreement(with: receiver)
        let material = secret.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: auth, sharedInfo: Data("WebPush: info\0".utf8) + theirs + ours,
            outputByteCount: 32)
        func derived(_ info: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: material, salt: Data(salt), info: Data(info.utf8), outputByteCount: count)
        }
        let key = derived("Content-Encoding: aes128gcm\0", 16)
        let nonce = try derived("Content-Encoding: nonce\0", 12).withUnsafeBytes { try AES.GCM.Nonce(data: $0) }
        // The payload is the last and only record.
        let sealed = try AES.GCM.seal(Data(payload + [2]), using: key, nonce: nonce)
        let size = withUnsafeBytes(of: recordSize.bigEndian) { Array($0) }
        return salt + size + [UInt8(ours.count)] + Array(ours) + Array(sealed.ciphertext) + Array(sealed.tag)
    }
}
