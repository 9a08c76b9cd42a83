/// A service that brings pushes to devices.
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
    /// The operator's own program, for anything else.
    case webhook
}

/// Where one device of a user is reached by push.
public struct PushDevice: Hashable, Sendable, Identifiable {
    /// Names the device among its user's, 1...128 bytes; registering it again replaces what was known of it.
    public var id: Identifier
    /// The service that reaches it.
    public var service: PushService
    /// What the service calls the device: its token, or of Web Push the subscription's endpoint; 1...4,096 bytes.
    ///
    /// A token is one user's: who registers it last has it.
    public var token: String
    /// What the service calls the app where it serves several: of APNs the bundle id.
    public var topic: String?
    /// The device's language, a BCP 47 tag.
    public var language: String?
    /// Whether it is reached by the service's environment for development (APNs).
    public var isDevelopment: Bool
    /// What payloads are encrypted with, of Web Push.
    public var keys: WebPushKeys?

    /// A device with what its service needs.
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

    /// - Throws: `invalid-parameter` naming what is out of range or missing.
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
                ? .invalidParameter("keys", "is missing: a device of Web Push has p256dh and auth")
                : .invalidParameter("keys", "goes with Web Push alone")
        }
        if service == .web { _ = try Media.url(token, parameter: "token") }
        if service == .apns, !token.utf8.allSatisfy({ $0.isHexDigit }) || token.utf8.count % 2 != 0 {
            throw .invalidParameter("token", "of APNs must be hexadecimal")
        }
        return self
    }
}

/// The keys of a Web Push subscription, as browsers give them (RFC 8291): base64url without padding.
public struct WebPushKeys: Hashable, Sendable {
    /// The receiver's public key, a point of P-256: 65 bytes.
    public var p256dh: String
    /// The authentication secret: 16 bytes.
    public var auth: String

    /// Keys as `PushSubscription.toJSON()` has them.
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
