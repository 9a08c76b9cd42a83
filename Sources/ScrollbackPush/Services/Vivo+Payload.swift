package import Foundation
package import ScrollbackEngine
package import ScrollbackModel

extension Vivo {
    /// The operator's settings for all pushes.
    package struct Setup: Hashable, Sendable {
        /// The numeric app ID.
        package var appID: Int
        /// The default classification of messages.
        package var purpose = PushOptions.Android.Vivo(type: .system, category: "IM")
        /// Whether each push increases the badge by 1, which requires a permission from vivo.
        ///
        /// The badge can't be set.
        package var addsBadge = false
        /// The title of pushes without a title.
        package var title: String?

        package init(appID: Int) {
            self.appID = appID
        }
    }

    /// The maximum lengths.
    ///
    /// Characters outside ASCII count as two.
    ///
    /// vivo's own SDK counts this way. Its newer documentation counts each character as one.
    private static let titleLimit = 40
    private static let textLimit = 100
    /// The maximum total length of names and values of the custom data, in UTF-16 code units.
    private static let fieldsLimit = 1024
    /// The supported range of the lifetime in seconds.
    ///
    /// vivo's own SDK supports a week. Its newer documentation specifies a day.
    private static let lifetime = 60...86_400

    /// Creates the request body for vivo Push, see `Documentation/push-services/vivo.md`.
    ///
    /// - Returns: The body, or `nil` if the notification does not fit.
    package static func body(for notification: PushNotification, _ setup: Setup, now: Date) -> [UInt8]? {
        let fields: [String: String]? = PushFields.omittingDataIfNeeded(notification) { omitsData in
            let texts = PushFields.texts(notification, omitsData: omitsData)
            let length = texts.reduce(0) { $0 + $1.key.utf16.count + $1.value.utf16.count }
            return length <= fieldsLimit ? texts : nil
        }
        guard let fields else { return nil }
        let purpose = notification.options.android?.vivo ?? setup.purpose
        let classification: Int = purpose.type == .system ? 1 : 0
        // 1 is silent, 4 is sound and vibration. A recall is silent.
        let notice: Int = notification.replaces ? 1 : 4
        var writer = JSONWriter(reserving: 1024)
        writer.object { writer in
            writer.field("appId", setup.appID)
            writer.field("regId", notification.device.token)
            writer.field("requestId", notification.id.uuidString.lowercased())
            writer.field("title", truncated(notification.title(or: setup.title), titleLimit))
            writer.field("content", truncated(notification.text.body.nonBlank, textLimit))
            writer.field("classification", classification)
            writer.field("category", purpose.category)
            writer.field("notifyType", notice)
            // A later push of the same message replaces this one.
            writer.field("notifyId", notification.numericID)
            writer.field("timeToLive", notification.lifetime(from: now, in: lifetime))
            // Opens the app, which reads the destination from the custom data.
            writer.field("skipType", 1)
            writer.key("clientCustomMap")
            writer.splice(encoded: Array(jsonObject(fields).utf8))
            if setup.addsBadge, !notification.replaces { writer.field("addBadge", true) }
        }
        return writer.bytes
    }

    private static func truncated(_ text: String, _ limit: Int) -> String {
        text.truncated(units: limit) { character in
            character.utf16.reduce(0) { $0 + ($1 < 0x80 ? 1 : 2) }
        }
    }
}
