package import Foundation
package import ScrollbackEngine
import ScrollbackModel

extension Huawei {
    /// What an operator says of every push.
    package struct Setup: Hashable, Sendable {
        /// The activity that the launcher starts: without it there is no badge.
        package var badgeClass: String?
        package var category: String?
        package var channel: String?
        /// The title of a push that has none.
        package var title: String?

        /// All of it set one by one.
        package init() {}
    }

    /// The most bytes of a request, its tokens apart.
    static let payloadLimit = 4096
    /// For how many seconds a push is kept for a device that is away.
    private static let life = 1...1_296_000

    /// What a push looks like to Huawei Push Kit: `Documentation/push-services/huawei.md`.
    ///
    /// - Returns: nil where it does not fit into a request.
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
                    // With a notification beside it, it must be JSON.
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
        writer.field("ttl", "\(notification.life(from: now, in: life))s")
        writer.field("category", huawei?.category ?? setup.category)
        writer.key("notification")
        writer.object { writer in
            writer.field("title", notification.title(or: setup.title).fitting(256))
            writer.field("body", text.visible)
            writer.field("image", huawei?.imageURL?.picture)
            writer.field("channel_id", huawei?.channel ?? setup.channel)
            // That something was taken back is no reason to ring.
            let isQuiet = notification.replaces || huawei?.importance == nil && ios?.interruption == .passive
            let importance: PushOptions.Android.Importance? = isQuiet ? .low : huawei?.importance
            writer.field("importance", importance?.rawValue.uppercased())
            // Of a group only the newest is seen, so it is one where its sender says so.
            writer.field("group", ios?.threadID)
            // A later push of the same message takes the place of this one.
            writer.field("notify_id", notification.number)
            writer.key("click_action")
            // It opens the app, which finds the place in the data.
            writer.object { $0.field("type", 3) }
            guard let badgeClass = setup.badgeClass else { return }
            writer.key("badge")
            writer.object { writer in
                writer.field("class", badgeClass)
                writer.field("set_num", notification.smallBadge)
            }
        }
    }
}
