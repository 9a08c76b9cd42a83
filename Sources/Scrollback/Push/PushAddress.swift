public import Foundation
public import ScrollbackModel

/// This device's address at a push service, as the system or the service's library provides it.
public struct PushAddress: Hashable, Sendable {
    let service: PushService
    let token: String
    var topic: String?
    var isDevelopment = false
    var keys: WebPushKeys?

    /// Returns the address for a token of any service except APNs and Web Push, which need more information.
    ///
    /// - Parameters:
    ///   - token: The device token from the service's library.
    ///   - service: The push service.
    public static func token(_ token: String, of service: PushService) -> PushAddress {
        PushAddress(service: service, token: token)
    }

    /// Returns the address for a device token of the Apple Push Notification service.
    ///
    /// - Parameters:
    ///   - token: The token passed to `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
    ///   - topic: The app's bundle ID, if the server serves several apps.
    ///   - isDevelopment: Whether the app is signed for development, so that its token belongs to the sandbox
    ///     environment.
    public static func apns(_ token: Data, topic: String? = nil, isDevelopment: Bool = false) -> PushAddress {
        PushAddress(service: .apns, token: token.hexadecimal, topic: topic, isDevelopment: isDevelopment)
    }

    /// Returns the address for a registration token of Firebase Cloud Messaging.
    public static func fcm(_ token: String) -> PushAddress { .token(token, of: .fcm) }

    /// Returns the address for a Web Push subscription, with the values of `PushSubscription.toJSON()`.
    public static func web(endpoint: URL, keys: WebPushKeys) -> PushAddress {
        PushAddress(service: .web, token: endpoint.absoluteString, keys: keys)
    }

    func device(_ id: Identifier, language: String?) -> PushDevice {
        PushDevice(
            id: id, service: service, token: token, topic: topic, language: language, isDevelopment: isDevelopment,
            keys: keys)
    }
}
