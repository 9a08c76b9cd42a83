package import Foundation
package import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension FCM {
    /// The most bytes of a message.
    static let payloadLimit = 4096
    /// The longest a message is kept for a device that is away.
    private static let longestLife: TimeInterval = 28 * 86_400

    /// What a push looks like to Firebase Cloud Messaging: `Documentation/push-services/fcm.md`.
    ///
    /// - Returns: nil where it does not fit into a message.
    package static func body(for notification: PushNotification, mode: Mode, now: Date) -> [UInt8]? {
        // The token does not reach the device, and is not counted.
        let room = payloadLimit + notification.device.token.utf8.count
        return fittingPayload(room, text: notification.text.body, hasData: notification.data != nil) {
            text, omitsData in
            var writer = JSONWriter(reserving: 1024)
            writer.object { writer in
                writer.key("message")
                writer.object { write(notification, mode, text: text, omitsData: omitsData, now: now, to: &$0) }
            }
            return writer.bytes
        }
    }

    private static func write(
        _ notification: PushNotification, _ mode: Mode, text: String, omitsData: Bool, now: Date,
        to writer: inout JSONWriter
    ) {
        writer.field("token", notification.device.token)
        writer.key("data")
        writer.object { writer in
            // Values are strings.
            for (name, text) in PushFields.texts(notification, omitsData: omitsData).sorted(by: { $0.key > $1.key }) {
                writer.field(name, text)
            }
            guard mode == .data else { return }
            writer.field("title", notification.text.title)
            writer.field("body", text)
            writer.field("badge", String(notification.badge))
            writer.field("tag", tag(of: notification))
            writer.field("image", notification.options.android?.fcm?.imageURL?.absoluteString)
            writer.field("channel", notification.options.android?.fcm?.channel)
        }
        if mode == .notification {
            writer.key("notification")
            writer.object { writer in
                writer.field("title", notification.text.title)
                writer.field("body", text)
            }
        }
        writeAndroid(notification, mode, now: now, to: &writer)
        if mode == .notification { writeAPNS(notification, to: &writer) }
    }

    private static func writeAndroid(
        _ notification: PushNotification, _ mode: Mode, now: Date, to writer: inout JSONWriter
    ) {
        let fcm = notification.options.android?.fcm
        let seconds = Int(min(longestLife, max(0, notification.expiresAt.timeIntervalSince(now))))
        writer.key("android")
        writer.object { writer in
            writer.field("priority", "HIGH")
            writer.field("ttl", "\(seconds)s")
            writer.field("collapse_key", fcm?.collapseKey)
            guard mode == .notification else { return }
            writer.key("notification")
            writer.object { writer in
                // A later push of the same message takes the place of this one.
                writer.field("tag", tag(of: notification))
                writer.field("channel_id", fcm?.channel)
                writer.field("image", fcm?.imageURL?.absoluteString)
                writer.field("notification_priority", priority(of: notification).map { "PRIORITY_\($0)" })
                writer.field("notification_count", min(notification.badge, Int64(Int32.max)))
            }
        }
    }

    /// How loud it is before Android 8; from then on its channel says.
    private static func priority(of notification: PushNotification) -> String? {
        // That something was taken back is no reason to ring.
        if notification.replaces { return "LOW" }
        return switch notification.options.ios?.interruption {
        case .passive: "LOW"
        case .active: "DEFAULT"
        case .timeSensitive: "HIGH"
        case .critical: "MAX"
        case nil: nil
        }
    }

    /// For apps on Apple's systems that take their pushes by way of Firebase.
    private static func writeAPNS(_ notification: PushNotification, to writer: inout JSONWriter) {
        let ios = notification.options.ios
        writer.key("apns")
        writer.object { writer in
            writer.key("headers")
            writer.object { $0.field("apns-collapse-id", ios?.collapseID ?? "\(notification.place.message)") }
            writer.key("payload")
            writer.object { writer in
                writer.key("aps")
                writer.object { writer in
                    writer.field("badge", notification.badge)
                    writer.field("thread-id", ios?.threadID ?? "\(notification.place.conversation)")
                    writer.field("interruption-level", ios?.interruption?.rawValue)
                    if ios?.interruption != .passive, !notification.replaces { writer.field("sound", "default") }
                    writer.field("mutable-content", 1)
                }
            }
            if let image = ios?.imageURL {
                writer.key("fcm_options")
                writer.object { $0.field("image", image.absoluteString) }
            }
        }
    }

    private static func tag(of notification: PushNotification) -> String {
        notification.options.android?.notificationID ?? "\(notification.place.message)"
    }
}
