public import Foundation

/// What a push about one message should say, and how it should look on each service (rows 121 to 148).
///
/// All of it is optional: what is not given follows from the message's type. It travels with the message, so that
/// receivers see it too.
public struct PushOptions: Hashable, Sendable, Codable {
    /// The title, in place of the sender's or the conversation's name.
    public var title: String?
    /// The text, in place of the type's; who is mentioned sees the mention's push text if there is one.
    public var text: String?
    /// The application's own, handed to the receiving app with the push; at most 4 KiB.
    public var data: String?
    /// The id of a template: its text in the receiver's push language takes the place of title and text.
    public var templateID: String?
    /// Whether there is no title (iOS receivers; other systems show one always).
    public var hidesTitle: Bool?
    /// Whether details are shown to receivers who hide them.
    public var forcesDetail: Bool?
    /// For the Apple Push Notification service; Web Push heeds it too.
    public var ios: IOS?
    /// For the services of Android phones.
    public var android: Android?
    /// For HarmonyOS.
    public var harmony: Harmony?

    /// Options that are set one by one.
    public init(title: String? = nil, text: String? = nil, data: String? = nil) {
        self.title = title
        self.text = text
        self.data = data
    }

    /// For the Apple Push Notification service; Web Push heeds it too, and others where they have a field for it.
    public struct IOS: Hashable, Sendable, Codable {
        /// Groups notifications: `thread-id`, and Huawei's `group`.
        public var threadID: String?
        /// A later push with the same one replaces this: `apns-collapse-id`, at most 64 bytes.
        public var collapseID: String?
        /// A picture that the app's notification extension shows, or a browser.
        public var imageURL: URL?
        /// How much it interrupts: `interruption-level`, and what is nearest to it elsewhere.
        public var interruption: Interruption?

        /// `interruption-level` of iOS 15 and later.
        public enum Interruption: String, Hashable, Sendable, Codable {
            case passive, active, critical
            case timeSensitive = "time-sensitive"
        }

        /// Options that are set one by one.
        public init() {}
    }

    /// For the services of Android phones, each under its maker's name.
    public struct Android: Hashable, Sendable, Codable {
        /// A later push with the same one replaces this; the message's id by default.
        public var notificationID: String?
        /// Xiaomi.
        public var xiaomi: Channel?
        /// Huawei.
        public var huawei: Huawei?
        /// Honor.
        public var honor: Honor?
        /// OPPO.
        public var oppo: Channel?
        /// vivo.
        public var vivo: Vivo?
        /// Firebase Cloud Messaging.
        public var fcm: FCM?

        /// A notification channel by its id.
        public struct Channel: Hashable, Sendable, Codable {
            /// The channel's id.
            public var channel: String

            /// A channel by its id.
            public init(channel: String) {
                self.channel = channel
            }
        }

        /// Huawei's own.
        public struct Huawei: Hashable, Sendable, Codable {
            /// The notification channel.
            public var channel: String?
            /// A picture under 512 KB.
            public var imageURL: URL?
            /// The category, in capitals.
            public var category: String?
            /// `low` is silent, `normal` makes a sound.
            public var importance: Importance?

            /// Options that are set one by one.
            public init() {}
        }

        /// Honor's own.
        public struct Honor: Hashable, Sendable, Codable {
            /// A picture under 512 KB.
            public var imageURL: URL?
            /// `low` is marketing, `normal` is a service.
            public var importance: Importance?

            /// Options that are set one by one.
            public init() {}
        }

        /// How loud a notification is.
        public enum Importance: String, Hashable, Sendable, Codable {
            case low, normal
        }

        /// vivo's own.
        public struct Vivo: Hashable, Sendable, Codable {
            /// `marketing` or `system`; a category goes with one of them only.
            public var type: Kind
            /// The category.
            public var category: String?

            /// What a push is for.
            public enum Kind: String, Hashable, Sendable, Codable {
                case marketing, system
            }

            /// A type and perhaps a category.
            public init(type: Kind, category: String? = nil) {
                self.type = type
                self.category = category
            }
        }

        /// Firebase Cloud Messaging's own.
        public struct FCM: Hashable, Sendable, Codable {
            /// A later push with the same one replaces this.
            public var collapseKey: String?
            /// A picture.
            public var imageURL: URL?
            /// The notification channel.
            public var channel: String?

            /// Options that are set one by one.
            public init() {}
        }

        /// Options that are set one by one.
        public init() {}
    }

    /// For HarmonyOS.
    public struct Harmony: Hashable, Sendable, Codable {
        /// A picture of fewer than 25,000 pixels.
        public var imageURL: URL?
        /// The category, in capitals.
        public var category: String?

        /// Options that are set one by one.
        public init() {}
    }
}

extension PushOptions {
    private static let longestCollapseID = 64
    private static let longestData = 4096

    /// Reads what a message has under `push`.
    ///
    /// - Throws: `invalid-parameter` naming the member that is wrong.
    package init(_ json: RawJSON) throws(ChatError) {
        do {
            self = try JSONDecoder().decode(PushOptions.self, from: Data(json.text.utf8))
        } catch let error as DecodingError {
            throw .invalidParameter("push", error.whatIsWrong)
        } catch {
            throw .invalidParameter("push", "can't be read")
        }
        try check()
    }

    /// As a message has it.
    ///
    /// - Throws: `invalid-parameter` naming the member that is out of range.
    package func json() throws(ChatError) -> RawJSON {
        try check()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return RawJSON(known: String(decoding: try encoder.encode(self), as: UTF8.self))
        } catch {
            throw ChatError(.invalidParameter, "push can't be encoded", parameter: "push", cause: error)
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
            throw .invalidParameter(name, "must be in capitals")
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
    /// In our words, with the path to the member.
    fileprivate var whatIsWrong: String {
        func place(_ path: [any CodingKey], _ key: (any CodingKey)? = nil) -> String {
            (path + (key.map { [$0] } ?? [])).map(\.stringValue).joined(separator: ".")
        }
        switch self {
        case .keyNotFound(let key, let context): return "must have \(place(context.codingPath, key))"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            return "has a \(place(context.codingPath)) of another type"
        case .dataCorrupted(let context): return "has no such \(place(context.codingPath))"
        @unknown default: return "can't be read"
        }
    }
}
