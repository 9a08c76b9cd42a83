public import Foundation
public import ScrollbackModel

/// Where a push service reaches this device, as the system or the service's library tells the app.
public struct PushAddress: Hashable, Sendable {
    let service: PushService
    let token: String
    var topic: String?
    var isDevelopment = false
    var keys: WebPushKeys?

    /// A token of any service but APNs and Web Push, which need more.
    ///
    /// - Parameters:
    ///   - token: what the service's library calls the device.
    ///   - service: whose it is.
    public static func token(_ token: String, of service: PushService) -> PushAddress {
        PushAddress(service: service, token: token)
    }

    /// The token of Apple Push Notification service, as the system hands it to the app.
    ///
    /// - Parameters:
    ///   - token: what `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)` is given.
    ///   - topic: the app's bundle id, where the server serves several apps.
    ///   - isDevelopment: whether the app was signed for development, whose tokens are the sandbox's.
    public static func apns(_ token: Data, topic: String? = nil, isDevelopment: Bool = false) -> PushAddress {
        let digits = Array("0123456789abcdef")
        let text = token.reduce(into: "") { text, byte in
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return PushAddress(service: .apns, token: text, topic: topic, isDevelopment: isDevelopment)
    }

    /// The registration token of Firebase Cloud Messaging.
    public static func fcm(_ token: String) -> PushAddress { .token(token, of: .fcm) }

    /// A subscription of Web Push, with the members `PushSubscription.toJSON()` has.
    public static func web(endpoint: URL, keys: WebPushKeys) -> PushAddress {
        PushAddress(service: .web, token: endpoint.absoluteString, keys: keys)
    }

    func device(_ id: Identifier, language: String?) -> PushDevice {
        PushDevice(
            id: id, service: service, token: token, topic: topic, language: language, isDevelopment: isDevelopment,
            keys: keys)
    }
}
