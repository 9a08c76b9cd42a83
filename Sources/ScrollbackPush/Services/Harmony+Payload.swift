package import Foundation
package import ScrollbackEngine
import ScrollbackModel

extension Harmony {
    /// The operator's settings for all pushes.
    package struct Setup: Hashable, Sendable {
        /// The message category, which the service requires.
        ///
        /// Without the right to use it, the service treats pushes as marketing.
        package var category = "IM"
        /// The title of pushes without a title.
        package var title: String?

        /// Creates default settings.
        package init() {}
    }

    /// The maximum size of a request in bytes, without its tokens.
    static let payloadLimit = 4096
    /// The supported range of the lifetime in seconds.
    private static let lifetime = 1...1_296_000

    /// Creates the request body for HarmonyOS Push Kit, see `Documentation/push-services/harmonyos.md`.
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
                writer.key("payload")
                writer.object { writer in
                    writer.key("notification")
                    writer.object { write(notification, setup, text: text, omitsData: omitsData, to: &$0) }
                }
                writeTarget(notification, now: now, to: &writer)
            }
            return writer.bytes
        }
    }

    /// Creates the request body that withdraws a notification, see `Documentation/push-services/harmonyos.md`, item 41.
    package static func revocation(of notification: PushNotification) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("notifyId", notification.numericID)
            writer.key("token")
            writer.array([notification.device.token]) { $0.value($1) }
        }
        return writer.bytes
    }

    /// Creates a request body that only sets the badge, see `Documentation/push-services/harmonyos.md`, item 35.
    package static func badge(for notification: PushNotification, now: Date) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("payload")
            writer.object { writer in
                writer.key("notification")
                writer.object { writeBadge(notification, to: &$0) }
            }
            writeTarget(notification, now: now, to: &writer)
        }
        return writer.bytes
    }

    private static func writeTarget(_ notification: PushNotification, now: Date, to writer: inout JSONWriter) {
        writer.key("target")
        writer.object { writer in
            writer.key("token")
            writer.array([notification.device.token]) { $0.value($1) }
        }
        writer.key("pushOptions")
        writer.object { $0.field("ttl", notification.lifetime(from: now, in: lifetime)) }
    }

    private static func writeBadge(_ notification: PushNotification, to writer: inout JSONWriter) {
        writer.key("badge")
        writer.object { $0.field("setNum", notification.clampedBadge) }
    }

    private static func write(
        _ notification: PushNotification, _ setup: Setup, text: String, omitsData: Bool, to writer: inout JSONWriter
    ) {
        let harmony = notification.options.harmony
        writer.field("category", harmony?.category ?? setup.category)
        writer.field("title", notification.title(or: setup.title).truncated(256))
        writer.field("body", text.nonBlank)
        writer.field("image", harmony?.imageURL?.httpsString)
        // A later push of the same message replaces this one. The service ignores a repeated push with the same message
        // ID.
        writer.field("notifyId", notification.numericID)
        writer.field("appMessageId", notification.id.uuidString.lowercased())
        writer.key("clickAction")
        writer.object { writer in
            // Opens the app's start page.
            writer.field("actionType", 0)
            writer.key("data")
            writer.object { PushFields.write(notification, omitsData: omitsData, to: &$0) }
        }
        writeBadge(notification, to: &writer)
    }
}
