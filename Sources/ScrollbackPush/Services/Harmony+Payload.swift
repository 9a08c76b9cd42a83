package import Foundation
package import ScrollbackEngine
import ScrollbackModel

extension Harmony {
    /// What an operator says of every push.
    package struct Setup: Hashable, Sendable {
        /// The service wants one; without the right to it everything counts as marketing, and is not refused.
        package var category = "IM"
        /// The title of a push that has none.
        package var title: String?

        /// All of it set one by one.
        package init() {}
    }

    /// The most bytes of a request, its tokens apart.
    static let payloadLimit = 4096
    /// For how many seconds a push is kept for a device that is away.
    private static let life = 1...1_296_000

    /// What a push looks like to Push Kit of HarmonyOS: `Documentation/push-services/harmonyos.md`.
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

    /// What takes a message's notification back: `Documentation/push-services/harmonyos.md`, 41.
    package static func revocation(of notification: PushNotification) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("notifyId", notification.number)
            writer.key("token")
            writer.array([notification.device.token]) { $0.value($1) }
        }
        return writer.bytes
    }

    /// What sets the badge and shows nothing: `Documentation/push-services/harmonyos.md`, 35.
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
        writer.object { $0.field("ttl", notification.life(from: now, in: life)) }
    }

    private static func writeBadge(_ notification: PushNotification, to writer: inout JSONWriter) {
        writer.key("badge")
        writer.object { $0.field("setNum", notification.smallBadge) }
    }

    private static func write(
        _ notification: PushNotification, _ setup: Setup, text: String, omitsData: Bool, to writer: inout JSONWriter
    ) {
        let harmony = notification.options.harmony
        writer.field("category", harmony?.category ?? setup.category)
        writer.field("title", notification.title(or: setup.title).fitting(256))
        writer.field("body", text.visible)
        writer.field("image", harmony?.imageURL?.picture)
        // A later push of the same message takes the place of this one; the same one again shows nothing.
        writer.field("notifyId", notification.number)
        writer.field("appMessageId", notification.id.uuidString.lowercased())
        writer.key("clickAction")
        writer.object { writer in
            // It opens the app's first page.
            writer.field("actionType", 0)
            writer.key("data")
            writer.object { PushFields.write(notification, omitsData: omitsData, to: &$0) }
        }
        writeBadge(notification, to: &writer)
    }
}
