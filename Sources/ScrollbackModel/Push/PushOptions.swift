public import Foundation

/// The text and appearance of a message's push on each service.
///
/// All options are optional; defaults follow from the message's type. The options travel with the message, so receivers
/// see them too.
public struct PushOptions: Hashable, Sendable, Codable {
    /// The title, in place of the name of the sender or the conversation.
    public var title: String?
    /// The text, in place of the text for the type; the push text of a mention takes precedence for mentioned users.
    public var text: String?
    /// Application-defined data for the receiving app, at most 4 KiB.
    public var data: String?
    /// The ID of a template whose text in the receiver's push language replaces title and text.
    public var templateID: String?
    /// Whether to omit the title on iOS; other systems always show one.
    public var hidesTitle: Bool?
    /// Whether to show details even to receivers who hide them.
    ///
    /// This applies only in system conversations, where administrators send.
    public var forcesDetail: Bool?
    /// The options for the Apple Push Notification service, which also apply to Web Push.
    public var ios: IOS?
    /// The options for the push services of Android devices.
    public var android: Android?
    /// The options for HarmonyOS.
    public var harmony: Harmony?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case title, text, data, templateID, hidesTitle, forcesDetail, ios, android, harmony
    }

    /// Creates options; further options are set as properties.
    public init(title: String? = nil, text: String? = nil, data: String? = nil) {
        self.title = title
        self.text = text
        self.data = data
    }

    /// The options for the Apple Push Notification service.
    ///
    /// They also apply to Web Push, and to other services that have a corresponding field.
    public struct IOS: Hashable, Sendable, Codable {
        /// Groups notifications: `thread-id`, and `group` of Huawei.
        public var threadID: String?
        /// A later push with the same ID replaces this one: `apns-collapse-id`, at most 64 bytes.
        public var collapseID: String?
        /// The URL of an image that a browser or the app's notification extension displays.
        public var imageURL: URL?
        /// The interruption level: `interruption-level`, and its closest equivalent on other services.
        public var interruption: Interruption?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case threadID, collapseID, imageURL, interruption
        }

        /// The values of `interruption-level` in iOS 15 and later.
        public enum Interruption: String, Hashable, Sendable, Codable {
            case passive, active, critical
            case timeSensitive = "time-sensitive"
        }

        /// Creates empty options.
        public init() {}
    }

    /// The options for the push services of Android devices, by vendor.
    public struct Android: Hashable, Sendable, Codable {
        /// A later push with the same ID replaces this one; the default is the ID of the message.
        public var notificationID: String?
        /// The channel for Xiaomi.
        public var xiaomi: Channel?
        /// The options for Huawei.
        public var huawei: Huawei?
        /// The options for Honor.
        public var honor: Honor?
        /// The channel for OPPO.
        public var oppo: Channel?
        /// The options for vivo.
        public var vivo: Vivo?
        /// The options for Firebase Cloud Messaging.
        public var fcm: FCM?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case notificationID, xiaomi, huawei, honor, oppo, vivo, fcm
        }

        /// A notification channel.
        public struct Channel: Hashable, Sendable, Codable {
            /// The ID of the channel.
            public var channel: String

            enum CodingKeys: String, CodingKey, CaseIterable {
                case channel
            }

            /// Creates a channel.
            public init(channel: String) {
                self.channel = channel
            }
        }

        /// The options for Huawei.
        public struct Huawei: Hashable, Sendable, Codable {
            /// The notification channel.
            public var channel: String?
            /// The URL of an image smaller than 512 KB.
            public var imageURL: URL?
            /// The category in upper case.
            public var category: String?
            /// The importance: `low` is silent, `normal` makes a sound.
            public var importance: Importance?

            enum CodingKeys: String, CodingKey, CaseIterable {
                case channel, imageURL, category, importance
            }

            /// Creates empty options.
            public init() {}
        }

        /// The options for Honor.
        public struct Honor: Hashable, Sendable, Codable {
            /// The URL of an image smaller than 512 KB.
            public var imageURL: URL?
            /// The importance: `low` is for marketing, `normal` is for services.
            public var importance: Importance?

            enum CodingKeys: String, CodingKey, CaseIterable {
                case imageURL, importance
            }

            /// Creates empty options.
            public init() {}
        }

        /// The importance of a notification.
        public enum Importance: String, Hashable, Sendable, Codable {
            case low, normal
        }

        /// The options for vivo.
        public struct Vivo: Hashable, Sendable, Codable {
            /// The message type, `marketing` or `system`; each category requires a certain type.
            public var type: Kind
            /// The category.
            public var category: String?

            enum CodingKeys: String, CodingKey, CaseIterable {
                case type, category
            }

            /// The message types of vivo.
            public enum Kind: String, Hashable, Sendable, Codable {
                case marketing, system
            }

            /// Creates options with a type and an optional category.
            public init(type: Kind, category: String? = nil) {
                self.type = type
                self.category = category
            }
        }

        /// The options for Firebase Cloud Messaging.
        public struct FCM: Hashable, Sendable, Codable {
            /// A later push with the same key replaces this one.
            public var collapseKey: String?
            /// The URL of an image.
            public var imageURL: URL?
            /// The notification channel.
            public var channel: String?

            enum CodingKeys: String, CodingKey, CaseIterable {
                case collapseKey, imageURL, channel
            }

            /// Creates empty options.
            public init() {}
        }

        /// Creates empty options.
        public init() {}
    }

    /// The options for HarmonyOS.
    public struct Harmony: Hashable, Sendable, Codable {
        /// The URL of an image with fewer than 25,000 pixels.
        public var imageURL: URL?
        /// The category in upper case.
        public var category: String?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case imageURL, category
        }

        /// Creates empty options.
        public init() {}
    }
}

extension PushOptions {
    private static let longestCollapseID = 64
    private static let longestData = 4096

    /// Decodes the `push` member of a message.
    ///
    /// - Throws: `invalid-parameter` naming the invalid member.
    package init(_ json: RawJSON) throws(ChatError) {
        do {
            self = try JSONDecoder().decode(PushOptions.self, from: Data(json.text.utf8))
        } catch let error as DecodingError {
            throw .invalidParameter("push", error.problemDescription)
        } catch {
            throw .invalidParameter("push", "can't be decoded")
        }
        try check()
    }

    /// Encodes the options as the `push` member of a message.
    ///
    /// - Throws: `invalid-parameter` naming the member that is out of range.
    package func json() throws(ChatError) -> RawJSON {
        try check()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return RawJSON(known: String(decoding: try encoder.encode(self), as: UTF8.self))
        } catch {
            throw ChatError(
                .invalidParameter, "The push options can't be encoded as JSON.", parameter: "push", cause: error)
        }
    }

    private func check() throws(ChatError) {
        if let id = ios?.collapseID, !(1...Self.longestCollapseID).contains(id.utf8.count) {
            throw .invalidParameter(
                "push.ios.collapseID", "must be 1...\(Self.longestCollapseID) bytes", limit: Self.longestCollapseID)
        }
        if let data, data.utf8.count > Self.longestData {
            throw .invalidParameter("push.data", "must be at most \(Self.longestData) bytes", limit: Self.longestData)
        }
        for (name, category) in [
            ("push.android.huawei.category", android?.huawei?.category), ("push.harmony.category", harmony?.category),
        ] {
            guard let category, category != category.uppercased() else { continue }
            throw .invalidParameter(name, "must be in upper case")
        }
        for (name, url) in [
            ("push.ios.imageURL", ios?.imageURL), ("push.android.huawei.imageURL", android?.huawei?.imageURL),
            ("push.android.honor.imageURL", android?.honor?.imageURL),
            ("push.android.fcm.imageURL", android?.fcm?.imageURL), ("push.harmony.imageURL", harmony?.imageURL),
        ] {
            if let url { _ = try Media.url(url.absoluteString, parameter: name) }
        }
    }
}

extension DecodingError {
    /// A description of the error with the path to the member.
    fileprivate var problemDescription: String {
        func place(_ path: [any CodingKey], _ key: (any CodingKey)? = nil) -> String {
            (path + (key.map { [$0] } ?? [])).map(\.stringValue).joined(separator: ".")
        }
        switch self {
        case .keyNotFound(let key, let context): return "must have \(place(context.codingPath, key))"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            return "has a \(place(context.codingPath)) of an unexpected type"
        case .dataCorrupted(let context): return "has an invalid \(place(context.codingPath))"
        @unknown default: return "can't be decoded"
        }
    }
}
