/// A push service.
public enum PushService: String, CaseIterable, Codable, Sendable {
    /// Apple Push Notification service.
    case apns
    /// Firebase Cloud Messaging.
    case fcm
    /// Huawei Push Kit.
    case huawei
    /// Honor Push.
    case honor
    /// Xiaomi's Mi Push.
    case xiaomi
    /// OPPO Push.
    case oppo
    /// vivo Push.
    case vivo
    /// Push Kit of HarmonyOS.
    case harmony
    /// Web Push (RFC 8030).
    case web
    /// The operator's webhook, for other services.
    case webhook
}

/// The push registration of one device of a user.
public struct PushDevice: Hashable, Sendable, Identifiable {
    /// The ID of the device among its user's devices, 1...128 bytes; a new registration replaces the previous one.
    public var id: Identifier
    /// The push service of the device.
    public var service: PushService
    /// The device's token at the service, or the endpoint of a Web Push subscription; 1...4,096 bytes.
    ///
    /// A token belongs to one user, the one who registered it last.
    public var token: String
    /// The app's identifier at a service that serves several apps; for APNs, the bundle ID.
    public var topic: String?
    /// The language of the device, a BCP 47 tag.
    public var language: String?
    /// Whether the device uses the development environment of the service (APNs).
    public var isDevelopment: Bool
    /// The keys for encrypting payloads (Web Push).
    public var keys: WebPushKeys?

    /// Creates a registration.
    public init(
        id: Identifier, service: PushService, token: String, topic: String? = nil, language: String? = nil,
        isDevelopment: Bool = false, keys: WebPushKeys? = nil
    ) {
        self.id = id
        self.service = service
        self.token = token
        self.topic = topic
        self.language = language
        self.isDevelopment = isDevelopment
        self.keys = keys
    }

    private static let longestToken = 4096
    private static let longestTopic = 255

    /// Returns the registration if it is valid.
    ///
    /// - Throws: `invalid-parameter` naming the invalid or missing member.
    package func validated() throws(ChatError) -> PushDevice {
        guard (1...Self.longestToken).contains(token.utf8.count) else {
            throw .invalidParameter("token", "must be 1...\(Self.longestToken) bytes", limit: Self.longestToken)
        }
        if let topic, !(1...Self.longestTopic).contains(topic.utf8.count) {
            throw .invalidParameter("topic", "must be 1...\(Self.longestTopic) bytes", limit: Self.longestTopic)
        }
        if let language { try PushLanguage.check(language, "language") }
        guard (service == .web) == (keys != nil) else {
            throw service == .web
                ? .invalidParameter("keys", "is missing; Web Push requires p256dh and auth")
                : .invalidParameter("keys", "is allowed only for Web Push")
        }
        if service == .web { _ = try WebPushEndpoint(token) }
        if service == .apns, !token.utf8.allSatisfy({ $0.isHexDigit }) || token.utf8.count % 2 != 0 {
            throw .invalidParameter("token", "of APNs must be hexadecimal")
        }
        return self
    }
}

/// The keys of a Web Push subscription as browsers provide them (RFC 8291), in base64url without padding.
public struct WebPushKeys: Hashable, Sendable {
    /// The receiver's public key: a P-256 point of 65 bytes.
    public var p256dh: String
    /// The authentication secret: 16 bytes.
    public var auth: String

    /// Creates keys from the values of `PushSubscription.toJSON()`.
    public init(p256dh: String, auth: String) {
        self.p256dh = p256dh
        self.auth = auth
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool {
        (0x30...0x39).contains(self) || (0x61...0x66).contains(self | 0x20)
    }
}
