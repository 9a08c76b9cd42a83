package import Foundation
package import ScrollbackEngine
import ScrollbackModel

extension Huawei {
    /// The operator's settings for all pushes.
    package struct Setup: Hashable, Sendable {
        /// The launcher activity.
        ///
        /// Without it, pushes set no badge.
        package var badgeClass: String?
        package var category: String?
        package var channel: String?
        /// The title of pushes without a title.
        package var title: String?

        /// Creates default settings.
        package init() {}
    }

    /// The maximum size of a request in bytes, without its tokens.
    static let payloadLimit = 4096
    /// The supported range of the lifetime in seconds.
    private static let lifetime = 1...1_296_000

    /// Creates the request body for Huawei Push Kit, see `Documentation/push-services/huawei.md`.
    ///
    /// - Returns: The body, or `nil` if the notification does not fit.
    package static func body(
        for notification: PushNotification, _ setup: Setup = Setup(), now: Date
    ) -> [UInt8]? {
        let room = payloadLimit + notification.device.token.utf8.count
        return fittingPayload(room, text: notification.text.body, hasData: notification.data != nil) {
            text, omitsData in
            var writer = JSONWriter(reserving: 1024)
            writer.object { writer in
                writer.key("message")
                writer.object { writer in
                    writer.key("token")
                    writer.array([notification.device.token]) { $0.value($1) }
                    // The data must be JSON if the message also has a notification.
                    writer.field("data", PushFields.json(notification, omitsData: omitsData))
                    writer.key("android")
                    writer.object { write(notification, setup, text: text, now: now, to: &$0) }
                }
            }
            return writer.bytes
        }
    }

    private static func write(
        _ notification: PushNotification, _ setup: Setup, text: String, now: Date, to writer: inout JSONWriter
    ) {
        let (huawei, ios) = (notification.options.android?.huawei, notification.options.ios)
        writer.field("ttl", "\(notification.lifetime(from: now, in: lifetime))s")
        writer.field("category", huawei?.category ?? setup.category)
        writer.key("notification")
        writer.object { writer in
            writer.field("title", notification.title(or: setup.title).truncated(256))
            writer.field("body", text.nonBlank)
            writer.field("image", huawei?.imageURL?.httpsString)
            writer.field("channel_id", huawei?.channel ?? setup.channel)
            // A recall makes no sound.
            let isQuiet = notification.replaces || huawei?.importance == nil && ios?.interruption == .passive
            let importance: PushOptions.Android.Importance? = isQuiet ? .low : huawei?.importance
            writer.field("importance", importance?.rawValue.uppercased())
            // Only the newest notification of a group is visible, so group pushes only if the sender requests it.
            writer.field("group", ios?.threadID)
            // A later push of the same message replaces this one.
            writer.field("notify_id", notification.numericID)
            writer.key("click_action")
            // Opens the app, which reads the destination from the data.
            writer.object { $0.field("type", 3) }
            guard let badgeClass = setup.badgeClass else { return }
            writer.key("badge")
            writer.object { writer in
                writer.field("class", badgeClass)
                writer.field("set_num", notification.clampedBadge)
            }
        }
    }
}
