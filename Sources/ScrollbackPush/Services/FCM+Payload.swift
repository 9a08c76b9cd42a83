package import Foundation
package import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension FCM {
    /// The maximum message size in bytes.
    static let payloadLimit = 4096
    /// The maximum time for which FCM stores a message for an offline device, in seconds.
    private static let maximumLifetime: TimeInterval = 28 * 86_400

    /// Creates the request body for Firebase Cloud Messaging, see `Documentation/push-services/fcm.md`.
    ///
    /// - Returns: The body, or `nil` if the notification does not fit into a message.
    package static func body(for notification: PushNotification, mode: Mode, now: Date) -> [UInt8]? {
        // The token is not sent to the device and does not count toward the limit.
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
            // All values must be strings.
            for (name, text) in PushFields.texts(notification, omitsData: omitsData).sorted(by: { $0.key > $1.key }) {
                writer.field(name, text)
            }
            guard mode == .data else { return }
            writer.field("title", notification.text.title?.truncated(256))
            writer.field("body", text)
            writer.field("badge", String(notification.badge))
            writer.field("tag", tag(of: notification))
            writer.field("image", notification.options.android?.fcm?.imageURL?.absoluteString)
            writer.field("channel", notification.options.android?.fcm?.channel)
        }
        if mode == .notification {
            writer.key("notification")
            writer.object { writer in
                writer.field("title", notification.text.title?.truncated(256))
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
        let seconds = Int(min(maximumLifetime, max(0, notification.expiresAt.timeIntervalSince(now))))
        writer.key("android")
        writer.object { writer in
            writer.field("priority", "HIGH")
            writer.field("ttl", "\(seconds)s")
            writer.field("collapse_key", fcm?.collapseKey)
            guard mode == .notification else { return }
            writer.key("notification")
            writer.object { writer in
                // A later push of the same message replaces this one.
                writer.field("tag", tag(of: notification))
                writer.field("channel_id", fcm?.channel)
                writer.field("image", fcm?.imageURL?.absoluteString)
                writer.field("notification_priority", priority(of: notification).map { "PRIORITY_\($0)" })
                writer.field("notification_count", min(notification.badge, Int64(Int32.max)))
            }
        }
    }

    /// The priority before Android 8.
    ///
    /// Later versions use the notification channel's importance.
    private static func priority(of notification: PushNotification) -> String? {
        // A recall makes no sound.
        if notification.replaces { return "LOW" }
        return switch notification.options.ios?.interruption {
        case .passive: "LOW"
        case .active: "DEFAULT"
        case .timeSensitive: "HIGH"
        case .critical: "MAX"
        case nil: nil
        }
    }

    /// Adds the APNs options for apps on Apple platforms that receive pushes through Firebase.
    private static func writeAPNS(_ notification: PushNotification, to writer: inout JSONWriter) {
        let ios = notification.options.ios
        writer.key("apns")
        writer.object { writer in
            writer.key("headers")
            writer.object { $0.field("apns-collapse-id", ios?.collapseID ?? "\(notification.target.message)") }
            writer.key("payload")
            writer.object { writer in
                writer.key("aps")
                writer.object { writer in
                    writer.field("badge", notification.badge)
                    writer.field("thread-id", ios?.threadID ?? "\(notification.target.conversation)")
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
        notification.options.android?.notificationID ?? "\(notification.target.message)"
    }
}
